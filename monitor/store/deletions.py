"""Certificates: what was deleted for good, by whom and when. Each is an entry of the audit chain.

A certificate never holds what was deleted, only its class, count and span of time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.evidence.canonical import canonical, sha256_hex
from monitor.store.tables import deletion


@dataclass(frozen=True)
class Deleted:
    """What was deleted: `kind` is retention or erasure; counts of rows by class."""

    kind: str
    counts: Mapping[str, int]
    first: datetime | None
    last: datetime | None
    more: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """The certificate: its facts, and their SHA-256 in canonical form."""
        facts = {
            **self.more,
            "counts": dict(self.counts),
            "first": _text(self.first),
            "last": _text(self.last),
        }
        return {**facts, "sha256": sha256_hex(canonical(facts))}


def certify(
    connection: Connection, project_id: int, model_id: int | None, done: Deleted, *, by: str
) -> dict[str, Any]:
    """Store a certificate, in the transaction that deletes; its audit entry follows at commit.

    Works in transactions of one project and in the owner's that see none.
    """
    before = connection.scalar(sa.text("select current_setting('app.project', true)"))
    body = done.body()
    _see(connection, str(project_id))
    connection.execute(
        sa.insert(deletion).values(
            project_id=project_id, model_id=model_id, kind=done.kind, by=by, body=body
        )
    )
    _see(connection, before or "")
    return body


def certificates(
    connection: Connection, project_id: int, *, model_id: int | None = None, limit: int = 100
) -> list[dict[str, Any]]:
    """Certificates, newest first."""
    row = deletion.c
    query = sa.select(row.id, row.kind, row.model_id, row.by, row.at, row.body)
    query = query.where(row.project_id == project_id)
    if model_id is not None:
        query = query.where(row.model_id == model_id)
    found = connection.execute(query.order_by(row.id.desc()).limit(limit)).mappings()
    return [dict(each) for each in found]


def _see(connection: Connection, project: str) -> None:
    connection.execute(
        sa.text("select set_config('app.project', :project, true)"), {"project": project}
    )


def _text(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat() if moment is not None else None
