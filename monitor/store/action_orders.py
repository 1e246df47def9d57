"""From a response that is wanted to an action: its facts gathered, held against the limits, stored.

Whoever calls holds the project's alert lock. An action that is asked for is a row and its message
in the outbox, written together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from alerts.action_message import ActionOrder, AlertFacts, action_message
from alerts.actions import (
    ActionRequest,
    ActionState,
    Decision,
    ServingDeployment,
    decide,
    past_since,
    target_percent,
)
from alerts.config import AlertConfig
from alerts.model import Alert, Standing
from alerts.responses import DefinedResponse
from alerts.rules import Rule
from alerts.silences import Silence
from alerts.subjects import facts_of
from alerts.summaries import alert_link, summary_of
from monitor.store.action_switch import is_stopped
from monitor.store.actions import (
    StoredAction,
    add_action,
    change_action,
    find_action,
    past_actions,
)
from monitor.store.live_share import live_share
from monitor.store.outbox import owe
from monitor.store.tables import deployment, model

_NUMBERS = re.compile(r"[0-9]{1,9}(\+[0-9]{1,9})*")

BY_HAND_WITHIN = timedelta(hours=4)
"""How soon a person says what became of a response that is carried out by hand."""


@dataclass(frozen=True)
class Outside:
    """Addresses of the pages and of the HTTP API, as they are reached from outside."""

    pages: str
    api: str


@dataclass(frozen=True)
class Wanted:
    """A response that is wanted for an alert: by its rule, or by a person when `by` names one."""

    config: AlertConfig
    rule: Rule
    response: DefinedResponse
    alert: Alert
    alert_number: int | None
    by: str | None = None
    dry_run: bool = False
    drill: bool = False
    silences: tuple[Silence, ...] = ()

    @property
    def asked_by(self) -> str:
        """For the row and the message."""
        return self.by or f"rule {self.rule.name}"

    @property
    def deployments(self) -> tuple[int, ...]:
        """Numbers of the deployments that the alert names; none when it is about all of them."""
        return deployment_numbers(self.alert.labels.get("deployment", ""))


def deployment_numbers(label: str) -> tuple[int, ...]:
    """The numbers in a label such as `3` or `3+4`; none when it holds anything else."""
    found = _NUMBERS.fullmatch(label)
    return tuple(int(each) for each in label.split("+")) if found is not None else ()


def consider(
    connection: Connection, project_id: int, wanted: Wanted, now: datetime
) -> tuple[ActionRequest, Decision]:
    """Gather what the limits need to know and decide. Nothing is stored."""
    name = wanted.alert.labels.get("model", "")
    model_id = connection.scalar(
        sa.select(model.c.id).where(model.c.project_id == project_id, model.c.name == name)
    )
    numbers = wanted.deployments
    served: tuple[ServingDeployment, ...] = ()
    share = None
    if model_id is not None:
        served = named_deployments(connection, project_id, numbers, model_id=int(model_id))
        share = live_share(connection, project_id, int(model_id), numbers)
    request = ActionRequest(
        response=wanted.response,
        alert=wanted.alert,
        deployments=served,
        share=share,
        by=wanted.by,
        quiet=quiet_reason(wanted.alert, wanted.rule, wanted.silences, now),
        drill=wanted.drill,
    )
    automatic = wanted.response.automatic
    past = (
        past_actions(
            connection, project_id, past_since(automatic, now), dry_run=automatic.dry_run
        )
        if automatic is not None
        else ()
    )  # fmt: skip
    stopped = is_stopped(connection, project_id)
    return request, decide(wanted.config, request, past, stopped=stopped, now=now)


def quiet_reason(
    alert: Alert, rule: Rule, silences: Sequence[Silence], now: datetime
) -> str | None:
    """Why nobody is to be told of an alert now, for people; None when nothing keeps it quiet."""
    if alert.standing is Standing.ARCHIVED:
        return "archived"
    if alert.snoozed_until is not None and alert.snoozed_until > now:
        return "snoozed"
    facts = facts_of(alert.labels, rule)
    held = next((each for each in silences if each.holds(facts, now)), None)
    return f"silenced by {held.author}" if held is not None else None


def store_refusal(
    connection: Connection,
    project_id: int,
    wanted: Wanted,
    request: ActionRequest,
    decision: Decision,
    now: datetime,
    waiting: int | None = None,
) -> StoredAction:
    """Store an action that is refused or waits, in the row of the one that waited."""
    values = _values(wanted, request, now) | {
        "state": decision.state.value,
        "reason": decision.reason.value if decision.reason else None,
    }
    values["body"] = {**values["body"], "text": decision.text}
    return find_action(connection, project_id, _put(connection, project_id, values, waiting))


def ask(
    connection: Connection,
    project_id: int,
    wanted: Wanted,
    request: ActionRequest,
    now: datetime,
    outside: Outside,
    waiting: int | None = None,
) -> StoredAction:
    """Ask for an action that the limits allow: a row, and its message in the outbox.

    `waiting` is the number of the row of this action while it waited.
    """
    automatic = wanted.response.automatic
    if automatic is None:
        raise AssertionError("a response without an automatic action is carried out by hand")
    expires = None
    if not wanted.dry_run and automatic.expires_after is not None:
        expires = now + automatic.expires_after
    values = _values(wanted, request, now) | {
        "state": ActionState.REQUESTED.value,
        "reason": None,
        "outcome_due_at": now + automatic.outcome_within,
        "expires_at": expires,
    }
    values["body"] = {**values["body"], "receiver": automatic.receiver}
    number = _put(connection, project_id, values, waiting)
    facts = AlertFacts(
        number=wanted.alert_number,
        rule=wanted.rule.name,
        finding_id=wanted.alert.key.finding_id,
        labels=dict(wanted.alert.labels),
        summary=summary_of(wanted.rule, wanted.alert.labels, wanted.alert.last_judged),
        link=alert_link(outside.pages, wanted.alert.fingerprint),
    )
    return _owe(connection, project_id, number, facts, request.deployments, now, outside)


def by_hand(
    connection: Connection, project_id: int, wanted: Wanted, request: ActionRequest, now: datetime
) -> StoredAction:
    """Record that a person carries a response out; the outcome is theirs to report."""
    values = _values(wanted, request, now) | {
        "state": ActionState.REQUESTED.value,
        "outcome_due_at": now + BY_HAND_WITHIN,
    }
    values["body"] = {**values["body"], "text": f"carried out by {wanted.by}", "to_percent": None}
    return find_action(connection, project_id, add_action(connection, project_id, values))


def ask_return(
    connection: Connection,
    project_id: int,
    done: StoredAction,
    by: str,
    within: timedelta,
    now: datetime,
    outside: Outside,
) -> StoredAction:
    """Ask for the state before an action again."""
    values = {
        "alert_id": done.alert_number,
        "episode": done.episode,
        "rule": done.rule,
        "response": done.response,
        "action": done.action.value,
        "model": done.model,
        "deployment_ids": list(done.deployments),
        "dry_run": False,
        "drill": False,
        "state": ActionState.REQUESTED.value,
        "requested_by": by,
        "requested_at": now,
        "outcome_due_at": now + within,
        "returns": done.number,
        "body": {
            "project": done.project,
            "to_percent": done.from_percent,
            "from_percent": done.to_percent,
            "former": dict(done.former) if done.former is not None else None,
            "receiver": done.receiver,
        },
    }
    number = add_action(connection, project_id, values)
    served = named_deployments(connection, project_id, done.deployments)
    facts = AlertFacts(done.alert_number, done.rule, "", {"project": done.project})
    return _owe(connection, project_id, number, facts, served, now, outside)


def named_deployments(
    connection: Connection,
    project_id: int,
    numbers: Sequence[int],
    *,
    model_id: int | None = None,
) -> tuple[ServingDeployment, ...]:
    """Deployments with their names and tags, in the order of their numbers."""
    row = deployment.c
    query = sa.select(row.id, row.name, row.tags).where(
        row.project_id == project_id, row.id.in_(list(numbers))
    )
    if model_id is not None:
        query = query.where(row.model_id == model_id)
    found = connection.execute(query.order_by(row.id))
    return tuple(ServingDeployment(each.id, each.name, dict(each.tags)) for each in found)


def _put(
    connection: Connection, project_id: int, values: dict[str, Any], number: int | None
) -> int:
    if number is None:
        return add_action(connection, project_id, values)
    change_action(connection, project_id, number, **values)
    return number


def _values(wanted: Wanted, request: ActionRequest, now: datetime) -> dict[str, Any]:
    return {
        "alert_id": wanted.alert_number,
        "episode": wanted.alert.episode,
        "rule": wanted.rule.name,
        "response": wanted.response.name,
        "action": wanted.response.action.value,
        "model": wanted.alert.labels.get("model", ""),
        "deployment_ids": list(wanted.deployments),
        "dry_run": wanted.dry_run,
        "drill": wanted.drill,
        "requested_by": wanted.asked_by,
        "requested_at": now,
        "body": {
            "project": wanted.alert.labels.get("project", ""),
            "to_percent": target_percent(wanted.response),
            "from_percent": request.share,
        },
    }


def _owe(
    connection: Connection,
    project_id: int,
    number: int,
    facts: AlertFacts,
    served: tuple[ServingDeployment, ...],
    now: datetime,
    outside: Outside,
) -> StoredAction:
    action = find_action(connection, project_id, number)
    key = f"act_{project_id}_{number}"
    if action.receiver is None or action.outcome_due_at is None:
        raise AssertionError("an action that is asked for has a receiver and a time for its answer")
    order = ActionOrder(
        number=number,
        project=action.project,
        model=action.model,
        response=action.response,
        action=action.action,
        receiver=action.receiver,
        deployments=served,
        to_percent=action.to_percent,
        from_percent=action.from_percent,
        dry_run=action.dry_run,
        drill=action.drill,
        requested_by=action.requested_by,
        answer_by=action.outcome_due_at,
        alert=facts,
        outcome_url=f"{outside.api.rstrip('/')}/v1/actions/{number}/outcome",
        expires_at=action.expires_at,
        returns=action.returns,
        former=action.former if action.returns is not None else None,
    )
    numbers = [action.alert_number] if action.alert_number is not None else []
    owe(connection, project_id, key, action_message(order, now), numbers, now)
    change_action(connection, project_id, number, delivery_key=key)
    return replace(action, delivery_key=key)
