"""Calendar columns: the hour fixes the value, so a row with another value is suspicious. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.checks.promise.baseline import SeasonalColumn
from monitor.checks.promise.hours import Hours
from monitor.profiles.arrays import Floats, Integers

MIN_MISMATCHES = 2


@dataclass(frozen=True, eq=False)
class RegularScores:
    """By hour, float64[w]: `p_value` (NaN without rows), `effect` in PSI units, `rows`, `excess`
    rows with an unexpected value, and the cell that most of them are in, int64[w]."""

    p_value: Floats
    effect: Floats
    rows: Floats
    excess: Floats
    cell: Integers


def regular_scores(
    column: SeasonalColumn, counts: Floats, hours: Hours, ends: Integers
) -> RegularScores:
    """Rows outside their slot's usual cell against their healthy share, hour by hour.

    k mismatches of m rows have p = P(X >= k), X binomial(m, p0), p0 = (mismatches + 1)/(rows + 2)
    of the baseline (Laplace's rule); fewer than 2 mismatches are never held against a column.
    """
    slots = hours.slots(column.season)[ends - 1]
    usual = column.totals.argmax(axis=1)[slots]
    seen = counts[ends - 1].copy()
    rows = seen.sum(axis=1)
    place = np.arange(len(ends))
    seen[place, usual] = 0.0
    mismatches = seen.sum(axis=1)
    known = float(column.totals.sum())
    usual_rows = float(column.totals.max(axis=1).sum())
    share = (known - usual_rows + 1) / (known + 2)
    p = special.betainc(np.maximum(mismatches, 1), rows - np.maximum(mismatches, 1) + 1, share)
    judged = np.where(mismatches >= MIN_MISMATCHES, p, 1.0)
    valid = (rows > 0) & ~hours.without[ends - 1]
    smoothed = (mismatches + 0.5 * share) / (rows + 0.5)
    return RegularScores(
        p_value=np.where(valid, judged, np.nan),
        effect=(smoothed - share) * np.log(smoothed / share),
        rows=rows,
        excess=mismatches - rows * share,
        cell=seen.argmax(axis=1),
    )
