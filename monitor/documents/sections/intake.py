"""Completeness and schema: what was received, rejected and broken."""

from __future__ import annotations

import sqlalchemy as sa

from monitor.documents.material import Material
from monitor.documents.numbers import DAY, digest_table, measurements_of, say_counts
from monitor.documents.parts import Column, Drafting, Kind, Row, Section, Voice
from monitor.store.tables import intake_batch, rejection

RECEIVED = (
    Column("kind", "Kind"), Column("accepted", "Accepted", Kind.WHOLE),
    Column("duplicate", "Duplicates", Kind.WHOLE), Column("conflict", "Conflicts", Kind.WHOLE),
    Column("rejected", "Rejected", Kind.WHOLE), Column("violations", "Violations", Kind.WHOLE),
    Column("first", "First arrival", Kind.MOMENT), Column("last", "Last arrival", Kind.MOMENT),
)  # fmt: skip
REJECTED = (
    Column("kind", "Kind"), Column("reason", "Reason"), Column("n", "Records", Kind.WHOLE),
    Column("first", "First", Kind.MOMENT), Column("last", "Last", Kind.MOMENT),
)  # fmt: skip


def section(material: Material) -> Section:
    """Counts of intake by arrival, rejections by reason, violations and missing values."""
    draft = Drafting("intake", "Received data and schema")
    received = _received(material)
    lost = sum(row[4] for row in received if isinstance(row[4], int))
    if not received:
        draft.say("No body arrived in this period.", Voice.BAD)
    elif lost:
        draft.say(f"{lost:,} records were rejected: they are in no number below.", Voice.BAD)
    draft.table("received", "Received, by time of arrival", RECEIVED, received)
    draft.table("rejections", "Rejected records kept with their reason", REJECTED,
                _rejected(material), "No record was rejected.")  # fmt: skip
    rows = measurements_of(material, ("violations", "missing"), DAY)
    say_counts(draft, rows, DAY)
    bad = [row for row in rows if row.value is None or row.value > 0]
    draft.tables.append(
        digest_table(material, "violations", "Violations and missing values by column", bad,
                     "No column broke the contract or missed a value on any judged day.")
    )  # fmt: skip
    return draft.done()


def _received(material: Material) -> list[Row]:
    row, span = intake_batch.c, material.period
    counts = [
        sa.func.sum(column).label(column.name)
        for column in (row.accepted, row.duplicate, row.conflict, row.rejected, row.violations)
    ]
    times = (sa.func.min(row.received_at), sa.func.max(row.received_at))
    query = (
        sa.select(row.kind, *counts, *times)
        .where(row.project_id == material.project_id, row.model_id == material.model_id)
        .where(row.received_at >= span.start, row.received_at < span.end)
        .where(row.received_at <= material.known_by)
        .group_by(row.kind)
        .order_by(row.kind.desc())
    )
    return [(r[0], *map(int, r[1:6]), *r[6:]) for r in material.connection.execute(query)]


def _rejected(material: Material) -> list[Row]:
    row, span = rejection.c, material.period
    query = (
        sa.select(row.kind, row.reason, sa.func.count(), sa.func.min(row.received_at),
                  sa.func.max(row.received_at))
        .where(row.project_id == material.project_id, row.model_id == material.model_id)
        .where(row.received_at >= span.start, row.received_at < span.end)
        .where(row.received_at <= material.known_by)
        .group_by(row.kind, row.reason)
        .order_by(row.kind, row.reason)
    )  # fmt: skip
    return [
        (kind, reason.replace("_", " "), n, first, last)
        for kind, reason, n, first, last in material.connection.execute(query)
    ]
