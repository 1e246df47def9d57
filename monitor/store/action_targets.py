"""What automatic actions start from: firing alerts by what would be asked of which deployments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by
from sqlalchemy.engine import Connection

from alerts.actions import ActionState, Refusal
from alerts.model import AlertState, Standing
from alerts.responses import DefinedResponse
from alerts.rules import Matcher
from monitor.store.action_orders import deployment_numbers
from monitor.store.actions import StoredAction, stored_action
from monitor.store.tables import (
    alert,
    delivery,
    delivery_attempt,
    response_action,
)

TRIED = 20
"""How many alerts of one target may be held against the limits in one tick."""

REMEMBERED = 200
"""How many actions of one target are looked back on; enough for a year of one every other day."""


@dataclass(frozen=True)
class Target:
    """Firing alerts that would ask the same of the same deployments.

    `alerts` are the numbers of those that come first: in scope, not kept quiet by a person, taken
    on; then the oldest. `count` is how many there are in all.
    """

    response: DefinedResponse
    model: str
    deployments: tuple[int, ...]
    alerts: tuple[int, ...]
    count: int


def firing_targets(
    connection: Connection,
    project_id: int,
    responses: Mapping[str, DefinedResponse],
    now: datetime,
) -> list[Target]:
    """Targets of firing alerts of these rules; `responses` are theirs, by the rules' names."""
    if not responses:
        return []
    row = alert.c
    deployment = row.body["labels"]["deployment"].astext
    order = (
        _in_scope(responses).desc(),
        _is_loud(now).desc(),
        row.acknowledged_by.is_(None),
        row.id,
    )
    query = (
        sa.select(
            row.rule,
            row.model,
            deployment.label("deployment"),
            sa.func.array_agg(aggregate_order_by(row.id, *order)).label("numbers"),
        )
        .where(row.project_id == project_id, row.state == AlertState.FIRING.value)
        .where(row.rule.in_(list(responses)))
        .group_by(row.rule, row.model, deployment)
        .order_by(sa.func.min(row.id))
    )
    found: dict[tuple[str, str, tuple[int, ...]], list[int]] = {}
    by_name = {each.name: each for each in responses.values()}
    for each in connection.execute(query):
        numbers = deployment_numbers(each.deployment or "")
        key = (responses[each.rule].name, each.model, numbers)
        found.setdefault(key, []).extend(each.numbers)
    return [
        Target(by_name[name], model, numbers, tuple(alerts[:TRIED]), len(alerts))
        for (name, model, numbers), alerts in found.items()
    ]


def _in_scope(responses: Mapping[str, DefinedResponse]) -> sa.ColumnElement[bool]:
    """Whether an alert is one that the action of its rule's response is limited to."""
    fits = []
    for rule, response in responses.items():
        scope = response.automatic.scope if response.automatic is not None else ()
        fits.append(sa.and_(alert.c.rule == rule, *(_matches(each) for each in scope)))
    return sa.or_(*fits)


def _matches(matcher: Matcher) -> sa.ColumnElement[bool]:
    value = sa.func.coalesce(alert.c.body["labels"][matcher.label].astext, "")
    whole = [each for each in matcher.patterns if not each.endswith("*")]
    begun = [each[:-1] for each in matcher.patterns if each.endswith("*")]
    starts = [sa.and_(value != "", value.startswith(each, autoescape=True)) for each in begun]
    return sa.or_(value.in_(whole), *starts)


def _is_loud(now: datetime) -> sa.ColumnElement[bool]:
    """Whether no person asked to hear nothing of an alert; silences apart."""
    row = alert.c
    awake = sa.or_(row.snoozed_until.is_(None), row.snoozed_until <= now)
    return sa.and_(awake, row.standing != Standing.ARCHIVED.value)


def acted_in_episode(
    connection: Connection, project_id: int, asked: Sequence[StoredAction]
) -> bool:
    """Whether one of these actions was asked for by an episode that still goes on."""
    pairs = [(each.alert_number, each.episode) for each in asked if each.alert_number is not None]
    row = alert.c
    query = sa.select(row.id).where(
        row.project_id == project_id,
        row.state == AlertState.FIRING.value,
        sa.tuple_(row.id, row.episode).in_(pairs),
    )
    return bool(pairs) and connection.scalar(query.limit(1)) is not None


def history_of(connection: Connection, project_id: int, target: Target) -> list[StoredAction]:
    """Actions of a target, refused ones too, the newest first; drills and returns apart."""
    row = response_action.c
    numbers = sa.cast(list(target.deployments), ARRAY(sa.Integer))
    query = (
        sa.select(response_action)
        .where(row.project_id == project_id, row.model == target.model)
        .where(row.response == target.response.name, row.deployment_ids == numbers)
        .where(~row.drill, row.returns.is_(None))
        .order_by(row.id.desc())
        .limit(REMEMBERED)
    )
    return [stored_action(each) for each in connection.execute(query)]


def expired_actions(connection: Connection, project_id: int, now: datetime) -> list[StoredAction]:
    """Actions whose time is over and whose former state was not asked for again yet."""
    row, back = response_action.c, response_action.alias("back")
    asked_back = sa.exists().where(back.c.project_id == project_id, back.c.returns == row.id)
    query = (
        sa.select(response_action)
        .where(row.project_id == project_id, row.state == ActionState.DONE.value)
        .where(~row.dry_run, ~row.drill, row.returns.is_(None), row.expires_at <= now)
        .where(~asked_back)
        .order_by(row.id)
    )
    return [stored_action(each) for each in connection.execute(query)]


def end_waiting(connection: Connection, project_id: int) -> None:
    """Refuse the actions that waited for somebody to take on an alert that is over."""
    row = response_action.c
    over = sa.exists().where(
        alert.c.id == row.alert_id,
        alert.c.project_id == project_id,
        sa.or_(
            alert.c.episode != row.episode,
            alert.c.state.not_in((AlertState.FIRING.value, AlertState.RECOVERING.value)),
        ),
    )
    told = sa.func.jsonb_build_object("text", "the alert was over before anybody took it on")
    connection.execute(
        sa.update(response_action)
        .where(row.project_id == project_id, row.state == ActionState.WAITING.value, over)
        .values(
            state=ActionState.REFUSED.value,
            reason=Refusal.NOT_FIRING.value,
            body=row.body.op("||")(told),
        )
    )


def note_undelivered(connection: Connection, project_id: int, now: datetime) -> None:
    """Of actions whose message will not be sent any more no outcome is to be waited for."""
    row, owed = response_action.c, delivery.c
    last = (
        sa.select(delivery_attempt.c.detail)
        .where(delivery_attempt.c.delivery_id == owed.id)
        .order_by(delivery_attempt.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    told = sa.func.concat("not delivered: ", sa.func.coalesce(last, "no attempt was made"))
    connection.execute(
        sa.update(response_action)
        .where(row.project_id == project_id, row.state == ActionState.REQUESTED.value)
        .where(owed.project_id == project_id, owed.delivery_key == row.delivery_key)
        .where(owed.state == "dead", row.outcome_due_at > now)
        .values(
            outcome_due_at=now,
            body=row.body.op("||")(sa.func.jsonb_build_object("text", told)),
        )
    )
