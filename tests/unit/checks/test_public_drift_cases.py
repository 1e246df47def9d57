"""Faults that users of drift monitors reported in public, with made-up rows and right values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from monitor.checks.drift.chi_square import ChiSquare
from monitor.checks.drift.jensen_shannon import JensenShannon
from monitor.checks.drift.kolmogorov_smirnov import (
    KolmogorovSmirnov,
    kolmogorov_p_log10,
    largest_gap,
)
from monitor.checks.drift.psi import PopulationStability, population_stability
from monitor.checks.drift.registry import METHODS
from monitor.checks.drift.wasserstein import Wasserstein
from monitor.checks.promise.budget import Budget
from monitor.checks.promise.column import CellOrder, Layouts
from monitor.checks.promise.expect import WindowRows
from monitor.checks.promise.firing import hits_of
from monitor.checks.promise.scales import HOURLY, WEEKLY
from monitor.checks.promise.score import ScaleScores
from monitor.checks.promise.views import View, statistics
from monitor.checks.quality.binary import binary_quality
from monitor.measurement import Direction, Measured, TooFew
from monitor.profiles.cells import CategoryCells, NumberCells
from monitor.profiles.fitting import fit_number_cells
from tests.unit.checks.factories import binary, categories, from_counts, numbers, value_cells
from tests.unit.checks.promise.factories import bare_baseline


def _compare(method, reference, current):
    return method.compare(method.fit(reference), current)


# The p-value of one and the same shift rose with more rows: it was 1 minus a number near 1. Values:
# SciPy's exact two-sample test; the product's p is asymptotic (within a factor of 1.6 here).
def test_more_rows_of_the_same_shift_give_a_smaller_p_value():
    exact = (0.0864786245727, 1.05201057444e-06, 2.67886209395e-25)
    found = []
    for n, wanted in zip((200, 1_000, 4_000), exact, strict=True):
        reference = stats.norm.ppf((np.arange(n) + 0.5) / n)
        current = stats.norm.ppf((np.arange(n + 1) + 0.5) / (n + 1)) + 0.3
        cells = np.unique(np.concatenate((reference, current)))
        counts = [np.histogram(x, [*cells, np.inf])[0].astype(float) for x in (reference, current)]
        p_log10 = kolmogorov_p_log10(largest_gap(*counts), n * (n + 1) / (2 * n + 1))
        theirs = stats.ks_2samp(reference, current, method="asymp")
        assert largest_gap(*counts) == pytest.approx(theirs.statistic, rel=1e-9)
        assert p_log10 == pytest.approx(np.log10(wanted), abs=0.2)
        found.append(p_log10)
    assert found[0] > found[1] > found[2]
    assert np.isfinite(found).all()


# 65 of 100 rows carry a sentinel; quantile borders fell together and equal shares were assumed.
def test_a_sentinel_in_most_rows_is_a_cell_with_its_real_share():
    reference = np.array([-999.0] * 65 + list(range(1, 36)))
    cells = fit_number_cells(reference)
    assert (np.diff(cells.edges) > 0).all()
    then, now = numbers(reference, cells), numbers(np.tile(reference, 2), cells)
    assert then.counts[cells.labels().index("-999")] == 65
    outcome = _compare(KolmogorovSmirnov(), then, now)
    assert isinstance(outcome, Measured)
    assert (outcome.value, outcome.detail["p_value"]) == (0.0, 1.0)
    used = then.counts > 0
    assert population_stability(
        then.counts[used].astype(float), now.counts[used].astype(float), 0
    ) == pytest.approx(0, abs=1e-12)
    assert _compare(ChiSquare(), then, now).detail["p_value"] == 1.0
    assert _compare(PopulationStability(), then, now).value <= 0


# Twenty columns without a change, p-values as chance deals them: two are below 5 %.
P_VALUES = (0.03, 0.41, 0.77, 0.12, 0.64, 0.93, 0.28, 0.55, 0.04, 0.86, 0.19, 0.71, 0.33, 0.48,
            0.99, 0.62, 0.24, 0.81, 0.15, 0.37)  # fmt: skip


@pytest.mark.parametrize("scale", [HOURLY, WEEKLY])
def test_twenty_columns_by_chance_alone_raise_no_alarm(scale):
    assert sum(p < 0.05 for p in P_VALUES) == 2
    assert not any(p <= 0.05 / 20 for p in P_VALUES)
    baseline = bare_baseline([("", f"c{i}") for i in range(20)])
    levels = Budget().levels(baseline)[:, scale]
    scores = ScaleScores.empty(scale, np.array([1, 2, 3]), 20)
    scores.p_value[:, View.LOCATION, :] = np.array(P_VALUES)[:, None]
    scores.effect[:] = 0.5
    assert not hits_of(baseline, scores, levels).fired.any()
    assert (levels < 0.05 / 20).all()


# Small distances were treated like small p-values: which way is bad belongs to the method.
def test_which_way_is_bad_is_a_property_of_the_check():
    assert {method.direction for method in METHODS} == {Direction.HIGHER_IS_WORSE}
    cells = CategoryCells(("a", "b"))
    for method in (JensenShannon(), PopulationStability(), ChiSquare()):
        near = _compare(method, from_counts([500, 500, 0, 0, 0], cells),
                        from_counts([495, 505, 0, 0, 0], cells))  # fmt: skip
        far = _compare(method, from_counts([500, 500, 0, 0, 0], cells),
                       from_counts([900, 100, 0, 0, 0], cells))  # fmt: skip
        assert far.value > near.value


# A distance of exactly 0 was dropped as if it were missing.
def test_a_distance_of_zero_is_a_measurement():
    cells = value_cells([1, 2, 3, 4])
    rows = numbers([1, 2, 3, 4] * 20, cells)
    for method in (Wasserstein(), KolmogorovSmirnov(), JensenShannon()):
        outcome = _compare(method, rows, rows)
        assert isinstance(outcome, Measured)
        assert outcome.value == 0.0
        assert outcome.n == 80


# Rows were dropped for missing values in columns that the measure does not use.
def test_a_column_is_compared_on_all_of_its_own_rows():
    cells = CategoryCells(("lo", "hi"))
    rows = categories(["lo", "hi"] * 40, cells)
    outcome = _compare(JensenShannon(), rows, rows)
    assert isinstance(outcome, Measured)
    assert (outcome.n, outcome.value, outcome.detail["missing_share"]) == (80, 0.0, 0.0)


# Rows exactly on the lowest border were counted twice. The highest border lies just above 20, as
# for every fitted column, so that the range is closed at its top.
def test_rows_on_a_border_are_counted_once():
    cells = NumberCells((0.0, 10.0, float(np.nextafter(20.0, np.inf))))
    counts = numbers([-5, 0, 0, 10, 15, 20, 25], cells).counts
    assert counts.tolist() == [1, 2, 3, 1, 0]
    assert counts.sum() == 7


# NaN differs from itself: each missing label became a class of its own.
def test_missing_values_are_one_cell_however_many():
    values = np.tile([1.0, 0, np.nan, 1, 0, 0], 500)
    cells = fit_number_cells(values)
    column = numbers(values, cells)
    assert column.counts[cells.missing] == 500
    assert (column.counts[:-1] > 0).sum() == 2
    label = [None if np.isnan(value) else int(value) for value in values]
    predicted = np.tile([1, 0, 1, 1, 1, 0], 500)
    counts = binary(np.where(predicted, 0.9, 0.1), label, predicted)
    outcomes = binary_quality(counts)
    assert isinstance(outcomes["accuracy"], Measured)
    assert outcomes["accuracy"].value == pytest.approx(0.8)
    assert outcomes["accuracy"].n == 2_500
    assert outcomes["label_coverage"].value == pytest.approx(2_500 / 3_000)
    assert outcomes["precision"].value == pytest.approx(1_000 / 1_500)
    assert outcomes["recall"].value == pytest.approx(1.0)


# 260 rows in windows of 50: the last holds 10. Each is held against its own number of rows, and the
# incomplete one gets no verdict.
def test_an_incomplete_window_is_not_judged_by_the_yardstick_of_full_ones():
    shares = np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    rows = np.array([50.0] * 5 + [10.0])
    observed = np.tile([26.0, 14, 7, 3, 0], (6, 1))
    observed[5] = 5, 3, 1, 1, 0
    windows = WindowRows(
        observed, rows[:, None] * shares, rows, np.ones(6), np.zeros(6, np.int64), np.ones(6, bool)
    )
    layouts = Layouts.of([CellOrder.of(True, np.array([240, 180, 120, 60, 0]))])
    found = statistics(windows, layouts)
    assert (~np.isnan(found.statistic)).sum(axis=0).tolist() == [len(View)] * 5 + [0]
    assert found.effective_rows[View.OMNIBUS].tolist() == rows.tolist()
    cells = CategoryCells(("a", "b"))
    outcome = _compare(ChiSquare(), from_counts([300, 300, 0, 0, 0], cells),
                       from_counts([5, 5, 0, 0, 0], cells))  # fmt: skip
    assert isinstance(outcome, TooFew)
    assert (outcome.n, outcome.needed) == (10, 30)
