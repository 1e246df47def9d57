"""Quality where only positives are ever told: fraud, default, complaint.

A request without a label is not a negative yet. Of the positives that will be told, the share
F⁺(age) is known by now: F(age)/F(∞), F the delay curve over all requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import LEVEL, wilson_limits
from monitor.checks.maturity.cohort import FINAL_FROM, MaturityState, Stratum
from monitor.measurement import Outcome

MIN_LABELS, MIN_EVENTS = 50, 5
LEAST_CHANCE = 0.05


@dataclass(frozen=True)
class Told:
    """Requests of one predicted class: how many, positives known, and the share F⁺ of positives
    that is known by now, with its relative standard error."""

    n: int
    positives: int
    share: float
    relative_error: float = 0.0

    @property
    def corrected(self) -> float:
        """Positives in the end: positives/F⁺, at most all requests."""
        return min(float(self.n), self.positives / self.share)


def told_by_class(
    strata: Sequence[Stratum], positives: Mapping[int, int], state: MaturityState
) -> dict[int, Told]:
    """What is told by predicted class; `positives` are those known.

    Where 98 % of the positives are known, or the cohort is final, the rest is taken as negatives.
    Otherwise F⁺ = Σ n·F(age)/Σ n·F(∞), at least 0.05.
    """
    found = {}
    for number in {one.predicted for one in strata}:
        mine = [one for one in strata if one.predicted == number]
        share, error = _share(mine, state)
        found[number] = Told(sum(one.n for one in mine), positives.get(number, 0), share, error)
    return found


def _share(strata: Sequence[Stratum], state: MaturityState) -> tuple[float, float]:
    curves = [one.curve for one in strata if one.curve is not None]
    n = sum(one.n for one in strata)
    if state is MaturityState.FINAL or not n or len(curves) < len(strata):
        return 1.0, 0.0
    known = sum(s.n * c.known_by(s.age_hours) for s, c in zip(strata, curves, strict=True))
    ever = sum(s.n * c.plateau for s, c in zip(strata, curves, strict=True))
    if ever <= 0 or known / ever >= FINAL_FROM:
        return 1.0, 0.0
    spread = sum(s.n * c.standard_error(s.age_hours) for s, c in zip(strata, curves, strict=True))
    return max(known / ever, LEAST_CHANCE), spread / max(known, 1e-12)


def corrected_outcomes(told: Mapping[int, Told]) -> dict[str, Outcome]:
    """accuracy, precision and recall with positives that are still to be told counted in.

    With P₁, P₀ the corrected positives among predicted positives and negatives: precision
    P₁/n₁, recall P₁/(P₁ + P₀), accuracy (P₁ + n₀ - P₀)/(n₁ + n₀). The limits are Wilson's of the
    known positives, divided by F⁺; for recall and accuracy, Wilson's form with the variance by the
    delta method. They take the curve's error along.
    """
    none = Told(0, 0, 1.0)
    one, zero = told.get(1, none), told.get(0, none)
    n = one.n + zero.n
    return {
        "precision": _precision(one, n),
        "recall": _recall(one, zero, n),
        "accuracy": _accuracy(one, zero, n),
    }


def _precision(one: Told, n: int) -> Outcome:
    floors = (Floor(n, MIN_LABELS, "rows"), Floor(one.n, MIN_EVENTS, "predicted positives"))
    if one.n == 0:
        return measured_above(floors, None, n, None, {}, "no predicted positives: the ratio is 0/0")
    value = one.corrected / one.n
    limits = _limits(value, one.n, _variance_of_share(one), one.share)
    return measured_above(floors, value, n, limits, _detail(one.share, one.positives))


def _recall(one: Told, zero: Told, n: int) -> Outcome:
    positives = one.positives + zero.positives
    floors = (Floor(n, MIN_LABELS, "rows"), Floor(positives, MIN_EVENTS, "positive labels"))
    total = one.corrected + zero.corrected
    if total <= 0:
        return measured_above(floors, None, n, None, {}, "no positive labels: the ratio is 0/0")
    value = one.corrected / total
    # Given the positives known, each is one of the predicted class with a fixed chance (binomial);
    # weights 1/F of the two classes differ, so the delta method works on the two counts.
    spread = ((1 - value) / one.share) ** 2 * one.positives + (value / zero.share) ** 2 * (
        zero.positives
    )
    curve = (value * (1 - value)) ** 2 * (one.relative_error**2 + zero.relative_error**2)
    share = min(one.share, zero.share)
    limits = _limits(value, positives, spread / total**2 + curve, 1.0)
    return measured_above(floors, value, n, limits, _detail(share, positives))


def _accuracy(one: Told, zero: Told, n: int) -> Outcome:
    floors = (Floor(n, MIN_LABELS, "rows"),)
    if n == 0:
        return measured_above(floors, None, 0, None, {}, "no rows")
    value = (one.corrected + zero.n - zero.corrected) / n
    variance = sum((each.n / n) ** 2 * _variance_of_share(each) for each in (one, zero))
    share = min(one.share, zero.share)
    limits = _limits(value, n, variance, share)
    return measured_above(floors, value, n, limits, _detail(share, one.positives + zero.positives))


def _variance_of_share(one: Told) -> float:
    """Variance of positives/(n·F⁺) with the curve's error."""
    if one.n == 0:
        return 0.0
    known = one.positives / one.n
    return (
        known * (1 - known) / one.n / one.share**2 + (known / one.share * one.relative_error) ** 2
    )


def _limits(value: float, rows: int, variance: float, share: float) -> tuple[float, float]:
    """Wilson's limits of `value` among as many rows as give this variance, at most rows · F⁺."""
    worth = rows * share
    if variance > 0 and 0 < value < 1:
        worth = min(worth, value * (1 - value) / variance)
    low, high = wilson_limits(min(value, 1.0) * worth, worth, LEVEL)
    return min(low, value), max(high, value)


def _detail(share: float, positives: int) -> dict[str, float | int]:
    return {"positives_known_share": share, "positives_known": positives}
