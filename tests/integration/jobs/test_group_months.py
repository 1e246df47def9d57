"""Groups from stored requests to measurements and an alert."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from monitor.checks.groups.counts import Rate
from monitor.checks.groups.selection import ratio_limits
from monitor.jobs.run import Runner
from monitor.store.hand_over import apply_alert_rules
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import TestClock, label, label_batch, rows_of, send
from tests.integration.jobs.support import DAY, problems
from tests.integration.lending import JUNE, MAY, Loan, lending_model, loans, send_loans, send_truth

RULES = """
owners:
  - name: risk-ml
    people: [ada@example.org]
    receiver: hook
receivers:
  - name: hook
    channel: webhook
    url_env: HOOK_URL
    secret_env: HOOK_SECRET
    private_addresses_allowed: true
rules:
  - name: four-fifths
    when: {check: groups, method: selection_ratio, scale: month, scope: all}
    value: high
    below: 0.8
    severity: ticket
    owner: risk-ml
    response: review_threshold
"""
FOUND = (
    "select m.method, m.column_name, m.segment_id, s.definition, m.state, m.value, m.low, m.high,"
    " m.n, m.n_reference, m.reason, m.detail, m.unit, m.known_at from measurement m"
    " left join segment s on s.id = m.segment_id and s.model_id = m.model_id"
    " where m.check_name = 'groups' and m.window_start = :start order by m.id"
)


@pytest.fixture
def lending(engine: Engine, project_id: int) -> ModelContext:
    return lending_model(engine, project_id)


def measured(engine: Engine, method: str) -> dict[str, Any]:
    """The newest row of a method in May by the segment's value."""
    rows = rows_of(engine, 1, FOUND, start=MAY)
    return {", ".join((row.definition or {}).values()): row for row in rows if row.method == method}


def rate(found: list[Loan], chosen: Callable[[Loan], bool], event: Callable[[Loan], bool]) -> Rate:
    kept = [loan for loan in found if chosen(loan)]
    return Rate(sum(map(event, kept)), len(kept))


def women(loan: Loan) -> bool:
    return loan.row["sex"] == "woman"


def men(loan: Loan) -> bool:
    return not women(loan)


def test_a_month_of_loans(
    store: IntakeStore, engine: Engine, runner: Runner, lending: ModelContext, clock: TestClock
) -> None:
    clock.now = JUNE + 20 * DAY
    apply_alert_rules(engine, 1, RULES, name="alerts.yaml", by="tests", now=clock())
    found = loans(MAY, 24, 150, seed=1)
    send_loans(store, lending, found)
    runner.catch_up()
    assert [row for row in problems(engine) if row.state == "failed"] == []

    mine, its = (rate(found, who, lambda loan: loan.granted) for who in (women, men))
    ratio = measured(engine, "selection_ratio")
    assert set(ratio) == {"woman", "man"}
    assert ratio["woman"].column_name == "sex"
    assert ratio["woman"].value == pytest.approx(mine.value / its.value)
    assert (ratio["woman"].low, ratio["woman"].high) == pytest.approx(ratio_limits(mine, its))
    assert ratio["woman"].detail["verdict"] == "violates"
    assert ratio["man"].detail["verdict"] == "reference"

    right = [rate(found, who, lambda loan: not loan.wrong) for who in (women, men)]
    gap = measured(engine, "accuracy_gap")
    assert sorted(abs(gap[name].value) for name in ("woman", "man")) == pytest.approx(
        [0, abs(right[0].value - right[1].value)]
    )
    assert measured(engine, "calibration_gap")["woman"].state == "measured"

    turned = measured(engine, "adjusted_gap")
    (held,) = turned.values()
    assert held.column_name == "branch"
    assert held.detail["flag"] == "reversed"
    crude = mine.value - its.value
    assert abs(held.detail["crude"]) == pytest.approx(abs(crude))
    assert held.detail["crude"] * held.value < 0

    (worst,) = measured(engine, "worst_group").values()
    assert worst.detail["group"] == "branch = B and channel = phone"
    assert worst.detail["confirmed"] is True
    assert worst.low > 0.1  # about 0.29 planted; which half confirms depends on the project's key

    alerts = rows_of(engine, 1, "select rule, state, body->'labels'->>'segment' as who from alert")
    assert [tuple(one) for one in alerts] == [("four-fifths", "firing", "sex=woman")]


def test_answers_are_compared_at_once_and_the_worst_group_waits_until_labels_are_due(
    store: IntakeStore, engine: Engine, runner: Runner, lending: ModelContext, clock: TestClock
) -> None:
    found = loans(MAY, 10, 120, seed=2)
    clock.now = JUNE + 2 * DAY
    send(store, lending, [loan.row for loan in found])
    runner.catch_up()
    assert measured(engine, "selection_ratio")["woman"].state == "measured"
    assert measured(engine, "accuracy_gap")["woman"].state == "too_few"
    assert measured(engine, "worst_group") == {}

    send_truth(store, lending, found)
    runner.catch_up()
    gap = measured(engine, "accuracy_gap")["woman"]
    assert gap.state == "measured"
    assert gap.detail["maturity"] == "final"  # rules wait for labels of groups too
    assert "maturity" not in measured(engine, "selection_ratio")["woman"].detail
    assert measured(engine, "worst_group") == {}
    clock.now = JUNE + 8 * DAY  # label.max_age is a week; nothing new has come
    runner.catch_up()
    assert measured(engine, "worst_group")[""].detail["rows"] == len(found)


def test_a_corrected_label_is_searched_again_and_nothing_else_is(
    store: IntakeStore, engine: Engine, runner: Runner, lending: ModelContext, clock: TestClock
) -> None:
    eager = replace(runner, revision_pause=timedelta(0))
    found = loans(MAY, 8, 120, seed=6)
    clock.now = JUNE + 10 * DAY
    send_loans(store, lending, found)
    eager.catch_up()
    asked = "select runs from job_window where job = 'worst-groups'"
    assert [row.runs for row in rows_of(engine, 1, asked)] == [1]
    eager.catch_up()
    assert [row.runs for row in rows_of(engine, 1, asked)] == [1]
    first = found[0]
    at = first.row["event_time"] + 4 * DAY
    turned = label(first.row["request_id"], 1.0 - first.truth, at)
    store.store_labels(label_batch(lending, [turned], arrived_at=clock()))
    eager.catch_up()
    assert [row.runs for row in rows_of(engine, 1, asked)] == [2]


def test_too_small_groups_are_counted_and_not_shown(
    store: IntakeStore, engine: Engine, runner: Runner, lending: ModelContext, clock: TestClock
) -> None:
    clock.now = JUNE + 20 * DAY
    found = loans(MAY, 10, 120, seed=3)
    for loan in found[300:349]:
        loan.row["sex"] = "man" if women(loan) else "woman"
    for loan in found[:40]:
        loan.row["sex"] = "other"
    send_loans(store, lending, found)
    runner.catch_up()
    other = measured(engine, "selection_ratio")["other"]
    assert (other.state, other.n, other.value) == ("too_few", 40, None)
    assert "provisional" not in other.detail


def test_without_fairness_only_the_worst_group_is_sought(
    store: IntakeStore, engine: Engine, runner: Runner, project_id: int, clock: TestClock
) -> None:
    clock.now = JUNE + 20 * DAY
    model = lending_model(engine, project_id, fairness=None)
    send_loans(store, model, loans(MAY, 8, 120, seed=4))
    runner.catch_up()
    assert {row.method for row in rows_of(engine, 1, FOUND, start=MAY)} == {"worst_group"}
