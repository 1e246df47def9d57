"""Errors of a regression model from sums over labelled rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from monitor.checks.clustering import (
    Limits,
    mean_limits,
    ratio_limits,
    signed_mean_limits,
)
from monitor.checks.coverage import label_coverage
from monitor.checks.gates import Floor, measured_above
from monitor.measurement import Outcome
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.labels_regression import (
    ErrorSums,
    RegressionCounts,
    RelativeCounts,
)

MIN_LABELS = 50
_NO_CONSTANT = "it depends on the distribution of the labels, which is not kept"
_NOT_COUNTED = "labelled rows counted for relative errors; parts stored earlier lack the count"


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


def regression_quality(counts: RegressionCounts) -> dict[str, Outcome]:
    """mae, rmse, mean_error (label's unit), r2 and label_coverage.

    Errors are printed from 50 judged rows (label and prediction known) on. Limits: by entity groups
    on the logarithm, for mae and mean_error the wider of that and independent rows. Each tells what
    the best constant prediction reaches.
    """
    return {
        "mae": _mae(counts),
        "rmse": _rmse(counts),
        "mean_error": _mean_error(counts),
        "r2": _r2(counts),
        "label_coverage": label_coverage(counts.n - counts.not_judged, counts.n),
    }


def relative_quality(counts: RegressionCounts, relative: RelativeCounts) -> dict[str, Outcome]:
    """relative_error = Σ|e|/Σ|y| and mape = mean |e/y| over labels that are not 0, both shares.

    From 50 such rows on, limits by entity groups on the logarithm. Labels of 0 are counted as
    `excluded` from mape and are in relative_error. mape is ruled by labels near 0. What a constant
    would reach is not known: the distribution of the labels is not kept.
    """
    return {"relative_error": _relative_error(counts, relative), "mape": _mape(relative)}


def _floors(n: int) -> tuple[Floor, ...]:
    return (Floor(n, MIN_LABELS, "labelled rows"),)


def _printed(
    value: float | None, n: int, limits: Limits | None, detail: Mapping[str, Any], undefined: str
) -> Outcome:
    if limits is None:
        return measured_above(_floors(n), value, n, None, detail, undefined)
    told = {**detail, **limits.as_detail()}
    return measured_above(_floors(n), value, n, limits.both, told, undefined)


def _without_each(counts: RegressionCounts, measure: Callable[[ErrorSums], float | None]) -> Floats:
    """The measure without one filled entity group at a time; NaN where it is not defined then."""
    left = [measure(without(counts.total, group)) for group in counts.by_group if group.n]
    return np.array([np.nan if value is None else value for value in left], np.float64)


def _spread(total: ErrorSums) -> float | None:
    """Standard deviation of the labels: the root mean squared error of the best constant."""
    return math.sqrt(total.label_spread / total.n) if total.n else None


def _mae(counts: RegressionCounts) -> Outcome:
    total, value = counts.total, counts.total.mae
    detail: dict[str, Any] = {"clipped": total.clipped}
    spread = _spread(total)
    if spread is not None:
        # The median is the best constant; its mean absolute error is at most the deviation.
        detail["best_constant_at_most"] = spread
    if value is None:
        return _printed(None, 0, None, detail, "labelled rows")
    variance = max(0.0, total.squared_error / total.n - value**2) / max(1, total.n - 1)
    sums, rows = _by_group(counts, lambda group: group.absolute_error)
    return _printed(value, total.n, mean_limits(value, sums, rows, variance), detail, "")


def _by_group(
    counts: RegressionCounts, part: Callable[[ErrorSums], float]
) -> tuple[Floats, Integers]:
    sums = np.array([part(group) for group in counts.by_group], np.float64)
    return sums, np.array([group.n for group in counts.by_group], np.int64)


def _rmse(counts: RegressionCounts) -> Outcome:
    total, value = counts.total, counts.total.rmse
    detail: dict[str, Any] = {"clipped": total.clipped, "best_constant": _spread(total)}
    if value is None:
        return _printed(None, 0, None, {"clipped": total.clipped}, "labelled rows")
    limits = ratio_limits(value, _without_each(counts, lambda sums: sums.rmse))
    return _printed(value, total.n, limits, detail, "")


def _mean_error(counts: RegressionCounts) -> Outcome:
    total, value = counts.total, mean_error(counts.total)
    detail: dict[str, Any] = {"clipped": total.clipped, "best_constant": 0.0}
    if value is None:
        return _printed(None, 0, None, {"clipped": total.clipped}, "labelled rows")
    variance = max(0.0, total.squared_error / total.n - value**2) / max(1, total.n - 1)
    limits = signed_mean_limits(value, *_by_group(counts, lambda group: group.error), variance)
    return _printed(value, total.n, limits, detail, "")


def _r2(counts: RegressionCounts) -> Outcome:
    """Limits by those of 1 - R², which is never negative."""
    total, value = counts.total, counts.total.r_squared
    detail: dict[str, Any] = {"clipped": total.clipped, "best_constant": 0.0}
    if value is None:
        why = "labelled rows" if total.n == 0 else "the labels do not vary"
        return _printed(None, total.n, None, {"clipped": total.clipped}, why)
    left = _without_each(counts, lambda sums: sums.r_squared)
    limits = ratio_limits(1 - value, 1 - left)
    if limits is not None:
        limits = replace(limits, low=1 - limits.high, high=1 - limits.low)
    return _printed(value, total.n, limits, detail, "")


def _relative_error(counts: RegressionCounts, relative: RelativeCounts) -> Outcome:
    """Σ|e|/Σ|y|, also called WAPE; labels of 0 count in it."""
    total, held = counts.total, relative.total
    detail = {"clipped": held.clipped, "best_constant_unknown": _NO_CONSTANT}
    if total.n == 0 or held.n < total.n:
        # Errors of more rows than labels would give a ratio of two populations.
        return _printed(None, held.n, None, detail, _NOT_COUNTED)
    if held.label_size == 0:
        return _printed(None, held.n, None, detail, "all labels are 0")
    left = np.array([
        np.nan if held.label_size <= labels.label_size
        else (total.absolute_error - errors.absolute_error) / (held.label_size - labels.label_size)
        for errors, labels in zip(counts.by_group, relative.by_group, strict=True) if errors.n
    ])  # fmt: skip
    value = total.absolute_error / held.label_size
    return _printed(value, total.n, ratio_limits(value, left), detail, "")


def _mape(relative: RelativeCounts) -> Outcome:
    """Labels of 0 have no percentage: they are left out and counted."""
    held, n = relative.total, relative.total.n - relative.total.zeros
    detail = {
        "excluded": held.zeros, "clipped": held.clipped, "best_constant_unknown": _NO_CONSTANT,
    }  # fmt: skip
    if held.mape is None:
        why = "labels that are not 0" if held.zeros else _NOT_COUNTED
        return _printed(None, 0, None, detail, why)
    left = [(held - group).mape for group in relative.by_group if group.n > group.zeros]
    defined = np.array([np.nan if value is None else value for value in left], np.float64)
    return _printed(held.mape, n, ratio_limits(held.mape, defined), detail, "")
