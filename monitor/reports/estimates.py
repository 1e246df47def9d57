"""Estimates without labels beside what came true, by day, for people.

The cohorts are days; of every day the widest set of deployments is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

import pandas as pd
from sqlalchemy.engine import Engine

from monitor.checks.registry import CheckName
from monitor.measurement import MeasurementState
from monitor.reports.database import reading
from monitor.reports.measurements import Filter, MeasurementRow, read_measurements
from monitor.reports.series import frame_of
from monitor.windows import Window

ESTIMATED, REALISED = "estimated without labels", "realised"
SCALE, ERROR = "day", "_error"


@dataclass(frozen=True)
class CheckedEstimate:
    """A matured day: its estimate, what came true, the difference, and whether what came true lies
    inside the interval that was printed; None where the estimate is no longer in the range."""

    window: Window
    estimate: float
    realised: float
    error: float
    inside: bool | None


@dataclass(frozen=True, eq=False)
class EstimateReport:
    """One measure. `frame`: measured rows of both kinds as in `reports.series`, the kind in
    `deployments`; `newest` is the newest estimate whatever its state; `checked` oldest first.

    `methods`: all measures that are estimated.
    """

    methods: tuple[str, ...]
    method: str | None
    frame: pd.DataFrame
    newest: MeasurementRow | None
    withheld: tuple[str, ...]
    checked: tuple[CheckedEstimate, ...]

    @property
    def sentence(self) -> str:
        """What is printed beside every estimate."""
        return "" if self.newest is None else str(self.newest.detail.get("sentence", ""))


def estimate_report(
    engine: Engine,
    project_id: int,
    model_id: int,
    window: Window,
    wanted: Filter,
    method: str | None = None,
) -> EstimateReport:
    """Estimates of the days of a window; `wanted` gives the leg and as of when it is known.

    Without a method the first of AUC, accuracy, MAE and the others that there is.
    """
    asked = replace(wanted, checks=(CheckName.ESTIMATE.value,), methods=(), scale=SCALE)
    with reading(engine, project_id) as connection:
        found = read_measurements(connection, project_id, model_id, window, asked)
        there = {row.method for row in found if not row.method.endswith(ERROR)}
        methods = tuple(sorted(there, key=_rank))
        chosen = method if method in there else next(iter(methods), None)
        realised: tuple[MeasurementRow, ...] = ()
        if chosen is not None:
            of = replace(asked, checks=(CheckName.QUALITY.value,), methods=(chosen,))
            realised = read_measurements(connection, project_id, model_id, window, of)
    estimates = _widest(row for row in found if row.method == chosen)
    errors = _widest(row for row in found if row.method == f"{chosen}{ERROR}")
    return EstimateReport(
        methods=methods,
        method=chosen,
        frame=_frame(estimates, _widest(realised)),
        newest=estimates[-1] if estimates else None,
        withheld=tuple(dict.fromkeys(r.reason for r in reversed(estimates) if r.reason))[:5],
        checked=_checked(errors, estimates),
    )


def _rank(method: str) -> tuple[int, str]:
    first = ("auc", "accuracy", "mae", "macro_f1", "f1", "brier", "rmse")
    return (first.index(method) if method in first else len(first), method)


def _widest(rows: Iterable[MeasurementRow]) -> list[MeasurementRow]:
    """Of every window the row of the most deployments, oldest first."""
    found: dict[datetime, MeasurementRow] = {}
    for row in rows:
        before = found.get(row.window.start)
        if before is None or len(row.deployment_ids) > len(before.deployment_ids):
            found[row.window.start] = row
    return [found[start] for start in sorted(found)]


def _frame(estimates: list[MeasurementRow], realised: list[MeasurementRow]) -> pd.DataFrame:
    measured = MeasurementState.MEASURED
    pieces = []
    for kind, rows in ((ESTIMATED, estimates), (REALISED, realised)):
        frame = frame_of([row for row in rows if row.state is measured], {})
        pieces.append(frame.assign(deployments=kind))
    return pd.concat([piece for piece in pieces if len(piece)] or pieces[:1], ignore_index=True)


def _checked(
    errors: list[MeasurementRow], estimates: list[MeasurementRow]
) -> tuple[CheckedEstimate, ...]:
    made = {(row.window, row.deployment_ids): row for row in estimates}
    found = []
    for row in errors:
        if row.value is None:
            continue
        estimate, realised = (float(row.detail[name]) for name in ("estimate", "realised"))
        own = made.get((row.window, row.deployment_ids))
        inside = None
        if own is not None and own.low is not None and own.high is not None:
            inside = own.low <= realised <= own.high
        found.append(CheckedEstimate(row.window, estimate, realised, row.value, inside))
    return tuple(found)
