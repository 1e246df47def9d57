"""Actions as rows: what was asked of a deployment system or refused, and what became of it.

An action without an outcome in its time stays in the state `requested`: it is over when somebody
says what became of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection, Engine

from alerts.actions import (
    ActionOutcome,
    ActionState,
    OutcomeReport,
    PastAction,
    Refusal,
    read_answer,
)
from alerts.model import ResponseAction
from monitor.errors import ActionNotOpen, UnknownSubject
from monitor.store.engine import Role, transaction
from monitor.store.tables import response_action

ASKED = (ActionState.REQUESTED, ActionState.DONE, ActionState.FAILED, ActionState.RETURNED)
"""States of actions that were asked for."""


@dataclass(frozen=True)
class StoredAction:
    """One action. `text` says in words why it was refused or waits; shares are in percent.

    `returns` is the number of the action whose former state is asked for again. Without a
    `delivery_key` a person carries it out.
    """

    number: int
    alert_number: int | None
    episode: int
    rule: str
    response: str
    action: ResponseAction
    model: str
    deployments: tuple[int, ...]
    dry_run: bool
    drill: bool
    state: ActionState
    reason: Refusal | None
    text: str
    requested_by: str
    requested_at: datetime
    delivery_key: str | None
    outcome: ActionOutcome | None
    detail: str | None
    outcome_by: str | None
    outcome_at: datetime | None
    outcome_due_at: datetime | None
    expires_at: datetime | None
    returns: int | None
    to_percent: float | None
    from_percent: float | None
    former: Mapping[str, Any] | None = field(default=None, hash=False)
    receiver: str | None = None
    project: str = ""

    def is_overdue(self, now: datetime) -> bool:
        """Whether its outcome should be known by now and is not."""
        due = self.outcome_due_at
        return self.state is ActionState.REQUESTED and due is not None and due <= now


def add_action(connection: Connection, project_id: int, values: Mapping[str, Any]) -> int:
    """Store an action; its number. `values` are columns."""
    statement = sa.insert(response_action).values(project_id=project_id, **values)
    return int(connection.scalar(statement.returning(response_action.c.id)))


def change_action(connection: Connection, project_id: int, number: int, **values: Any) -> None:
    """Change columns of an action."""
    row = response_action.c
    connection.execute(
        sa.update(response_action)
        .where(row.project_id == project_id, row.id == number)
        .values(**values)
    )


def find_action(
    connection: Connection, project_id: int, number: int, *, lock: bool = False
) -> StoredAction:
    """An action by its number; UnknownSubject when there is none."""
    query = sa.select(response_action).where(
        response_action.c.project_id == project_id, response_action.c.id == number
    )
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise UnknownSubject(f"no action {number}; `inferwatch respond list` shows them")
    return stored_action(row)


def list_actions(
    connection: Connection,
    project_id: int,
    *,
    model: str | None = None,
    alert_number: int | None = None,
    states: Sequence[ActionState] = (),
    limit: int = 100,
) -> list[StoredAction]:
    """Actions, the newest first."""
    row = response_action.c
    query = sa.select(response_action).where(row.project_id == project_id)
    if model is not None:
        query = query.where(row.model == model)
    if alert_number is not None:
        query = query.where(row.alert_id == alert_number)
    if states:
        query = query.where(row.state.in_([each.value for each in states]))
    found = connection.execute(query.order_by(row.id.desc()).limit(limit))
    return [stored_action(each) for each in found]


def past_actions(
    connection: Connection, project_id: int, since: datetime, *, dry_run: bool
) -> tuple[PastAction, ...]:
    """Actions that were asked for since then; drills and returns do not count."""
    row = response_action.c
    query = sa.select(row.model, row.response, row.requested_at).where(
        row.project_id == project_id,
        row.requested_at > since,
        row.state.in_([each.value for each in ASKED]),
        row.dry_run == dry_run,
        ~row.drill,
        row.returns.is_(None),
    )
    return tuple(
        PastAction(each.model, each.response, each.requested_at)
        for each in connection.execute(query)
    )


def overdue_actions(connection: Connection, project_id: int, now: datetime) -> dict[str, int]:
    """How many actions of each model have no outcome though their time is over; drills apart."""
    row = response_action.c
    query = (
        sa.select(row.model, sa.func.count())
        .where(row.project_id == project_id, row.state == ActionState.REQUESTED.value, ~row.drill)
        .where(row.outcome_due_at <= now)
        .group_by(row.model)
    )
    return {model: int(count) for model, count in connection.execute(query)}


def report_outcome(
    engine: Engine,
    project_id: int,
    number: int,
    report: OutcomeReport,
    by: str,
    now: datetime,
    *,
    role: Role = Role.WORKER,
) -> StoredAction:
    """Record what became of an action; the same report again changes nothing.

    Raises UnknownSubject when there is no such action, ActionNotOpen when it was never asked for or
    has another outcome already.
    """
    with transaction(engine, project_id, role) as connection:
        action = find_action(connection, project_id, number, lock=True)
        record_outcome(connection, project_id, action, report, by, now)
        return find_action(connection, project_id, number)


def record_outcome(
    connection: Connection,
    project_id: int,
    action: StoredAction,
    report: OutcomeReport,
    by: str,
    now: datetime,
) -> None:
    """The same in an open transaction."""
    if action.outcome is report.outcome:
        return
    if action.state is not ActionState.REQUESTED:
        known = f"its outcome is {action.outcome}" if action.outcome else f"it is {action.state}"
        raise ActionNotOpen(f"action {action.number} takes no outcome any more: {known}")
    done = report.outcome is ActionOutcome.DONE
    values: dict[str, Any] = {
        "state": (ActionState.DONE if done else ActionState.FAILED).value,
        "outcome": report.outcome.value,
        "outcome_detail": report.detail or None,
        "outcome_by": by,
        "outcome_at": now,
    }
    if report.former is not None:
        former = sa.func.jsonb_build_object("former", sa.cast(dict(report.former), _JSON))
        values["body"] = response_action.c.body.op("||")(former)
    change_action(connection, project_id, action.number, **values)
    if done and action.returns is not None:
        change_action(connection, project_id, action.returns, state=ActionState.RETURNED.value)


def take_answer(
    connection: Connection, project_id: int, delivery_key: str, answer: str, by: str, now: datetime
) -> None:
    """What the receiver answered at once to the message of an action; it may say nothing yet."""
    report = read_answer(answer)
    row = response_action.c
    found = connection.execute(
        sa.select(response_action)
        .where(row.project_id == project_id, row.delivery_key == delivery_key)
        .with_for_update()
    ).one_or_none()
    if report is not None and found is not None and found.state == ActionState.REQUESTED.value:
        record_outcome(connection, project_id, stored_action(found), report, by, now)


def action_words(
    connection: Connection, project_id: int, alert_numbers: Sequence[int]
) -> dict[int, str]:
    """What became of the newest action of each alert, in a few words; drills apart."""
    row = response_action.c
    query = (
        sa.select(response_action)
        .ext(distinct_on(row.alert_id))
        .where(row.project_id == project_id, row.alert_id.in_(list(alert_numbers)), ~row.drill)
        .order_by(row.alert_id, row.id.desc())
    )
    return {each.alert_id: words_of(stored_action(each)) for each in connection.execute(query)}


def words_of(action: StoredAction) -> str:
    """One action in a line, such as `reduce traffic to 5 %: done (action 3)`."""
    what = action.action.value.replace("_", " ")
    target = f" to {action.to_percent:g} %" if action.to_percent is not None else ""
    kind = ", dry run" if action.dry_run else ""
    said = action.detail or action.text
    why = f", {said}" if said else ""
    return f"{what}{target}: {action.state}{why} (action {action.number}{kind})"


_JSON = response_action.c.body.type


def stored_action(row: Any) -> StoredAction:
    """The action that a row holds."""
    body = row.body
    return StoredAction(
        number=row.id,
        alert_number=row.alert_id,
        episode=row.episode,
        rule=row.rule,
        response=row.response,
        action=ResponseAction(row.action),
        model=row.model,
        deployments=tuple(row.deployment_ids),
        dry_run=row.dry_run,
        drill=row.drill,
        state=ActionState(row.state),
        reason=Refusal(row.reason) if row.reason else None,
        text=body.get("text", ""),
        requested_by=row.requested_by,
        requested_at=row.requested_at,
        delivery_key=row.delivery_key,
        outcome=ActionOutcome(row.outcome) if row.outcome else None,
        detail=row.outcome_detail,
        outcome_by=row.outcome_by,
        outcome_at=row.outcome_at,
        outcome_due_at=row.outcome_due_at,
        expires_at=row.expires_at,
        returns=row.returns,
        to_percent=body.get("to_percent"),
        from_percent=body.get("from_percent"),
        former=body.get("former"),
        receiver=body.get("receiver"),
        project=body.get("project", ""),
    )
