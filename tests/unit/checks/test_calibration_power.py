"""How often tests of calibration alarm, and how often its limits hold, at the smallest n shown.

Powers at level 0.05 and 500 labels come from 200 draws of a separate row-level program.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from monitor.checks.calibration import MIN_LABELS, calibration
from monitor.checks.calibration_cells import ScoreCells, score_cells
from monitor.checks.calibration_diagram import drawn_p_value, plain_errors_of_perfect_model
from monitor.checks.calibration_errors import debiased, plain_error
from monitor.checks.calibration_tests import (
    calibration_shift,
    combined_p_value,
    cox,
    groups_that_expect,
    hosmer_lemeshow,
    spiegelhalter,
)
from monitor.checks.calibration_verdict import mean_gap
from monitor.checks.reliability import equal_mass_groups, reliability
from monitor.measurement import Measured
from tests.unit.checks.coverage import Held
from tests.unit.checks.factories import binary
from tests.unit.checks.score_worlds import (
    World,
    drawn,
    far_off,
    overconfident,
    perfect,
    rare,
    too_high,
    wavy,
)

N = MIN_LABELS


def _alarms(world: World, draws: int, seed: int) -> dict[str, int]:
    rng = np.random.default_rng(seed)
    alarms = dict.fromkeys(("cox", "hosmer", "spiegelhalter", "shift", "plain", "combined"), 0)
    for _ in range(draws):
        counts = binary(*drawn(world, rng, N)[:2])
        cells, table = score_cells(counts), reliability(counts, equal_mass_groups(counts, 10))
        errors = plain_errors_of_perfect_model(table, cells.seed())
        p = {
            "cox": cox(cells.rows, cells.positives, cells.score).p_value,
            "hosmer": hosmer_lemeshow(groups_that_expect(table)).p_value,
            "spiegelhalter": spiegelhalter(counts).p_value,
        }
        p["combined"] = combined_p_value(p)
        p["shift"] = calibration_shift(cells).p_value
        p["plain"] = drawn_p_value(plain_error(table), errors)
        for name, value in p.items():
            alarms[name] += value <= 0.05
    return alarms


def _near(count: int, draws: int, share: float, known: int = 200) -> bool:
    """Within chance of a share that was itself found in `known` draws."""
    error = np.sqrt(share * (1 - share) * (1 / draws + 1 / known))
    return abs(count / draws - share) < 3.3 * error + 0.5 / draws


@pytest.mark.parametrize(
    ("world", "powers"),
    [
        (overconfident, {"spiegelhalter": 0.88, "cox": 0.81, "hosmer": 0.69, "plain": 0.46}),
        (too_high, {"shift": 0.69, "cox": 0.54, "hosmer": 0.36, "spiegelhalter": 0.07}),
        (wavy, {"hosmer": 0.45, "plain": 0.43, "cox": 0.10}),
    ],
)
def test_each_test_sees_other_faults(world, powers):
    draws = 200
    alarms = _alarms(world, draws, 31)
    for name, share in powers.items():
        assert _near(alarms[name], draws, share), (name, alarms[name], share)
    best = max(alarms[name] for name in ("cox", "hosmer", "spiegelhalter"))
    # Splitting the level costs some power, but there is no fault that it is blind to.
    assert alarms["combined"] > 0.55 * best
    assert alarms["combined"] > 40


@pytest.mark.parametrize("world", [perfect, rare])
def test_perfect_scores_set_off_no_more_alarms_than_the_level_allows(world):
    draws = 400
    alarms = _alarms(world, draws, 32)
    for name, count in alarms.items():
        assert count <= stats.binom.ppf(0.999, draws, 0.06), name
    assert alarms["combined"] <= stats.binom.ppf(0.999, draws, 0.05)


def test_a_strict_level_is_kept_too():
    rng = np.random.default_rng(33)
    alarms = 0
    for _ in range(400):
        counts = binary(*drawn(perfect, rng, N)[:2])
        cells, table = score_cells(counts), reliability(counts, equal_mass_groups(counts, 10))
        alarms += combined_p_value({
            "cox": cox(cells.rows, cells.positives, cells.score).p_value,
            "hosmer": hosmer_lemeshow(groups_that_expect(table)).p_value,
            "spiegelhalter": spiegelhalter(counts).p_value,
        }) < 0.005  # fmt: skip
    assert alarms <= stats.binom.ppf(0.999, 400, 0.005)


@pytest.mark.parametrize("world", [perfect, rare, overconfident, too_high, wavy, far_off])
def test_limits_hold_at_the_floor(world):
    rng = np.random.default_rng(34)
    score, chance = world(rng, 200_000)
    many = ScoreCells(np.ones(len(score)), chance, score)
    line, level = cox(many.rows, many.positives, many.score), calibration_shift(many)
    held = Held()
    for _ in range(500):
        score, label, chance = drawn(world, rng, N)
        if min(label.sum(), N - label.sum()) < 50:
            continue
        counts = binary(score, label)
        cells = score_cells(counts)
        of_cell = equal_mass_groups(counts, 10)
        held.add("error", *debiased(reliability(counts, of_cell)).limits,
                 _true_square(score, chance, of_cell))  # fmt: skip
        fit, shift = cox(cells.rows, cells.positives, cells.score), calibration_shift(cells)
        for name, value, error, truth in (
            ("slope", fit.slope, fit.slope_standard_error, line.slope),
            ("intercept", fit.intercept, fit.intercept_standard_error, line.intercept),
            ("shift", shift.shift, shift.standard_error, level.shift),
        ):
            held.add(name, value - 1.96 * error, value + 1.96 * error, truth)
        gap, reach = mean_gap(cells)
        held.add("gap", gap - reach, gap + reach, float(np.mean(many.score - many.positives)))
    held.require()


def _true_square(score: np.ndarray, chance: np.ndarray, of_cell: np.ndarray) -> float:
    group = of_cell[np.minimum((score * 512).astype(int), 511)]
    rows = np.bincount(group)
    gap = (np.bincount(group, chance) - np.bincount(group, score)) / rows
    return float(rows @ gap**2 / len(score))


def test_what_is_printed_are_those_limits():
    rng = np.random.default_rng(35)
    counts = binary(*drawn(overconfident, rng, 2_000)[:2])
    found = calibration(counts)
    cells = score_cells(counts)
    fit, shift = cox(cells.rows, cells.positives, cells.score), calibration_shift(cells)
    for name, value, error in (
        ("cox_slope", fit.slope, fit.slope_standard_error),
        ("cox_intercept", fit.intercept, fit.intercept_standard_error),
        ("in_the_large", shift.shift, shift.standard_error),
    ):
        outcome = found[name]
        assert isinstance(outcome, Measured)
        assert (outcome.value, outcome.low, outcome.high) == pytest.approx(
            (value, value - 1.96 * error, value + 1.96 * error), abs=1e-4
        )
    whole = found["debiased_error"]
    assert isinstance(whole, Measured)
    square = debiased(reliability(counts, equal_mass_groups(counts, 10)))
    assert (whole.low, whole.high) == pytest.approx(np.sqrt(square.limits))
    assert whole.low < whole.value < whole.high
