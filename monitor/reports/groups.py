"""Groups of a model as people read them: each month's ratios and gaps, and the worst group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection, Engine

from monitor.checks.registry import CheckName
from monitor.measurement import MeasurementState
from monitor.records import LIVE_LEG
from monitor.reports.database import reading
from monitor.reports.measurements import IDENTITY, MeasurementRow, row_of
from monitor.store.profile_rows import segments
from monitor.store.tables import measurement
from monitor.windows import Window

SELECTION, ADJUSTED, WORST = "selection_ratio", "adjusted_gap", "worst_group"
METHOD_WORDS = {
    "selection_ratio": "favourable answers",
    "true_positive_gap": "true-positive rate",
    "false_positive_gap": "false-positive rate",
    "accuracy_gap": "accuracy",
    "calibration_gap": "label minus score",
}
TOO_FEW, FAILED = "too_few", "failed"


@dataclass(frozen=True)
class GroupRow:
    """One group by one method. `verdict`: violates, passes, inconclusive, differs,
    no_difference_seen, reference, too_few or failed. `rate` with its own 95 % limits, `shrunk`
    towards the mean of all groups; both None where the group is too small to be shown."""

    method: str
    group: str
    verdict: str
    n: int
    value: float | None
    low: float | None
    high: float | None
    rate: float | None
    rate_low: float | None
    rate_high: float | None
    shrunk: float | None
    reference: str
    reason: str | None
    unit: str
    least_ratio: float | None = None


@dataclass(frozen=True)
class AdjustedRow:
    """A group's gap of favourable answers to the largest group, crude and with the second column
    held fixed. `flag`: reversed, more_than_half or none; too_few without numbers."""

    column: str
    group: str
    reference: str
    by: str
    flag: str
    crude: float | None
    value: float | None
    low: float | None
    high: float | None
    p_value: float | None
    reason: str | None


@dataclass(frozen=True)
class Found:
    """One group of the search for the worst: what both halves of the entities say."""

    group: str
    n_discovered: int
    z_discovered: float
    n: int
    gap: float | None
    low: float | None
    high: float | None
    p_confirmed: float
    confirmed: bool


@dataclass(frozen=True)
class Worst:
    """The search for the worst group; `reason` says why there is none."""

    found: tuple[Found, ...]
    searched: int
    rows: int
    unit: str
    reason: str | None


@dataclass(frozen=True)
class GroupsReport:
    """Groups in one month. `months` that were measured, newest first; `window` None without any."""

    window: Window | None
    months: tuple[Window, ...]
    deployment_ids: tuple[int, ...]
    columns: Mapping[str, tuple[GroupRow, ...]]
    adjusted: tuple[AdjustedRow, ...]
    worst: Worst | None
    known_at: datetime | None

    def of(self, column: str, method: str) -> tuple[GroupRow, ...]:
        """Rows of one method, worst first by the shrunk rate where there is one."""
        rows = [row for row in self.columns.get(column, ()) if row.method == method]
        sign = -1 if method == "false_positive_gap" else 1
        return tuple(sorted(rows, key=lambda row: _place(row, sign)))


def groups(
    engine: Engine,
    project_id: int,
    model_id: int,
    span: Window | None = None,
    known_by: datetime | None = None,
    leg: str = LIVE_LEG,
) -> GroupsReport:
    """The newest month that starts in the span, of everything that served the leg."""
    with reading(engine, project_id) as connection:
        months = _months(connection, project_id, model_id, span, known_by, leg)
        if not months:
            return GroupsReport(None, (), (), {}, (), None, None)
        rows = _rows(connection, project_id, model_id, months[0], known_by, leg)
        names = segments(connection, project_id, model_id)
    return _report(months, rows, names)


def _conditions(
    project_id: int, model_id: int, known_by: datetime | None, leg: str
) -> list[sa.ColumnElement[bool]]:
    found: list[sa.ColumnElement[bool]] = [
        measurement.c.project_id == project_id,
        measurement.c.model_id == model_id,
        measurement.c.check_name == CheckName.GROUPS.value,
        measurement.c.leg == leg,
    ]
    return found if known_by is None else [*found, measurement.c.known_at <= known_by]


def _months(
    connection: Connection,
    project_id: int,
    model_id: int,
    span: Window | None,
    known_by: datetime | None,
    leg: str,
) -> tuple[Window, ...]:
    start, end = measurement.c.window_start, measurement.c.window_end
    query = (
        sa.select(start, end)
        .distinct()
        .where(*_conditions(project_id, model_id, known_by, leg))
        .order_by(start.desc())
    )
    if span is not None:
        query = query.where(start >= span.start, start < span.end)
    return tuple(Window(row.window_start, row.window_end) for row in connection.execute(query))


def _rows(
    connection: Connection,
    project_id: int,
    model_id: int,
    month: Window,
    known_by: datetime | None,
    leg: str,
) -> list[MeasurementRow]:
    """The newest revisions, of the largest set of deployments that was measured."""
    query = (
        sa.select(measurement)
        .ext(distinct_on(*IDENTITY))
        .where(*_conditions(project_id, model_id, known_by, leg))
        .where(measurement.c.window_start == month.start, measurement.c.window_end == month.end)
        .order_by(*IDENTITY, measurement.c.known_at.desc())
    )
    found = [row_of(row) for row in connection.execute(query)]
    compared = [row for row in found if row.method != WORST]
    widest = max((row.deployment_ids for row in compared or found), key=lambda ids: (len(ids), ids))
    return [row for row in found if row.method == WORST or row.deployment_ids == widest]


def _report(
    months: tuple[Window, ...],
    rows: Sequence[MeasurementRow],
    names: Mapping[int, Mapping[str, str]],
) -> GroupsReport:
    by_column: dict[str, list[GroupRow]] = defaultdict(list)
    for row in rows:
        if row.method in METHOD_WORDS:
            by_column[row.column].append(_group_row(row, names))
    searched = [row for row in rows if row.method == WORST]
    worst = max(searched, key=lambda row: len(row.deployment_ids), default=None)
    return GroupsReport(
        window=months[0],
        months=months,
        deployment_ids=rows[0].deployment_ids,
        columns={column: tuple(found) for column, found in sorted(by_column.items())},
        adjusted=tuple(_adjusted(row, names) for row in rows if row.method == ADJUSTED),
        worst=_worst(worst) if worst is not None else None,
        known_at=max(row.known_at for row in rows),
    )


def _group_row(row: MeasurementRow, names: Mapping[int, Mapping[str, str]]) -> GroupRow:
    measured = row.state is MeasurementState.MEASURED
    detail = row.detail if measured else {}
    state = FAILED if row.state is MeasurementState.FAILED else TOO_FEW
    return GroupRow(
        method=row.method,
        group=names.get(row.segment_id, {}).get(row.column, "(no group yet)"),
        verdict=str(detail.get("verdict", "")) if measured else state,
        n=row.n,
        value=row.value,
        low=row.low,
        high=row.high,
        rate=detail.get("rate", detail.get("error")),
        rate_low=detail.get("rate_low"),
        rate_high=detail.get("rate_high"),
        shrunk=detail.get("shrunk"),
        reference=str(detail.get("reference", "")),
        reason=row.reason,
        unit=row.unit,
        least_ratio=detail.get("least_ratio"),
    )


def _adjusted(row: MeasurementRow, names: Mapping[int, Mapping[str, str]]) -> AdjustedRow:
    detail = row.detail
    measured = row.state is MeasurementState.MEASURED
    of = str(detail.get("of", ""))
    return AdjustedRow(
        column=of,
        group=str(detail.get("group", names.get(row.segment_id, {}).get(of, ""))),
        reference=str(detail.get("reference", "")),
        by=row.column,
        flag=str(detail.get("flag", "none")) if measured else TOO_FEW,
        crude=detail.get("crude") if measured else None,
        value=row.value,
        low=row.low,
        high=row.high,
        p_value=detail.get("p_value") if measured else None,
        reason=row.reason,
    )


def _worst(row: MeasurementRow) -> Worst:
    if row.state is not MeasurementState.MEASURED:
        return Worst((), 0, row.n, row.unit, row.reason)
    found = tuple(_found(one) for one in row.detail.get("groups", ()))
    searched, rows = int(row.detail.get("searched", 0)), int(row.detail.get("rows", 0))
    return Worst(found, searched, rows, row.unit, None)


def _found(one: Mapping[str, Any]) -> Found:
    return Found(
        group=str(one["group"]),
        n_discovered=int(one["discovered"]["n"]),
        z_discovered=float(one["discovered"]["z"]),
        n=int(one["confirming"]["n"]),
        gap=one.get("gap"),
        low=one.get("low"),
        high=one.get("high"),
        p_confirmed=float(one["p_confirmed"]),
        confirmed=bool(one["confirmed"]),
    )


def _place(row: GroupRow, sign: int) -> tuple[bool, float, str]:
    """Too small groups last; then by the shrunk rate, else by the value."""
    shown = row.shrunk if row.shrunk is not None else row.value
    return row.value is None, sign * (shown if shown is not None else 0.0), row.group


def violating(report: GroupsReport) -> Iterable[GroupRow]:
    """Groups whose ratio violates the least one."""
    rows = (row for found in report.columns.values() for row in found)
    return [row for row in rows if row.verdict == "violates"]
