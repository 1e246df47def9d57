"""Limits that hold when rows of one entity agree with each other.

Rows come with an entity group (20, by keyed hash; rows of one entity share a group). The rule: the
variance between groups is found by leaving out one group at a time; where it makes wider limits
than independent rows do, these are printed, else those of independent rows. With independent rows
the two differ by chance only, which makes limits a little too wide, never too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.checks.auc import AucEstimate
from monitor.checks.intervals import LEVEL, normal_quantile, wilson_limits
from monitor.checks.resampling import MIN_GROUPS
from monitor.profiles.arrays import Floats, Integers

WILSON = "Wilson, rows taken as independent"
WILSON_OF_GROUPS = "Wilson on the effective number of rows, by entity groups"
DELONG = "DeLong on the logit"
WILSON_OF_AUC = "Wilson on the rarer class, as no pair is in the wrong order"
INDEPENDENT = "normal on the logarithm, rows taken as independent"
JACKKNIFE = "jackknife over entity groups on the logarithm"
MEAN = "normal, rows taken as independent"
MEAN_OF_GROUPS = "jackknife over entity groups"
AUC_OF_GROUPS = "jackknife over entity groups on the logit"


@dataclass(frozen=True)
class Limits:
    """95 % limits, how they were made, and how many times wider than independent rows (squared)."""

    low: float
    high: float
    method: str
    design_effect: float

    @property
    def both(self) -> tuple[float, float]:
        return self.low, self.high

    def as_detail(self) -> dict[str, float | str]:
        return {"interval_method": self.method, "design_effect": self.design_effect}


def share_limits(events: Integers, rows: Integers, level: float = LEVEL) -> Limits:
    """Limits of Σ events/Σ rows, both int64[groups]; needs a row.

    Wilson's limits at n/k rows, k = jackknife variance/(p(1 - p)/n) · (t/z)² where that exceeds 1
    (Kish 1965; Korn and Graubard 1998), t on groups - 1 df. From 10 filled groups on. Where all
    rows agree nothing shows how alike those of an entity are: n is `entities_seen` then.
    """
    n, total = int(rows.sum()), int(events.sum())
    filled = rows > 0
    groups = int(filled.sum())
    share = total / n
    if total in (0, n):
        apart = entities_seen(rows)
        method = WILSON if apart >= n else WILSON_OF_GROUPS
        return Limits(*wilson_limits(share * apart, apart, level), method, n / apart)
    if groups < MIN_GROUPS:
        return Limits(*wilson_limits(total, n, level), WILSON, 1.0)
    without = (total - events[filled]) / (n - rows[filled])
    effect = _jackknife_variance(without) / (share * (1 - share) / n)
    effect *= (_t_quantile(groups, level) / normal_quantile(level)) ** 2
    if effect <= 1:
        return Limits(*wilson_limits(total, n, level), WILSON, 1.0)
    low, high = wilson_limits(total / effect, n / effect, level)
    return Limits(low, high, WILSON_OF_GROUPS, effect)


def entities_seen(rows: Integers) -> float:
    """How many entities the rows come from, as far as filled groups tell; at most the rows.

    Of G groups to which entities go at random ln(1 - filled/G)/ln(1 - 1/G) fill so many. Where all
    groups are filled there may be any number, and the rows are taken as one entity each.
    """
    n, groups, filled = int(rows.sum()), len(rows), int((rows > 0).sum())
    if filled == groups or groups < 2:
        return float(n)
    return float(min(n, max(1.0, np.log(1 - filled / groups) / np.log(1 - 1 / groups))))


def auc_limits(
    estimate: AucEstimate, positives: Integers, negatives: Integers, level: float = LEVEL
) -> Limits:
    """Limits of an AUC; `positives`, `negatives` int64[groups, cells] in ascending score.

    The wider of DeLong's with a t quantile (Brunner and Munzel 2000) and those of the jackknife
    over groups, both on the logit. A group whose rows are all of one class counts as any other.
    """
    inside = 1e-12 < estimate.auc < 1 - 1e-12
    if not inside or estimate.standard_error <= 0:
        return Limits(estimate.low, estimate.high, WILSON_OF_AUC, 1.0)
    quantile = float(special.stdtrit(min(estimate.degrees, 1e9), 0.5 + level / 2))
    own = quantile * estimate.standard_error
    grouped = _grouped_reach(positives, negatives, level)
    effect = 1.0 if grouped is None else (grouped / own) ** 2
    if grouped is None or effect <= 1:
        return _on_the_logit(estimate.auc, own, DELONG, 1.0)
    return _on_the_logit(estimate.auc, grouped, AUC_OF_GROUPS, effect)


def _grouped_reach(positives: Integers, negatives: Integers, level: float) -> float | None:
    """How far the jackknife's limits reach; None where it can't be made."""
    filled = (positives.sum(axis=1) + negatives.sum(axis=1)) > 0
    groups = int(filled.sum())
    if groups < MIN_GROUPS:
        return None
    without = areas(
        positives.sum(axis=0) - positives[filled], negatives.sum(axis=0) - negatives[filled]
    )
    if not np.isfinite(without).all():
        return None
    return _t_quantile(groups, level) * float(np.sqrt(_jackknife_variance(without)))


def _on_the_logit(auc: float, reach: float, method: str, effect: float) -> Limits:
    middle, spread = float(special.logit(auc)), reach / (auc * (1 - auc))
    low, high = float(special.expit(middle - spread)), float(special.expit(middle + spread))
    return Limits(low, high, method, effect)


def mean_limits(
    value: float, sums: Floats, rows: Integers, variance: float, level: float = LEVEL
) -> Limits:
    """Limits of a mean loss that is never negative, from its sums and rows by group, [groups].

    `variance`: of the mean when rows are independent. The wider of jackknife over groups (t) and
    independent rows, both on the logarithm, as losses are skewed to the right. A mean of 0 has no
    spread: both limits are it.
    """
    if value <= 0:
        return Limits(value, value, INDEPENDENT, 1.0)
    filled = rows > 0
    groups = int(filled.sum())
    own = normal_quantile(level) * float(np.sqrt(variance))
    reach, method, effect = own, INDEPENDENT, 1.0
    if groups >= MIN_GROUPS:
        without = (sums.sum() - sums[filled]) / (rows.sum() - rows[filled])
        grouped = _t_quantile(groups, level) * float(np.sqrt(_jackknife_variance(without)))
        if grouped > own:
            reach, method, effect = grouped, JACKKNIFE, (grouped / own) ** 2 if own else 1.0
    factor = float(np.exp(min(reach / value, 50.0)))
    return Limits(value / factor, value * factor, method, effect)


def signed_mean_limits(
    value: float, sums: Floats, rows: Integers, variance: float, level: float = LEVEL
) -> Limits:
    """Limits of a mean of any sign: the wider of jackknife over groups (t) and independent rows."""
    own = normal_quantile(level) * float(np.sqrt(variance))
    filled = rows > 0
    if int(filled.sum()) >= MIN_GROUPS:
        without = (sums.sum() - sums[filled]) / (rows.sum() - rows[filled])
        grouped = _t_quantile(len(without), level) * float(np.sqrt(_jackknife_variance(without)))
        if grouped > own:
            effect = (grouped / own) ** 2 if own else 1.0
            return Limits(value - grouped, value + grouped, MEAN_OF_GROUPS, effect)
    return Limits(value - own, value + own, MEAN, 1.0)


def ratio_limits(value: float, without: Floats, level: float = LEVEL) -> Limits | None:
    """Limits of a statistic that is never negative, from its values without one group, [groups].

    Jackknife on the logarithm; None with too few groups, or where a value is not defined.
    """
    if len(without) < MIN_GROUPS or not np.isfinite(without).all():
        return None
    if value <= 0:
        return Limits(value, value, JACKKNIFE, 1.0)
    reach = _t_quantile(len(without), level) * float(np.sqrt(_jackknife_variance(without)))
    factor = float(np.exp(min(reach / value, 50.0)))
    return Limits(value / factor, value * factor, JACKKNIFE, 1.0)


def areas(positives: Integers, negatives: Integers) -> Floats:
    """P(score of a positive > of a negative) + ½ P(equal) by row of int64[k, cells]; NaN where a
    class is absent.
    """
    below = np.cumsum(negatives, axis=1) - negatives / 2
    pairs = positives.sum(axis=1) * negatives.sum(axis=1)
    won = (positives * below).sum(axis=1)
    return np.where(pairs > 0, won / np.maximum(pairs, 1), np.nan)


def _jackknife_variance(without: Floats) -> float:
    groups = len(without)
    return float((groups - 1) / groups * np.sum((without - without.mean()) ** 2))


def _t_quantile(groups: int, level: float) -> float:
    return float(special.stdtrit(groups - 1, 0.5 + level / 2))
