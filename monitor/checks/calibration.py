"""Does a score of 0.3 come true 3 times in 10? From label counts per score cell.

Printed from 500 labels and 50 of each class on: below, every number is mostly its own noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from monitor.checks.calibration_tests import cox, spiegelhalter
from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import normal_quantile
from monitor.checks.reliability import Reliability, equal_mass_groups, reliability
from monitor.measurement import Failed, Outcome, TooFew
from monitor.profiles.arrays import Floats
from monitor.profiles.labels import BinaryCounts

MIN_LABELS = 500
MIN_OF_CLASS = 50
GROUPS = 10


def calibration(counts: BinaryCounts) -> dict[str, Outcome]:
    """Outcomes by method name: debiased_error, expected_error, cox_slope, spiegelhalter.

    The reliability table is in the detail of debiased_error. Cox's test and Spiegelhalter's look
    at different faults: Spiegelhalter's is blind to a plain shift, Cox's to a wiggle.
    """
    n1, n0 = int(counts.positives.sum()), int(counts.negatives.sum())
    floors = (
        Floor(n1 + n0, MIN_LABELS, "labels"),
        Floor(min(n1, n0), MIN_OF_CLASS, "labels of the rarer class"),
    )
    if n1 + n0 == 0:
        empty = measured_above(floors, None, 0, None, None, "no labelled rows with a score")
        return dict.fromkeys(
            ("debiased_error", "expected_error", "cox_slope", "spiegelhalter"), empty
        )
    table = reliability(counts, equal_mass_groups(counts, GROUPS))
    return {
        "debiased_error": _debiased(table, floors, n1 + n0),
        "expected_error": _expected(table, floors, n1 + n0),
        "cox_slope": _cox(counts, floors, n1 + n0),
        "spiegelhalter": _spiegelhalter(counts, floors, n1 + n0),
    }


def debiased_square(table: Reliability) -> tuple[float, float]:
    """L2 error squared without its bias, and its standard error.

    Σ w_b [(ȳ - f̄)² - ȳ(1 - ȳ)/(n_b - 1)] over groups of at least two rows (Bröcker 2012; Ferro and
    Fricker 2012; Kumar, Liang and Ma 2019): 0 on average for a perfect model, so it may be
    negative. Variance by the delta method: Σ w² [4(ȳ - f̄)² v + 2v²], v = ȳ(1 - ȳ)/(n_b - 1).
    """
    rows = table.rows.astype(np.float64)
    usable = rows >= 2
    n, observed, score = rows[usable], table.observed[usable], table.mean_score[usable]
    if not usable.any():
        return 0.0, 0.0
    weight = n / rows.sum()
    noise = observed * (1 - observed) / (n - 1)
    square = float(weight @ ((observed - score) ** 2 - noise))
    variance = float(weight**2 @ (4 * (observed - score) ** 2 * noise + 2 * noise**2))
    return square, float(np.sqrt(variance))


def signed_root(value: float) -> float:
    """sqrt of the size with the sign kept."""
    return float(np.sign(value) * np.sqrt(abs(value)))


def _debiased(table: Reliability, floors: tuple[Floor, ...], n: int) -> Outcome:
    square, standard_error = debiased_square(table)
    reach = normal_quantile() * standard_error
    low, high = signed_root(max(0.0, square - reach)), signed_root(max(0.0, square + reach))
    detail = {"signed_root": signed_root(square), "square": square, "table": table.as_rows()}
    return measured_above(floors, max(0.0, signed_root(square)), n, (low, high), detail)


def plain_error(table: Reliability) -> float:
    """ECE = Σ w_b |ȳ - f̄|; empty groups weigh nothing."""
    return float(table.rows @ np.abs(table.observed - table.mean_score) / table.rows.sum())


def plain_error_of_perfect_model(table: Reliability) -> float:
    """What ECE is on average for a perfectly calibrated model: Σ w_b sqrt(2 v_b/(π n_b)).

    v_b is the mean of f(1 - f) in the group. With B groups of equal mass this is
    sqrt(2B/(πn)) · E sqrt(f(1 - f)); an ECE near it is no evidence of anything.
    """
    weight = table.rows / table.rows.sum()
    full = np.maximum(table.rows, 1)
    return float(weight @ np.sqrt(2 * table.score_variance / (np.pi * full)))


def _expected(table: Reliability, floors: tuple[Floor, ...], n: int) -> Outcome:
    detail = {
        "null_expectation": plain_error_of_perfect_model(table),
        "groups": int((table.rows > 0).sum()),
    }
    return measured_above(floors, plain_error(table), n, None, detail)


def _cells(counts: BinaryCounts) -> tuple[Floats, Floats, Floats]:
    """Rows, positives and mean score of the score cells in use."""
    rows = counts.positives + counts.negatives
    used = rows > 0
    score = np.clip(counts.score_sums[used] / rows[used], 0.0, 1.0)
    return rows[used].astype(np.float64), counts.positives[used].astype(np.float64), score


def _cox(counts: BinaryCounts, floors: tuple[Floor, ...], n: int) -> Outcome:
    fit = cox(*_cells(counts))
    if isinstance(fit, str):
        short = next((floor for floor in floors if floor.n < floor.needed), None)
        return TooFew(short.n, short.needed, short.what) if short else Failed(fit)
    reach = normal_quantile() * fit.slope_standard_error
    detail: dict[str, Any] = {
        "intercept": fit.intercept,
        "likelihood_ratio": fit.likelihood_ratio,
        "p_value": fit.p_value,
        "clipped": fit.clipped,
        "ideal": 1.0,
    }
    return measured_above(floors, fit.slope, n, (fit.slope - reach, fit.slope + reach), detail)


def _spiegelhalter(counts: BinaryCounts, floors: tuple[Floor, ...], n: int) -> Outcome:
    test = spiegelhalter(counts)
    if test is None:
        return measured_above(floors, None, n, None, None, "all scores are 0, ½ or 1")
    return measured_above(floors, test.z, n, None, {"p_value": test.p_value, "ideal": 0.0})
