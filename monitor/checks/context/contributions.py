"""Which segments carry a column's shift: by growing or shrinking, or by changing inside.

Knows counts by segment and cell. The segments divide the rows: each row is in exactly one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.checks.context.resampling import DRAWS, drawn_counts, percentile_limits
from monitor.checks.intervals import LEVEL
from monitor.measurement import Failed, Measured, TooFew
from monitor.profiles.arrays import Floats, Integers

MIN_ROWS = 100
TOP = 5
_SURE = 0.05


@dataclass(frozen=True, eq=False)
class Parts:
    """Change of the shares of each cell by segment: `mix` + `within`, float64[segments, cells].

    Summed over the segments they give `change`, float64[cells]: share now minus share then.
    """

    mix: Floats
    within: Floats
    change: Floats


@dataclass(frozen=True)
class Contribution:
    """What one segment adds to the shift, as shares of the whole shift (which is 1).

    `share` = `mix` (the segment grew or shrank) + `within` (its rows changed). Below 0: it works
    against the shift. `n`, `n_reference`: rows of the segment.
    """

    label: str
    share: Measured
    mix: float
    within: float


@dataclass(frozen=True)
class Contributions:
    """The segments with the largest shares; `others` is the sum of the rest, so all add up to 1."""

    top: tuple[Contribution, ...]
    others: float
    mix: Measured
    within: Measured


@dataclass(frozen=True)
class ColumnDidNotMove:
    """The column's shares did not change by more than chance gives: nothing to divide."""

    p_value: float
    n: int
    n_reference: int


def segment_parts(reference: Integers, current: Integers) -> Parts:
    """Kitagawa's decomposition (1955) of the change of a column's shares, symmetric form.

    `reference`, `current` int64[segments, cells], both with rows. With segment shares a, b and
    shares inside a segment q, r: mix_sc = (b_s - a_s)((q_sc + r_sc)/2 - m_c), within_sc =
    (a_s + b_s)/2 · (r_sc - q_sc). m_c is the mean of both overall shares; it drops out of the sum
    (Σ(b - a) = 0) and makes a segment that grows count only where it differs from the whole. A
    segment with rows on one side only has changed its share, not its inside.
    """
    rows, rows_now = reference.sum(axis=1), current.sum(axis=1)
    share, share_now = rows / rows.sum(), rows_now / rows_now.sum()
    inside, inside_now = _inside(reference, current), _inside(current, reference)
    overall, overall_now = reference.sum(axis=0) / rows.sum(), current.sum(axis=0) / rows_now.sum()
    centre = (overall + overall_now) / 2
    mix = (share_now - share)[:, None] * ((inside + inside_now) / 2 - centre)
    within = ((share + share_now) / 2)[:, None] * (inside_now - inside)
    return Parts(mix, within, overall_now - overall)


def contributions(
    labels: Sequence[str],
    reference: Integers,
    current: Integers,
    *,
    seed: int,
    top: int = TOP,
    draws: int = DRAWS,
) -> Contributions | ColumnDidNotMove | TooFew | Failed:
    """Shares of a column's shift that its segments carry, with bootstrap limits.

    `reference`, `current` int64[segments, cells], `labels` names the segments. The parts of
    `segment_parts` are measured along the shift: the weight of cell c is d_c/p_c, d the change and
    p the mean of both shares (the chi-square metric), so Σ weight · change is the squared distance
    and a contribution its part of that. In the bootstrap (multinomial, both sides) the weights stay
    fixed. Limits are 95 % for each segment.

    ColumnDidNotMove if the chi-square test of equal shares has p >= 0.05; TooFew below 100 rows on
    a side. Not for overlapping segments. Rows that come in clusters make the limits too narrow.
    """
    n, n_reference = int(current.sum()), int(reference.sum())
    if min(n, n_reference) < MIN_ROWS:
        return TooFew(min(n, n_reference), MIN_ROWS, "rows in all segments")
    p_value = _equal_shares(reference.sum(axis=0), current.sum(axis=0))
    if p_value >= _SURE:
        return ColumnDidNotMove(p_value, n, n_reference)
    weights = _weights(reference, current)
    by_segment = _along(segment_parts(reference, current), weights)
    drawn = _drawn(reference, current, weights, seed, draws)
    return _listed(labels, reference, current, by_segment, drawn, top)


def _listed(
    labels: Sequence[str],
    reference: Integers,
    current: Integers,
    by_segment: Floats,
    drawn: Floats,
    top: int,
) -> Contributions | Failed:
    shares = by_segment.sum(axis=0)
    order = np.argsort(-np.abs(shares), kind="stable")[:top].tolist()
    found = []
    for place in order:
        rows, rows_then = int(current[place].sum()), int(reference[place].sum())
        share = _measured(float(shares[place]), drawn[:, :, place].sum(axis=1), rows, rows_then)
        if share is None:
            return Failed("too many bootstrap samples had no shift to divide")
        mix, within = by_segment[:, place].tolist()
        found.append(Contribution(labels[place], share, mix, within))
    n, n_reference = int(current.sum()), int(reference.sum())
    totals = [
        _measured(float(by_segment[kind].sum()), drawn[:, kind].sum(axis=1), n, n_reference)
        for kind in (0, 1)
    ]
    if totals[0] is None or totals[1] is None:
        return Failed("too many bootstrap samples had no shift to divide")
    return Contributions(tuple(found), float(1 - shares[order].sum()), totals[0], totals[1])


def _inside(own: Integers, other: Integers) -> Floats:
    """Shares of cells inside each segment; a segment without rows borrows the other side's."""
    used = np.where(own.sum(axis=1, keepdims=True) > 0, own, other)
    shares: Floats = used / np.maximum(used.sum(axis=1, keepdims=True), 1)
    return shares


def _weights(reference: Integers, current: Integers) -> Floats:
    then = reference.sum(axis=0) / reference.sum()
    now = current.sum(axis=0) / current.sum()
    middle = (then + now) / 2
    weights: Floats = np.divide(now - then, middle, out=np.zeros(len(middle)), where=middle > 0)
    return weights


def _along(parts: Parts, weights: Floats) -> Floats:
    """Mix and within share of each segment, float64[2, segments], adding up to 1."""
    both = np.stack((parts.mix @ weights, parts.within @ weights))
    distance = float(parts.change @ weights)
    return both / distance if distance != 0 else np.full_like(both, np.nan)


def _drawn(
    reference: Integers, current: Integers, weights: Floats, seed: int, draws: int
) -> Floats:
    """float64[draws, 2, segments]."""
    rng = np.random.default_rng(seed)
    befores = drawn_counts(rng, reference, draws)
    nows = drawn_counts(rng, current, draws)
    return np.stack(
        [
            _along(segment_parts(before, now), weights)
            for before, now in zip(befores, nows, strict=True)
        ]
    )


def _measured(value: float, drawn: Floats, n: int, n_reference: int) -> Measured | None:
    limits = percentile_limits(drawn, value)
    return None if limits is None else Measured(value, n, *limits, LEVEL, n_reference)


def _equal_shares(then: Integers, now: Integers) -> float:
    """Pearson's chi-square test of two columns of counts; empty cells are left out."""
    table = np.stack((then, now)).astype(np.float64)
    table = table[:, table.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    degrees = table.shape[1] - 1
    return float(special.chdtrc(degrees, ((table - expected) ** 2 / expected).sum()))
