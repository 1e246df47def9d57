"""Records that were refused and values that break the contract: counts over time, and examples.

Examples were masked when they were stored; nothing here reads a request.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection, Engine

from monitor.records import ViolationReason
from monitor.reports.database import reading
from monitor.store.tables import intake_batch, rejection, violation_example
from monitor.windows import Window

EXAMPLES_SHOWN = 30
ID_SHOWN = 8
COUNTED = ["at", "reason", "kind", "sent_with", "producer", "n"]


@dataclass(frozen=True)
class RejectedExample:
    """One refused record: where it stood in its body, why, a masked excerpt, and who sent it.

    `sent_with`: the name of the API key; `producer`: what the sender called itself. Empty: unknown.
    """

    at: datetime
    kind: str
    place: int
    reason: str
    message: str
    request: str
    excerpt: str
    of_model: bool
    sent_with: str
    producer: str


@dataclass(frozen=True)
class BrokenValue:
    """One masked value that broke the contract: the newest of its column and reason."""

    column: str
    reason: str
    day: datetime
    example: str


@dataclass(frozen=True, eq=False)
class Rejected:
    """`counts`: `at`, `reason`, `kind`, `sent_with`, `producer`, `n` by day of the viewer's zone.

    `records` were received in the same days; records of no known model belong to no model and are
    counted with every one of the project.
    """

    counts: pd.DataFrame
    examples: tuple[RejectedExample, ...]
    broken: tuple[BrokenValue, ...]
    records: int
    violations: int

    @property
    def total(self) -> int:
        return int(self.counts["n"].sum())


def rejected(
    engine: Engine, project_id: int, model_id: int, window: Window, zone_name: str
) -> Rejected:
    """What was refused in the days by arrival, and what broke the contract."""
    with reading(engine, project_id) as connection:
        records, violations = _received(connection, project_id, model_id, window)
        return Rejected(
            _counts(connection, project_id, model_id, window, zone_name),
            _examples(connection, project_id, model_id, window),
            _broken(connection, project_id, model_id, window),
            records,
            violations,
        )


def _refused(project_id: int, model_id: int, window: Window) -> tuple[sa.ColumnElement[bool], ...]:
    row = rejection.c
    return (
        row.project_id == project_id,
        sa.or_(row.model_id == model_id, row.model_id.is_(None)),
        row.received_at >= window.start, row.received_at < window.end,
    )  # fmt: skip


def _counts(
    connection: Connection, project_id: int, model_id: int, window: Window, zone_name: str
) -> pd.DataFrame:
    row = rejection.c
    at = sa.func.date_trunc("day", row.received_at, zone_name).label("at")
    key = sa.func.coalesce(row.sent_with, "").label("key_name")
    told = sa.func.coalesce(row.producer, "").label("told_by")
    what = [row.reason, row.kind, key, told]
    query = (
        sa.select(at, *what, sa.func.count())
        .where(*_refused(project_id, model_id, window))
        .group_by(at, *what)
        .order_by(at, *what)
    )
    found = [tuple(each) for each in connection.execute(query)]
    return pd.DataFrame.from_records(found, columns=COUNTED)


def _examples(
    connection: Connection, project_id: int, model_id: int, window: Window
) -> tuple[RejectedExample, ...]:
    row = rejection.c
    query = (
        sa.select(rejection)
        .where(*_refused(project_id, model_id, window))
        .order_by(row.received_at.desc(), row.id.desc())
        .limit(EXAMPLES_SHOWN)
    )
    return tuple(
        RejectedExample(
            one.received_at, one.kind, one.place, one.reason, one.message,
            shortened(one.request_id), one.excerpt, one.model_id is not None,
            one.sent_with or "", one.producer or "",
        )
        for one in connection.execute(query)
    )  # fmt: skip


def shortened(request_id: str | None) -> str:
    """The beginning of an id, enough to look it up by and too little to know a person by."""
    if request_id is None:
        return ""
    return request_id if len(request_id) <= ID_SHOWN else f"{request_id[:ID_SHOWN]}…"


def _broken(
    connection: Connection, project_id: int, model_id: int, window: Window
) -> tuple[BrokenValue, ...]:
    row = violation_example.c
    query = (
        sa.select(row.column_name, row.reason, row.day, row.example)
        .ext(distinct_on(row.column_name, row.reason))
        .where(row.project_id == project_id, row.model_id == model_id, row.day < window.end)
        .where(row.day >= window.start - pd.Timedelta(days=1))
        .order_by(row.column_name, row.reason, row.day.desc())
    )
    return tuple(
        BrokenValue(one.column_name, _reason(one.reason), one.day, one.example)
        for one in connection.execute(query)
    )


def _reason(number: int) -> str:
    known = {int(each): each.name.lower() for each in ViolationReason}
    return known.get(number, f"reason {number}")


def _received(
    connection: Connection, project_id: int, model_id: int, window: Window
) -> tuple[int, int]:
    row = intake_batch.c
    stored = row.accepted + row.duplicate + row.conflict + row.rejected
    found = connection.execute(
        sa.select(
            sa.func.coalesce(sa.func.sum(stored), 0),
            sa.func.coalesce(sa.func.sum(row.violations), 0),
        ).where(
            row.project_id == project_id, row.model_id == model_id,
            row.received_at >= window.start, row.received_at < window.end,
        )
    ).one()  # fmt: skip
    return int(found[0]), int(found[1])
