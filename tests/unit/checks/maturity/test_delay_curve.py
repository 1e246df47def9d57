"""The delay curve against Kaplan-Meier as published, as scipy has it, and under simulation."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from monitor.checks.maturity.delay_curve import (
    LOWER_HOURS,
    UPPER_HOURS,
    DelayCurve,
    Followed,
    learn_curve,
)
from monitor.profiles.delays import DELAY_BUCKETS
from tests.unit.checks.maturity.factories import DAY_HOURS, followed, on_edges

# Remission of leukaemia under 6-MP, weeks, 21 patients, + censored (Freireich et al. 1963):
# 6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+
SIX_MP = [(6, 1), (6, 1), (6, 1), (6, 0), (7, 1), (9, 0), (10, 1), (10, 0), (11, 0), (13, 1),
          (16, 1), (17, 0), (19, 0), (20, 0), (22, 1), (23, 1), (25, 0), (32, 0), (32, 0), (34, 0),
          (35, 0)]  # fmt: skip
PUBLISHED = {6: (0.8571, 0.0764), 7: (0.8067, 0.0869), 10: (0.7529, 0.0963), 13: (0.6902, 0.1068),
             16: (0.6275, 0.1141), 22: (0.5378, 0.1282), 23: (0.4482, 0.1346)}  # fmt: skip


def learned(rows: list[Followed]) -> DelayCurve:
    curve = learn_curve(rows, 0)
    assert curve is not None
    return curve


def test_published_curve_with_its_standard_errors() -> None:
    weeks = sorted({time for time, _ in SIX_MP})
    bucket_of = {week: 5 + place for place, week in enumerate(weeks)}
    curve = learned(on_edges([(bucket_of[time], bool(event)) for time, event in SIX_MP]))
    for week, (survival, error) in PUBLISHED.items():
        age = float(UPPER_HOURS[bucket_of[week]])
        assert 1 - curve.known_by(age) == pytest.approx(survival, abs=5e-5)
        assert curve.standard_error(age) == pytest.approx(error, abs=5e-5)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 31), st.booleans()), min_size=2, max_size=60))
def test_equal_to_scipy_where_times_lie_on_bucket_edges(rows: list[tuple[int, bool]]) -> None:
    times = [UPPER_HOURS[bucket] for bucket, _ in rows]
    data = stats.CensoredData(
        uncensored=[t for t, (_, told) in zip(times, rows, strict=True) if told],
        right=[t for t, (_, told) in zip(times, rows, strict=True) if not told],
    )
    expected = stats.ecdf(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # scipy's limits are undefined at S = 1, 0
        limits = expected.sf.confidence_interval(method="log-log")
    curve = learned(on_edges(rows))
    assert curve.n == len(rows)
    for place, time in enumerate(expected.cdf.quantiles):
        survival = expected.sf.probabilities[place]
        assert curve.known_by(time) == pytest.approx(1 - survival, abs=1e-12)
        if 0 < survival < 1:
            low, high = curve.limits(time)
            assert 1 - low == pytest.approx(limits.high.probabilities[place], abs=1e-9)
            assert 1 - high == pytest.approx(limits.low.probabilities[place], abs=1e-9)


def test_a_slow_exponential_is_seen_although_few_labels_have_come() -> None:
    """Mean delay 10 days, 14 days of arrivals: the labelled alone have a mean of 3.63 days."""
    rng = np.random.default_rng(3)
    windows, told = [], []
    for hour in range(14 * 24):
        delays = rng.exponential(240.0, 600)
        age = 14 * DAY_HOURS - hour - 0.5
        windows.append(followed(age, delays))
        told.append(delays[delays < age])
    labelled = np.concatenate(told)
    assert labelled.mean() / 24 == pytest.approx(3.63, abs=0.05)
    assert (labelled < 7 * 24).mean() == pytest.approx(0.855, abs=0.01)
    curve = learned(windows)
    assert curve.known_by(7 * DAY_HOURS) == pytest.approx(1 - math.exp(-0.7), abs=0.006)  # .5034
    assert curve.known_by(12 * DAY_HOURS) == pytest.approx(1 - math.exp(-1.2), abs=0.006)  # .6988
    assert curve.median_hours == pytest.approx(240 * math.log(2), rel=0.02)


def test_a_plateau_below_a_half_has_no_median() -> None:
    delays = np.where(np.arange(1000) % 10 < 3, 24.0, np.inf)
    curve = learned([followed(40 * DAY_HOURS, delays)])
    assert curve.plateau == pytest.approx(0.3)
    assert curve.median_hours is None
    assert curve.ninety_hours is not None
    assert 12 < curve.ninety_hours < 40


def test_a_curve_is_settled_once_requests_are_as_old_as_a_label_may_be() -> None:
    young = learn_curve([followed(10.0, np.full(50, 5.0))], 24.0)
    old = learn_curve([followed(24.0, np.full(50, 5.0))], 24.0)
    assert young is not None
    assert old is not None
    assert (young.settled, old.settled) == (False, True)


def test_without_a_request_of_any_age_there_is_no_curve() -> None:
    assert learn_curve([], 1.0) is None
    assert learn_curve([followed(0.0, np.full(5, 1.0))], 1.0) is None


def test_everybody_labelled_and_nobody_labelled_have_limits_of_their_own() -> None:
    none = learned([followed(100.0, np.full(50, np.inf))])
    assert (none.known_by(100), none.limits(100)[0]) == (0.0, 0.0)
    assert none.limits(100)[1] == pytest.approx(0.0714, abs=5e-4)  # Wilson, 0 of 50
    assert none.ninety_hours is None
    every = learned([followed(100.0, np.full(50, 1.0))])
    assert (every.known_by(100), every.limits(100)[1]) == (1.0, 1.0)
    assert every.limits(100)[0] == pytest.approx(1 - 0.0714, abs=5e-4)
    assert every.standard_error(100) == 0.0
    assert every.median_hours is not None


def test_labels_told_later_than_their_request_is_old_count_at_its_age() -> None:
    labelled = np.zeros(DELAY_BUCKETS, np.int64)
    labelled[30] = 10
    curve = learned([Followed(5.0, labelled, 10)])
    assert curve.known_by(5.0) == pytest.approx(0.5)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(
            st.floats(0.01, 9000), st.integers(0, 31), st.integers(0, 30), st.integers(0, 30)
        ),
        min_size=1,
        max_size=12,
    )
)
def test_any_curve_rises_and_its_limits_hold_it(
    rows: list[tuple[float, int, int, int]],
) -> None:
    windows = []
    for age, bucket, told, silent in rows:
        labelled = np.zeros(DELAY_BUCKETS, np.int64)
        labelled[bucket] = told
        windows.append(Followed(age, labelled, silent))
    curve = learn_curve(windows, 10.0)
    if curve is None:
        assert sum(told + silent for _, _, told, silent in rows) == 0
        return
    ages = np.sort(np.concatenate([LOWER_HOURS, UPPER_HOURS, [age for age, *_ in rows]]))
    shares = [curve.known_by(float(age)) for age in ages]
    assert all(0 <= share <= 1 for share in shares)
    assert all(after >= before - 1e-12 for before, after in itertools.pairwise(shares))
    for age, share in zip(ages, shares, strict=True):
        low, high = curve.limits(float(age))
        assert -1e-12 <= low <= share + 1e-9
        assert share - 1e-9 <= high <= 1 + 1e-12
    for wanted in (0.1, 0.5, 0.9):
        hours = curve.hours_until(wanted)
        assert (hours is None) == (curve.plateau < wanted - 1e-12) or curve.plateau == wanted
        if hours is not None:
            assert curve.known_by(hours) == pytest.approx(wanted, abs=1e-9) or math.isinf(
                max(curve.rates)
            )


@pytest.mark.parametrize("per_day", [5, 40])
def test_limits_cover_the_truth(per_day: int) -> None:
    """Thirty daily windows, median five days, a tenth never labelled; ages of 1, 7 and 20 days."""
    rng = np.random.default_rng(11)
    runs, hits = 800, np.zeros(3)
    ages = [1.2 * DAY_HOURS, 7 * DAY_HOURS, 20 * DAY_HOURS]
    truth = [0.9 * -math.expm1(-age / (7 * DAY_HOURS)) for age in ages]
    for _ in range(runs):
        windows = []
        for day in range(30):
            delays = rng.exponential(7 * DAY_HOURS, per_day)
            delays[rng.random(per_day) < 0.1] = np.inf
            windows.append(followed((day + 0.5) * DAY_HOURS, delays))
        curve = learned(windows)
        for place, age in enumerate(ages):
            low, high = curve.limits(age)
            hits[place] += low <= truth[place] <= high
    covered = hits / runs
    assert (covered >= 0.93 - 0.016).all(), covered
    assert (covered <= 0.98 + 0.005).all(), covered
