"""The respond tick: starts automatic actions of firing alerts and asks for former states again.

Driven by state: which alerts fire, and which actions there are, decide what is done. A response
acts once in an episode of an alert. Alerts that would ask the same of the same deployments are one
target: the first that may act does, and the others rely on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy.engine import Connection, Engine

from alerts.actions import ActionRequest, ActionState, Decision, Refusal
from alerts.deeds import response_expired
from alerts.responses import DAY, AutomaticAction, DefinedResponse
from monitor.store.action_orders import (
    Outside,
    Wanted,
    ask,
    ask_return,
    consider,
    store_refusal,
)
from monitor.store.action_switch import is_stopped, withdraw_orders
from monitor.store.action_targets import (
    Target,
    acted_in_episode,
    end_waiting,
    expired_actions,
    firing_targets,
    history_of,
    note_undelivered,
)
from monitor.store.actions import ASKED, StoredAction
from monitor.store.alert_book import (
    RulesInForce,
    find_alert,
    lock_alerts,
    rules_in_force,
    save_alerts,
    save_transitions,
)
from monitor.store.engine import Role, transaction
from monitor.store.silences import silences_at

OF_ONE_ALERT = frozenset((Refusal.KEPT_QUIET, Refusal.OUT_OF_SCOPE, Refusal.NOT_ACKNOWLEDGED))
"""What stands in the way of one alert, and perhaps not of another one on the same target."""

DRY_RUN_HOLDS = timedelta(hours=1)
USUAL_ANSWER = timedelta(minutes=5)


def respond(engine: Engine, project_id: int, now: datetime, outside: Outside) -> int:
    """Do what is due in a project; how many actions were asked for."""
    with transaction(engine, project_id, Role.WORKER) as connection:
        rules = rules_in_force(connection, project_id)
        stopped = is_stopped(connection, project_id)
        withdraw_orders(connection, project_id, now, late_only=not stopped)
        end_waiting(connection, project_id)
        note_undelivered(connection, project_id, now)
        if rules is None or not _is_due(connection, project_id, rules, stopped, now):
            return 0
        lock_alerts(connection, project_id)
        asked = 0
        if not stopped:
            asked += _return_expired(connection, project_id, rules, now, outside)
        for target in firing_targets(connection, project_id, automatic_rules(rules), now):
            asked += _start(connection, project_id, rules, target, now, outside)
        return asked


def automatic_rules(rules: RulesInForce) -> dict[str, DefinedResponse]:
    """The responses with an automatic action, by the names of the rules that name them."""
    by_name = {each.name: each for each in rules.config.responses if each.automatic is not None}
    found = {each.name: by_name.get(each.response_name or "") for each in rules.config.rules}
    return {name: each for name, each in found.items() if each is not None}


def _is_due(
    connection: Connection, project_id: int, rules: RulesInForce, stopped: bool, now: datetime
) -> bool:
    """Whether there may be something to do, before anybody is kept waiting for the lock."""
    if not stopped and expired_actions(connection, project_id, now):
        return True
    targets = firing_targets(connection, project_id, automatic_rules(rules), now)
    return any(_is_open(connection, project_id, each, now) for each in targets)


def _return_expired(
    connection: Connection, project_id: int, rules: RulesInForce, now: datetime, outside: Outside
) -> int:
    expired = expired_actions(connection, project_id, now)
    for each in expired:
        within = answer_time(rules, each.response)
        ask_return(connection, project_id, each, "expiry", within, now, outside)
        if each.alert_number is not None:
            _remind(connection, project_id, each.alert_number, each.episode, now)
    return len(expired)


def _remind(
    connection: Connection, project_id: int, number: int, episode: int, now: datetime
) -> None:
    """The alert still fires: nobody must take the traffic that comes back for a recovery."""
    alert, rule, version = find_alert(connection, project_id, number)
    if not alert.is_firing or alert.episode != episode:
        return
    after, transition = response_expired(alert, now)
    save_alerts(connection, project_id, [(after, rule)], version)
    save_transitions(connection, project_id, [transition], {after.fingerprint: number})


def answer_time(rules: RulesInForce, response: str) -> timedelta:
    """How soon the receiver of a response answers; the response may be gone from the rules."""
    found = next((each for each in rules.config.responses if each.name == response), None)
    automatic = found.automatic if found is not None else None
    return automatic.outcome_within if automatic is not None else USUAL_ANSWER


def _is_open(connection: Connection, project_id: int, target: Target, now: datetime) -> bool:
    """Whether nothing was asked for in this episode, and no action on the target is in force."""
    automatic = _automatic(target)
    asked = _asked(history_of(connection, project_id, target), automatic)
    if acted_in_episode(connection, project_id, asked):
        return False
    return not (asked and _is_in_force(asked[0], automatic, now))


def _asked(history: Sequence[StoredAction], automatic: AutomaticAction) -> list[StoredAction]:
    """Actions that count as the response's own: in earnest, or dry runs where it only makes those.

    The newest first.
    """
    return [
        each for each in history if each.state in ASKED and each.dry_run is automatic.dry_run
    ]  # fmt: skip


def _is_in_force(action: StoredAction, automatic: AutomaticAction, now: datetime) -> bool:
    if action.state is ActionState.DONE:
        return now < (action.expires_at or action.requested_at + max(DAY, automatic.cool_down))
    return action.state is ActionState.REQUESTED


@dataclass(frozen=True)
class _Tried:
    """One alert of a target held against the limits."""

    wanted: Wanted
    request: ActionRequest
    decision: Decision


def _start(
    connection: Connection,
    project_id: int,
    rules: RulesInForce,
    target: Target,
    now: datetime,
    outside: Outside,
) -> int:
    """Ask for the action of a target, or store why not; how many messages became owed."""
    if not _is_open(connection, project_id, target, now):
        return 0
    tried = _best(connection, project_id, rules, target, now)
    history = history_of(connection, project_id, target)
    mine = [
        each
        for each in history
        if each.alert_number == tried.wanted.alert_number
        and each.episode == tried.wanted.alert.episode
    ]
    waiting = next((each.number for each in mine if each.state is ActionState.WAITING), None)
    if tried.decision.state is not ActionState.REQUESTED:
        _say_why(connection, project_id, tried, mine, waiting, now)
        return 0
    wanted = tried.wanted
    if not _automatic(target).dry_run:
        rehearsed = _dry_run(mine, now)
        if rehearsed is None:
            wanted, waiting = replace(wanted, dry_run=True), None
        elif rehearsed.state is not ActionState.DONE:
            if rehearsed.state is ActionState.FAILED or rehearsed.is_overdue(now):
                _say_why(connection, project_id, _failed(tried, rehearsed), mine, waiting, now)
            return 0
    ask(connection, project_id, wanted, tried.request, now, outside, waiting)
    return 1


def _best(
    connection: Connection, project_id: int, rules: RulesInForce, target: Target, now: datetime
) -> _Tried:
    """The first alert that may act, else one that waits, else the first that may not."""
    silences = silences_at(connection, project_id, now)
    found: list[_Tried] = []
    for number in target.alerts:
        alert, _, _ = find_alert(connection, project_id, number)
        rule = rules.config.rule(alert.rule)
        if rule is None:
            raise AssertionError("targets are made of rules in force")
        wanted = Wanted(
            config=rules.config,
            rule=rule,
            response=target.response,
            alert=alert,
            alert_number=number,
            dry_run=_automatic(target).dry_run,
            silences=silences,
        )
        request, decision = consider(connection, project_id, wanted, now)
        found.append(_Tried(wanted, request, decision))
        if decision.reason not in OF_ONE_ALERT:
            break
    order = (ActionState.REQUESTED, ActionState.WAITING, ActionState.REFUSED)
    return min(found, key=lambda each: order.index(each.decision.state))


def _dry_run(mine: Sequence[StoredAction], now: datetime) -> StoredAction | None:
    """The newest dry run for this alert; one that succeeded long ago says nothing any more."""
    found = next((each for each in mine if each.dry_run and each.state in ASKED), None)
    if found is None or found.state is not ActionState.DONE:
        return found
    return found if found.requested_at > now - DRY_RUN_HOLDS else None


def _failed(tried: _Tried, rehearsed: StoredAction) -> _Tried:
    said = rehearsed.detail or rehearsed.text or "no outcome was reported in time"
    text = f"its dry run, action {rehearsed.number}, did not succeed: {said}"
    return replace(
        tried, decision=Decision(ActionState.REFUSED, Refusal.DRY_RUN_FAILED, text)
    )  # fmt: skip


def _say_why(
    connection: Connection,
    project_id: int,
    tried: _Tried,
    mine: Sequence[StoredAction],
    waiting: int | None,
    now: datetime,
) -> None:
    """Store why an action is not asked for, once as long as the reason stays the same."""
    told = next((each for each in mine if each.state not in ASKED), None)
    same = (tried.decision.state, tried.decision.reason)
    if told is not None and (told.state, told.reason) == same:
        return
    store_refusal(
        connection, project_id, tried.wanted, tried.request, tried.decision, now, waiting
    )  # fmt: skip


def _automatic(target: Target) -> AutomaticAction:
    if target.response.automatic is None:
        raise AssertionError("targets are made of responses with an automatic action")
    return target.response.automatic
