"""The budget: levels of a month's tests add up to half of the promise, whatever is tested."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.checks.promise.budget import Budget
from monitor.checks.promise.scales import DAILY, HOURLY, N_SCALES, SCALES, SIX_HOURS, WEEKLY
from monitor.checks.promise.views import N_VIEWS, View
from tests.unit.checks.promise.factories import bare_baseline


def _spent(baseline, levels: np.ndarray) -> np.ndarray:
    """Expected false firings a month by column: level times windows times views."""
    windows = np.array([720 / scale.stride for scale in SCALES])
    return (levels * windows * (baseline.calibrations.kind > 0).sum(axis=1)).sum(axis=1)


# By hand: promise 1, half of it spendable; 20 columns, 720 hourly windows, half the share, 5 views.
def test_twenty_columns_by_hand():
    baseline = bare_baseline([("", f"c{i}") for i in range(20)])
    levels = Budget().levels(baseline)
    assert levels[:, HOURLY] == pytest.approx(0.5 / 20 * 0.5 / 720 / 5)
    assert levels[:, SIX_HOURS] == pytest.approx(0.5 / 20 * 0.2 / 240 / 5)
    assert levels[:, DAILY] == pytest.approx(0.5 / 20 * 0.2 / 120 / 5)
    assert levels[:, WEEKLY] == pytest.approx(0.5 / 20 * 0.1 / 30 / 5)
    assert _spent(baseline, levels).sum() == pytest.approx(0.5)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.1, 20), st.booleans(), st.booleans(), st.booleans())
def test_the_levels_of_a_month_add_up_to_half_the_promise(seed, promise, contrast, pairs, deep):
    rng = np.random.default_rng(seed)
    keys = [("", f"c{i}") for i in range(6)] + [("s", f"c{i}") for i in range(int(rng.integers(4)))]
    kind = rng.integers(0, 2, (len(keys), N_VIEWS, N_SCALES))
    weights = rng.uniform(0.1, 5, len(keys)).tolist()
    baseline = bare_baseline(keys, kind, weights)
    budget = Budget(promise, contrast, pairs, deep)
    levels = budget.levels(baseline)
    others = budget.contrast_level + budget.pairs_level + budget.classifier_level
    spent = _spent(baseline, levels).sum() + others
    assert spent <= promise / 2 * (1 + 1e-9)
    if (kind[:6] > 0).any():
        assert spent == pytest.approx(promise / 2)
    assert ((levels > 0) == (baseline.views > 0)).all()
    assert others == pytest.approx(promise / 2 * (0.15 * contrast + 0.05 * pairs + 0.05 * deep))


def test_columns_share_by_weight():
    baseline = bare_baseline([("", "a"), ("", "b")], weights=[3.0, 1.0])
    spent = _spent(baseline, Budget().levels(baseline))
    assert spent == pytest.approx((0.375, 0.125))


def test_segments_get_a_fifth_by_weight():
    keys = [("", "a"), ("", "b"), ("s", "a"), ("t", "a")]
    baseline = bare_baseline(keys, weights=[1.0, 1.0, 3.0, 1.0])
    spent = _spent(baseline, Budget().levels(baseline))
    assert spent == pytest.approx((0.2, 0.2, 0.075, 0.025))


def test_what_is_not_tested_leaves_its_share():
    kind = np.ones((3, N_VIEWS, N_SCALES), np.int64)
    kind[1] = 0  # a column without the promise
    kind[2, :, [HOURLY, SIX_HOURS]] = 0  # a column that is judged by the day and the week
    kind[0, [View.LOCATION, View.SPREAD, View.MISSING]] = 0  # a category, never missing
    baseline = bare_baseline([("", "a"), ("", "b"), ("", "c")], kind)
    levels = Budget().levels(baseline)
    assert (levels[1] == 0).all()
    assert _spent(baseline, levels) == pytest.approx((0.25, 0, 0.25))
    assert levels[2, DAILY] == pytest.approx(0.25 * (0.2 / 0.3) / 120 / 5)
    assert levels[0, HOURLY] == pytest.approx(0.25 * 0.5 / 720 / 2)
    without_segments = bare_baseline([("", "a"), ("s", "a")], kind[:2])
    assert _spent(without_segments, Budget().levels(without_segments))[0] == pytest.approx(0.5)


def test_nothing_tested_spends_nothing():
    baseline = bare_baseline([("", "a"), ("", "b")], np.zeros((2, N_VIEWS, N_SCALES), np.int64))
    assert (Budget().levels(baseline) == 0).all()


def test_the_governor_and_the_promise_scale_all_levels():
    baseline = bare_baseline([("", "a"), ("s", "a")])
    plain = Budget().levels(baseline)
    assert Budget(promise=3).levels(baseline) == pytest.approx(3 * plain)
    assert Budget(governor=0.25).levels(baseline) == pytest.approx(plain / 4)
    assert Budget(contrast=True, governor=0.5).contrast_level == pytest.approx(0.5 * 0.5 * 0.15)


@pytest.mark.parametrize(
    "wrong", [{"promise": 0}, {"promise": -1}, {"governor": 0}, {"governor": 2}]
)
def test_impossible_budgets_are_refused(wrong):
    with pytest.raises(AssertionError, match="above 0"):
        Budget(**wrong)
