"""The audit chain of a project: append a deed, read the chain, keep its signed heads.

Entries are linked and hashed by the database (`audit_append`); deeds that are rows of their own
(contracts, keys, silences, …) are appended by triggers when their transaction commits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.engine import Connection

from monitor.evidence.chain import FIRST_PREVIOUS, Head, head_of
from monitor.store.tables import audit_entry, audit_head, project


@dataclass(frozen=True)
class SignedHead:
    """A head as it was signed: its canonical bytes, the signature, and the key's fingerprint."""

    seq: int
    signed_at: datetime
    body: bytes
    signature: bytes
    key: str
    sent_at: datetime | None


def act_as(connection: Connection, actor: str) -> None:
    """Name the person behind everything that this transaction does."""
    connection.execute(
        sa.text("select set_config('inferwatch.actor', :actor, true)"), {"actor": actor}
    )


def append(
    connection: Connection,
    project_id: int,
    actor: str,
    deed: str,
    subject: str,
    detail: Mapping[str, Any] | None = None,
) -> int | None:
    """Append a deed to the chain; its number, None when it is linked by the next append.

    Call it last in a transaction: others of the project wait for its commit. Keys of `detail` are
    plain ASCII; numbers that JSON can't hold exactly are kept as text.
    """
    statement = sa.text("select audit_append(:project, :actor, :deed, :subject, :detail)")
    number = connection.scalar(
        statement.bindparams(sa.bindparam("detail", type_=JSONB)),
        {
            "project": project_id,
            "actor": actor,
            "deed": deed,
            "subject": subject,
            "detail": dict(detail or {}),
        },
    )
    return int(number) if number is not None else None


def link_waiting(connection: Connection, project_id: int) -> int:
    """Append what transactions of one moment left behind; do it before the chain is read."""
    statement = sa.text("select audit_drain(:project)")
    return int(connection.scalar(statement, {"project": project_id}) or 0)


def chain_lines(
    connection: Connection,
    project_id: int,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[bytes]:
    """Entries as their canonical lines, oldest first: those from `since` on, known by `until`."""
    row = audit_entry.c
    query = sa.select(row.body).where(row.project_id == project_id)
    if since is not None:
        query = query.where(row.at >= since)
    if until is not None:
        query = query.where(row.at <= until)
    return [body.encode() for body in connection.scalars(query.order_by(row.seq))]


def newest_entries(
    connection: Connection, project_id: int, *, limit: int, subject: str | None = None
) -> list[dict[str, Any]]:
    """The last deeds, newest first."""
    row = audit_entry.c
    query = sa.select(row.seq, row.at, row.actor, row.deed, row.subject, row.body, row.hash)
    query = query.where(row.project_id == project_id)
    if subject is not None:
        query = query.where(row.subject == subject)
    found = connection.execute(query.order_by(row.seq.desc()).limit(limit)).mappings()
    return [dict(each) for each in found]


def project_name(connection: Connection, project_id: int) -> str:
    """The project's name, as entries carry it."""
    name = connection.scalar(sa.select(project.c.name).where(project.c.id == project_id))
    if name is None:
        raise AssertionError("a chain belongs to a project that exists")
    return str(name)


def save_head(connection: Connection, project_id: int, head: SignedHead) -> None:
    """Keep a signed head; one that is kept already stays as it was signed."""
    statement = insert(audit_head).values(
        project_id=project_id,
        seq=head.seq,
        signed_at=head.signed_at,
        body=head.body,
        signature=head.signature,
        key=head.key,
    )
    connection.execute(statement.on_conflict_do_nothing())


def signed_heads(connection: Connection, project_id: int, *, limit: int = 400) -> list[SignedHead]:
    """Signed heads, newest first."""
    row = audit_head.c
    query = sa.select(audit_head).where(row.project_id == project_id)
    return [
        SignedHead(
            each.seq, each.signed_at, bytes(each.body), bytes(each.signature), each.key,
            each.sent_at,
        )
        for each in connection.execute(query.order_by(row.seq.desc()).limit(limit))
    ]  # fmt: skip


def mark_sent(connection: Connection, project_id: int, seq: int, at: datetime) -> None:
    """A copy of this head reached the place outside."""
    row = audit_head.c
    connection.execute(
        sa.update(audit_head).where(row.project_id == project_id, row.seq == seq).values(sent_at=at)
    )


def current_head(connection: Connection, project_id: int) -> Head:
    """The head of the whole chain as it is now."""
    row = audit_entry.c
    newest = sa.select(row.body).where(row.project_id == project_id).order_by(row.seq.desc())
    body = connection.scalar(newest.limit(1))
    head = head_of(
        [body.encode()] if body is not None else [], project_name(connection, project_id)
    )
    return replace(head, first_seq=1, first_previous=FIRST_PREVIOUS)
