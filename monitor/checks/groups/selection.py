"""Shares of favourable answers against those of the best-treated group: the four-fifths rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from monitor.checks.groups.counts import MIN_EVENTS, MIN_ROWS, Group, Rate
from monitor.checks.groups.joint import each_against_the_best
from monitor.checks.groups.ranking import told_rate
from monitor.checks.intervals import LEVEL, normal_quantile, wilson_limits
from monitor.measurement import Measured, Outcome, TooFew


class Verdict(StrEnum):
    """What an interval says of a ratio that must not be below the least one."""

    VIOLATES = "violates"
    PASSES = "passes"
    INCONCLUSIVE = "inconclusive"
    REFERENCE = "reference"


def selection_ratios(groups: Sequence[Group], least_ratio: float) -> Mapping[str, Outcome]:
    """By group: its share of favourable answers over that of the group with the largest share.

    Limits by the log method (Katz et al. 1978), or from Wilson's limits where a count is below 5
    (Donner and Zou 2012), wide enough to hold for all groups together although the best one is
    chosen by its share (Tukey-Kramer); with two groups that is the plain 95 %. Verdict: violates
    when the upper limit is below `least_ratio` (the four-fifths rule: 0.8), passes when the lower
    one is not, else inconclusive. TooFew below 50 answers of the group, with fewer than two groups
    to compare, or when the best one has fewer than 5 favourable answers. A ratio says nothing
    about why: groups may differ in what they ask for.
    """
    shown = [group for group in groups if group.favourable.n >= MIN_ROWS]
    if len(shown) < 2:
        alone = TooFew(len(shown), 2, f"groups with {MIN_ROWS} answers")
        return {group.name: _too_few(group) or alone for group in groups}
    best = max(shown, key=lambda group: (group.favourable.value, group.favourable.n, group.name))
    level = each_against_the_best(len(shown))
    ratios: dict[str, Outcome] = {}
    for group in groups:
        few = _too_few(group)
        told = told_rate(group.name, "favourable", groups) | {"compared": len(shown) - 1}
        ratios[group.name] = few or _against(group, best, least_ratio, level, told)
    return ratios


def verdict_of(low: float, high: float, least_ratio: float) -> Verdict:
    """The verdict on an interval of a ratio."""
    if high < least_ratio:
        return Verdict.VIOLATES
    return Verdict.PASSES if low >= least_ratio else Verdict.INCONCLUSIVE


def ratio_limits(rate: Rate, reference: Rate, level: float = LEVEL) -> tuple[float, float]:
    """Limits of rate/reference; the reference has events. Log method from 5 events and 5 others on
    in both: exp(log ratio ± z·sqrt(1/x1 - 1/n1 + 1/x2 - 1/n2)). Else recovered from Wilson's.
    """
    sides = (rate, reference)
    if all(min(side.events, side.n - side.events) >= MIN_EVENTS for side in sides):
        ratio = rate.value / reference.value
        variance = sum(1 / side.events - 1 / side.n for side in sides)
        reach = float(np.exp(normal_quantile(level) * np.sqrt(variance)))
        return ratio / reach, ratio * reach
    return _recovered(rate, reference, level)


def _recovered(rate: Rate, reference: Rate, level: float) -> tuple[float, float]:
    """Donner and Zou (2012), their formula for a ratio of two rates with limits (l, u) of each."""
    p, q = rate.value, reference.value
    low, high = wilson_limits(rate.events, rate.n, level)
    low_q, high_q = wilson_limits(reference.events, reference.n, level)
    below = (p * q) ** 2 - low * high_q * (2 * p - low) * (2 * q - high_q)
    above = (p * q) ** 2 - high * low_q * (2 * p - high) * (2 * q - low_q)
    least = (p * q - np.sqrt(max(0.0, below))) / (high_q * (2 * q - high_q))
    most = (p * q + np.sqrt(max(0.0, above))) / (low_q * (2 * q - low_q))
    return max(0.0, float(least)), float(most)


def _too_few(group: Group) -> TooFew | None:
    if group.favourable.n >= MIN_ROWS:
        return None
    return TooFew(group.favourable.n, MIN_ROWS, "answers of the group", {"group": group.name})


def _against(
    group: Group, best: Group, least_ratio: float, level: float, told: Mapping[str, Any]
) -> Outcome:
    mine, its = group.favourable, best.favourable
    if its.events < MIN_EVENTS:
        what = "favourable answers of the best group"
        return TooFew(its.events, MIN_EVENTS, what, {"group": group.name})
    detail = {
        **told,
        "reference": best.name,
        "rate_reference": its.value,
        "least_ratio": least_ratio,
        "interval_level": level,
    }
    if group is best:
        return Measured(1.0, mine.n, n_reference=its.n, detail=detail | {"verdict": "reference"})
    low, high = ratio_limits(mine, its, level)
    verdict = verdict_of(low, high, least_ratio)
    value = mine.value / its.value
    low, high = min(low, value), max(high, value)
    return Measured(value, mine.n, low, high, LEVEL, its.n, detail | {"verdict": verdict.value})
