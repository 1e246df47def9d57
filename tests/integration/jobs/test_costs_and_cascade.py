"""Costs and routes from stored requests and late labels to measurements and the command line."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy.engine import Engine

from monitor.contract import Contract
from monitor.jobs.run import Runner
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import (
    START,
    apply,
    contract_body,
    current_context,
    deployment,
    label,
    label_batch,
    request,
    rows_of,
    send,
)

N, SMALL, WRONG = 400, 300, 80
DAY = timedelta(days=1)


def body(success: str) -> dict:
    made = contract_body()
    made["columns"] += [
        {"name": "late", "type": "boolean", "role": "prediction"},
        {"name": "route", "type": "category", "categories": ["small", "large"]},
        {"name": "router_score", "type": "number"},
        {"name": "cost", "type": "number", "role": "cost"},
        {"name": "output_tokens", "type": "integer", "role": "count"},
        {"name": "energy", "type": "number", "role": "cost", "unit": "kJ"},
    ]
    made["segments"] = ["route"]
    made["signals"] = [
        {"name": "kept", "kind": "event", "direction": "lower_is_worse", "max_age": "1d"}
    ]
    made["cascade"] = {"route": "route", "routes": ["small", "large"], "score": "router_score",
                       "threshold": 0.5}  # fmt: skip
    made["costs"] = {
        "currency": "EUR",
        "success": success,
        "prices": [
            {"field": "output_tokens", "price": 1.0, "per": 1000, "route": "small"},
            {"field": "output_tokens", "price": 10.0, "per": 1000, "route": "large"},
        ],
    }
    return made


@pytest.fixture
def played(store: IntakeStore, engine: Engine, project_id: int, runner: Runner, request):
    """A day: 300 requests of the small route, 100 of the large one; 80 labels say it was wrong."""
    context = apply(engine, project_id, Contract.model_validate(body(request.param)))
    deployment(engine, context, model_version="1")
    model = current_context(engine, project_id)
    send(store, model, [_row(i) for i in range(N)])
    at = START + 2 * DAY
    labels = [label(str(i), float((i % 2 == 0) != (i < WRONG)), at) for i in range(N)]
    store.store_labels(label_batch(model, labels, arrived_at=at))
    kept = [label(str(i), 1.0, START + DAY * 0.9) for i in range(100)]
    store.store_labels(label_batch(model, kept, arrived_at=START + DAY, name="kept"))
    runner.catch_up()
    return model


def _row(i: int) -> dict:
    small = i < SMALL
    return request_row(i, "small" if small else "large", 0.9 if small else 0.2)


def request_row(i: int, route: str, score: float) -> dict:
    right = i % 2 == 0
    return request(
        str(i), START + i * timedelta(minutes=3), score=0.9 if right else 0.1, late=float(right),
        route=route, router_score=score if i % 10 else 1.1 - score, cost=0.01, output_tokens=50,
        energy=0.2, ms=100.0 if route == "small" else 400.0,
    )  # fmt: skip


def measured(engine: Engine, check: str) -> dict[tuple[str, str], tuple]:
    query = """
        select distinct on (method, column_name)
          method, column_name, state, value, low, high, unit, detail
        from measurement where check_name = :check and segment_id = 0
          and window_end - window_start = interval '1 day' and window_start = :day
        order by method, column_name, known_at desc
    """
    rows = rows_of(engine, 1, query, check=check, day=START)
    return {(row.method, row.column_name): row for row in rows}


TOTAL = N * 0.01 + SMALL * 50 / 1000 + (N - SMALL) * 50 * 10 / 1000


@pytest.mark.parametrize("played", ["label"], indirect=True)
def test_a_success_is_a_right_prediction(engine: Engine, played: ModelContext) -> None:
    found = measured(engine, "cost")
    assert found["per_request", ""].value == pytest.approx(TOTAL / N)
    assert found["per_request", ""].unit == "EUR"
    success = found["per_success", ""]
    assert success.value == pytest.approx(TOTAL / (N - WRONG))
    assert success.low < success.value < success.high
    assert success.detail["condition"] == "the prediction was right, by the label default"
    assert success.detail["success_share"] == pytest.approx((N - WRONG) / N)
    assert found["energy_per_request", ""].value == pytest.approx(200.0)
    assert found["energy_per_success", ""].value == pytest.approx(200.0 * N / (N - WRONG))


@pytest.mark.parametrize("played", ["answered"], indirect=True)
def test_a_success_is_an_answer(engine: Engine, played: ModelContext) -> None:
    found = measured(engine, "cost")
    assert found["per_success", ""].value == pytest.approx(TOTAL / N)
    assert "right or wrong" in found["per_success", ""].detail["condition"]


@pytest.mark.parametrize("played", ["signal:kept"], indirect=True)
def test_a_success_is_what_a_signal_says(engine: Engine, played: ModelContext) -> None:
    found = measured(engine, "cost")
    assert found["per_success", ""].value == pytest.approx(TOTAL / 100)
    assert found["per_success", ""].detail["condition"] == "the signal kept says so"


@pytest.mark.parametrize("played", ["label"], indirect=True)
def test_the_routes_are_told_apart(engine: Engine, played: ModelContext) -> None:
    found = measured(engine, "cascade")
    assert found["route_share", "small"].value == pytest.approx(SMALL / N)
    assert found["route_share", "large"].value == pytest.approx(1 - SMALL / N)
    assert found["escalated", ""].value == pytest.approx(1 - SMALL / N)
    # Every tenth score was turned round, so it stands on the other side of the threshold.
    assert found["threshold_kept", ""].value == pytest.approx(0.9)
    assert found["threshold_kept", ""].detail["kept_against"] == SMALL // 10
    assert found["threshold_kept", ""].detail["passed_against"] == (N - SMALL) // 10
