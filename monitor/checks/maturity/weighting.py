"""Quality of a whole cohort from its labelled requests: each stands for those like it that wait.

Labels that come sooner for one predicted class than for another make the labelled requests a
biased sample; weighting each by the inverse of its chance to be labelled by now undoes that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import LEVEL, normal_quantile, wilson_limits
from monitor.checks.maturity.cohort import MaturityState, Stratum
from monitor.checks.resampling import MIN_GROUPS
from monitor.measurement import Outcome, TooFew
from monitor.profiles.arrays import Floats, Integers

LEAST_CHANCE = 0.05
MIN_LABELS, MIN_EVENTS = 50, 5
NO_CURVE = "delay curves learned"


@dataclass(frozen=True)
class Weight:
    """The weight of a stratum's labelled rows, its relative standard error, and whether the chance
    was so small that it was raised to 0.05."""

    value: float
    relative_error: float
    clipped: bool


@dataclass(frozen=True)
class Weighed:
    """Labelled rows that share a weight: `rows` in the ratio's denominator, `events` among them.

    `kind` is the predicted class: rows of one have one error of the curve. `by_group`: the same
    rows and events by entity group, int64[20] each, where it is known.
    """

    kind: int
    weight: Weight
    rows: int
    events: int
    by_group: tuple[Integers, Integers] | None = None


@dataclass(frozen=True)
class WeightedShare:
    """A Hájek ratio with limits, rows and effective sample size (Σw)²/Σw²."""

    value: float
    low: float
    high: float
    rows: int
    effective: float


def weight_of(stratum: Stratum, state: MaturityState, own_share: float | None) -> Weight | None:
    """1/F(age) for a stratum, F at least 0.05; None without a curve.

    A final cohort's labels have come: its weights follow from its own share of labelled rows in the
    predicted class (`own_share`), without any curve.
    """
    if state is MaturityState.FINAL:
        if not own_share:
            return Weight(1 / LEAST_CHANCE, 0.0, True)
        return Weight(1 / max(own_share, LEAST_CHANCE), 0.0, own_share < LEAST_CHANCE)
    if stratum.curve is None or stratum.expected is None:
        return None
    chance = max(stratum.expected, LEAST_CHANCE)
    error = stratum.curve.standard_error(stratum.age_hours) / chance
    return Weight(1 / chance, error, stratum.expected < LEAST_CHANCE)


def weighted_share(weighed: Sequence[Weighed], level: float = LEVEL) -> WeightedShare | None:
    """Σ w·events / Σ w·rows (Hájek 1971) with limits of Wilson's form; None without rows.

    Var = Σ w²[p̃(1 - p̃) + (p̃ - p)²]/(Σw)², p̃ = (events + 1)/(rows + 2) of the predicted class, so
    that ten rows without an error are not taken for certain, plus what the curves' standard errors
    do to the weights. The limits are Wilson's for p among p(1 - p)/Var rows, at most the effective
    sample size, with Student's t in place of z: few rows may carry most of the weight (degrees of
    freedom by Satterthwaite 1946). The jackknife's variance over entity groups takes the place of
    the first part where it is larger. Too narrow where whether a label comes depends on more than
    the predicted class and the age.
    """
    total = sum(one.weight.value * one.rows for one in weighed)
    if total <= 0:
        return None
    value = min(1.0, sum(one.weight.value * one.events for one in weighed) / total)
    effective = total**2 / sum(one.weight.value**2 * one.rows for one in weighed)
    parts = [_spread([one for one in weighed if one.kind == kind], value, total)
             for kind in dict.fromkeys(one.kind for one in weighed if one.rows)]  # fmt: skip
    sampling = sum(part.sampling for part in parts)
    freedom = sampling**2 / sum(part.sampling**2 / part.freedom for part in parts)
    between = _between_groups(weighed)
    if between is not None and between[0] > sampling:
        sampling, freedom = between
    variance = sampling + sum(part.of_curve for part in parts)
    reach = float(special.stdtrit(max(freedom, 1.0), 0.5 + level / 2))
    worth = min(effective, value * (1 - value) / variance) if 0 < value < 1 else effective
    # Wilson's limits at the level whose z is this t.
    widened = float(2 * special.ndtr(reach) - 1)
    low, high = wilson_limits(value * worth, worth, widened) if worth > 0 else (0.0, 1.0)
    rows = sum(one.rows for one in weighed)
    return WeightedShare(value, min(low, value), max(high, value), rows, effective)


def _between_groups(weighed: Sequence[Weighed]) -> tuple[float, float] | None:
    """Variance of the weighted share by leaving out one entity group at a time, and its degrees of
    freedom; None where fewer than 10 groups hold rows."""
    told = [(one.weight.value, *one.by_group) for one in weighed if one.by_group is not None]
    if len(told) < len(weighed) or not told:
        return None
    rows: Floats = np.sum([weight * n for weight, n, _ in told], axis=0)
    events: Floats = np.sum([weight * x for weight, _, x in told], axis=0)
    used = rows > 0
    groups = int(used.sum())
    if groups < MIN_GROUPS:
        return None
    return _jackknife_variance(rows[used], events[used]), groups - 1.0


@dataclass(frozen=True)
class _Spread:
    """Variance of a weighted share that one predicted class gives, its degrees of freedom, and what
    the error of its curve adds."""

    sampling: float
    freedom: float
    of_curve: float


def _spread(weighed: Sequence[Weighed], value: float, total: float) -> _Spread:
    rows, events = sum(one.rows for one in weighed), sum(one.events for one in weighed)
    share = (events + 1) / (rows + 2)
    squares = sum(one.weight.value**2 * one.rows for one in weighed)
    each = share * (1 - share) + (share - value) ** 2
    worth = sum(one.weight.value * one.rows for one in weighed) ** 2 / squares
    slope = sum(
        one.weight.value * one.weight.relative_error * (one.events - value * one.rows)
        for one in weighed
    )
    return _Spread(squares * each / total**2, max(worth - 1, 1.0), (slope / total) ** 2)


def weighted_share_outcome(weighed: Sequence[Weighed] | None, labelled: int, of: str) -> Outcome:
    """A weighted share as an outcome: from 50 labelled rows and 5 in the denominator on."""
    if weighed is None:
        return TooFew(0, 1, NO_CURVE)
    found = weighted_share(weighed)
    rows = found.rows if found else 0
    floors = (Floor(labelled, MIN_LABELS, "labelled rows"), Floor(rows, MIN_EVENTS, of))
    if found is None:
        return measured_above(floors, None, labelled, None, {}, f"no {of}: the ratio is 0/0")
    told = _told(weighed, found.effective)
    return measured_above(floors, found.value, labelled, (found.low, found.high), told)


def weighted_mean_outcome(
    sums: Mapping[int, Sequence[tuple[Weight, Floats, Floats]]] | None, of: str
) -> Outcome:
    """A weighted mean loss: Σ w·loss / Σ w·rows over strata; jackknife over entity groups.

    `sums` gives for each kind of curve the strata's weight, rows float64[20] and summed losses
    float64[20] by entity group. The curves' standard errors widen the limits. No limits where fewer
    than 10 groups hold rows.
    """
    if sums is None:
        return TooFew(0, 1, NO_CURVE)
    parts = [(kind, *one) for kind, strata in sums.items() for one in strata]
    rows = sum((w.value * n for _, w, n, _ in parts), start=np.zeros(1))
    losses = sum((w.value * x for _, w, _, x in parts), start=np.zeros(1))
    n = int(sum(float(n.sum()) for _, _, n, _ in parts))
    floors = (Floor(n, MIN_LABELS, of),)
    if n == 0 or rows.sum() <= 0:
        return measured_above(floors, None, n, None, {}, f"no {of}")
    value = float(losses.sum() / rows.sum())
    squares = sum(w.value**2 * float(m.sum()) for _, w, m, _ in parts)
    told: dict[str, Any] = {
        "effective_n": float(rows.sum()) ** 2 / squares,
        "clipped": int(sum(float(m.sum()) for _, w, m, _ in parts if w.clipped)),
    }
    used = rows > 0
    if int(used.sum()) < MIN_GROUPS:
        return measured_above(floors, value, n, None, told)
    slopes: dict[int, float] = {}
    for kind, w, m, x in parts:
        slope = w.value * w.relative_error * float(x.sum() - value * m.sum()) / float(rows.sum())
        slopes[kind] = slopes.get(kind, 0.0) + slope
    of_curves = normal_quantile() * np.sqrt(sum(slope**2 for slope in slopes.values()))
    reach = float(np.hypot(_jackknife_reach(rows[used], losses[used]), of_curves))
    limits = (max(0.0, value - reach), value + reach)
    return measured_above(
        floors, value, n, limits, {**told, "interval_method": "jackknife over entity groups"}
    )


def _jackknife_reach(rows: Floats, losses: Floats) -> float:
    """Half the width of the jackknife interval of Σ losses / Σ rows, one group left out a time."""
    error = float(np.sqrt(_jackknife_variance(rows, losses)))
    return float(special.stdtrit(len(rows) - 1, 0.5 + LEVEL / 2)) * error


def _jackknife_variance(rows: Floats, losses: Floats) -> float:
    groups = len(rows)
    without = (losses.sum() - losses) / (rows.sum() - rows)
    return float((groups - 1) / groups * np.sum((without - without.mean()) ** 2))


def _told(weighed: Sequence[Weighed], effective: float) -> dict[str, Any]:
    clipped = sum(one.rows for one in weighed if one.weight.clipped)
    return {"effective_n": effective, "clipped": clipped}
