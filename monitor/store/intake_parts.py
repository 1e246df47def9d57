"""Parts of requests that come in several pieces: halves of an exchange, spans of a trace.

A part is durable when its sender gets an answer; putting parts together is later work. A group is
taken by one process at a time. What was put together stays as an empty mark until it is forgotten,
so that a part sent again is not taken for a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.intake.parts import RequestPart
from monitor.store.tables import intake_part

MOST_GROUPS, MOST_PARTS = 200, 20_000


@dataclass(frozen=True)
class TakenParts:
    """Parts of one kind whose groups are due, locked until the transaction ends."""

    kind: str
    groups: dict[str, list[RequestPart]]


def add_parts(connection: Connection, project_id: int, parts: Sequence[RequestPart]) -> int:
    """Keep parts; one that is known already (also a finished one) is not kept again. How many."""
    if not parts:
        return 0
    fields = zip(
        *((p.kind, p.group_key, p.part_key, p.body, p.received_at, p.due_at) for p in parts),
        strict=True,
    )
    values = dict(
        zip(("kinds", "groups", "parts", "bodies", "received", "due"), fields, strict=True)
    )
    done = connection.execute(_ADD, {name: list(each) for name, each in values.items()}
                              | {"project": project_id})  # fmt: skip
    return done.rowcount


# One statement for any number of parts: a row at a time costs a round trip each.
_ADD = sa.text(
    """
    insert into intake_part (project_id, kind, group_key, part_key, body, received_at, due_at)
    select :project, * from unnest(
        cast(:kinds as text[]), cast(:groups as text[]), cast(:parts as text[]),
        cast(:bodies as bytea[]), cast(:received as timestamptz[]), cast(:due as timestamptz[]))
    on conflict do nothing
    """
)


def take_due(
    connection: Connection, project_id: int, kind: str, complete_at: int | None, now: datetime
) -> TakenParts:
    """Groups with a part that is due, or with `complete_at` parts, that nobody else has taken.

    At most MOST_PARTS parts: a group that this would cut waits for the next round, unless it is
    the only one.
    """
    row = intake_part.c
    open_parts = sa.and_(row.project_id == project_id, row.kind == kind, row.done.is_(False))
    if complete_at is None:  # by the index of what is due: most open parts are not
        wanted = sa.select(row.group_key).distinct().where(open_parts, row.due_at <= now)
    else:
        ready = sa.or_(sa.func.min(row.due_at) <= now, sa.func.count() >= complete_at)
        wanted = sa.select(row.group_key).where(open_parts).group_by(row.group_key).having(ready)
    # Two statements: as one, a planner with old statistics compares every part with every group.
    keys = list(connection.scalars(wanted.limit(MOST_GROUPS)))
    if not keys:
        return TakenParts(kind, {})
    found = connection.execute(
        sa.select(intake_part)
        .where(open_parts, row.group_key.in_(keys))
        .order_by(row.group_key, row.part_key)
        .limit(MOST_PARTS)
        .with_for_update(skip_locked=True)
    )
    groups: dict[str, list[RequestPart]] = {}
    for each in found:
        part = RequestPart(
            each.kind, each.group_key, each.part_key, bytes(each.body), each.received_at,
            each.due_at,
        )  # fmt: skip
        groups.setdefault(each.group_key, []).append(part)
    if len(groups) > 1 and sum(map(len, groups.values())) >= MOST_PARTS:
        groups.popitem()
    return TakenParts(kind, groups)


def finish_parts(connection: Connection, project_id: int, taken: TakenParts) -> None:
    """Empty the parts that were taken and stored; the marks stay until they are forgotten.

    A part of the same group that arrived in between was not read: it stays open.
    """
    parts = [part for group in taken.groups.values() for part in group]
    values = {"project": project_id, "kind": taken.kind,
              "groups": [part.group_key for part in parts],
              "parts": [part.part_key for part in parts]}  # fmt: skip
    connection.execute(_FINISH, values)


# The groups once more as an array: a planner with old statistics then still goes by the key.
_FINISH = sa.text(
    """
    update intake_part set done = true, body = ''
    from unnest(cast(:groups as text[]), cast(:parts as text[])) as taken (group_key, part_key)
    where intake_part.project_id = :project and intake_part.kind = :kind
        and intake_part.group_key = taken.group_key and intake_part.part_key = taken.part_key
        and intake_part.group_key = any(cast(:groups as text[]))
    """
)


def forget_parts(connection: Connection, before: datetime) -> int:
    """Delete the marks of parts that were due before a moment; how many."""
    row = intake_part.c
    return connection.execute(sa.delete(intake_part).where(row.done, row.due_at < before)).rowcount


def waiting_projects(connection: Connection) -> list[int]:
    """All projects; each may have parts that wait."""
    from monitor.store.tables import project

    return [int(number) for number in connection.scalars(sa.select(project.c.id))]
