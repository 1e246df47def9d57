"""The governor: its bound for any sequence, and what it does to p-values that are badly wrong."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.checks.promise.governor import ETA, governor_factor
from tests.unit.checks.promise.factories import MONDAY

DAY = timedelta(days=1)


def test_nobody_told_of_a_false_alarm():
    assert governor_factor([], MONDAY, 1.0) == 1.0
    assert governor_factor([MONDAY + DAY], MONDAY, 1.0) == 1.0  # not yet


# By hand: one alarm takes e^-0.5; 30 days at promise 1 give it back, half of them half of it.
def test_an_alarm_takes_and_a_month_gives_back():
    assert governor_factor([MONDAY], MONDAY, 1.0) == pytest.approx(math.exp(-0.5))
    assert governor_factor([MONDAY], MONDAY + 15 * DAY, 1.0) == pytest.approx(math.exp(-0.25))
    assert governor_factor([MONDAY], MONDAY + 30 * DAY, 1.0) == pytest.approx(1.0)
    assert governor_factor([MONDAY], MONDAY + 90 * DAY, 1.0) == 1.0
    twice = [MONDAY + 6 * DAY, MONDAY]
    assert governor_factor(twice, MONDAY + 6 * DAY, 1.0) == pytest.approx(
        math.exp(-0.5 + 0.1 - 0.5)
    )
    assert governor_factor([MONDAY], MONDAY + 3 * DAY, 5.0) == pytest.approx(math.exp(-0.25))


def test_quiet_years_are_no_credit():
    """The factor never exceeds 1, so a long silence does not buy later false alarms."""
    late = MONDAY + 3_000 * DAY
    assert governor_factor([MONDAY, late], late, 1.0) == pytest.approx(math.exp(-0.5))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.floats(0, 400), max_size=60),
    st.floats(0.2, 5),
    st.floats(0.1, 1),
    st.floats(0, 100),
)
def test_false_alarms_stay_below_the_deterministic_bound(days, promise, eta, wait):
    """false(T) <= X·T + ln(1/smallest factor)/eta, whatever the sequence; and 0 < factor <= 1."""
    told = [MONDAY + day * DAY for day in days]
    moments = sorted(told) or [MONDAY]
    factors = [governor_factor(told, moment, promise, eta) for moment in moments]
    assert all(0 < one <= 1 for one in factors)
    months = (moments[-1] - moments[0]) / (30 * DAY)
    assert len(told) <= promise * months + math.log(1 / min(factors)) / eta + 1e-6
    later = governor_factor(told, moments[-1] + wait * DAY, promise, eta)
    assert later >= factors[-1] - 1e-12


# p-values with P(p < a) = a^0.75, 14,400 tests a month, level 1/14,400 and at most one incident a
# day give 9.2 false incidents a month. With the governor: about 1.5 in months 2 to 6 and 1.0 after.
# 40 runs of 18 months: standard errors about 0.1 and 0.05.
def _false_by_month(rng: np.random.Generator, governed: bool, months: int = 18) -> np.ndarray:
    told, found = [], np.zeros(months)
    for day in range(30 * months):
        now = MONDAY + (day + 1) * DAY
        factor = governor_factor(told, now, 1.0, ETA) if governed else 1.0
        if rng.poisson(480 * (factor / 14_400) ** 0.75) > 0:
            told.append(now)
            found[day // 30] += 1
    return found


def test_the_governor_brings_wrong_p_values_back_to_the_promise():
    rng = np.random.default_rng(0)
    fixed = np.mean([_false_by_month(rng, governed=False) for _ in range(40)])
    governed = np.mean([_false_by_month(rng, governed=True) for _ in range(40)], axis=0)
    assert fixed == pytest.approx(9.2, abs=0.4)
    assert governed[0] > 2
    assert governed[1:6].mean() == pytest.approx(1.5, abs=0.35)
    assert governed[6:].mean() == pytest.approx(1.0, abs=0.15)
