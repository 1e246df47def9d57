"""Shares of two sides: crude, and held together over strata by Mantel-Haenszel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.checks.comparison.cells import A, B, RateTable, Strata, support_shares
from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import LEVEL, newcombe_limits
from monitor.checks.resampling import jackknife_limits
from monitor.checks.stratified import MantelHaenszel, cmh, informative
from monitor.measurement import Outcome
from monitor.profiles.arrays import Integers

MIN_ROWS = 50
MIN_EVENTS = 5
MIN_CLUSTERS = 12
"""Shared slots of time from which on they can be resampled or left out one by one."""
MH = "Mantel-Haenszel"
MH_BY_TIME = "Mantel-Haenszel, at least a jackknife over time"
THIN = 100
"""Below so many rows or MIN_EVENTS events a side the large-sample interval is widened."""


@dataclass(frozen=True)
class Compared:
    """One metric of both sides. `outcome` is the adjusted difference b - a.

    Crude values are those of all rows, adjusted ones those on common support; None without rows.
    `n`, `shares`: rows of a and b, and the share of them on common support. `crude_limits`: limits
    of the crude values of a and of b, where they are known.
    """

    crude: tuple[float | None, float | None]
    adjusted: tuple[float | None, float | None]
    n: tuple[int, int]
    shares: tuple[float, float]
    outcome: Outcome
    crude_limits: tuple[tuple[float | None, float | None], ...] = ()


def compare_rates(
    table: RateTable,
    strata: Strata,
    least: int = MIN_ROWS,
    also: tuple[Floor, ...] = (),
    slot: Integers | None = None,
) -> Compared:
    """Mantel-Haenszel risk difference of a share, b - a, with its 95 % interval.

    Adjusted values weigh each stratum by n_a · n_b / (n_a + n_b), so that they differ by exactly
    that risk difference. Interval: variance of Sato, Greenland and Robins (1989); where a side has
    fewer than 100 rows, or fewer than 5 events or non-events, at least as wide as Newcombe's for
    the pooled counts. That takes rows as independent within strata; with the `slot` of time of each
    cell int64[C] and 12 shared slots or more, the interval is at least as wide as a jackknife over
    slots makes it, which holds when the rows of an hour go together. TooFew below `least` rows a
    side on common support, or where a floor of `also` does not hold.
    """
    tables = stratified_tables(table, strata)
    kept = tables[informative(tables)]
    crude = tuple(_share(table.events[:, side], table.n[:, side]) for side in (A, B))
    n = (int(table.n[:, A].sum()), int(table.n[:, B].sum()))
    shares = support_shares(strata, table.n)
    rows = kept.sum(axis=(0, 2)) if len(kept) else np.zeros(2, np.int64)
    floors = (*also, Floor(int(rows.min()), least, f"{table.metric.of} a side on common support"))
    if not len(kept):
        outcome = measured_above(floors, None, 0, undefined="no common support")
        return Compared((crude[0], crude[1]), (None, None), n, shares, outcome)
    held = cmh(kept)
    limits = _limits(kept, held)
    by_time = None if slot is None else slot_reach(table, strata, slot)
    if by_time is not None:
        value = held.risk_difference
        limits = (
            min(limits[0], max(-1.0, value - by_time)),
            max(limits[1], min(1.0, value + by_time)),
        )
    detail = {
        "n_a": int(rows[1]),
        "n_b": int(rows[0]),
        "p_value": held.p_value,
        "odds_ratio": held.odds_ratio,
        "interval_method": MH if by_time is None else MH_BY_TIME,
    }
    outcome = measured_above(floors, held.risk_difference, int(rows.sum()), limits, detail)
    return Compared((crude[0], crude[1]), _weighted(kept), n, shares, outcome)


def slot_reach(table: RateTable, strata: Strata, slot: Integers) -> float | None:
    """t · se of the Mantel-Haenszel risk difference, leaving out one slot of time at a time.

    se² = (H-1)/H Σ (θ_(h) - mean)² over the H slots with rows on common support (Efron and Stein
    1981), t on H - 1 df. None with fewer than 12 of them.
    """
    shared = strata.shared(table.n)[strata.of_cell] & (table.n.sum(axis=1) > 0)
    slots = np.unique(slot[shared])
    if len(slots) < MIN_CLUSTERS:
        return None
    whole = np.concatenate([strata.totals(table.events), strata.totals(table.n)], axis=1)
    left_out = []
    order = np.argsort(slot, kind="stable")
    bounds = np.searchsorted(slot[order], [slots, slots + 1])
    for start, end in bounds.T.tolist():
        mine = order[start:end]
        part = np.concatenate([table.events[mine], table.n[mine]], axis=1)
        places, inverse = np.unique(strata.of_cell[mine], return_inverse=True)
        gone = np.zeros((len(places), 4), np.int64)
        np.add.at(gone, inverse.ravel(), part)
        before, after = _parts(whole[places]), _parts(whole[places] - gone)
        left_out.append((before[0] - after[0], before[1] - after[1]))
    top, bottom = _parts(whole)
    taken = np.array(left_out)
    rest = bottom - taken[:, 1]
    values = (top - taken[rest > 0, 0]) / rest[rest > 0]
    if len(values) < MIN_CLUSTERS:
        return None
    low, high = jackknife_limits(top / bottom, values.tolist())
    return (high - low) / 2


def _parts(totals: Integers) -> tuple[float, float]:
    """Numerator and denominator of the risk difference; totals are (events a, b, rows a, b)."""
    events_a, events_b, n_a, n_b = totals.T.astype(np.float64)
    n = np.maximum(n_a + n_b, 1)
    return float(((events_b * n_a - events_a * n_b) / n).sum()), float((n_a * n_b / n).sum())


def common_rows(table: RateTable, strata: Strata) -> int:
    """Rows of the side that has fewer on common support."""
    tables = stratified_tables(table, strata)
    return int(tables[informative(tables)].sum(axis=(0, 2)).min())


def stratified_tables(table: RateTable, strata: Strata) -> Integers:
    """int64[strata, 2, 2]: stratum × (b, a) × (event, no event), as `cmh` reads them."""
    events, n = strata.totals(table.events), strata.totals(table.n)
    return np.stack([events[:, ::-1], (n - events)[:, ::-1]], axis=2)


def _limits(kept: Integers, held: MantelHaenszel) -> tuple[float, float]:
    counts = kept.sum(axis=0)
    if counts.sum(axis=1).min() >= THIN and counts.min() >= MIN_EVENTS:
        return held.low, held.high
    n_b, n_a = (int(rows) for rows in counts.sum(axis=1))
    low, high = newcombe_limits(int(counts[0, 0]), n_b, int(counts[1, 0]), n_a, LEVEL)
    pooled = counts[0, 0] / n_b - counts[1, 0] / n_a
    value = held.risk_difference
    return (
        max(-1.0, min(held.low, value - (pooled - low))),
        min(1.0, max(held.high, value + (high - pooled))),
    )


def _weighted(kept: Integers) -> tuple[float, float]:
    n = kept.sum(axis=2).astype(np.float64)
    weights = n[:, 0] * n[:, 1] / n.sum(axis=1)
    b, a = (float(weights @ (kept[:, side, 0] / n[:, side]) / weights.sum()) for side in (0, 1))
    return a, b


def _share(events: Integers, n: Integers) -> float | None:
    return float(events.sum() / n.sum()) if n.sum() else None
