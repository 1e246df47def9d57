"""Single pieces of what is known around an alert, from rows written for the purpose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from alerts.context import AlertContext, Changed, TrafficShare
from alerts.groups import Group
from alerts.lifecycle import step
from alerts.model import Labels, ResponseAction
from alerts.responses import DefinedResponse
from alerts.rules import Subject
from monitor.checks.promise.firing import Firing
from monitor.checks.promise.incidents import ColumnEpisode, Incident
from monitor.jobs.alert_context import with_context
from monitor.jobs.alert_model import KnownModel
from monitor.profiles.part import PartKind
from monitor.store.action_orders import Outside
from monitor.store.alert_book import apply_rules, save_alerts
from monitor.store.engine import Role, transaction
from monitor.store.incidents import StoredIncident, add_incident
from monitor.store.models import ModelContext
from monitor.store.tables import alert_transition, profile, response_action
from monitor.windows import Grain
from tests.integration.jobs.test_alerting import RULES
from tests.unit.alerts.factories import NOW, config, groups_of, hour, reading, rule

SUBJECT = Labels.of(
    project="default", model="credit", check="contrast", method="psi", column="age", deployment="3"
)
OUTSIDE = Outside("https://pages.example.org", "https://api.example.org")


@pytest.fixture
def worker(engine: Engine, credit: ModelContext) -> Iterator[Connection]:
    with transaction(engine, 1, Role.OWNER) as connection:
        apply_rules(connection, 1, RULES, name="alerts.yaml", by="tests")
    with transaction(engine, 1, Role.WORKER) as connection:
        yield connection


def told(connection: Connection, **fields: Any) -> tuple[Group, dict[str, int]]:
    """One alert that fired at 02:00, stored, and the group it is told in."""
    setup = config(rule(**fields))
    made = step(setup, {}, [reading(2, 0.31, labels=SUBJECT)], NOW)
    numbers = save_alerts(connection, 1, [(one, setup.rules[0]) for one in made.alerts.values()], 1)
    (group,) = groups_of(setup, made.alerts)
    return group, numbers


def surroundings(
    connection: Connection, group: Group, numbers: dict[str, int], setup: Any = None
) -> AlertContext:
    (found,) = with_context(connection, 1, setup or config(), [group], numbers, NOW, OUTSIDE)
    return found.entries[0].context


def fired(connection: Connection, number: int, at: datetime, came_from: str = "pending") -> None:
    connection.execute(
        sa.insert(alert_transition).values(
            project_id=1, alert_id=number, episode=1, from_state=came_from, to_state="firing",
            reason="breach_held", at=at, body={},
        )
    )  # fmt: skip


def test_how_often_it_fired_counts_openings_of_30_days_up_to_its_window(worker: Connection) -> None:
    group, numbers = told(worker)
    (number,) = numbers.values()
    assert surroundings(worker, group, numbers).fired is None
    for at in (hour(2), hour(2) - timedelta(days=29), hour(2) - timedelta(days=30)):
        fired(worker, number, at)
    fired(worker, number, hour(1), came_from="recovering")
    fired(worker, number, hour(1), came_from="firing")
    assert surroundings(worker, group, numbers).fired == 2


def test_what_became_of_the_newest_action_of_the_episode(worker: Connection) -> None:
    group, numbers = told(worker)
    (number,) = numbers.values()
    common: dict[str, Any] = {
        "project_id": 1, "alert_id": number, "rule": "psi-high", "response": "move-away",
        "action": "reduce_traffic", "model": "credit", "deployment_ids": [3],
        "requested_by": "rule psi-high", "requested_at": NOW, "body": {},
    }  # fmt: skip
    assert surroundings(worker, group, numbers).action is None
    rows = (
        {"episode": 1, "state": "refused", "reason": "at most one a day", "dry_run": False},
        {"episode": 2, "state": "failed", "reason": "of another episode", "dry_run": False},
    )
    for row in rows:
        worker.execute(sa.insert(response_action).values(**common, **row))
    assert surroundings(worker, group, numbers).action == (
        "reduce traffic: refused (at most one a day), asked by rule psi-high"
    )
    done = {"episode": 1, "state": "done", "outcome": "done", "dry_run": True}
    worker.execute(sa.insert(response_action).values(**common, **done))
    drill = {"episode": 1, "state": "failed", "reason": "a drill", "dry_run": True, "drill": True}
    worker.execute(sa.insert(response_action).values(**common, **drill))
    said = surroundings(worker, group, numbers).action
    assert said is not None
    assert said.startswith("reduce traffic, dry run: done")


def test_the_command_is_the_rules_own_or_that_of_its_response(worker: Connection) -> None:
    defined = DefinedResponse(
        "move-away", ResponseAction.REDUCE_TRAFFIC, command="inferwatch respond run {alert}"
    )
    group, numbers = told(worker, response_name="move-away")
    (number,) = numbers.values()
    setup = replace(config(), responses=(defined,))
    assert surroundings(worker, group, numbers, setup).command == f"inferwatch respond run {number}"
    assert surroundings(worker, group, numbers).command is None
    own, numbers = told(worker, response_name="move-away", command="ctl drain --alert {alert}")
    assert surroundings(worker, own, numbers, setup).command == f"ctl drain --alert {number}"


def incident(column: str, opened: datetime, until: datetime, *, is_open: bool) -> StoredIncident:
    firing = Firing(column, "", 24, "pooled", opened, 1e-9, 1e-5, 0.3, 4800)
    part = ColumnEpisode(opened, opened, until, 1, firing)
    closed = None if is_open else until
    made = Incident(opened, {column: part})
    return StoredIncident(0, "live", is_open, made, column, closed_at=closed)


def test_an_alert_about_quality_says_which_drift_was_open_then(worker: Connection) -> None:
    group, numbers = told(worker, about=Subject.QUALITY)
    assert surroundings(worker, group, numbers).quality == "no drift incident was open"
    there = add_incident(worker, 1, 1, incident("age", hour(1), hour(1), is_open=True))
    over = add_incident(worker, 1, 1, incident("city", hour(0), hour(9), is_open=False))
    add_incident(worker, 1, 1, incident("ms", hour(0), hour(1), is_open=False))
    add_incident(worker, 1, 1, incident("score", hour(3), hour(9), is_open=True))
    assert surroundings(worker, group, numbers).quality == (
        f"drift of city (incident {over.id}), age (incident {there.id}) was open"
    )
    other, numbers = told(worker, about=Subject.DISTRIBUTION)
    assert surroundings(worker, other, numbers).quality == (
        "nothing about quality: no labelled window had ended"
    )


def test_the_share_of_the_requests_is_that_of_its_deployments_in_its_window(
    worker: Connection,
) -> None:
    group, _ = told(worker)
    alert = group.entries[0].alert
    known = KnownModel(worker, 1, 1, "credit", NOW)
    assert known.traffic_of(alert) is None
    for deployment, at, n in ((3, 1, 30), (1, 1, 70), (3, 2, 900), (1, 0, 900)):
        worker.execute(
            sa.insert(profile).values(
                project_id=1, model_id=1, deployment_id=deployment, leg="live", segment_id=0,
                binning_id=0, part=int(PartKind.SERVING), grain=int(Grain.HOUR),
                window_start=hour(at), contract_version=1, n=n, body=b"",
            )
        )  # fmt: skip
    known = KnownModel(worker, 1, 1, "credit", NOW)
    assert known.traffic_of(alert) == TrafficShare(30, 100)
    everything = Labels(tuple(pair for pair in SUBJECT.pairs if pair[0] != "deployment"))
    assert known.traffic_of(replace(alert, labels=everything)) is None
    assert known.data_until == hour(3)
    assert known.changed_before(alert) == (Changed("runtime_version", "1", "3", "3", hour(1)),)


def test_an_alert_of_an_unknown_model_is_told_with_what_is_known(worker: Connection) -> None:
    group, numbers = told(worker)
    labels = Labels.of(model="of another time")
    entry = group.entries[0]
    other = replace(entry, alert=replace(entry.alert, labels=labels))
    known = surroundings(worker, replace(group, entries=(other,)), numbers)
    assert (known.quality, known.traffic, known.changed) == (None, None, ())
    assert known.evidence_link == "https://pages.example.org/model?model=of+another+time"
    assert known.acknowledge_link is not None
