"""The smallest shift a window could have shown: textbook numbers, and simulated power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from monitor.checks.promise.baseline import Calibration
from monitor.checks.promise.budget import Budget
from monitor.checks.promise.fit import fit_seasonal
from monitor.checks.promise.scales import DAILY, HOURLY, N_SCALES, SCALES, SIX_HOURS
from monitor.checks.promise.smallest import critical_statistics, rows_needed, smallest_shifts
from monitor.checks.promise.tail import surprise_needed
from monitor.checks.promise.views import View
from monitor.checks.promise.watch import watch
from tests.unit.checks.promise.factories import (
    FEW_RANKS,
    STEADY,
    World,
    category_column,
    part_of,
    traffic,
)

LEARNED = 56 * 24


# 90 % power of a two-sided z-test at 6.94e-5/3: ((z(level/2) + z(.9))/shift)², known values.
@pytest.mark.parametrize(("shift", "rows"), [(0.1, 3041), (0.2, 761), (0.3, 338), (0.5, 122)])
def test_rows_needed(shift, rows):
    assert rows_needed(shift, 6.94e-5 / 3) == rows


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_rows_needed_have_that_power(power):
    n = rows_needed(0.25, 1e-4, power)
    limit = stats.norm.isf(0.5e-4)
    assert stats.norm.sf(limit - 0.25 * np.sqrt(n)) >= power
    assert stats.norm.sf(limit - 0.25 * np.sqrt(n - 1)) < power


def _found(world: World, seed: int, scale: int, days: int) -> tuple[float, int, float]:
    """Share of windows whose location view reaches its level when the mean has moved by the shift
    that windows state; the number of windows; the shift."""
    columns, hours = traffic(world, seed, columns=1, days=56 + days, since=LEARNED)
    baseline = fit_seasonal(part_of(columns, 0, LEARNED), hours.part(0, LEARNED))
    quiet = watch(baseline, columns, hours, since=LEARNED)
    stated = smallest_shifts(baseline, quiet.scores[scale], quiet.levels[:, scale])[0]
    shift = float(np.median(stated))
    moved, _ = traffic(world, seed, columns=1, days=56 + days, shift=shift, since=LEARNED)
    found = watch(baseline, moved, hours, since=LEARNED)
    rule = SCALES[scale]
    apart = (found.scores[scale].ends - LEARNED) % rule.length == 0
    p = found.scores[scale].p_value[0, View.LOCATION, apart]
    return float(np.mean(p < found.levels[0, scale])), int(apart.sum()), shift


# At the stated shift about nine windows in ten show it. Cells keep a little less than the rows'
# information (van der Waerden scores on 24 cells: about 1 %), the stated shift goes by the median
# window and the baseline's own error moves all windows alike: 0.84 to 0.95 allows for those and
# for binomial chance in 480 and 120 windows.
@pytest.mark.parametrize(
    ("world", "scale", "days"),
    [(STEADY, HOURLY, 20), (STEADY, SIX_HOURS, 30), (World(wander=0.06, rows=800), HOURLY, 20)],
    ids=["steady hours", "steady six hours", "wandering hours"],
)
def test_the_stated_shift_is_found_in_about_nine_windows_of_ten(world, scale, days):
    shares = [_found(world, seed, scale, days) for seed in (1, 2)]
    assert 0.84 <= np.mean([share for share, _, _ in shares]) <= 0.95
    assert all(0.02 < shift < 0.6 for _, _, shift in shares)


@pytest.fixture(scope="module")
def learned():
    columns, hours = traffic(STEADY, 3, columns=1, days=63, ranks=FEW_RANKS)
    rng = np.random.default_rng(0)
    kind = category_column(rng, np.array([0.5, 0.5]), np.full(hours.n, 100))
    columns.append(kind)
    baseline = fit_seasonal(part_of(columns, 0, LEARNED), hours.part(0, LEARNED))
    return baseline, watch(baseline, columns, hours, since=LEARNED)


def test_categories_and_windows_without_rows_have_no_smallest_shift(learned):
    baseline, found = learned
    for scale in range(N_SCALES):
        stated = smallest_shifts(baseline, found.scores[scale], found.levels[:, scale])
        assert np.isnan(stated[1]).all()
        assert (stated[0] > 0).all()
    quiet = replace(found.scores[HOURLY], effective_rows=found.scores[HOURLY].effective_rows * 0)
    assert np.isnan(smallest_shifts(baseline, quiet, found.levels[:, HOURLY])).all()


def test_longer_windows_and_looser_levels_see_smaller_shifts(learned):
    baseline, found = learned
    medians = [
        np.median(smallest_shifts(baseline, found.scores[scale], found.levels[:, scale])[0])
        for scale in range(N_SCALES)
    ]
    assert medians[HOURLY] > medians[SIX_HOURS] > medians[DAILY]
    loose = Budget(promise=20).levels(baseline)[:, HOURLY]
    assert np.median(smallest_shifts(baseline, found.scores[HOURLY], loose)[0]) < medians[HOURLY]


# The critical statistic turned back into a p-value is the level, on the curve and on SciPy's F.
def test_critical_statistics_reach_the_level_exactly(learned):
    baseline, found = learned
    table = baseline.calibrations
    for scale in range(N_SCALES):
        level = found.levels[:, scale]
        critical = critical_statistics(baseline, scale, level, View.LOCATION)[0]
        at = (0, View.LOCATION, scale)
        if table.kind[at] == Calibration.FEW:
            assert stats.f.sf(critical, 1, table.degrees[at]) == pytest.approx(level[0])
        else:
            needed = surprise_needed(table.curves[at], float(level[0]))
            if table.kind[at] == Calibration.TAIL:
                needed = max(needed, -np.log(level[0]))
            assert -stats.chi2.logsf(critical, 1) == pytest.approx(needed)
    assert np.isnan(
        critical_statistics(baseline, HOURLY, found.levels[:, HOURLY], View.LOCATION)[1]
    )
    assert critical_statistics(baseline, HOURLY, np.full(2, 1e-80), View.LOCATION)[0] > 300
