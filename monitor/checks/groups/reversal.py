"""Does a gap between two groups stay when a second column is held fixed (Simpson 1951)?"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from monitor.checks.groups.counts import MIN_EVENTS, MIN_ROWS
from monitor.checks.intervals import LEVEL, newcombe_limits
from monitor.checks.stratified import (
    MantelHaenszel,
    cmh,
    informative,
    standardised_difference,
    standardised_rate,
)
from monitor.measurement import Measured, Outcome, TooFew
from monitor.profiles.arrays import Integers


class Reversal(StrEnum):
    """What holding the second column fixed does to a gap."""

    REVERSED = "reversed"
    MORE_THAN_HALF = "more_than_half"
    NONE = "none"


def adjusted_gap(tables: Integers, *, by: str, level: float = LEVEL) -> Outcome:
    """Gap of favourable answers, group minus reference, within the strata of a second column.

    `tables` int64[strata, 2, 2]: (group, reference) × (favourable, not). Value: the Mantel-Haenszel
    risk difference. The detail holds the crude gap, the gap on the mix of both groups together,
    both CMH statistics, the common odds ratio, and `flag`: reversed when crude and adjusted gap
    point in different directions, more_than_half when the adjusted one differs by more than half
    of the crude one; either only when at least one of the two intervals leaves out 0, as signs of
    chance differ half the time. TooFew below 50 rows of a side in strata that both sides share, or
    5 rows of an answer. `by` names the second column. Which gap is the fair one to look at is for
    people to say: the second column may itself be what is unfair.
    """
    table = np.asarray(tables, np.int64).reshape(-1, 2, 2)
    kept = table[informative(table)]
    rows = kept.sum(axis=(0, 2))
    few = int(rows.min()) if len(kept) else 0
    if few < MIN_ROWS:
        return TooFew(few, MIN_ROWS, f"answers of a side in shared values of {by}", {"by": by})
    rarer = int(kept.sum(axis=(0, 1)).min())
    if rarer < MIN_EVENTS:
        return TooFew(rarer, MIN_EVENTS, "answers of the rarer kind", {"by": by})
    held = cmh(kept, level)
    (x, not_x), (y, not_y) = kept.sum(axis=0).tolist()
    return _told(held, kept, (x, x + not_x, y, y + not_y), by, level)


def _told(
    held: MantelHaenszel, kept: Integers, sums: tuple[int, int, int, int], by: str, level: float
) -> Measured:
    x, n, y, m = sums
    crude = x / n - y / m
    low, high = newcombe_limits(x, n, y, m, level)
    mix = kept.sum(axis=(1, 2))
    sides = [
        standardised_rate(kept[:, place, 0], kept[:, place].sum(axis=1), mix, level)
        for place in (0, 1)
    ]
    apart = standardised_difference(sides[0], sides[1])
    detail = {
        "by": by,
        "strata": len(kept),
        "crude": crude,
        "crude_low": low,
        "crude_high": high,
        "standardised": apart.value,
        "rate_standardised": sides[0].value,
        "rate_standardised_reference": sides[1].value,
        "statistic": held.statistic,
        "statistic_corrected": held.statistic_corrected,
        "p_value": held.p_value,
        "odds_ratio": held.odds_ratio,
        "flag": reversal(crude, (low, high), held).value,
    }
    return Measured(
        held.risk_difference, n, held.low, held.high, LEVEL, m, {**detail, "interval_level": level}
    )


def reversal(crude: float, limits: tuple[float, float], held: MantelHaenszel) -> Reversal:
    """The flag of a crude gap with its limits and the gap held fixed."""
    adjusted = held.risk_difference
    unclear = limits[0] <= 0 <= limits[1] and held.low <= 0 <= held.high
    if unclear:
        return Reversal.NONE
    if crude * adjusted < 0:
        return Reversal.REVERSED
    if abs(crude - adjusted) > abs(crude) / 2:
        return Reversal.MORE_THAN_HALF
    return Reversal.NONE
