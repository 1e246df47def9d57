"""What servers told of themselves, on the serving page and on an alert: full and hostile."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine
from streamlit.testing.v1 import AppTest

from monitor.jobs.run import Runner
from monitor.scrape_targets import ScrapeTarget
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.scrape_targets import apply_targets, note_failure
from tests.contracts.test_pages import all_text, charts_of, closed_connections, run_page
from tests.factories import START, TestClock, apply, make_contract, send
from tests.integration.jobs.support import HOUR, traffic

__all__ = ["closed_connections"]
HERE = {"project": "default", "model": "credit"}
HOSTILE = "<script>alert(1)</script> [x](javascript:1) **b**"
MINUTE = timedelta(minutes=1)


@pytest.fixture
def told(
    engine: Engine, project_id: int, store: IntakeStore, runner: Runner, clock: TestClock
) -> datetime:
    """A day of requests, two hours of readings of two sources in it, and a target that fails."""
    context = apply(engine, project_id, make_contract())
    send(store, context, traffic(START, 24, 20, deployments=(0,)))
    clock.now = START + 25 * HOUR
    runner.catch_up()
    rows = [
        {"m": context.model_id, "r": reading, "at": START + 20 * HOUR + i * MINUTE, "s": source,
         "total": float(i % 7)}
        for i in range(120)
        for source in ("vllm-a", HOSTILE)
        for reading in ("queue_length", "requests")
    ]  # fmt: skip
    statement = sa.text(
        "insert into server_reading (project_id, model_id, reading, minute, source, version, n,"
        " total, low, high, seconds) values (1, :m, :r, :at, :s, '', 1, :total, :total, :total, 60)"
    )
    with transaction(engine, project_id, Role.WORKER) as connection:
        connection.execute(statement, rows)
    options = {"url": "https://example.org/metrics"}
    target = ScrapeTarget("vllm-a", ("credit",), options=options)
    with transaction(engine, project_id, Role.OWNER) as connection:
        apply_targets(connection, project_id, [target], by="tests")
        note_failure(connection, project_id, target, f"answered 401 {HOSTILE}", clock.now)
    return clock.now


def test_the_serving_page_shows_readings_their_queue_and_what_they_can_not_tell(
    told: datetime, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = run_page(database_url, monkeypatch, "serving", **HERE)
    text = all_text(test)
    assert "it may explain what requests show, and proves nothing" in text
    assert "requests does not tell: requests answered from a response cache" in text
    assert "vllm-a can't be read; last read: never" in text
    assert text.count(HOSTILE) >= 2  # as text, in the table and with the target
    raw = "\n".join(str(each.value) for each in (*test.markdown, *test.caption))
    assert "[x](javascript:1)" not in raw
    assert "queue length (requests)" in str(charts_of(test))


def test_the_serving_page_says_nothing_of_servers_where_none_told_anything(
    engine: Engine, project_id: int, store: IntakeStore, runner: Runner, clock: TestClock,
    database_url: str, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    context = apply(engine, project_id, make_contract())
    send(store, context, traffic(START, 3, 20, deployments=(0,)))
    clock.now = START + 4 * HOUR
    runner.catch_up()
    test = run_page(database_url, monkeypatch, "serving", **HERE)
    assert "Servers" not in [each.value for each in test.header]


def lines_of_an_alert() -> None:
    """A page of nothing but these lines; Streamlit runs its source by itself."""
    from dashboards.serving_server import draw_servers
    from monitor.server_surroundings import NO_SERVER_CONTEXT, ServerContext

    draw_servers(NO_SERVER_CONTEXT)
    draw_servers(
        ServerContext(
            ("queue_length 3 → 41 requests (<script>[x](javascript:1)</script>)",),
            ("more requests wait: measure requests a second",),
        )
    )


def test_an_alert_tells_what_stood_apart_and_what_to_measure_once() -> None:
    test = AppTest.from_function(lines_of_an_alert).run()
    assert not test.exception
    text = all_text(test)
    assert text.count("3 → 41 requests") == 1
    assert "none of them is a conclusion" in text
    assert "[x](javascript:1)" not in "\n".join(str(each.value) for each in test.markdown)
