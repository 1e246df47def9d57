"""What people do about responses: run one, return to the former state, stop all, let them go on.

Each is one transaction. What is refused is stored like what is done: who wanted what, and why not.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from alerts.actions import ActionState, Decision, Refusal, may_run
from alerts.responses import AutomaticAction, DefinedResponse
from monitor.errors import ActionNotOpen, ConfigurationError, Problem
from monitor.store.action_orders import (
    Outside,
    Wanted,
    ask,
    ask_return,
    by_hand,
    consider,
    store_refusal,
)
from monitor.store.action_switch import is_stopped, set_switch, withdraw_orders
from monitor.store.actions import StoredAction, find_action
from monitor.store.alert_book import find_alert, lock_alerts, rules_in_force
from monitor.store.engine import Role, transaction
from monitor.store.hand_over import MAX_COMMENT, MAX_NAME
from monitor.store.tables import response_action


def run_response(
    engine: Engine,
    project_id: int,
    alert_number: int,
    by: str,
    now: datetime,
    outside: Outside,
    *,
    dry_run: bool = False,
    role: Role = Role.WORKER,
) -> StoredAction:
    """A person starts the response of an alert; the action, which may be refused.

    A response without an automatic action is recorded as carried out by this person, who reports
    its outcome. Raises UnknownSubject when there is no such alert, ConfigurationError when the name
    can't be used.
    """
    by = checked_name(by)
    with transaction(engine, project_id, role) as connection:
        lock_alerts(connection, project_id)
        wanted = _wanted(connection, project_id, alert_number, by, dry_run=dry_run)
        request, decision = consider(connection, project_id, wanted, now)
        if decision.reason is Refusal.NOT_AUTOMATIC:
            decision = _decide_by_hand(wanted)
            if decision.state is ActionState.REQUESTED:
                return by_hand(connection, project_id, wanted, request, now)
        if decision.state is not ActionState.REQUESTED:
            return store_refusal(connection, project_id, wanted, request, decision, now)
        return ask(connection, project_id, wanted, request, now, outside)


def _wanted(
    connection: Connection, project_id: int, alert_number: int, by: str, *, dry_run: bool
) -> Wanted:
    alert, judged_by, _ = find_alert(connection, project_id, alert_number)
    rules = rules_in_force(connection, project_id)
    if rules is None:
        raise AssertionError("an alert has rules it was judged by, so some are in force")
    rule = rules.config.rule(alert.rule) or judged_by
    named = (each for each in rules.config.responses if each.name == rule.response_name)
    response = next(named, DefinedResponse(rule.response.value, rule.response))
    only_dry = response.automatic is not None and response.automatic.dry_run
    return Wanted(
        config=rules.config,
        rule=rule,
        response=response,
        alert=alert,
        alert_number=alert_number,
        by=by,
        dry_run=dry_run or only_dry,
    )


def _decide_by_hand(wanted: Wanted) -> Decision:
    response, by = wanted.response, wanted.by or ""
    if not may_run(wanted.config, response, by):
        named = ", ".join(response.may_run)
        text = f"{by} may not run {response.name}; these may: {named}"
        return Decision(ActionState.REFUSED, Refusal.MAY_NOT_RUN, text)
    if not wanted.alert.is_open:
        text = f"the alert is {wanted.alert.state}"
        return Decision(ActionState.REFUSED, Refusal.NOT_FIRING, text)
    if wanted.dry_run:
        text = f"response {response.name} has no automatic action, so there is nothing to try"
        return Decision(ActionState.REFUSED, Refusal.NOT_AUTOMATIC, text)
    return Decision(ActionState.REQUESTED)


def return_action(
    engine: Engine,
    project_id: int,
    number: int,
    by: str,
    now: datetime,
    outside: Outside,
    *,
    role: Role = Role.WORKER,
) -> StoredAction:
    """A person asks for the state before an action, ahead of its expiry; the action that does so.

    Raises UnknownSubject when there is no such action, ActionNotOpen when there is nothing to
    return from or actions are stopped.
    """
    by = checked_name(by)
    with transaction(engine, project_id, role) as connection:
        lock_alerts(connection, project_id)
        done = find_action(connection, project_id, number, lock=True)
        mistake = _not_returnable(connection, project_id, done)
        if mistake is not None:
            raise ActionNotOpen(f"action {number} can't be returned from: {mistake}")
        within = _answer_time(connection, project_id, done.response)
        return ask_return(connection, project_id, done, by, within, now, outside)


def _not_returnable(connection: Connection, project_id: int, done: StoredAction) -> str | None:
    if is_stopped(connection, project_id):
        return "actions are stopped; `inferwatch respond resume` lets them go on"
    if done.state is not ActionState.DONE:
        return f"it is {done.state}, not done"
    if done.dry_run or done.returns is not None or done.receiver is None:
        kind = "a dry run" if done.dry_run else "a return itself" if done.returns else "by hand"
        return f"it is {kind}"
    row = response_action.c
    back = connection.scalar(
        sa.select(row.id)
        .where(row.project_id == project_id, row.returns == done.number)
        .where(row.state == ActionState.REQUESTED.value)
        .limit(1)
    )
    return f"action {back} does that already" if back is not None else None


def _answer_time(connection: Connection, project_id: int, response: str) -> timedelta:
    rules = rules_in_force(connection, project_id)
    responses = rules.config.responses if rules is not None else ()
    found = next((each.automatic for each in responses if each.name == response), None)
    return (found or AutomaticAction("")).outcome_within


def stop_actions(
    engine: Engine,
    project_id: int,
    by: str,
    reason: str,
    now: datetime,
    *,
    role: Role = Role.WORKER,
) -> list[int]:
    """Nothing is asked of any deployment system from now on; the actions that were withdrawn.

    With a page's rights the worker withdraws them a moment later. Raises ConfigurationError when
    name or reason can't be used.
    """
    by, reason = checked_name(by), _checked_reason(reason)
    with transaction(engine, project_id, role) as connection:
        lock_alerts(connection, project_id)
        set_switch(connection, project_id, stopped=True, by=by, reason=reason, now=now)
        if role is Role.DASHBOARD:
            return []
        return withdraw_orders(connection, project_id, now, late_only=False)


def resume_actions(
    engine: Engine,
    project_id: int,
    by: str,
    reason: str,
    now: datetime,
    *,
    role: Role = Role.WORKER,
) -> None:
    """Actions go on; what is due then is asked for. Errors as above."""
    by, reason = checked_name(by), _checked_reason(reason)
    with transaction(engine, project_id, role) as connection:
        lock_alerts(connection, project_id)
        set_switch(connection, project_id, stopped=False, by=by, reason=reason, now=now)


def checked_name(by: str) -> str:
    """The name of who acts; ConfigurationError when it can't be used."""
    by = by.strip()
    if not 1 <= len(by) <= MAX_NAME or not by.isprintable():
        message = f"write who you are in 1 to {MAX_NAME} printable characters"
        raise ConfigurationError("command", [Problem("by", message)])
    return by


def _checked_reason(reason: str) -> str:
    reason = reason.strip()
    if not 1 <= len(reason) <= MAX_COMMENT or "\0" in reason:
        message = f"say why in 1 to {MAX_COMMENT} characters, none of them U+0000"
        raise ConfigurationError("command", [Problem("reason", message)])
    return reason
