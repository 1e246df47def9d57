"""What a model's servers told stands on its alerts; for slow ones with areas to measure."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.server_surroundings import ServerContext, server_context
from monitor.store.engine import Role, transaction
from monitor.store.models import ModelContext
from monitor.windows import Window
from tests.factories import START

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
NOW = START + 3 * HOUR


def tell(
    engine: Engine,
    model: ModelContext,
    name: str,
    values: Any,
    source: str = "vllm-a",
    n: float = 1,
) -> None:
    """A reading each minute from an hour before NOW - 5 minutes on."""
    first = NOW - HOUR - 5 * MINUTE
    rows = [
        {"p": model.project_id, "m": model.model_id, "r": name, "at": first + i * MINUTE,
         "s": source, "n": n, "total": value * n}
        for i, value in enumerate(values)
    ]  # fmt: skip
    statement = sa.text(
        "insert into server_reading (project_id, model_id, reading, minute, source, version, n,"
        " total, seconds) values (:p, :m, :r, :at, :s, '', :n, :total, 60)"
    )
    with transaction(engine, model.project_id, Role.WORKER) as connection:
        connection.execute(statement, rows)


def known(
    engine: Engine, model: ModelContext, method: str = "p95", column: str = "ms"
) -> ServerContext:
    """Around an alert that began with the five minutes before NOW."""
    labels = {"model": "credit", "check": "serving", "method": method, "column": column}
    judged = Window(NOW - 5 * MINUTE, NOW)
    with transaction(engine, model.project_id, Role.WORKER) as connection:
        return server_context(
            connection, model.project_id, model.model_id, model.contract, labels, judged, NOW
        )


@pytest.fixture
def busy(engine: Engine, credit: ModelContext) -> ModelContext:
    """Three or four requests wait for an hour, then forty; the work takes as long as before."""
    tell(engine, credit, "queue_length", [3, 4] * 30 + [40, 41, 42, 41, 41])
    tell(engine, credit, "queue_time", [2, 3] * 30 + [90] * 5, n=100)
    tell(engine, credit, "compute_time", [50, 51] * 30 + [50, 51] * 2 + [50], n=100)
    return credit


def test_a_slow_model_is_told_with_its_queue_and_areas_to_measure(
    engine: Engine, busy: ModelContext
) -> None:
    found = known(engine, busy)
    assert found.server == (
        f"queue_length 3.5 → 41 requests (vllm-a, since {NOW - 5 * MINUTE:%Y-%m-%d %H:%M} UTC)",
        f"queue_time 2.5 → 90 ms (vllm-a, since {NOW - 5 * MINUTE:%Y-%m-%d %H:%M} UTC)",
    )
    assert found.look_at[0].startswith(
        "requests wait longer, work takes as long as before: measure"
    )
    assert found.look_at[1].startswith("more requests wait: measure")


def test_an_alert_about_something_else_gets_the_readings_without_areas(
    engine: Engine, busy: ModelContext
) -> None:
    found = known(engine, busy, "error_rate", "")
    assert len(found.server) == 2
    assert found.look_at == ()


def test_sources_that_disagree_are_told_and_are_no_signal(
    engine: Engine, credit: ModelContext
) -> None:
    tell(engine, credit, "queue_length", [3, 4] * 30 + [40] * 5)
    tell(engine, credit, "queue_length", [30, 40] * 30 + [1] * 5, source="vllm-b")
    found = known(engine, credit)
    assert [each.split(" (")[1][:6] for each in found.server] == ["vllm-a", "vllm-b"]
    assert not any("more requests wait" in each for each in found.look_at)


def test_one_restart_is_news_and_stillness_is_none(engine: Engine, credit: ModelContext) -> None:
    tell(engine, credit, "queue_length", [3, 4] * 30 + [3] * 5)
    assert known(engine, credit).server == ()
    tell(engine, credit, "restarts", [0] * 62 + [1])
    (told,) = known(engine, credit).server
    assert told.startswith("restarts 0 → 1 restarts a minute (vllm-a, since")
