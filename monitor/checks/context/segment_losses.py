"""Which segments carry a change of the mean loss: by size, and by being judged worse.

Knows rows and losses by segment and entity group. The segments divide the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.checks.context.disde import MIN_ROWS
from monitor.checks.intervals import LEVEL
from monitor.checks.resampling import MIN_GROUPS, jackknife_limits
from monitor.measurement import Measured, TooFew
from monitor.profiles.arrays import Floats, Integers

LEAST_IN_SEGMENT = 50


@dataclass(frozen=True, eq=False)
class SegmentLosses:
    """Of one window: labelled `rows` int64[segments, groups] and `sums` of losses float64, same."""

    rows: Integers
    sums: Floats


@dataclass(frozen=True)
class SegmentShare:
    """What one segment adds to the change of the mean loss, in units of the loss.

    `contribution` = `mix` (the segment grew or shrank) + `within` (its requests are judged worse or
    better). `loss_then`, `loss_now`: its own mean loss; None below 50 rows. `share_then`,
    `share_now`: of all rows.
    """

    label: str
    contribution: Measured | TooFew
    mix: float
    within: float
    loss_then: float | None
    loss_now: float | None
    share_then: float
    share_now: float


def segment_shares(
    labels: Sequence[str], then: SegmentLosses, now: SegmentLosses
) -> tuple[SegmentShare, ...] | TooFew:
    """Every segment's contribution to the change of the mean loss, the largest first.

    Kitagawa's decomposition (1955), symmetric form: mix = (b - a)((r + s)/2 - m), within =
    (a + b)/2·(s - r), with shares a, b of the rows and mean losses r, s of the segment then and
    now, m the mean of both overall losses; the sum over all segments is the whole change. Limits
    by the jackknife over entity groups (Efron and Stein 1981), 95 % for each segment. A segment is
    TooFew below 50 labelled rows of a side. Descriptive: where the change is, not why.
    """
    few = int(min(then.rows.sum(), now.rows.sum()))
    if few < MIN_ROWS:
        return TooFew(few, MIN_ROWS, "labelled rows of a window")
    filled = (then.rows.sum(axis=0) > 0) & (now.rows.sum(axis=0) > 0)
    if int(filled.sum()) < MIN_GROUPS:
        return TooFew(int(filled.sum()), MIN_GROUPS, "entity groups with labels in both windows")
    whole = _contributions(then, now)
    left_out = np.array(
        [
            _contributions(_without(then, group), _without(now, group)).total
            for group in np.flatnonzero(filled).tolist()
        ]
    )
    found = [
        _share(label, place, whole, left_out[:, place], (then, now))
        for place, label in enumerate(labels)
    ]
    return tuple(sorted(found, key=lambda one: (-(one.mix + one.within), one.label)))


@dataclass(frozen=True, eq=False)
class _Contributions:
    mix: Floats
    within: Floats

    @property
    def total(self) -> Floats:
        return np.asarray(self.mix + self.within)


def _contributions(then: SegmentLosses, now: SegmentLosses) -> _Contributions:
    """Mix and within of each segment, float64[segments]; a side without rows borrows the other's
    mean, so that a segment that appears counts as mix."""
    sides = []
    for side in (then, now):
        rows, sums = side.rows.sum(axis=1), side.sums.sum(axis=1)
        mean = np.divide(sums, rows, out=np.full(len(rows), np.nan), where=rows > 0)
        sides.append((rows / rows.sum(), mean, float(sums.sum() / rows.sum())))
    (a, r, whole_then), (b, s, whole_now) = sides
    r, s = np.where(np.isnan(r), s, r), np.where(np.isnan(s), r, s)
    r, s = np.nan_to_num(r), np.nan_to_num(s)
    middle = (whole_then + whole_now) / 2
    return _Contributions((b - a) * ((r + s) / 2 - middle), (a + b) / 2 * (s - r))


def _without(side: SegmentLosses, group: int) -> SegmentLosses:
    kept = np.arange(side.rows.shape[1]) != group
    return SegmentLosses(side.rows[:, kept], side.sums[:, kept])


def _share(
    label: str,
    place: int,
    whole: _Contributions,
    left_out: Floats,
    sides: tuple[SegmentLosses, SegmentLosses],
) -> SegmentShare:
    n_then, n_now = (int(side.rows[place].sum()) for side in sides)
    sums = [float(side.sums[place].sum()) for side in sides]
    value = float(whole.total[place])
    contribution: Measured | TooFew
    if min(n_then, n_now) < LEAST_IN_SEGMENT:
        what = "labelled rows of the segment in a window"
        contribution = TooFew(min(n_then, n_now), LEAST_IN_SEGMENT, what)
    else:
        low, high = jackknife_limits(value, left_out.tolist())
        detail = {"method": "jackknife over entity groups"}
        contribution = Measured(value, n_now, low, high, LEVEL, n_then, detail)
    return SegmentShare(
        label=label,
        contribution=contribution,
        mix=float(whole.mix[place]),
        within=float(whole.within[place]),
        loss_then=sums[0] / n_then if n_then >= LEAST_IN_SEGMENT else None,
        loss_now=sums[1] / n_now if n_now >= LEAST_IN_SEGMENT else None,
        share_then=n_then / int(sides[0].rows.sum()),
        share_now=n_now / int(sides[1].rows.sum()),
    )
