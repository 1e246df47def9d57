"""Signals as people read them: over time, and young days against older ones at equal age."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.engine import Engine

from monitor.checks.registry import CheckName
from monitor.checks.signals.by_age import AgePoint, Maturity, at_equal_age, expected_final
from monitor.measurement import MeasurementState
from monitor.reports.database import reading
from monitor.reports.measurements import Filter, MeasurementRow, read_measurements
from monitor.reports.series import Series, deployment_titles, make_series
from monitor.windows import Window

DAY = "day"


@dataclass(frozen=True)
class YoungDay:
    """A day whose events are not all known: its share by `hours` of age, that of final days by the
    same age with the difference and its limits, and the share it heads for with its limits."""

    window: Window
    maturity: str
    hours: float
    n: int
    share: float
    share_before: float | None
    difference: tuple[float, float, float] | None
    expected: tuple[float, float, float] | None


@dataclass(frozen=True, eq=False)
class SignalSeries:
    """One signal: its measurements over time and, of an event, its young days, newest first."""

    name: str
    kind: str
    unit: str
    direction: str
    series: Series
    young: tuple[YoungDay, ...]
    newest: MeasurementRow


def signals(
    engine: Engine, project_id: int, model_id: int, window: Window, wanted: Filter
) -> tuple[SignalSeries, ...]:
    """Signals measured of the days that start in a window, by name; `wanted` says leg and when."""
    wanted = replace(wanted, checks=(CheckName.SIGNAL.value,), scale=DAY)
    with reading(engine, project_id) as connection:
        rows = read_measurements(connection, project_id, model_id, window, wanted)
        titles = deployment_titles(connection, project_id, model_id)
    by_name: dict[str, list[MeasurementRow]] = {}
    for row in rows:
        by_name.setdefault(row.column, []).append(row)
    return tuple(_series(name, by_name[name], titles) for name in sorted(by_name))


def _series(name: str, rows: Sequence[MeasurementRow], titles: Mapping[int, str]) -> SignalSeries:
    whole = _of_all(rows)
    return SignalSeries(
        name=name,
        kind=str(rows[0].detail.get("kind", "")),
        unit=rows[0].unit,
        direction=rows[0].direction,
        series=make_series(rows, titles, DAY, (DAY,)),
        young=_young(whole),
        newest=whole[0],
    )


def _of_all(rows: Sequence[MeasurementRow]) -> list[MeasurementRow]:
    """Of every day the row of the most deployments, newest day first."""
    found: dict[Window, MeasurementRow] = {}
    for row in rows:
        known = found.get(row.window)
        if known is None or len(row.deployment_ids) > len(known.deployment_ids):
            found[row.window] = row
    return [found[window] for window in sorted(found, reverse=True)]


def _young(rows: Sequence[MeasurementRow]) -> tuple[YoungDay, ...]:
    measured = [row for row in rows if row.state is MeasurementState.MEASURED]
    final = [
        points
        for row in measured
        if row.detail.get("maturity") == Maturity.FINAL.value and (points := _points(row))
    ]
    young = [row for row in measured if row.detail.get("maturity") != Maturity.FINAL.value]
    return tuple(day for row in young if (day := _day(row, final)) is not None)


def _day(row: MeasurementRow, final: Sequence[Sequence[AgePoint]]) -> YoungDay | None:
    points = _points(row)
    if not points:
        return None
    ages = {round(point.hours, 6) for one in final for point in one}
    shared = [point for point in points if round(point.hours, 6) in ages]
    newest = shared[-1] if shared else points[-1]
    contrast = at_equal_age(newest, [point for one in final for point in one])
    by_then = sum(p.events for one in final for p in one if abs(p.hours - newest.hours) < 1e-6)
    in_the_end = sum(one[-1].events for one in final)
    return YoungDay(
        window=row.window,
        maturity=str(row.detail.get("maturity")),
        hours=newest.hours,
        n=newest.n,
        share=newest.share,
        share_before=None if contrast is None else contrast.share,
        difference=(
            None if contrast is None else (contrast.difference, contrast.low, contrast.high)
        ),
        expected=expected_final(newest, by_then, in_the_end),
    )


def _points(row: MeasurementRow) -> list[AgePoint]:
    kept: Sequence[Mapping[str, Any]] = row.detail.get("by_age") or ()
    return [
        AgePoint(one["hours"], int(one["events"]), int(one["n"]), one["low"], one["high"])
        for one in kept
    ]
