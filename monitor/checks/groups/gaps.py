"""How far each group's quality is from that of the largest group. Knows group counts only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special

from monitor.checks.groups.counts import MIN_EVENTS, MIN_ROWS, Group, Rate
from monitor.checks.groups.joint import each_against_one
from monitor.checks.groups.ranking import told_rate
from monitor.checks.intervals import LEVEL, newcombe_limits, normal_quantile
from monitor.measurement import Measured, Outcome, TooFew

MIN_SCORED, MIN_OF_CLASS = 500, 50
FEW = 20
RATE_GAPS = {
    "true_positive_gap": ("true_positive", "positive labels"),
    "false_positive_gap": ("false_positive", "negative labels"),
    "accuracy_gap": ("accuracy", "labelled rows"),
}


def gap_outcomes(groups: Sequence[Group]) -> Mapping[str, Mapping[str, Outcome]]:
    """Gaps by method and group: the group's rate minus that of the group with the most labels.

    true_positive_gap, false_positive_gap, accuracy_gap: limits of `gap_limits`. calibration_gap:
    difference of mean(label - score) with Welch's t limits. All limits hold for all groups of the
    column together (Bonferroni); the reference is the largest group, which no rate chose. TooFew
    below 50 labelled rows and 5 in the rate's denominator (calibration: 500 with a score and 50 of
    each class), of the group or of the reference. Rows must be independent.
    """
    if not groups:
        return {}
    reference = max(groups, key=lambda group: (group.labelled, group.favourable.n, group.name))
    found: dict[str, Mapping[str, Outcome]] = {
        method: _rate_gaps(groups, reference, name, what)
        for method, (name, what) in RATE_GAPS.items()
    }
    return found | {"calibration_gap": _calibration_gaps(groups, reference)}


def _rate_gaps(
    groups: Sequence[Group], reference: Group, name: str, what: str
) -> Mapping[str, Outcome]:
    short = {group.name: _too_few(group, name, what) for group in groups}
    shown = sum(1 for few in short.values() if few is None)
    alone = _alone(short[reference.name], shown)
    return {
        group.name: short[group.name] or alone or _rate_gap(group, reference, name, groups, shown)
        for group in groups
    }


def _too_few(group: Group, name: str, what: str) -> TooFew | None:
    detail = {"group": group.name}
    if group.labelled < MIN_ROWS:
        return TooFew(group.labelled, MIN_ROWS, "labelled rows of the group", detail)
    n = getattr(group, name).n
    return None if n >= MIN_EVENTS else TooFew(n, MIN_EVENTS, f"{what} of the group", detail)


def _alone(reference: TooFew | None, shown: int) -> TooFew | None:
    """Why there is nothing to compare a group with; None where there is."""
    if reference is not None:
        what = f"{reference.reason.removesuffix(' of the group')} of the largest group"
        return TooFew(reference.n, reference.needed, what)
    return TooFew(shown, 2, "groups with enough labels") if shown < 2 else None


def _rate_gap(
    group: Group, reference: Group, name: str, groups: Sequence[Group], shown: int
) -> Outcome:
    mine, its = getattr(group, name), getattr(reference, name)
    level = each_against_one(shown)
    detail = told_rate(group.name, name, groups) | {
        "reference": reference.name,
        "rate_reference": its.value,
        "compared": shown - 1,
        "interval_level": level,
    }
    if group is reference:
        return Measured(0.0, mine.n, n_reference=its.n, detail=detail | {"verdict": "reference"})
    low, high = gap_limits(mine, its, level)
    detail["verdict"] = "no_difference_seen" if low <= 0 <= high else "differs"
    return Measured(mine.value - its.value, mine.n, low, high, LEVEL, its.n, detail)


def gap_limits(rate: Rate, reference: Rate, level: float = LEVEL) -> tuple[float, float]:
    """Limits of rate - reference: Newcombe's (1998, method 10), and where a denominator is below 20
    not narrower than those of Agresti and Caffo (2000), as Newcombe's dip to 0.91 there."""
    low, high = newcombe_limits(rate.events, rate.n, reference.events, reference.n, level)
    if min(rate.n, reference.n) >= FEW:
        return low, high
    shares = [(one.events + 1) / (one.n + 2) for one in (rate, reference)]
    variance = sum(
        p * (1 - p) / (one.n + 2) for p, one in zip(shares, (rate, reference), strict=True)
    )
    middle, reach = shares[0] - shares[1], normal_quantile(level) * float(np.sqrt(variance))
    return max(-1.0, min(low, middle - reach)), min(1.0, max(high, middle + reach))


def _calibration_gaps(groups: Sequence[Group], reference: Group) -> Mapping[str, Outcome]:
    short = {group.name: _too_few_scored(group) for group in groups}
    shown = sum(1 for few in short.values() if few is None)
    alone = _alone(short[reference.name], shown)
    return {
        group.name: short[group.name] or alone or _calibration_gap(group, reference, shown)
        for group in groups
    }


def _too_few_scored(group: Group) -> TooFew | None:
    detail = {"group": group.name}
    if group.scored < MIN_SCORED:
        what = "labelled rows with a score of the group"
        return TooFew(group.scored, MIN_SCORED, what, detail)
    rarer = min(group.positives, group.scored - group.positives)
    what = "labels of the rarer class of the group"
    return None if rarer >= MIN_OF_CLASS else TooFew(rarer, MIN_OF_CLASS, what, detail)


def _calibration_gap(group: Group, reference: Group, shown: int) -> Outcome:
    level = each_against_one(shown)
    mine, its = (one.error_sum / one.scored for one in (group, reference))
    detail = {
        "group": group.name,
        "reference": reference.name,
        "error": mine,
        "error_reference": its,
        "compared": shown - 1,
        "interval_level": level,
    }
    if group is reference:
        return Measured(
            0.0, group.scored, n_reference=group.scored, detail=detail | {"verdict": "reference"}
        )
    reach = _welch_reach(group, reference, level)
    low, high = mine - its - reach, mine - its + reach
    detail["verdict"] = "no_difference_seen" if low <= 0 <= high else "differs"
    return Measured(mine - its, group.scored, low, high, LEVEL, reference.scored, detail)


def _welch_reach(group: Group, reference: Group, level: float) -> float:
    parts = [_variance(one) / one.scored for one in (group, reference)]
    total = sum(parts)
    if total <= 0:
        return 0.0
    degrees = total**2 / sum(
        part**2 / (one.scored - 1) for part, one in zip(parts, (group, reference), strict=True)
    )
    return float(special.stdtrit(degrees, 0.5 + level / 2) * np.sqrt(total))


def _variance(group: Group) -> float:
    about = group.error_square_sum - group.error_sum**2 / group.scored
    return max(0.0, about) / (group.scored - 1)
