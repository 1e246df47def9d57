"""What the promise measured of each column and window, as measurements with their p-values."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.checks.intervals import LEVEL
from monitor.checks.promise.baseline import SeasonalBaseline, SeasonalColumn
from monitor.checks.promise.scales import SCALES
from monitor.checks.promise.score import ScaleScores
from monitor.checks.promise.smallest import smallest_effects, smallest_shifts
from monitor.checks.promise.views import MIN_ROWS, View
from monitor.checks.promise.watch import Watched
from monitor.checks.registry import CheckName, entry
from monitor.jobs.base import JobContext
from monitor.jobs.promise.series import ModelHours
from monitor.measurement import Measured, Measurement, Outcome, Subject, TooFew
from monitor.profiles.arrays import Floats
from monitor.records import LIVE_LEG
from monitor.windows import Window

METHOD = "seasonal"
_Z = 1.959964


@dataclass(frozen=True, eq=False)
class Visible:
    """The smallest changes that windows of one scale could show, float64[columns, w] each."""

    shift_sd: Floats
    psi: Floats


def seasonal_measurements(
    context: JobContext,
    seen: ModelHours,
    baseline: SeasonalBaseline,
    watched: Watched,
    ends: Collection[int],
) -> Iterator[Measurement]:
    """One measurement a column and window that ends with one of the hours `ends` (exclusive)."""
    for place, scores in enumerate(watched.scores):
        levels = watched.levels[:, place]
        visible = Visible(
            smallest_shifts(baseline, scores, levels), smallest_effects(baseline, scores, levels)
        )
        for window, end in enumerate(scores.ends.tolist()):
            if end not in ends:
                continue
            start = end - SCALES[place].length
            span = Window(seen.hours.end_of(start - 1), seen.hours.end_of(end - 1))
            deployments = seen.serving(start, end)
            if not deployments:
                continue
            for column in _judged(baseline, place):
                known = baseline.columns[column]
                outcome = _outcome(known, scores, column, window, levels, visible)
                yield measurement(context, CheckName.DRIFT, METHOD, outcome, span,
                                  deployments, known.name)  # fmt: skip


def _judged(baseline: SeasonalBaseline, scale: int) -> list[int]:
    """Columns of all requests that are tested at a scale; segments are told by incidents."""
    tested = baseline.views[:, scale] > 0
    return [p for p, one in enumerate(baseline.columns) if not one.segment and tested[p]]


def measurement(
    context: JobContext,
    check: CheckName,
    method: str,
    outcome: Outcome,
    window: Window,
    deployment_ids: tuple[int, ...],
    column: str = "",
) -> Measurement:
    """A measurement of the live leg by a registered method."""
    known = entry(check, method)
    return Measurement(
        check=known.check.value,
        method=known.method,
        method_version=known.version,
        subject=Subject(deployment_ids, LIVE_LEG, 0, column),
        window=window,
        outcome=outcome,
        unit=known.unit,
        direction=known.direction,
        known_at=context.now,
    )


def _outcome(
    column: SeasonalColumn,
    scores: ScaleScores,
    place: int,
    window: int,
    levels: Floats,
    visible: Visible,
) -> Outcome:
    p = scores.p_value[place, :, window]
    rows = int(scores.rows[place, window])
    if np.isnan(p).all():
        if rows >= MIN_ROWS:  # a holiday is inside, or no view can look
            return TooFew(0, MIN_ROWS, "rows that can be judged")
        return TooFew(rows, MIN_ROWS, "rows in the window")
    tests = int((~np.isnan(p)).sum())
    best = int(np.nanargmin(p))
    value, low, high = _effect(scores, place, window, best)
    detail: dict[str, Any] = {
        "p_value": _short(min(1.0, float(p[best]) * tests)),
        "view": View(best).word,
        "level": _short(float(levels[place]) * tests),
        "season": column.season.value,
    }
    for name, values in (
        ("smallest_visible_shift_sd", visible.shift_sd),
        ("smallest_visible_psi", visible.psi),
    ):
        if math.isfinite(values[place, window]):
            detail[name] = _short(float(values[place, window]))
    return Measured(_short(value), rows, _short(low), _short(high), LEVEL, column.n, detail)


def _effect(scores: ScaleScores, place: int, window: int, best: int) -> tuple[float, float, float]:
    """Debiased PSI and its 95 % limits: T has mean df + λ and variance 2(df + 2λ) (noncentral
    chi-square, normal approximation); a view by cells alone has no such limits and repeats itself.
    """
    view = View.OMNIBUS
    if np.isnan(scores.statistic[place, view, window]):
        alone = float(scores.effect[place, best, window])
        return alone, alone, alone
    value = float(scores.effect[place, view, window])
    n = max(float(scores.effective_rows[place, view, window]), 1e-9)
    df = float(scores.degrees[place, view, window])
    half = _Z * math.sqrt(2 * (df + 2 * max(value * n, 0.0))) / n
    return value, value - half, value + half


def _short(value: float) -> float:
    """Six digits: enough for people, a third of the bytes."""
    return float(f"{value:.6g}")
