"""`inferwatch alerts`: rules in force, and what a person does about an alert."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from alerts.errors import AlertNotOpen
from monitor.errors import ConfigurationError
from monitor.jobs.base import JobContext
from monitor.jobs.evaluate_rules import evaluate_rules
from monitor.jobs.notify import notify
from monitor.measurement import Direction, Measured, Measurement, Subject
from monitor.store.bulk import BulkConnections
from monitor.store.engine import Role, transaction
from monitor.store.hand_over import acknowledge_alert
from monitor.store.tables import alert, alert_config, alert_transition, delivery
from monitor.windows import Window
from tests.factories import current_context
from tests.integration.cli.conftest import Run

RULES = """\
owners:
  - {name: risk-ml, people: [ada@example.org], receiver: on-call}
receivers:
  - name: on-call
    channel: webhook
    url: http://127.0.0.1:9000/hook
    secret_env: HOOK_SECRET
    private_addresses_allowed: true
rules:
  - name: drifted
    when: {check: drift, column: "a*"}
    above: 0.2
    for: %d
    severity: ticket
    owner: risk-ml
    response: investigate
  - name: spread
    when: {check: drift, column: income}
    above: 0.2
    severity: ticket
    owner: risk-ml
    response: investigate
"""
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def rules_file(tmp_path: Path) -> Path:
    path = tmp_path / "alerts.yaml"
    path.write_text(RULES % 1)
    return path


@pytest.fixture
def applied(run: Run, contract_file: Path, rules_file: Path) -> Run:
    assert run("contract", "apply", contract_file).code == 0
    assert run("alerts", "apply", rules_file, "--by", "ada").code == 0
    return run


def measure(engine: Engine, database_url: str, column: str, value: float, hour: int = 0) -> None:
    """One measurement of drift, judged by the rules in force."""
    bulk = BulkConnections(database_url, Role.WORKER)
    moment = NOON + timedelta(hours=hour)
    context = JobContext(
        engine, bulk, "default", current_context(engine, 1), "w", moment, "http://pages.test"
    )
    found = Measurement(
        check="drift",
        method="psi",
        method_version=1,
        subject=Subject((1,), "live", column=column),
        window=Window(moment - timedelta(hours=1), moment),
        outcome=Measured(value=value, n=500),
        unit="nats",
        direction=Direction.HIGHER_IS_WORSE,
        known_at=moment,
    )
    with transaction(engine, 1, Role.WORKER) as connection:
        evaluate_rules(connection, context, [found])
    notify(engine, 1, moment, "http://pages.test")


def deliveries(engine: Engine) -> list[tuple[str, list[int]]]:
    notify(engine, 1, NOON + timedelta(hours=2), "http://pages.test")
    with transaction(engine, 1, Role.WORKER) as connection:
        query = sa.select(delivery.c.event_type, delivery.c.alert_ids).order_by(delivery.c.id)
        return [(row.event_type, row.alert_ids) for row in connection.execute(query)]


def history(engine: Engine) -> list[tuple[str, str, str, str | None, str | None]]:
    row = alert_transition.c
    query = sa.select(row.from_state, row.to_state, row.reason, row.by, row.comment)
    with transaction(engine, 1, Role.WORKER) as connection:
        return [tuple(each) for each in connection.execute(query.order_by(row.id))]


def state(engine: Engine) -> dict[str, str]:
    with transaction(engine, 1, Role.WORKER) as connection:
        return {r.rule: r.state for r in connection.execute(sa.select(alert.c.rule, alert.c.state))}


def test_check_tells_mistakes_with_lines(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text((RULES % 1).replace("owner: risk-ml", "owner: risk-mll", 1))

    good = tmp_path / "good.yaml"
    good.write_text(RULES % 1)
    plain, as_json = run("alerts", "check", path), run("alerts", "check", path, "--json")

    assert (plain.code, as_json.code) == (1, 1)
    assert "line 15, rules[0].owner" in plain.err
    assert json.loads(as_json.out)["problems"][0]["line"] == 15
    assert "2 rules, 1 owners, 1 receivers" in run("alerts", "check", good).out


def test_rules_with_mistakes_are_not_applied(applied: Run, rules_file: Path) -> None:
    rules_file.write_text((RULES % 1).replace("response: investigate", "", 1))
    ended = applied("alerts", "apply", rules_file)

    assert ended.code == 2
    assert "response is missing" in ended.err


def test_the_same_rules_again_are_the_same_version(
    applied: Run, rules_file: Path, engine: Engine
) -> None:
    again = applied("alerts", "apply", rules_file, "--by", "bob")
    rules_file.write_text(RULES % 2)
    changed = applied("alerts", "apply", rules_file, "--by", "bob")

    assert "version 1 are in force" in again.out
    assert "version 2 are in force" in changed.out
    with transaction(engine, 1, Role.OWNER) as connection:
        rows = connection.execute(sa.select(alert_config).order_by(alert_config.c.version))
        assert [(row.version, row.applied_by) for row in rows] == [(1, "ada"), (2, "bob")]


def test_an_alert_is_listed_shown_taken_on_and_resolved(
    applied: Run, engine: Engine, database_url: str
) -> None:
    measure(engine, database_url, "age", 0.5)

    (listed,) = json.loads(applied("alerts", "list", "--json").out)
    assert (listed["state"], listed["rule"], listed["owner"]) == ("firing", "drifted", "risk-ml")
    number = listed["number"]
    assert "drifted" in applied("alerts", "list").out
    shown = applied("alerts", "show", number)
    assert "investigate" in shown.out
    assert "0.5" in shown.out

    taken = applied("alerts", "ack", number, "--by", "bob", "--comment", "looking")
    assert taken.out == f"Alert {number} is acknowledged by bob; it is firing.\n"
    measure(engine, database_url, "age", 0.6, hour=1)
    assert json.loads(applied("alerts", "list", "--json").out)[0]["acknowledged_by"] == "bob"

    ended = applied("alerts", "resolve", number, "--by", "ada", "--comment", "fixed upstream")
    assert ended.code == 0, ended.err
    assert "No open alert" in applied("alerts", "list").out
    assert json.loads(applied("alerts", "list", "--all", "--json").out)[0]["state"] == "resolved"
    assert history(engine) == [
        ("ok", "firing", "breach_held", None, None),
        ("firing", "firing", "acknowledged", "bob", "looking"),
        ("firing", "resolved", "closed_by_hand", "ada", "fixed upstream"),
    ]
    assert deliveries(engine) == [("finding.opened", [number]), ("finding.resolved", [number])]
    events = json.loads(applied("alerts", "show", number, "--json").out)["history"]
    assert {"bob", "ada"} <= {each["by"] for each in events}


def test_a_new_breach_after_a_closing_by_hand_opens_a_new_episode(
    applied: Run, engine: Engine, database_url: str
) -> None:
    measure(engine, database_url, "age", 0.5)
    applied("alerts", "ack", 1)
    applied("alerts", "resolve", 1)
    assert len(deliveries(engine)) == 2
    measure(engine, database_url, "age", 0.5, hour=1)

    (listed,) = json.loads(applied("alerts", "list", "--json").out)
    assert (listed["number"], listed["acknowledged_by"]) == (1, None)
    assert [event for event, _ in deliveries(engine)] == [
        "finding.opened",
        "finding.resolved",
        "finding.opened",
    ]


def test_ending_what_was_never_told_owes_nobody_a_message(
    run: Run, contract_file: Path, rules_file: Path, engine: Engine, database_url: str
) -> None:
    rules_file.write_text(RULES % 3)
    run("contract", "apply", contract_file)
    run("alerts", "apply", rules_file)
    measure(engine, database_url, "age", 0.5)

    ended = run("alerts", "resolve", 1)

    assert ended.code == 0, ended.err
    assert state(engine) == {"drifted": "resolved"}
    assert deliveries(engine) == []


def test_alerts_of_rules_that_are_gone_end_and_are_told(
    applied: Run, rules_file: Path, engine: Engine, database_url: str
) -> None:
    measure(engine, database_url, "age", 0.5)
    measure(engine, database_url, "income", 0.5)
    rules_file.write_text((RULES % 1).replace("name: drifted", "name: moved"))

    ended = applied("alerts", "apply", rules_file)

    assert "1 open alerts ended" in ended.out
    assert state(engine) == {"drifted": "resolved", "spread": "firing"}
    assert history(engine)[-1][2] == "no_longer_evaluated"
    event, told = deliveries(engine)[-1]
    assert (event, told[0]) == ("finding.resolved", 1)


def test_a_rule_that_is_gone_does_not_keep_its_alert_from_being_closed(
    applied: Run, rules_file: Path, engine: Engine, database_url: str
) -> None:
    measure(engine, database_url, "age", 0.5)
    rules_file.write_text((RULES % 1).replace("  - name: spread", "  - name: other", 1))
    applied("alerts", "apply", rules_file)

    assert applied("alerts", "resolve", 1).code == 0
    assert state(engine) == {"drifted": "resolved"}


def test_what_is_over_can_not_be_acknowledged_and_what_is_not_there_is_said(
    applied: Run, engine: Engine, database_url: str
) -> None:
    measure(engine, database_url, "age", 0.5)
    applied("alerts", "resolve", 1)

    over, unknown = applied("alerts", "ack", 1), applied("alerts", "show", 99)

    assert (over.code, unknown.code) == (2, 2)
    assert "only a pending, firing or recovering alert can be acknowledged" in over.err
    assert "no alert 99" in unknown.err
    assert "Traceback" not in over.err + unknown.err
    with pytest.raises(AlertNotOpen):
        acknowledge_alert(engine, 1, 1, "ada", "", NOON)
    with pytest.raises(ConfigurationError, match="who you are"):
        acknowledge_alert(engine, 1, 1, " ", "", NOON)
