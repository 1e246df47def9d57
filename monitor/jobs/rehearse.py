"""A rehearsal: the whole chain of one rule as a drill, from a made-up reading to the outcome.

Messages and orders go through the outbox to the real receivers, marked as a drill. The alert is
kept nowhere but in the rehearsal's own row: no list, figure or other rule sees it. The action is a
drill and a dry run, so nothing that serves may change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy.engine import Engine

from alerts.actions import ActionState
from alerts.config import AlertConfig
from alerts.deeds import acknowledge, close
from alerts.errors import AlertsError
from alerts.groups import Group
from alerts.messages import render
from alerts.model import Alert, ResolvedReason, ToldEvent
from alerts.notify.plan import Known, plan
from alerts.rehearsal import DRILL_LABEL, RehearsalStep, StepDone, drill_alert
from alerts.rules import Rule
from monitor.errors import ConfigurationError, Problem, UnknownSubject
from monitor.store.action_orders import Outside, Wanted, ask, consider, store_refusal
from monitor.store.actions import StoredAction, find_action
from monitor.store.alert_book import RulesInForce, lock_alerts, rules_in_force
from monitor.store.drill_subject import drill_subject
from monitor.store.engine import Role, transaction
from monitor.store.outbox import owe
from monitor.store.rehearsals import (
    StoredRehearsal,
    begin_rehearsal,
    delivery_states,
    list_rehearsals,
    store_steps,
)
from monitor.store.responding import checked_name

MOST_PLANS = 20
"""How many waits of the plan (a group, a pause between messages) a drill looks past."""


@dataclass(frozen=True)
class Drill:
    """How a rehearsal is run.

    `labels` say what the made-up readings are about where the rule leaves it open.
    `who_took_it_on` is asked once the messages are sent, with the receivers that have them, and
    gives a name or None. `wait` lets a little time pass, in which somebody sends what is owed;
    nothing is waited for longer than `patience`.
    """

    rule: str
    by: str
    labels: Mapping[str, str]
    who_took_it_on: Callable[[Sequence[str]], str | None]
    wait: Callable[[], None]
    clock: Callable[[], datetime]
    patience: timedelta = timedelta(minutes=1)


def rehearse(engine: Engine, project_id: int, drill: Drill, outside: Outside) -> StoredRehearsal:
    """Run the chain of a rule as a drill and store every step; the rehearsal as it went.

    Raises UnknownSubject when no rule in force has this name, ConfigurationError when nobody is
    told of the rule.
    """
    by = checked_name(drill.by)
    with transaction(engine, project_id, Role.WORKER) as connection:
        rules = rules_in_force(connection, project_id)
        rule = _rule(rules, drill.rule)
        if rules is None:
            raise AssertionError("a rule was found, so rules are in force")
        labels = drill_subject(connection, project_id, rules.config, rule, drill.labels)
        number = begin_rehearsal(connection, project_id, rules, rule.name, by, drill.clock())
    drill = replace(drill, by=by, labels=labels)
    run = _Run(engine, project_id, drill, outside, rules, rule, number)
    run.go()
    with transaction(engine, project_id, Role.WORKER) as connection:
        found = list_rehearsals(connection, project_id, rule=rule.name)
        return next(each for each in found if each.number == number)


def _rule(rules: RulesInForce | None, name: str) -> Rule:
    if rules is None:
        raise UnknownSubject("no alert rules are in force; `inferwatch alerts apply` applies some")
    rule = rules.config.rule(name)
    if rule is None:
        known = ", ".join(each.name for each in rules.config.rules)
        raise UnknownSubject(f"no rule {name!r} is in force; there are: {known}")
    if rule.component:
        message = "is part of other rules and told to nobody; rehearse the rules made of it"
        raise ConfigurationError("command", [Problem(f"rule {name}", message)])
    return rule


class _Run:
    """One rehearsal as it goes."""

    def __init__(
        self,
        engine: Engine,
        project_id: int,
        drill: Drill,
        outside: Outside,
        rules: RulesInForce,
        rule: Rule,
        number: int,
    ) -> None:
        self._engine, self._project_id, self._drill = engine, project_id, drill
        self._outside, self._config, self._rule = outside, rules.config, rule
        self._mark = f"rehearsal-{number}"
        self._number = number
        self._messages = 0
        self._steps: list[StepDone] = []

    def go(self) -> None:
        """All steps in order; without an alert or a message there is nothing to go on with."""
        alert = self._fire()
        if alert is not None:
            alert = self._tell(alert, RehearsalStep.MESSAGE)
            alert = self._take_on(alert)
            self._act(alert)
            self._end(alert)
        self._save(passed=all(each.passed for each in self._steps))

    def _fire(self) -> Alert | None:
        now = self._drill.clock()
        try:
            alert, readings = drill_alert(
                self._config, self._rule, self._drill.labels, self._mark, now
            )
        except (AlertsError, ValueError) as error:
            self._note(RehearsalStep.READING, False, f"no reading could be made up: {error}")
            return None
        last = readings[-1]
        told = f"{last.value:g}" if last.value is not None else last.state.value
        windows = f"{len(readings)} made-up readings" if len(readings) > 1 else "a made-up reading"
        self._note(RehearsalStep.READING, True, f"{windows}, the last one {told}")
        if alert is None:
            self._note(RehearsalStep.ALERT, False, "the readings did not make the rule fire")
            return None
        self._note(RehearsalStep.ALERT, True, f"the alert fires as {alert.key.finding_id}")
        return alert

    def _tell(self, alert: Alert, step: RehearsalStep) -> Alert:
        """Owe the messages of the alert and see them delivered; the alert as it is known then."""
        groups, alert, at = _planned(self._config, self._rule, alert, self._drill.clock())
        if not groups:
            self._note(step, step is RehearsalStep.ENDED, at)
            return alert
        keys = [self._owe(each) for each in groups]
        states = self._delivered(keys)
        lost = sorted({receiver for receiver, state in states.values() if state != "sent"})
        got = sorted({receiver for receiver, state in states.values() if state == "sent"})
        told = f"taken by {', '.join(got) or 'nobody'}{at}"
        if lost:
            told += f"; not taken by {', '.join(lost)} within {self._drill.patience.seconds} s"
        self._note(step, not lost, told)
        return alert

    def _owe(self, group: Group) -> str:
        labels = (*group.key.labels, (DRILL_LABEL, self._mark))
        note = f"Rehearsal {self._number} by {self._drill.by}: nothing is wrong. {group.note}"
        marked = replace(
            group, key=replace(group.key, labels=labels), drill=True, note=note.strip()
        )  # fmt: skip
        now = self._drill.clock()
        self._messages += 1
        key = f"drill_{self._project_id}_{self._number}_{self._messages}"
        with transaction(self._engine, self._project_id, Role.WORKER) as connection:
            owe(
                connection, self._project_id, key, render(marked, self._outside.pages, now), (), now
            )
        return key

    def _delivered(self, keys: Sequence[str]) -> dict[str, tuple[str, str]]:
        def states() -> dict[str, tuple[str, str]]:
            with transaction(self._engine, self._project_id, Role.WORKER) as connection:
                return delivery_states(connection, self._project_id, keys)

        self._until(lambda: all(state != "waiting" for _, state in states().values()))
        return states()

    def _until(self, is_done: Callable[[], bool]) -> None:
        end = self._drill.clock() + self._drill.patience
        while not is_done() and self._drill.clock() < end:
            self._drill.wait()

    def _take_on(self, alert: Alert) -> Alert:
        receivers = sorted(alert.told)
        name = self._drill.who_took_it_on(receivers)
        if not name:
            self._note(RehearsalStep.ACKNOWLEDGED, False, "nobody said that it reached them")
            return alert
        name = checked_name(name)
        alert, _ = acknowledge(alert, name, self._drill.clock(), "drill")
        self._note(RehearsalStep.ACKNOWLEDGED, True, f"{name} took it on")
        return alert

    def _act(self, alert: Alert) -> None:
        rule, config = self._rule, self._config
        response = next(
            (each for each in config.responses if each.name == rule.response_name), None
        )
        if response is None or response.automatic is None:
            command = f": {rule.command}" if rule.command else ""
            runbook = f", runbook {rule.runbook}" if rule.runbook else ""
            text = f"{rule.response.value} is carried out by hand{command}{runbook}"
            self._note(RehearsalStep.ACTION, True, text)
            return
        wanted = Wanted(config, rule, response, alert, None, dry_run=True, drill=True)
        now = self._drill.clock()
        with transaction(self._engine, self._project_id, Role.WORKER) as connection:
            lock_alerts(connection, self._project_id)
            request, decision = consider(connection, self._project_id, wanted, now)
            if decision.state is ActionState.REQUESTED:
                action = ask(connection, self._project_id, wanted, request, now, self._outside)
            else:
                action = store_refusal(
                    connection, self._project_id, wanted, request, decision, now
                )  # fmt: skip
        if action.state is not ActionState.REQUESTED:
            self._note(RehearsalStep.ACTION, False, f"{action.reason}: {action.text}")
            return
        asked = f"{response.action} was asked of {action.receiver} as action {action.number}"
        self._note(RehearsalStep.ACTION, True, asked)
        self._await_outcome(action)

    def _await_outcome(self, action: StoredAction) -> None:
        def now_is() -> StoredAction:
            with transaction(self._engine, self._project_id, Role.WORKER) as connection:
                return find_action(connection, self._project_id, action.number)

        self._until(lambda: now_is().state is not ActionState.REQUESTED)
        found = now_is()
        if found.state is ActionState.REQUESTED:
            why = found.text or f"none was reported within {self._drill.patience.seconds} s"
            self._note(RehearsalStep.OUTCOME, False, f"no outcome: {why}")
            return
        said = f": {found.detail}" if found.detail else ""
        done = found.state is ActionState.DONE
        self._note(RehearsalStep.OUTCOME, done, f"{found.outcome} by {found.outcome_by}{said}")

    def _end(self, alert: Alert) -> None:
        now = self._drill.clock()
        ended, _ = close(
            alert, ResolvedReason.CLOSED_BY_HAND, now, by=self._drill.by, comment="end of the drill"
        )
        self._tell(ended, RehearsalStep.ENDED)

    def _note(self, step: RehearsalStep, passed: bool, text: str) -> None:
        self._steps.append(StepDone(step, passed, text, self._drill.clock()))
        self._save(passed=False)

    def _save(self, *, passed: bool) -> None:
        with transaction(self._engine, self._project_id, Role.WORKER) as connection:
            store_steps(connection, self._project_id, self._number, self._steps, passed=passed)


def _planned(
    config: AlertConfig, rule: Rule, alert: Alert, now: datetime
) -> tuple[tuple[Group, ...], Alert, str]:
    """The messages that are due first, the alert as it is then known, and when they would be due.

    A drill does not wait as the plan would: not for the rest of a group, nor until a night is over.
    """
    moment, held = now, ""
    for _ in range(MOST_PLANS):
        made = plan(config, [Known(alert, rule)], (), moment)
        told = made.told.get(alert.fingerprint)
        if told is not None:
            alert = replace(alert, told=told)
        if made.groups:
            late = f" (in earnest at {moment:%Y-%m-%d %H:%M} UTC: {held})" if held else ""
            return made.groups, alert, late
        if made.next_at is None:
            break
        held = made.held.get(alert.fingerprint) or held or "the group is waited for"
        moment = made.next_at
    knew = any(each.event is ToldEvent.ENDED for each in alert.told.values())
    return (), alert, "nobody wants to hear of its end" if knew else "nobody would be told"
