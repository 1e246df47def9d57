"""The smallest change that a window could have shown: what its silence is worth. Pure.

A location test of level α over n effective rows finds a shift of d standard deviations with 90 %
certainty when d·√n >= z_crit + z_0.9 (textbook power of a z-test; d is in baseline deviations,
exact for normal values).
"""

from __future__ import annotations

import numpy as np
from scipy import special

from monitor.checks.promise.baseline import Calibration, SeasonalBaseline
from monitor.checks.promise.score import ScaleScores
from monitor.checks.promise.tail import surprise_needed
from monitor.checks.promise.views import View
from monitor.profiles.arrays import Floats

POWER = 0.9


def rows_needed(shift: float, level: float, power: float = POWER) -> int:
    """Rows for a two-sided location test at `level` to find `shift` standard deviations."""
    z = -special.ndtri(level / 2) + special.ndtri(power)
    return int(np.ceil((z / shift) ** 2))


def critical_statistics(
    baseline: SeasonalBaseline, scale: int, levels: Floats, view: View
) -> Floats:
    """The statistic over its wobble at which a column's view reaches its level, float64[columns].

    Infinite where the level can't be reached, NaN where the view isn't tested; for omnibus views
    the chi-square degrees are left to the caller, so only 1-df views are meaningful here.
    """
    table = baseline.calibrations
    found = np.full(len(baseline.columns), np.nan)
    fitted = _surprises_needed(baseline, scale, levels, view)
    for place, kind in enumerate(table.kind[:, view, scale]):
        level = float(levels[place])
        if not np.isnan(fitted[place]):
            found[place] = special.chdtri(1.0, np.exp(-fitted[place]))
        elif kind == Calibration.FEW and level > 0:
            degrees = float(table.degrees[place, view, scale])
            found[place] = special.fdtri(1.0, degrees, 1 - level) if level > 1e-15 else np.inf
    return found


def smallest_shifts(baseline: SeasonalBaseline, scores: ScaleScores, levels: Floats) -> Floats:
    """Smallest shift of the mean that each window would show with 90 % certainty, float64[columns,
    w], in baseline standard deviations; NaN for categories and where location isn't tested."""
    scale, view = scores.scale, View.LOCATION
    table = baseline.calibrations
    critical = critical_statistics(baseline, scale, levels, view)[:, None]
    n = scores.effective_rows[:, view]
    tau = table.tau[:, view, scale][:, None]
    wobble = 1 + n * tau
    widened = 1 + n * tau * table.spread[:, view, scale][:, None]
    few = (table.kind[:, view, scale] == Calibration.FEW)[:, None]
    ratio = table.ratio[:, view, scale][:, None]
    divisor = np.where(few & (ratio < 1), np.maximum(ratio, 0.02), widened)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.sqrt(critical * divisor) + special.ndtri(POWER) * np.sqrt(wobble)
        return np.asarray(np.where(n > 0, z / np.sqrt(n), np.nan))


def smallest_effects(baseline: SeasonalBaseline, scores: ScaleScores, levels: Floats) -> Floats:
    """Smallest change of all cells together that each window would show with 90 % certainty, in PSI
    units, float64[columns, w]; NaN where the omnibus view isn't tested by a fitted tail.

    T of a change of size D has mean df + n·D and variance 2(df + 2n·D) (noncentral chi-square,
    normal approximation).
    """
    scale, view = scores.scale, View.OMNIBUS
    table = baseline.calibrations
    surprise = _surprises_needed(baseline, scale, levels, view)[:, None]
    n, df = scores.effective_rows[:, view], scores.degrees[:, view]
    tau = table.tau[:, view, scale][:, None]
    spread = table.spread[:, view, scale][:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        critical = special.chdtri(df, np.exp(-surprise)) * (1 + n * tau * spread)
        beyond = np.maximum(critical - df, 0.0)
        certain = beyond + special.ndtri(POWER) * np.sqrt(2 * (df + 2 * beyond))
        return np.asarray(np.where(n > 0, certain / n, np.nan))


def _surprises_needed(baseline: SeasonalBaseline, scale: int, levels: Floats, view: View) -> Floats:
    """The surprise at which a fitted tail reaches its level, float64[columns]; NaN without one."""
    table = baseline.calibrations
    found = np.full(len(baseline.columns), np.nan)
    for place, kind in enumerate(table.kind[:, view, scale]):
        level = float(levels[place])
        if kind in (Calibration.TAIL, Calibration.TAIL_ALONE) and level > 0:
            needed = surprise_needed(table.curves[place, view, scale], level)
            floor = -np.log(level) if kind == Calibration.TAIL else 0.0
            found[place] = min(max(needed, floor), 690.0)
    return found
