"""`inferwatch alerts test`: rules on stored measurements, without writing anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.jobs.base import JobContext
from monitor.jobs.evaluate_rules import evaluate_rules
from monitor.measurement import Direction, Measured, Measurement, Subject, TooFew
from monitor.store.bulk import BulkConnections
from monitor.store.engine import Role, transaction
from monitor.store.measurements import write_measurements
from monitor.store.tables import alert, alert_transition, delivery
from monitor.windows import Window
from tests.factories import current_context
from tests.integration.cli.conftest import Run

RULES = """\
owners:
  - {name: risk-ml, people: [ada@example.org], receiver: on-call}
receivers:
  - {name: on-call, channel: webhook, url: "https://example.org/hook", secret_env: HOOK_SECRET}
rules:
  - name: errors
    when: {check: serving, method: error_rate, scale: 1h, scope: all}
    above: 0.2
    recover_below: 0.1
    for: 2
    severity: ticket
    owner: risk-ml
    response: investigate
    summary: "{value:.0%} fail"
  - name: burning
    when: {check: serving, method: error_rate, scale: 1h, scope: all}
    burn: {objective: 0.9, windows: [{long: 4h, short: 1h, factor: 2}]}
    severity: ticket
    owner: risk-ml
    response: investigate
  - name: drifted
    when: {check: drift}
    above: 0.2
    severity: ticket
    owner: risk-ml
    response: investigate
  - name: both
    all_of: [errors, drifted]
    severity: ticket
    owner: risk-ml
    response: investigate
"""
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
LATENESS = timedelta(minutes=10)


def served(hour: int, share: float | None, known_at: datetime | None = None) -> Measurement:
    """The error rate of the hour that ends so many hours after noon."""
    end = NOON + hour * HOUR
    outcome = TooFew(0, 1, "no requests") if share is None else Measured(share, 500)
    return Measurement(
        "serving", "error_rate", 1, Subject((1,), "live"), Window(end - HOUR, end), outcome,
        "share", Direction.HIGHER_IS_WORSE, known_at or end + LATENESS,
    )  # fmt: skip


def store(engine: Engine, found: Sequence[Measurement]) -> None:
    for one in sorted(found, key=lambda each: each.known_at):
        with transaction(engine, 1, Role.WORKER) as connection:
            write_measurements(connection, 1, current_context(engine, 1).model_id, [one])


@pytest.fixture
def applied(run: Run, contract_file: Path, tmp_path: Path) -> Run:
    rules = tmp_path / "alerts.yaml"
    rules.write_text(RULES)
    assert run("contract", "apply", contract_file).code == 0
    assert run("alerts", "apply", rules, "--by", "ada").code == 0
    return run


def told(run: Run, *words: str) -> dict[str, Any]:
    found = run("alerts", "test", *words, "--json")
    assert found.code == 0, found.out
    [model] = json.loads(found.out)["models"]
    result: dict[str, Any] = model
    return result


def path(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(each["at"][11:16], each["to"], each["reason"]) for each in found["transitions"]]


SHARES = (0.0, 0.3, 0.3, None, 0.15, 0.05, 0.3)
EXPECTED = [
    ("13:00", "pending", "breach_began"),
    ("14:00", "firing", "breach_held"),
    ("15:00", "firing", "no_data"),
    ("16:00", "firing", "data_returned"),
    ("17:00", "resolved", "recovered"),
    ("18:00", "pending", "breach_began"),
]


def test_it_shows_the_transitions_and_messages_and_writes_nothing(
    applied: Run, engine: Engine
) -> None:
    store(engine, [served(hour, share) for hour, share in enumerate(SHARES)])
    found = told(applied, "errors", "--at", "2026-06-01T19:00Z")
    assert path(found) == EXPECTED
    assert [(each["at"][11:16], each["type"], each["sentences"]) for each in found["messages"]] == [
        ("14:10", "finding.opened", ["30% fail"]),
        ("17:10", "finding.resolved", ["5% fail"]),
    ]
    assert found["verdicts"] == {"breach": 3, "clear": 3, "unknown": 1}
    with transaction(engine, 1, Role.WORKER) as connection:
        for table in (alert, alert_transition, delivery):
            assert connection.scalar(sa.select(sa.func.count()).select_from(table)) == 0


def test_it_is_what_judging_at_the_time_did(
    applied: Run, engine: Engine, database_url: str
) -> None:
    """The same measurements through the jobs' own path, one after the other."""
    bulk = BulkConnections(database_url, Role.WORKER)
    for hour, share in enumerate(SHARES):
        one = served(hour, share)
        context = JobContext(
            engine, bulk, "default", current_context(engine, 1), "w", one.known_at, "http://p.test"
        )
        store(engine, [one])
        with transaction(engine, 1, Role.WORKER) as connection:
            evaluate_rules(connection, context, [one])
    with transaction(engine, 1, Role.WORKER) as connection:
        query = (
            sa.select(alert_transition.c.at, alert_transition.c.to_state, alert_transition.c.reason)
            .join(alert, alert.c.id == alert_transition.c.alert_id)
            .where(alert.c.rule == "errors")
            .order_by(alert_transition.c.id)
        )
        done = [(f"{row.at:%H:%M}", row.to_state, row.reason) for row in connection.execute(query)]
    assert done == EXPECTED
    assert path(told(applied, "errors", "--at", "2026-06-01T19:00Z")) == done


def test_it_ends_at_the_moment_that_is_asked_for(applied: Run, engine: Engine) -> None:
    store(engine, [served(hour, share) for hour, share in enumerate(SHARES)])
    assert path(told(applied, "errors", "--at", "2026-06-01T14:30Z")) == EXPECTED[:2]
    later = told(applied, "errors", "--at", "2026-06-01T19:00Z", "--from", "2026-06-01T13:30Z")
    assert path(later)[0] == ("14:00", "pending", "breach_began")


def test_a_revision_counts_from_when_it_was_known(applied: Run, engine: Engine) -> None:
    at_first = [served(0, 0.0), served(1, 0.05), served(2, 0.3)]
    revised = served(1, 0.3, NOON + 30 * HOUR)
    store(engine, [*at_first, revised])
    assert path(told(applied, "errors", "--at", "2026-06-01T19:00Z")) == [
        ("14:00", "pending", "breach_began")
    ]


def test_measurements_made_afterwards_count_and_it_says_so(applied: Run, engine: Engine) -> None:
    imported = NOON + timedelta(days=40)
    store(engine, [served(hour, share, imported) for hour, share in enumerate(SHARES)])
    found = told(applied, "errors", "--at", "2026-06-01T19:00Z")
    assert path(found) == EXPECTED
    assert found["known_only_afterwards"] == len(SHARES)
    said = applied("alerts", "test", "errors", "--at", "2026-06-01T19:00Z").out
    assert f"{len(SHARES)} measurements became known only after --at" in said
    assert "Alerts that fired: 1. Messages: 2." in said


def test_a_burn_rate_looks_back_beyond_the_first_window(applied: Run, engine: Engine) -> None:
    store(engine, [served(hour, 0.5) for hour in range(6)])
    found = told(
        applied, "burning", "--from", "2026-06-01T16:30Z", "--at", "2026-06-01T18:00Z"
    )  # fmt: skip
    assert path(found) == [("17:00", "firing", "breach_held")]


def test_a_composite_is_tried_with_its_parts(applied: Run, engine: Engine) -> None:
    end = NOON + 3 * HOUR
    drift = Measurement(
        "drift", "psi", 1, Subject((1,), "live", column="age"), Window(end - HOUR, end),
        Measured(0.5, 500), "psi", Direction.HIGHER_IS_WORSE, end + LATENESS,
    )  # fmt: skip
    store(engine, [*(served(hour, 0.3) for hour in range(3)), drift])
    found = told(applied, "both", "--at", "2026-06-01T19:00Z")
    composite = [each for each in found["transitions"] if each["rule"] == "both"]
    assert [(each["at"][11:16], each["to"]) for each in composite] == [("15:00", "firing")]
    assert composite[0]["text"] == "firing: errors, drifted"


def test_rules_that_are_not_in_force_come_from_a_file(
    applied: Run, engine: Engine, tmp_path: Path
) -> None:
    store(engine, [served(hour, share) for hour, share in enumerate(SHARES)])
    other = tmp_path / "other.yaml"
    other.write_text(RULES.replace("above: 0.2\n    recover_below: 0.1", "above: 0.9"))
    found = told(applied, "errors", "--at", "2026-06-01T19:00Z", "--file", str(other))
    assert found["transitions"] == []
    assert "No alert would have changed." in applied(
        "alerts", "test", "errors", "--file", other, "--at", "2026-06-01T19:00Z"
    ).out  # fmt: skip


def test_an_unknown_rule_is_refused_with_those_there_are(applied: Run) -> None:
    found = applied("alerts", "test", "erors")
    assert found.code == 2
    assert "no rule is called 'erors'; there are: errors, burning, drifted, both" in found.err


def test_a_model_without_any_measurement_has_nothing_to_show(applied: Run) -> None:
    found = applied("alerts", "test", "errors")
    assert found.code == 0
    assert "0 windows of rule errors" in found.out
    assert "No alert would have changed." in found.out
