"""Does a score of 0.3 come true 3 times in 10? From label counts per score cell.

Printed from 500 labels and 50 of each class on: below, every number is mostly its own noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.checks.calibration_cells import ScoreCells, ScoredCounts, coarser, score_cells
from monitor.checks.calibration_diagram import (
    MOST_CELLS,
    PerfectModel,
    ReliabilityCurve,
    as_detail,
    drawn_p_value,
    perfect_model,
    plain_errors_of_perfect_model,
    reliability_curve,
)
from monitor.checks.calibration_errors import (
    brier_parts,
    debiased,
    plain_error,
    plain_error_of_perfect_model,
    signed_root,
    smooth_error,
    swept_error,
)
from monitor.checks.calibration_tests import (
    CoxFit,
    HosmerLemeshowTest,
    ShiftFit,
    SpiegelhalterTest,
    calibration_shift,
    cox,
    groups_that_expect,
    hosmer_lemeshow,
    spiegelhalter,
)
from monitor.checks.calibration_verdict import combined_test
from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import normal_quantile
from monitor.checks.reliability import Reliability, equal_mass_groups, reliability
from monitor.measurement import Failed, Outcome, TooFew

MIN_LABELS = 500
MIN_OF_CLASS = 50
GROUPS = 10
METHODS = (
    *("debiased_error", "expected_error", "miscalibration", "cox_slope", "cox_intercept"),
    *("in_the_large", "spiegelhalter", "hosmer_lemeshow", "combined_test"),
)


@dataclass(frozen=True, eq=False)
class CalibrationFits:
    """Everything that is computed from one set of counts. A test that can't be made is None.

    `cox` is the reason in words where there is no finite fit. `curve` and `perfect` are made of
    `joined`, at most 128 neighbouring cells put together, and None below the floors, where drawing
    them is not worth its time.
    """

    cells: ScoreCells
    joined: ScoreCells
    table: Reliability
    cox: CoxFit | str
    shift: ShiftFit | None
    spiegelhalter: SpiegelhalterTest | None
    hosmer_lemeshow: HosmerLemeshowTest | None
    curve: ReliabilityCurve | None
    perfect: PerfectModel | None

    def p_values(self) -> dict[str, float]:
        """Of the tests that the combined one splits its level over, where they can be made."""
        tests = {
            "cox": None if isinstance(self.cox, str) else self.cox,
            "hosmer_lemeshow": self.hosmer_lemeshow,
            "spiegelhalter": self.spiegelhalter,
        }
        return {name: test.p_value for name, test in tests.items() if test is not None}


def calibration_floors(counts: ScoredCounts) -> tuple[Floor, ...]:
    """How many labels there are and must be."""
    n1, n0 = int(counts.positives.sum()), int(counts.negatives.sum())
    return (
        Floor(n1 + n0, MIN_LABELS, "labels"),
        Floor(min(n1, n0), MIN_OF_CLASS, "labels of the rarer class"),
    )


def calibration_groups(counts: ScoredCounts) -> Reliability:
    """Ten groups of about equally many labelled rows, fewer where scores are equal."""
    return reliability(counts, equal_mass_groups(counts, GROUPS))


def calibration_fits(counts: ScoredCounts) -> CalibrationFits:
    """Every statistic of one set of counts; needs a labelled row with a score."""
    cells = score_cells(counts)
    table = calibration_groups(counts)
    enough = all(floor.n >= floor.needed for floor in calibration_floors(counts))
    joined = coarser(cells, MOST_CELLS)
    return CalibrationFits(
        cells,
        joined,
        table,
        cox(cells.rows, cells.positives, cells.score),
        calibration_shift(cells),
        spiegelhalter(counts),
        hosmer_lemeshow(groups_that_expect(table)),
        reliability_curve(joined) if enough else None,
        perfect_model(joined) if enough else None,
    )


def calibration(counts: ScoredCounts) -> dict[str, Outcome]:
    """Outcomes by method name, those of METHODS.

    The diagram is in the detail of debiased_error: `curve` and `band` (CORP) and `table` (groups
    of equal size). Cox's test sees slopes and shifts, Spiegelhalter's slopes only, the one of
    Hosmer and Lemeshow wiggles too; combined_test splits the level over the three.
    """
    floors = calibration_floors(counts)
    n = floors[0].n
    if n == 0:
        empty = measured_above(floors, None, 0, None, None, "labelled rows with a score")
        return dict.fromkeys(METHODS, empty)
    fits = calibration_fits(counts)
    return {
        "debiased_error": _debiased(counts, fits, floors),
        "expected_error": _expected(fits, floors),
        "miscalibration": _miscalibration(fits, floors),
        "cox_slope": _cox(fits, floors, slope=True),
        "cox_intercept": _cox(fits, floors, slope=False),
        "in_the_large": _in_the_large(fits, floors),
        "spiegelhalter": _spiegelhalter(fits, floors),
        "hosmer_lemeshow": _hosmer_lemeshow(fits, floors),
        "combined_test": combined_test(fits.p_values(), fits.cells, fits.cox, fits.shift, floors),
    }


def _debiased(counts: ScoredCounts, fits: CalibrationFits, floors: tuple[Floor, ...]) -> Outcome:
    found = debiased(fits.table)
    low, high = (signed_root(limit) for limit in found.limits)
    detail: dict[str, Any] = {
        "signed_root": signed_root(found.value),
        "square": found.value,
        "null_expectation": 0.0,
    }
    if fits.curve is None or fits.perfect is None:
        detail["table"] = fits.table.as_rows()
    else:
        swept, groups = swept_error(counts)
        smooth, width = smooth_error(fits.cells)
        parts = brier_parts(fits.cells)
        detail |= as_detail(fits.joined, fits.curve, fits.perfect, fits.table)
        detail |= {"swept_error": swept, "swept_groups": groups}
        detail |= {"smooth_error": smooth, "smooth_width": width}
        detail |= {
            "brier_reliability": parts.reliability,
            "brier_resolution": parts.resolution,
            "brier_uncertainty": parts.uncertainty,
        }
    value = max(0.0, signed_root(found.value))
    return measured_above(floors, value, floors[0].n, (low, high), detail)


def _expected(fits: CalibrationFits, floors: tuple[Floor, ...]) -> Outcome:
    value = plain_error(fits.table)
    detail: dict[str, Any] = {
        "null_expectation": plain_error_of_perfect_model(fits.table),
        "groups": int((fits.table.rows > 0).sum()),
    }
    if fits.perfect is not None:
        drawn = plain_errors_of_perfect_model(fits.table, fits.cells.seed())
        detail["null_limit"] = float(np.quantile(drawn, 0.95))
        detail["p_value"] = drawn_p_value(value, drawn)
    return measured_above(floors, value, floors[0].n, None, detail)


def _miscalibration(fits: CalibrationFits, floors: tuple[Floor, ...]) -> Outcome:
    curve = fits.curve if fits.curve is not None else reliability_curve(fits.joined)
    detail: dict[str, Any] = {
        "discrimination": curve.discrimination,
        "uncertainty": brier_parts(fits.joined).uncertainty,
    }
    if fits.perfect is not None:
        drawn = fits.perfect.miscalibration
        detail["null_expectation"] = float(np.mean(drawn))
        detail["null_limit"] = float(np.quantile(drawn, 0.95))
        detail["p_value"] = drawn_p_value(curve.miscalibration, drawn)
    return measured_above(floors, curve.miscalibration, floors[0].n, None, detail)


def _short(floors: tuple[Floor, ...], reason: str) -> Outcome:
    """TooFew where a floor does not hold, else Failed with the reason."""
    short = next((floor for floor in floors if floor.n < floor.needed), None)
    return TooFew(short.n, short.needed, short.what) if short else Failed(reason)


def _cox(fits: CalibrationFits, floors: tuple[Floor, ...], *, slope: bool) -> Outcome:
    fit = fits.cox
    if isinstance(fit, str):
        return _short(floors, fit)
    value = fit.slope if slope else fit.intercept
    error = fit.slope_standard_error if slope else fit.intercept_standard_error
    detail: dict[str, Any] = {
        "intercept": fit.intercept,
        "slope": fit.slope,
        "likelihood_ratio": fit.likelihood_ratio,
        "p_value": fit.p_value,
        "clipped": fit.clipped,
        "ideal": 1.0 if slope else 0.0,
    }
    return _normal(value, error, floors, detail)


def _normal(
    value: float, error: float, floors: tuple[Floor, ...], detail: Mapping[str, Any]
) -> Outcome:
    reach = normal_quantile() * error
    return measured_above(floors, value, floors[0].n, (value - reach, value + reach), detail)


def _in_the_large(fits: CalibrationFits, floors: tuple[Floor, ...]) -> Outcome:
    fit, cells = fits.shift, fits.cells
    observed, mean = float(cells.positives.sum() / cells.n), float(cells.rows @ cells.score)
    detail: dict[str, Any] = {"mean_score": mean / cells.n, "observed": observed, "ideal": 0.0}
    if fit is None:
        return measured_above(
            floors, None, floors[0].n, None, detail, "labels of a second class (one class only)"
        )
    return _normal(fit.shift, fit.standard_error, floors, detail | {"p_value": fit.p_value})


def _spiegelhalter(fits: CalibrationFits, floors: tuple[Floor, ...]) -> Outcome:
    test, n = fits.spiegelhalter, floors[0].n
    if test is None:
        return measured_above(floors, None, n, None, None, "all scores are 0, ½ or 1")
    return measured_above(floors, test.z, n, None, {"p_value": test.p_value, "ideal": 0.0})


def _hosmer_lemeshow(fits: CalibrationFits, floors: tuple[Floor, ...]) -> Outcome:
    test, n = fits.hosmer_lemeshow, floors[0].n
    if test is None:
        return measured_above(floors, None, n, None, None, "all scores are 0 or 1")
    detail = {
        "p_value": test.p_value,
        "degrees": test.degrees,
        "null_expectation": float(test.degrees),
    }
    return measured_above(floors, test.statistic, n, None, detail)
