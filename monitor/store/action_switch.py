"""The kill switch: while it is off nothing is asked of any deployment system.

Neither rules nor people start actions then, and what waits in the outbox is withdrawn. Only what is
being sent at this very moment can't be called back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from alerts.actions import ActionState, Refusal
from alerts.groups import EventType
from monitor.store.tables import delivery, delivery_attempt, response_action, response_switch


@dataclass(frozen=True)
class Switch:
    """Whether actions are stopped, and by whom, why and when that was decided."""

    stopped: bool
    by: str
    reason: str
    at: datetime


def switch_state(connection: Connection, project_id: int) -> Switch | None:
    """The newest decision; None when nobody ever stopped actions."""
    row = response_switch.c
    found = connection.execute(
        sa.select(response_switch)
        .where(row.project_id == project_id)
        .order_by(row.id.desc())
        .limit(1)
    ).one_or_none()
    return Switch(found.stopped, found.by, found.reason, found.at) if found is not None else None


def is_stopped(connection: Connection, project_id: int) -> bool:
    """Whether actions are stopped now."""
    found = switch_state(connection, project_id)
    return found is not None and found.stopped


def set_switch(
    connection: Connection, project_id: int, *, stopped: bool, by: str, reason: str, now: datetime
) -> None:
    """Stop actions, or let them go on. Every decision is kept."""
    connection.execute(
        sa.insert(response_switch).values(
            project_id=project_id, stopped=stopped, by=by, reason=reason, at=now
        )
    )


def withdraw_orders(
    connection: Connection, project_id: int, now: datetime, *, late_only: bool
) -> list[int]:
    """Take back orders that nobody is sending; the numbers of their actions.

    With `late_only` those whose answer was due: nobody may act on them any more, and the action
    stays without an outcome. Otherwise all, and their actions count as refused.
    """
    action, owed = response_action.c, delivery.c
    query = (
        sa.select(action.id, owed.id.label("delivery"), owed.attempts)
        .join(delivery, owed.delivery_key == action.delivery_key)
        .where(action.project_id == project_id, owed.project_id == project_id)
        .where(owed.state == "waiting", owed.event_type == EventType.RESPONSE_REQUESTED.value)
        .where(sa.or_(owed.lease_until.is_(None), owed.lease_until < now))
        .with_for_update(of=delivery, skip_locked=True)
    )
    if late_only:
        query = query.where(action.outcome_due_at <= now)
    found = list(connection.execute(query))
    why = "withdrawn: not delivered in time" if late_only else "withdrawn: actions are stopped"
    for each in found:
        _withdraw(connection, project_id, each.delivery, each.attempts, why, now)
        values: dict[str, Any] = {
            "body": action.body.op("||")(sa.func.jsonb_build_object("text", why))
        }
        if not late_only:
            values |= {"state": ActionState.REFUSED.value, "reason": Refusal.STOPPED.value}
        connection.execute(
            sa.update(response_action)
            .where(action.project_id == project_id, action.id == each.id)
            .values(**values)
        )
    return [each.id for each in found]


def _withdraw(
    connection: Connection, project_id: int, number: int, attempts: int, why: str, now: datetime
) -> None:
    # The key keeps the fallback receiver quiet: whoever must know learns of it by the action.
    connection.execute(
        sa.update(delivery)
        .where(delivery.c.project_id == project_id, delivery.c.id == number)
        .values(state="dead", finished_at=now, lease_until=None, fallback_key="withdrawn")
    )
    connection.execute(
        sa.insert(delivery_attempt).values(
            project_id=project_id,
            delivery_id=number,
            attempt=attempts,
            at=now,
            outcome="withdrawn",
            detail=why,
        )
    )
