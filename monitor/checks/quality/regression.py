"""Errors of a regression model from sums over labelled rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

from monitor.checks.gates import Floor, measured_above
from monitor.checks.resampling import MIN_GROUPS, jackknife_limits
from monitor.measurement import Outcome

MIN_LABELS = 50


@dataclass(frozen=True)
class RegressionSums:
    """Over labelled rows: n, Σe, Σ|e|, Σe², Σy, Σy² with e = prediction - label."""

    n: int
    error: float
    absolute: float
    square: float
    label: float
    label_square: float

    def minus(self, other: RegressionSums) -> RegressionSums:
        """The sums without the rows of `other`."""
        return RegressionSums(
            *(getattr(self, field.name) - getattr(other, field.name) for field in fields(self))
        )


def mean_absolute_error(sums: RegressionSums) -> float | None:
    """Σ|e|/n."""
    return sums.absolute / sums.n if sums.n else None


def root_mean_square_error(sums: RegressionSums) -> float | None:
    """sqrt(Σe²/n)."""
    return math.sqrt(max(0.0, sums.square) / sums.n) if sums.n else None


def mean_error(sums: RegressionSums) -> float | None:
    """Σe/n: positive when predictions are too high."""
    return sums.error / sums.n if sums.n else None


def explained_share(sums: RegressionSums) -> float | None:
    """R² = 1 - Σe²/Σ(y - ȳ)²; None when the labels do not vary. May be far below zero."""
    if sums.n < 2:
        return None
    spread = sums.label_square - sums.label**2 / sums.n
    if spread <= 1e-12 * max(1.0, abs(sums.label_square)):
        return None
    return 1 - sums.square / spread


_MEASURES: dict[str, Callable[[RegressionSums], float | None]] = {
    "mae": mean_absolute_error,
    "rmse": root_mean_square_error,
    "mean_error": mean_error,
    "r2": explained_share,
}


def regression_quality(
    sums: RegressionSums, by_group: Sequence[RegressionSums] = ()
) -> dict[str, Outcome]:
    """mae, rmse, mean_error (label's unit) and r2, printed from 50 labelled rows on.

    `by_group` are the same sums by entity group; with 10 or more groups that hold rows the limits
    are the jackknife's over them, otherwise there are none.
    """
    return {name: _outcome(measure, sums, by_group) for name, measure in _MEASURES.items()}


def _outcome(
    measure: Callable[[RegressionSums], float | None],
    sums: RegressionSums,
    by_group: Sequence[RegressionSums],
) -> Outcome:
    floors = (Floor(sums.n, MIN_LABELS, "labelled rows"),)
    value = measure(sums)
    why = "no labelled rows" if sums.n == 0 else "the labels do not vary"
    left_out = [measure(sums.minus(group)) for group in by_group if group.n]
    defined = [number for number in left_out if number is not None]
    if value is None or len(defined) < MIN_GROUPS or len(defined) < len(left_out):
        return measured_above(floors, value, sums.n, None, None, why)
    detail = {"interval_method": "jackknife over entity groups"}
    return measured_above(floors, value, sums.n, jackknife_limits(value, defined), detail)
