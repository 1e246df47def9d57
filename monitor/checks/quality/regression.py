"""Errors of a regression model from sums over labelled rows."""

from __future__ import annotations

from collections.abc import Callable

from monitor.checks.coverage import label_coverage
from monitor.checks.gates import Floor, measured_above
from monitor.checks.resampling import MIN_GROUPS, jackknife_limits
from monitor.measurement import Outcome
from monitor.profiles.labels_regression import ErrorSums, RegressionCounts

MIN_LABELS = 50


def mean_error(sums: ErrorSums) -> float | None:
    """Σ(prediction - label)/n: positive when predictions are too high; None without rows."""
    return sums.error / sums.n if sums.n else None


def without(total: ErrorSums, part: ErrorSums) -> ErrorSums:
    """The sums of the rows of `total` that are not in `part`.

    Squared deviations are taken apart by their means (Chan, Golub and LeVeque 1979), so that a
    large mean does not eat the digits.
    """
    n = total.n - part.n
    label = total.label - part.label
    between = 0.0
    if n and part.n:
        between = n * part.n / total.n * (label / n - part.label / part.n) ** 2
    return ErrorSums(
        n,
        total.error - part.error,
        total.absolute_error - part.absolute_error,
        max(0.0, total.squared_error - part.squared_error),
        label,
        max(0.0, total.label_spread - part.label_spread - between),
        total.clipped - part.clipped,
    )


_MEASURES: dict[str, Callable[[ErrorSums], float | None]] = {
    "mae": lambda sums: sums.mae,
    "rmse": lambda sums: sums.rmse,
    "mean_error": mean_error,
    "r2": lambda sums: sums.r_squared,
}


def regression_quality(counts: RegressionCounts) -> dict[str, Outcome]:
    """mae, rmse, mean_error (label's unit), r2 and label_coverage.

    Errors are printed from 50 judged rows (label and prediction known) on. Their limits are the
    jackknife's over entity groups where 10 or more groups hold rows; otherwise there are none.
    """
    outcomes = {name: _outcome(measure, counts) for name, measure in _MEASURES.items()}
    outcomes["label_coverage"] = label_coverage(counts.n - counts.not_judged, counts.n)
    return outcomes


def _outcome(measure: Callable[[ErrorSums], float | None], counts: RegressionCounts) -> Outcome:
    total = counts.total
    floors = (Floor(total.n, MIN_LABELS, "labelled rows"),)
    value = measure(total)
    detail = {"clipped": total.clipped}
    left_out = [measure(without(total, group)) for group in counts.by_group if group.n]
    defined = [number for number in left_out if number is not None]
    if value is None or len(defined) < MIN_GROUPS or len(defined) < len(left_out):
        why = "no labelled rows" if total.n == 0 else "the labels do not vary"
        return measured_above(floors, value, total.n, None, detail, why)
    told = {**detail, "interval_method": "jackknife over entity groups"}
    return measured_above(floors, value, total.n, jackknife_limits(value, defined), told)
