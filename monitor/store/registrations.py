"""Rows of registered deployments, of contradictions between tags, and of who said a tag."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection

from monitor.deployment import Tags
from monitor.registration import Registration, TagConflict, TagSource
from monitor.store.tables import deployment, deployment_registration, tag_conflict, tag_source

KEPT_FOR_LATE_REQUESTS = timedelta(days=36)
"""Requests come up to 35 days late; a registration that ended before can't be theirs."""
MAX_CONFLICTS = 500
MAX_REGISTRATIONS = 20_000
OVERFLOW_TAG = "*"
_AND_MORE = f"further contradictions, beyond {MAX_CONFLICTS} different ones"


@dataclass(frozen=True)
class NewRegistration:
    """What somebody registers for a model beside its tags."""

    joins: Mapping[str, str]
    valid_from: datetime
    valid_to: datetime | None = None
    evidence: Mapping[str, Any] | None = None


def add_registration(
    connection: Connection,
    project_id: int,
    model_id: int,
    deployment_id: int,
    new: NewRegistration,
    now: datetime,
    *,
    from_now_on: bool,
) -> tuple[int, bool]:
    """The registration's number and whether it is new.

    The same again is the one there is. With `from_now_on` (no start was named) it is the same
    when the newest one of these joins is for the same deployment and has the same end.
    """
    table = deployment_registration
    query = (
        sa.select(table.c.id, table.c.deployment_id, table.c.valid_from, table.c.valid_to)
        .where(
            table.c.project_id == project_id,
            table.c.model_id == model_id,
            table.c.joins == sa.cast(dict(new.joins), table.c.joins.type),
        )
        .order_by(table.c.valid_from.desc(), table.c.id.desc())
    )
    held = connection.execute(query).all()
    for row in held[:1] if from_now_on else held:
        same_start = from_now_on or row.valid_from == new.valid_from
        if row.deployment_id == deployment_id and row.valid_to == new.valid_to and same_start:
            return int(row.id), False
    made = connection.scalar(
        sa.insert(table)
        .values(
            project_id=project_id,
            model_id=model_id,
            deployment_id=deployment_id,
            joins=dict(new.joins),
            valid_from=new.valid_from,
            valid_to=new.valid_to,
            evidence=None if new.evidence is None else dict(new.evidence),
            registered_at=now,
        )
        .returning(table.c.id)
    )
    return int(made or 0), True


def newest_registration(connection: Connection, project_id: int, model_id: int) -> int:
    """The highest number of a registration; 0 without any. Rows never change."""
    table = deployment_registration
    found = connection.scalar(
        sa.select(sa.func.max(table.c.id)).where(
            table.c.project_id == project_id, table.c.model_id == model_id
        )
    )
    return int(found or 0)


def registrations_of(
    connection: Connection, project_id: int, model_id: int, now: datetime | None = None
) -> list[Registration]:
    """Registrations of a model, the newest first; with `now` those that a request may still need.

    At most MAX_REGISTRATIONS, which are the newest.
    """
    table = deployment_registration
    wanted = [table.c.project_id == project_id, table.c.model_id == model_id]
    if now is not None:
        ended = table.c.valid_to < now - KEPT_FOR_LATE_REQUESTS
        wanted.append(sa.or_(table.c.valid_to.is_(None), sa.not_(ended)))
    query = (
        sa.select(table, deployment.c.tags)
        .join(deployment, deployment.c.id == table.c.deployment_id)
        .where(*wanted)
        .order_by(table.c.valid_from.desc(), table.c.id.desc())
        .limit(MAX_REGISTRATIONS)
    )
    return [
        Registration(
            row.id, row.deployment_id, Tags.of(row.tags), row.joins, row.valid_from, row.valid_to
        )
        for row in connection.execute(query)
    ]


def keep_conflicts(
    connection: Connection,
    project_id: int,
    model_id: int,
    counts: Mapping[TagConflict, int],
    at: datetime,
) -> None:
    """Count contradictions of a model; beyond MAX_CONFLICTS different ones all in one row."""
    beyond = 0
    for conflict, requests in sorted(counts.items(), key=lambda item: _digest(item[0])):
        written = _count(connection, project_id, model_id, conflict, requests, at, MAX_CONFLICTS)
        beyond += 0 if written else requests
    if beyond:
        rest = TagConflict(OVERFLOW_TAG, None, TagSource.REQUEST, _AND_MORE, TagSource.REQUEST)
        _count(connection, project_id, model_id, rest, beyond, at, None)


def _count(
    connection: Connection,
    project_id: int,
    model_id: int,
    conflict: TagConflict,
    requests: int,
    at: datetime,
    limit: int | None,
) -> bool:
    table = tag_conflict
    digest = _digest(conflict)
    key = (table.c.project_id == project_id, table.c.model_id == model_id)
    more = connection.execute(
        sa.update(table)
        .where(*key, table.c.digest == digest)
        .values(requests=table.c.requests + requests, last_at=sa.func.greatest(table.c.last_at, at))
    )
    if more.rowcount:
        return True
    held = connection.scalar(sa.select(sa.func.count()).where(*key)) or 0
    if limit is not None and held >= limit:
        return False
    statement = insert(table).values(
        project_id=project_id, model_id=model_id, digest=digest, tag=conflict.tag,
        used=conflict.used, used_source=conflict.used_source.value, other=conflict.other,
        other_source=conflict.other_source.value, requests=requests, first_at=at, last_at=at,
    )  # fmt: skip
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["project_id", "model_id", "digest"],
            set_={"requests": table.c.requests + requests},
        )
    )
    return True


def keep_sources(
    connection: Connection,
    project_id: int,
    model_id: int,
    said: Iterable[tuple[str, str, TagSource]],
    at: datetime,
) -> frozenset[str]:
    """Keep who said which tag of a deployment: (digest of its tags, tag, source).

    Digests that are no deployment (one too many for a day, or nothing of them was stored) are left
    out, so that rows stay as few as deployments are. Returns those that are.
    """
    wanted = sorted(said)
    known = frozenset(
        connection.scalars(
            sa.select(deployment.c.digest).where(
                deployment.c.project_id == project_id,
                deployment.c.model_id == model_id,
                deployment.c.digest.in_({digest for digest, _, _ in wanted}),
            )
        )
    )
    rows = [
        {"project_id": project_id, "model_id": model_id, "digest": digest, "tag": tag,
         "source": source.value, "first_at": at}
        for digest, tag, source in wanted
        if digest in known
    ]  # fmt: skip
    if rows:
        connection.execute(insert(tag_source).on_conflict_do_nothing(), rows)
    return known


def _digest(conflict: TagConflict) -> str:
    parts = (conflict.tag, conflict.used, conflict.used_source, conflict.other,
             conflict.other_source)  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
