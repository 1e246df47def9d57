"""One column: its distribution against a baseline, what moved, and how the contract was broken.

Read from profiles, never from raw rows: the cells are those of the binning that baseline and
profiles share.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.profiles.binning import Binning
from monitor.profiles.columns import ColumnCounts, column_counts, violation_counts
from monitor.profiles.part import Part, PartKind, merge
from monitor.records import LIVE_LEG, ViolationReason
from monitor.reports.baselines import BaselineName, baseline_name, baseline_rows
from monitor.reports.database import reading
from monitor.reports.profile_cover import ALL_REQUESTS, covering
from monitor.store.tables import binning, profile, violation_example
from monitor.windows import Window


@dataclass(frozen=True)
class Summary:
    """One side of a comparison in the column's own unit; mean and sd are None for categories."""

    n: int
    missing: int
    mean: float | None
    sd: float | None


@dataclass(frozen=True, eq=False)
class Distribution:
    """A view of a column, baseline against current.

    `frame` has a row a cell: `cell` (its number), `label`, `baseline`, `current` (shares of the
    rows, 0 to 1), `baseline_n`, `current_n`, `moved` (current minus baseline share).
    """

    view: str
    frame: pd.DataFrame
    baseline: Summary
    current: Summary
    is_number: bool

    def moved_most(self, count: int = 5) -> pd.DataFrame:
        """The cells whose share moved most, either way."""
        order = self.frame["moved"].abs().sort_values(ascending=False).index
        return self.frame.loc[order].head(count)


@dataclass(frozen=True, eq=False)
class ColumnReport:
    """Everything profiles say about one column in a window.

    `missing_reason` says in words why there is no distribution. `violations` has `at` (the day),
    `reason`, `n`.
    """

    distributions: tuple[Distribution, ...]
    baseline: BaselineName | None
    baselines: tuple[BaselineName, ...]
    violations: pd.DataFrame
    missing_reason: str | None


@dataclass(frozen=True)
class Example:
    """One masked example of a violation, kept by intake."""

    reason: str
    day: datetime
    example: str


@dataclass(frozen=True)
class _Whose:
    deployment_id: int | None
    segment_id: int


def column_report(
    engine: Engine,
    project_id: int,
    model_id: int,
    column: str,
    window: Window,
    baseline_id: int | None = None,
    deployment_id: int | None = None,
    segment_id: int = ALL_REQUESTS,
) -> ColumnReport:
    """Read one column; without a choice the newest baseline of the binning in use is taken.

    With a deployment or segment, its requests alone are held against the baseline, which is of all.
    """
    with reading(engine, project_id) as connection:
        known = baseline_rows(connection, project_id, model_id)
        chosen = next((row for row in known if row.id == baseline_id), known[0] if known else None)
        if chosen is None:
            why = "there is no baseline yet: it is made from the reference or the first requests"
            return ColumnReport((), None, (), _no_violations(), why)
        cells = read_binning(connection, project_id, chosen.binning_id)
        whose = _Whose(deployment_id, segment_id)
        parts = _parts(connection, project_id, model_id, chosen.binning_id, window, whose)
    names = tuple(baseline_name(row) for row in known)
    violations = _violations(parts, column)
    views = [view for view in cells.views if cells.column_of(view) == column]
    reason = _why_empty(views, parts)
    current = merge(part for _, part in parts)
    base = Part.from_bytes(chosen.body)
    found = () if reason else tuple(_distribution(base, current, cells, view) for view in views)
    return ColumnReport(found, baseline_name(chosen), names, violations, reason)


def violation_examples(
    engine: Engine, project_id: int, model_id: int, column: str, window: Window
) -> tuple[Example, ...]:
    """Masked examples of the window's days, newest first, at most fifty."""
    query = (
        sa.select(violation_example)
        .where(
            violation_example.c.project_id == project_id,
            violation_example.c.model_id == model_id,
            violation_example.c.column_name == column,
            violation_example.c.day >= window.start,
            violation_example.c.day < window.end,
        )
        .order_by(violation_example.c.day.desc(), violation_example.c.reason)
        .limit(50)
    )
    with reading(engine, project_id) as connection:
        return tuple(
            Example(reason_words(ViolationReason(row.reason)), row.day, row.example)
            for row in connection.execute(query)
        )


def reason_words(reason: ViolationReason) -> str:
    """A violation's reason for people: `out of range`."""
    return reason.name.lower().replace("_", " ")


def read_binning(connection: Connection, project_id: int, binning_id: int) -> Binning:
    """The cells of this number."""
    query = sa.select(binning.c.body).where(
        binning.c.project_id == project_id, binning.c.id == binning_id
    )
    return Binning.from_json(connection.execute(query).scalar_one())


def _parts(
    connection: Connection,
    project_id: int,
    model_id: int,
    binning_id: int,
    window: Window,
    whose: _Whose,
) -> list[tuple[datetime, Part]]:
    query = (
        sa.select(profile.c.window_start, profile.c.body)
        .where(
            profile.c.project_id == project_id,
            profile.c.model_id == model_id,
            profile.c.part == int(PartKind.COLUMNS),
            profile.c.binning_id == binning_id,
            covering(window),
            profile.c.leg == LIVE_LEG,
            profile.c.segment_id == whose.segment_id,
        )
        .order_by(profile.c.window_start)
    )
    if whose.deployment_id is not None:
        query = query.where(profile.c.deployment_id == whose.deployment_id)
    return [(row.window_start, Part.from_bytes(row.body)) for row in connection.execute(query)]


def _why_empty(views: list[str], parts: list[tuple[datetime, Part]]) -> str | None:
    if not views:
        return (
            "this column has no profile: identifiers and columns newer than the binning have none"
        )
    if not parts:
        return "no requests were profiled in these days; choose other days"
    return None


def _distribution(base: Part, current: Part, cells: Binning, view: str) -> Distribution:
    before, now = column_counts(base, cells, view), column_counts(current, cells, view)
    labels = before.cells.labels()
    frame = pd.DataFrame(
        {
            "cell": range(len(labels)),
            "label": labels,
            "baseline": before.counts / max(before.n, 1),
            "current": now.counts / max(now.n, 1),
            "baseline_n": before.counts,
            "current_n": now.counts,
        }
    )
    frame["moved"] = frame["current"] - frame["baseline"]
    is_number = before.mean is not None or before.n_finite > 0
    return Distribution(view, frame, _summary(before), _summary(now), is_number)


def _summary(counts: ColumnCounts) -> Summary:
    return Summary(counts.n, counts.n_missing, counts.mean, counts.sd)


def _no_violations() -> pd.DataFrame:
    return pd.DataFrame({"at": [], "reason": [], "n": []})


def _violations(parts: list[tuple[datetime, Part]], column: str) -> pd.DataFrame:
    records = [
        (at, reason_words(reason), count)
        for at, part in parts
        for reason, count in violation_counts(part, column).items()
    ]
    if not records:
        return _no_violations()
    frame = pd.DataFrame.from_records(records, columns=["at", "reason", "n"])
    frame["at"] = frame["at"].dt.floor("D")
    return frame.groupby(["at", "reason"], as_index=False).agg({"n": "sum"})
