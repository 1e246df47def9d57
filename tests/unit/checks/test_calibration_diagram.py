"""The CORP diagram against isotonic regression of the rows, and its band under perfect scores."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.isotonic import IsotonicRegression

from monitor.checks.calibration import METHODS, calibration
from monitor.checks.calibration_cells import coarser, score_cells
from monitor.checks.calibration_diagram import (
    as_detail,
    drawn_p_value,
    perfect_model,
    reliability_curve,
)
from monitor.checks.calibration_errors import brier_parts
from monitor.checks.reliability import equal_mass_groups, reliability
from monitor.measurement import Measured
from tests.unit.checks.factories import binary
from tests.unit.checks.score_worlds import drawn, overconfident, perfect, too_high, wavy


def _cells(world, seed: int, n: int = 800):
    counts = binary(*drawn(world, np.random.default_rng(seed), n)[:2])
    return score_cells(counts), counts


def test_the_curve_is_isotonic_regression_of_the_rows():
    score = np.repeat(np.arange(2, 40) / 41, 12)
    label = (np.random.default_rng(91).random(len(score)) < score**1.5).astype(int)
    cells = score_cells(binary(score, label))
    curve = reliability_curve(cells)
    whole = IsotonicRegression().fit(score, label)
    assert curve.level == pytest.approx(whole.predict(np.unique(score)), abs=1e-9)
    assert np.all(np.diff(curve.level) >= 0)
    fitted = whole.predict(score)
    base = label.mean()
    assert curve.miscalibration == pytest.approx(
        np.mean((score - label) ** 2) - np.mean((fitted - label) ** 2), abs=1e-7
    )
    assert curve.discrimination == pytest.approx(
        base * (1 - base) - np.mean((fitted - label) ** 2), abs=1e-9
    )


def test_the_parts_add_up_to_the_brier_score():
    cells, _ = _cells(overconfident, 92)
    curve, parts = reliability_curve(cells), brier_parts(cells)
    total = curve.miscalibration - curve.discrimination + parts.uncertainty
    assert total == pytest.approx(parts.brier, abs=1e-12)
    assert 0 <= curve.miscalibration <= parts.reliability
    assert 0 <= curve.discrimination <= parts.resolution


def test_the_same_counts_give_the_same_band_and_others_another():
    cells, counts = _cells(perfect, 93)
    again = score_cells(binary(*drawn(perfect, np.random.default_rng(93), 800)[:2]))
    first, second = perfect_model(cells), perfect_model(again)
    assert np.array_equal(first.low, second.low)
    assert np.array_equal(first.miscalibration, second.miscalibration)
    assert calibration(counts) == calibration(counts)
    other = perfect_model(_cells(perfect, 94)[0])
    assert first.low.shape != other.low.shape or not np.array_equal(first.low, other.low)


# Pointwise: of perfect scores about one point in twenty lies outside, over many windows.
def test_the_band_holds_the_curve_of_perfect_scores():
    outside, points = 0, 0
    for seed in range(150):
        cells = coarser(_cells(perfect, 1_000 + seed, 500)[0], 128)
        curve, band = reliability_curve(cells), perfect_model(cells)
        outside += int(((curve.level < band.low) | (curve.level > band.high)).sum())
        points += len(cells.rows)
    assert 0.03 <= outside / points <= 0.065


@pytest.mark.parametrize("world", [overconfident, too_high, wavy])
def test_the_band_shows_where_scores_are_off(world):
    cells = coarser(_cells(world, 95, 4_000)[0], 128)
    curve, band = reliability_curve(cells), perfect_model(cells)
    assert np.mean((curve.level < band.low) | (curve.level > band.high)) > 0.15
    assert drawn_p_value(curve.miscalibration, band.miscalibration) < 0.01


def test_the_drawn_p_value_of_perfect_scores_is_even():
    p = []
    for seed in range(150):
        found = calibration(_cells(perfect, 2_000 + seed, 500)[1])
        p.append([found[name].detail["p_value"] for name in ("expected_error", "miscalibration")])
    for column in np.array(p).T:
        assert stats.kstest(column, "uniform").pvalue > 0.001
    assert drawn_p_value(9.0, np.zeros(99)) == 0.01


def test_cells_are_joined_without_moving_their_mean():
    cells, _ = _cells(perfect, 96, 5_000)
    joined = coarser(cells, 128)
    assert len(joined.rows) <= 128 < len(cells.rows)
    assert joined.rows.sum() == cells.rows.sum()
    assert joined.rows @ joined.score == pytest.approx(cells.rows @ cells.score)
    assert np.all(np.diff(joined.score) > 0)
    few = coarser(joined, 200)
    assert few is joined


def test_the_diagram_is_small_strict_json():
    cells, counts = _cells(overconfident, 97, 20_000)
    joined = coarser(cells, 128)
    table = reliability(counts, equal_mass_groups(counts, 10))
    detail = as_detail(joined, reliability_curve(joined), perfect_model(joined), table)
    assert len(json.dumps(detail, allow_nan=False)) < 10_000
    assert sum(step[3] for step in detail["curve"]) == 20_000
    levels = [step[2] for step in detail["curve"]]
    assert levels == sorted(levels)
    assert all(step[0] <= step[1] for step in detail["curve"])
    assert 20 <= len(detail["band"]) <= 33
    assert all(low <= high for _, low, high in detail["band"])


def test_every_number_has_its_value_of_perfect_scores_beside_it():
    found = calibration(_cells(perfect, 98, 3_000)[1])
    assert tuple(found) == METHODS
    for name in ("debiased_error", "expected_error", "miscalibration", "hosmer_lemeshow"):
        assert "null_expectation" in found[name].detail
    for name in ("cox_slope", "cox_intercept", "in_the_large", "spiegelhalter"):
        assert "ideal" in found[name].detail
    detail = found["debiased_error"].detail
    assert {"smooth_error", "swept_error", "curve", "band", "table"} <= set(detail)


@pytest.mark.parametrize(
    ("world", "verdict"),
    [(perfect, "no_miscalibration_seen"), (overconfident, "too_extreme"), (too_high, "too_high"),
     (wavy, "uneven")],
)  # fmt: skip
def test_the_verdict_says_in_which_way(world, verdict):
    outcome = calibration(_cells(world, 99, 4_000)[1])["combined_test"]
    assert isinstance(outcome, Measured)
    assert outcome.detail["verdict"] == verdict
    low, high = outcome.detail["too_high_by_limits"]
    assert low < outcome.detail["too_high_by"] < high
    assert set(outcome.detail["tests"]) == {"cox", "hosmer_lemeshow", "spiegelhalter"}


def test_low_and_timid_scores_are_named_too():
    rng = np.random.default_rng(100)
    score, chance = too_high(rng, 4_000)
    mirrored = binary(1 - score, (rng.random(4_000) < 1 - chance).astype(int))
    assert calibration(mirrored)["combined_test"].detail["verdict"] == "too_low"
    logit = rng.normal(size=4_000)
    timid = binary(1 / (1 + np.exp(-logit)), (rng.random(4_000) < 1 / (1 + np.exp(-1.5 * logit))))
    assert calibration(timid)["combined_test"].detail["verdict"] == "too_timid"
