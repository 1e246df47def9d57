"""What lies under an alert: segments of the judged window, and a few masked requests of it.

The requests come from the stored sample of the window, never from the log; no value is shown of a
column that its contract does not call public, and no id in full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection, Engine

from monitor.intake.examples import as_written, mask
from monitor.profiles.sample import EVENT_TIME, REQUEST_ID
from monitor.records import LIVE_LEG
from monitor.reports.alerts import Finding, Judged
from monitor.reports.database import reading
from monitor.reports.models import ColumnFacts
from monitor.reports.rejected import shortened
from monitor.store.profile_rows import segments
from monitor.store.tables import measurement
from monitor.window_sample import window_sample
from monitor.windows import Grain, Window

ROWS_SHOWN, COLUMNS_SHOWN, SEGMENTS_SHOWN = 10, 6, 10
TOLD_ROLES = ("prediction", "score", "segment")


@dataclass(frozen=True)
class Part:
    """The same question to one segment of the judged window."""

    segment: str
    value: float
    low: float | None
    high: float | None
    level: float | None
    n: int
    unit: str


@dataclass(frozen=True)
class EvidenceRow:
    """One sampled request: the beginning of its id, its time, its cells as they may be shown."""

    request: str
    at: datetime
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """Segments, the worst first, and sampled requests under the names of `columns`."""

    parts: tuple[Part, ...]
    columns: tuple[str, ...]
    rows: tuple[EvidenceRow, ...]


NOTHING = Evidence((), (), ())


def alert_evidence(
    engine: Engine, project_id: int, model_id: int, columns: tuple[ColumnFacts, ...], found: Finding
) -> Evidence:
    """Of the newest judged window; nothing when no window was judged."""
    judged = found.judged
    if judged is None:
        return NOTHING
    with reading(engine, project_id) as connection:
        parts = _parts(connection, project_id, model_id, found.labels, judged)
        shown = _shown(columns, found.labels.get("column"))
        rows = _rows(connection, project_id, model_id, found.labels, judged, shown)
    return Evidence(parts, tuple(column.name for column in shown), rows)


def _parts(
    connection: Connection,
    project_id: int,
    model_id: int,
    labels: Mapping[str, str],
    judged: Judged,
) -> tuple[Part, ...]:
    row = measurement.c
    wanted = {row.check_name: "check", row.method: "method", row.column_name: "column"}
    if "check" not in labels:
        return ()
    query = (
        sa.select(measurement)
        .ext(distinct_on(row.segment_id, row.method))
        .where(row.project_id == project_id, row.model_id == model_id, row.segment_id != 0)
        .where(row.state == "measured", row.leg == labels.get("leg", LIVE_LEG))
        .where(row.window_start == judged.window_start, row.window_end == judged.at)
        .where(*(column == labels[name] for column, name in wanted.items() if name in labels))
        .order_by(row.segment_id, row.method, row.known_at.desc(), row.n.desc())
    )
    stored = list(connection.execute(query))
    names = segments(connection, project_id, model_id) if stored else {}
    stored.sort(key=lambda one: one.value, reverse=bool(stored) and _worse_is_more(stored[0]))
    return tuple(
        Part(_segment_name(names.get(one.segment_id), one.segment_id), one.value, one.low,
             one.high, one.level, one.n, one.unit)
        for one in stored[:SEGMENTS_SHOWN]
    )  # fmt: skip


def _worse_is_more(row: Any) -> bool:
    return bool(row.direction != "lower_is_worse")


def _segment_name(definition: Mapping[str, Any] | None, number: int) -> str:
    if definition is None:
        return f"segment {number}"
    return ", ".join(f"{name}={value}" for name, value in sorted(definition.items()))


def _shown(columns: Sequence[ColumnFacts], named: str | None) -> tuple[ColumnFacts, ...]:
    """The column that the alert names, then what the model answered and which segment it was of."""
    first = [column for column in columns if column.name == named]
    rest = [column for column in columns if column.role in TOLD_ROLES and column.name != named]
    return tuple([*first, *rest][:COLUMNS_SHOWN])


def _rows(
    connection: Connection,
    project_id: int,
    model_id: int,
    labels: Mapping[str, str],
    judged: Judged,
    shown: Sequence[ColumnFacts],
) -> tuple[EvidenceRow, ...]:
    """Of the window's last day only, so that a window of a month reads no more than a day's."""
    start = max(judged.window_start, judged.at - Grain.DAY.length)
    number = labels.get("deployment", "")
    deployment = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None
    sample = window_sample(
        connection, project_id, model_id, Window(start, judged.at),
        labels.get("leg", LIVE_LEG), deployment,
    )  # fmt: skip
    if sample is None:
        return ()
    return tuple(
        EvidenceRow(
            shortened(str(one[REQUEST_ID])),
            one[EVENT_TIME],
            tuple(_cell(column, one.get(column.name)) for column in shown),
        )
        for one in sample.slice(0, ROWS_SHOWN).to_pylist()
    )


def _cell(column: ColumnFacts, value: Any) -> str:
    """The value when its contract calls it public, else only its kind and size."""
    if value is None:
        return "–"
    is_open = column.sensitivity == "public" and column.role != "entity"
    return as_written(value) if is_open else mask(value)
