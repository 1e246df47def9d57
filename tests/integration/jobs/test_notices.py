"""Notices over a real database: planned in one transaction, by several processes, after silences,
for ten thousand alerts; and what the commands say of them."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from alerts.model import Alert, AlertState, Labels, ResolvedReason
from alerts.rules import Matcher
from monitor.errors import ConfigurationError, UnknownSubject
from monitor.jobs.notify import notify
from monitor.store.alert_book import (
    find_alert,
    lock_alerts,
    plan_now,
    rules_in_force,
    save_alerts,
)
from monitor.store.engine import Role, transaction
from monitor.store.explained import explain_alert
from monitor.store.hand_over import acknowledge_alert, apply_alert_rules, resolve_alert
from monitor.store.notices import hold_clock, is_plan_due, set_clock
from monitor.store.silences import WantedSilence, add_silence, end_silence
from tests.factories import rows_of

NOW = datetime(2026, 3, 3, 10, tzinfo=UTC)
RULES = """\
owners:
  - name: risk-ml
    people: [ada@example.org]
    receiver: on-call
    escalation: [{after: 5m, to: [backup]}]
receivers:
  - {name: on-call, channel: webhook, url_env: U, secret_env: S}
  - {name: backup, channel: webhook, url_env: U, secret_env: S}
route: {group_by: [model], group_wait: 30s}
delivery: {longest_silence: 7d}
rules:
  - name: moved
    when: {check: drift}
    above: 0.2
    severity: page
    owner: risk-ml
    response: investigate
    runbook: docs/moved.md
    impact: Wrong scores.
"""


def after(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


@pytest.fixture
def ruled(engine: Engine, project_id: int) -> Engine:
    apply_alert_rules(engine, project_id, RULES, name="alerts.yaml", by="ada", now=NOW)
    return engine


def fire(engine: Engine, names: list[str], minute: float = 0, model: str = "m1") -> list[int]:
    """Alerts of the rule on these columns fire; their numbers."""
    moment = after(minute)
    with transaction(engine, 1, Role.WORKER) as connection:
        lock_alerts(connection, 1)
        rules = rules_in_force(connection, 1)
        assert rules is not None
        rule = rules.config.rules[0]
        made = []
        for name in names:
            labels = Labels.of(project="default", model=model, check="drift", column=name)
            made.append(
                Alert(
                    labels.fingerprint(rule.name), rule.name, labels, state=AlertState.FIRING,
                    episode=1, since=moment, pending_since=moment, fired_at=moment,
                    noticed_at=moment, excess=0.1,
                )
            )  # fmt: skip
        found = save_alerts(connection, 1, [(each, rule) for each in made], rules.version)
        return [found[each.fingerprint] for each in made]


def plan_at(engine: Engine, minute: float) -> int:
    return notify(engine, 1, after(minute), "https://pages.test")


def messages(engine: Engine) -> list[tuple[str, str, int]]:
    query = "select receiver, event_type, cardinality(alert_ids) as n from delivery order by id"
    return [
        (row.receiver, row.event_type.removeprefix("finding."), row.n)
        for row in rows_of(engine, 1, query)
    ]


def due_at(engine: Engine) -> datetime | None:
    (row,) = rows_of(engine, 1, "select due_at from notice_clock")
    found: datetime | None = row.due_at
    return found


def test_the_plan_is_made_when_its_time_has_come_and_not_before(ruled: Engine) -> None:
    fire(ruled, ["a"])
    assert plan_at(ruled, 0) == 0
    assert due_at(ruled) == after(0.5)
    fire(ruled, ["b", "c"], minute=1 / 60)
    assert plan_at(ruled, 1 / 60) == 0
    assert plan_at(ruled, 0.4) == 0
    assert plan_at(ruled, 0.5) == 1
    assert messages(ruled) == [("on-call", "opened", 3)]
    assert plan_at(ruled, 0.6) == 0


def test_pub_061_two_notifiers_at_once_still_give_one_message(ruled: Engine) -> None:
    fire(ruled, ["a", "b", "c"])
    start = threading.Barrier(4)
    owed: list[int] = []

    def one() -> None:
        start.wait()
        owed.append(plan_at(ruled, 1))

    threads = [threading.Thread(target=one) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(owed) == [0, 0, 0, 1]
    assert messages(ruled) == [("on-call", "opened", 3)]


def test_a_page_climbs_when_nobody_takes_it_on_or_when_it_reaches_nobody(ruled: Engine) -> None:
    (number,) = fire(ruled, ["a"])
    plan_at(ruled, 1)
    assert plan_at(ruled, 2) == 0
    assert plan_at(ruled, 3) == 1  # waiting for two minutes: nobody delivers in this test
    assert messages(ruled)[-1] == ("backup", "opened", 1)
    acknowledge_alert(ruled, 1, number, "ada", "", after(4))
    resolve_alert(ruled, 1, number, "ada", "fixed", after(5))
    plan_at(ruled, 5)
    assert sorted(messages(ruled)[-2:]) == [("backup", "resolved", 1), ("on-call", "resolved", 1)]
    assert rows_of(ruled, 1, "select settled from alert")[0].settled


def test_a_page_does_not_climb_because_a_later_one_that_lists_it_reached_nobody(
    ruled: Engine,
) -> None:
    fire(ruled, ["a"])
    plan_at(ruled, 1)
    with transaction(ruled, 1, Role.WORKER) as connection:
        connection.execute(sa.text("update delivery set state = 'sent'"))
    (late,) = fire(ruled, ["b"], minute=2)
    plan_at(ruled, 2)
    plan_at(ruled, 4.1)
    query = "select alert_ids from delivery where receiver = 'backup'"
    assert [row.alert_ids for row in rows_of(ruled, 1, query)] == [[late]]


def test_a_page_that_was_taken_in_time_climbs_by_its_step(ruled: Engine) -> None:
    fire(ruled, ["a"])
    plan_at(ruled, 1)
    with transaction(ruled, 1, Role.WORKER) as connection:
        connection.execute(sa.text("update delivery set state = 'sent'"))
    assert plan_at(ruled, 3) == 0
    assert plan_at(ruled, 5.9) == 0
    assert plan_at(ruled, 6) == 1
    assert messages(ruled)[-1] == ("backup", "opened", 1)


def silence(until: float, **labels: str) -> WantedSilence:
    matchers = tuple(Matcher(name, (value,)) for name, value in labels.items())
    return WantedSilence(matchers, NOW, after(until), "ada", "planned work")


def test_pub_064_the_end_of_a_silence_tells_what_still_fires(ruled: Engine) -> None:
    add_silence(ruled, 1, silence(60, model="m1"), NOW)
    fire(ruled, ["a"])
    assert plan_at(ruled, 1) == 0
    assert due_at(ruled) == after(60)
    assert plan_at(ruled, 59) == 0
    assert plan_at(ruled, 60) == 1


def test_a_silence_that_is_ended_by_hand_tells_at_once(ruled: Engine) -> None:
    made = add_silence(ruled, 1, silence(60, model="m*"), NOW)
    fire(ruled, ["a"])
    plan_at(ruled, 1)
    end_silence(ruled, 1, made.id, "grace", after(10))
    assert plan_at(ruled, 10) == 1
    row = rows_of(ruled, 1, "select ended_by, ended_at, ends_at from silence")[0]
    assert (row.ended_by, row.ended_at, row.ends_at) == ("grace", after(10), after(10))
    with pytest.raises(ConfigurationError, match="is over since"):
        end_silence(ruled, 1, made.id, "grace", after(11))
    with pytest.raises(UnknownSubject, match="no silence 999"):
        end_silence(ruled, 1, 999, "grace", after(11))


def test_every_mistake_of_a_silence_is_told_at_once(ruled: Engine) -> None:
    long = WantedSilence((Matcher("model", ("*",)),), NOW, after(8 * 24 * 60), " ", "")
    with pytest.raises(ConfigurationError) as caught:
        add_silence(ruled, 1, long, NOW)
    told = str(caught.value)
    for part in ("who you are", "write why", "keep everything quiet", "lasts at most 7d"):
        assert part in told
    with pytest.raises(ConfigurationError, match="must end after it begins"):
        add_silence(ruled, 1, replace(silence(1, model="m1"), ends_at=NOW), NOW)
    with pytest.raises(ConfigurationError, match="must lie in the future"):
        add_silence(ruled, 1, silence(1, model="m1"), after(2))


def test_new_rules_are_planned_by_at_once(ruled: Engine) -> None:
    fire(ruled, ["a"])
    plan_at(ruled, 0)
    sooner = RULES.replace("group_wait: 30s", "group_wait: 5s")
    apply_alert_rules(ruled, 1, sooner, name="alerts.yaml", by="ada", now=after(0.2))
    assert plan_at(ruled, 0.2) == 1


def test_an_end_reaches_a_receiver_that_the_rules_route_to_no_more(ruled: Engine) -> None:
    (number,) = fire(ruled, ["a"])
    plan_at(ruled, 1)
    elsewhere = RULES.replace("    receiver: on-call\n", "    receiver: backup\n", 1)
    apply_alert_rules(ruled, 1, elsewhere, name="alerts.yaml", by="ada", now=after(1))
    with transaction(ruled, 1, Role.WORKER) as connection:
        connection.execute(sa.text("update delivery set state = 'sent'"))
    resolve_alert(ruled, 1, number, "ada", "fixed", after(2))
    plan_at(ruled, 2)
    assert ("on-call", "resolved", 1) in messages(ruled)


def test_an_explanation_names_silence_group_and_what_receivers_know(ruled: Engine) -> None:
    (number,) = fire(ruled, ["a"])
    plan_at(ruled, 1)
    add_silence(ruled, 1, silence(60, rule="moved"), after(1))
    with transaction(ruled, 1, Role.WORKER) as connection:
        found = explain_alert(connection, 1, number, after(2))
    assert [(each.receiver, each.step, each.group) for each in found.ways] == [
        ("on-call", 0, "default/m1"),
        ("backup", 1, "default/m1"),
    ]
    assert "planned work" in found.holds[0].text
    assert found.ways[0].told is not None
    assert found.ways[1].told is None


def test_an_end_says_its_reason_also_of_an_earlier_episode(ruled: Engine) -> None:
    (number,) = fire(ruled, ["a"])
    plan_at(ruled, 1)
    resolve_alert(ruled, 1, number, "ada", "by hand", after(2))
    plan_at(ruled, 2)
    body = rows_of(ruled, 1, "select body from delivery order by id desc limit 1")[0].body
    assert body["body"]["data"]["alerts"][0]["reason"] == ResolvedReason.CLOSED_BY_HAND


def test_ten_thousand_alerts_are_three_pages(ruled: Engine) -> None:
    for number in range(20):
        fire(ruled, [f"c{n}" for n in range(500)], model=f"m{number}")
    for minute in (0.5, 0.55, 0.7, 1, 2):
        plan_at(ruled, minute)
    assert messages(ruled) == [
        ("on-call", "opened", 500), ("on-call", "opened", 500), ("on-call", "storm", 9000),
    ]  # fmt: skip
    told = "select count(*) as n from alert where body->'told'->'on-call'->>'event' = 'opened'"
    assert rows_of(ruled, 1, told)[0].n == 10_000
    with transaction(ruled, 1, Role.WORKER) as connection:
        number = rows_of(ruled, 1, "select min(id) as n from alert")[0].n
        assert find_alert(connection, 1, number)[0].told["on-call"].group == (("model", "m0"),)


def test_a_plan_that_is_wanted_while_one_is_made_is_not_taken_for_made(ruled: Engine) -> None:
    """A page is given up while a plan runs that did not see it: the next plan must come at once."""
    fire(ruled, ["age"])
    wanted = threading.Event()

    def want() -> None:
        with transaction(ruled, 1, Role.WORKER) as connection:
            plan_now(connection, 1)
        wanted.set()

    other = threading.Thread(target=want)
    with transaction(ruled, 1, Role.WORKER) as connection:
        lock_alerts(connection, 1)
        hold_clock(connection, 1)
        other.start()
        assert not wanted.wait(0.5)
        set_clock(connection, 1, None)
    other.join(10)
    assert wanted.is_set()
    with transaction(ruled, 1, Role.WORKER) as connection:
        assert is_plan_due(connection, 1, NOW)
