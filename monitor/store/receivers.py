"""What is known of receivers: who asked for nothing more, who asked for a wait."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection

from monitor.store.tables import delivery, receiver_state

WORKER = "worker"


@dataclass(frozen=True)
class ReceiverState:
    """`disabled_at`: it asked to be sent nothing any more. `not_before`: it asked for a wait."""

    disabled_at: datetime | None = None
    not_before: datetime | None = None
    reason: str | None = None
    changed_by: str = ""
    changed_at: datetime | None = None


def receiver_states(connection: Connection, project_id: int) -> dict[str, ReceiverState]:
    """All receivers of whom anything is known, by name."""
    row = receiver_state.c
    query = sa.select(receiver_state).where(row.project_id == project_id)
    return {
        each.receiver: ReceiverState(
            each.disabled_at, each.not_before, each.reason, each.changed_by, each.changed_at
        )
        for each in connection.execute(query)
    }


def disable_receiver(
    connection: Connection, project_id: int, receiver: str, reason: str, now: datetime
) -> None:
    """Send it nothing any more until a person enables it."""
    values = {"disabled_at": now, "reason": reason, "changed_by": WORKER, "changed_at": now}
    statement = insert(receiver_state).values(project_id=project_id, receiver=receiver, **values)
    # Of several senders that hear it at once the first counts: what it missed counts from then on.
    changes: dict[str, sa.ColumnElement[object]] = {
        name: statement.excluded[name] for name in values
    }
    changes["disabled_at"] = sa.func.least(receiver_state.c.disabled_at, now)
    connection.execute(
        statement.on_conflict_do_update(index_elements=["project_id", "receiver"], set_=changes)
    )


def hold_receiver(
    connection: Connection, project_id: int, receiver: str, until: datetime, now: datetime
) -> None:
    """Send it nothing before this moment; a longer wait that it asked for earlier holds on."""
    statement = insert(receiver_state).values(
        project_id=project_id, receiver=receiver, not_before=until, changed_by=WORKER,
        changed_at=now,
    )  # fmt: skip
    later = sa.func.greatest(receiver_state.c.not_before, statement.excluded.not_before)
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["project_id", "receiver"], set_={"not_before": later}
        )
    )


def enable_receiver(
    connection: Connection, project_id: int, receiver: str, by: str, now: datetime
) -> datetime | None:
    """Send to it again; since when it was disabled, None when it was not."""
    row = receiver_state.c
    mine = sa.and_(row.project_id == project_id, row.receiver == receiver)
    since: datetime | None = connection.scalar(
        sa.select(row.disabled_at).where(mine).with_for_update()
    )
    if since is not None:
        values = {"disabled_at": None, "not_before": None, "changed_by": by, "changed_at": now}
        connection.execute(sa.update(receiver_state).where(mine).values(**values))
    return since


def enabled_since(
    connection: Connection, project_id: int, receiver: str, seen: ReceiverState | None
) -> bool:
    """Whether a person enabled it after it was as `seen`, and it is enabled still.

    Its row stays locked, so that what follows from an answer can't cross with a person's deed.
    """
    row = receiver_state.c
    found = connection.execute(
        sa.select(row.disabled_at, row.changed_by, row.changed_at)
        .where(row.project_id == project_id, row.receiver == receiver)
        .with_for_update()
    ).one_or_none()
    if found is None or found.disabled_at is not None or found.changed_by == WORKER:
        return False
    return seen is None or found.changed_at != seen.changed_at


def give_up_disabled(connection: Connection, project_id: int, now: datetime) -> list[int]:
    """What waits for disabled receivers becomes dead letters; their numbers.

    What is being sent at this moment is left to its sender. The rows of the receivers stay locked:
    who enables one meanwhile comes before or after this, never between.
    """
    known = receiver_state.c
    disabled = list(
        connection.scalars(
            sa.select(known.receiver)
            .where(known.project_id == project_id, known.disabled_at.is_not(None))
            .with_for_update()
        )
    )
    if not disabled:
        return []
    row = delivery.c
    free = sa.or_(row.lease_until.is_(None), row.lease_until <= now)
    done = connection.execute(
        sa.update(delivery)
        .where(row.project_id == project_id, row.receiver.in_(disabled), row.state == "waiting")
        .where(free)
        .values(state="dead", finished_at=now, lease_until=None, leased_by=None)
        .returning(row.id)
    )
    return sorted(done.scalars())
