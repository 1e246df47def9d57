"""Burn rates: both windows must burn, few events are judged exactly, gaps freeze the alert."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from alerts.conditions.burn import BurnRate, BurnWindow, burn_reading, is_burning, lowest_share
from alerts.history import NO_HISTORY, Seen
from alerts.lifecycle import step
from alerts.model import Alert, AlertState, DataState, Labels, Reading, ReadingState, Standing
from alerts.rules import excess_of
from tests.unit.alerts.factories import DAY, NOW, config, rule

FIVE = timedelta(minutes=5)
HOUR = timedelta(hours=1)
PAGE = BurnRate(0.99, (BurnWindow(HOUR, FIVE, 14.4),))
SUBJECT = Labels.of(project="air", model="delay", check="serving", method="error_rate", scale="5m")
BURNING = rule(name="slo", when=(), condition=PAGE)


def base(number: int, bad: float | None, n: int = 1000) -> Reading:
    """The five-minute window of this number; None of bad: it could not be measured."""
    return Reading(
        labels=SUBJECT,
        at=DAY + (number + 1) * FIVE,
        window_start=DAY + number * FIVE,
        state=ReadingState.NO_DATA if bad is None else ReadingState.MEASURED,
        value=bad,
        n=0 if bad is None else n,
    )


def judged(readings: Sequence[Reading], condition: BurnRate = PAGE) -> Reading:
    return burn_reading(condition, readings[-1], readings[:-1])


def test_both_windows_must_burn() -> None:
    """Worked by hand: a share of 0.2 of events is 20 times the budget of 0.01."""
    steady = [base(number, 0.2) for number in range(12)]
    assert judged(steady).value == pytest.approx(20.0)
    assert is_burning(judged(steady))
    over = [*steady[:-1], base(11, 0.0)]  # 18.3 over the hour, nothing in the last five minutes
    assert judged(over).value == pytest.approx(0.0)
    assert not is_burning(judged(over))
    begun = [*(base(number, 0.0) for number in range(11)), base(11, 0.2)]
    found = judged(begun)  # 1.67 over the hour
    assert found.evidence["long_burn"] == pytest.approx(20 / 12)
    assert found.evidence["short_burn"] == pytest.approx(20.0)
    assert not is_burning(found)


def test_at_exactly_the_factor_nothing_burns_too_fast() -> None:
    half = BurnRate(0.5, (BurnWindow(HOUR, FIVE, 1.5),))
    assert not is_burning(judged([base(number, 0.75) for number in range(12)], half))
    assert is_burning(judged([base(number, 0.76) for number in range(12)], half))


def test_windows_are_weighted_by_their_events() -> None:
    """Eleven small windows all bad, one large one all good: 1100 of 101,100 events."""
    readings = [*(base(number, 1.0, 100) for number in range(11)), base(11, 0.0, 100_000)]
    assert judged(readings).evidence["long_burn"] == pytest.approx(1100 / 101_100 / 0.01)


def test_a_share_of_good_events_is_turned_round() -> None:
    good = replace(PAGE, counts_good=True)
    assert judged([base(number, 0.8) for number in range(12)], good).value == pytest.approx(20.0)


def test_few_events_must_be_bad_beyond_chance() -> None:
    """Half of 8 events is 50 times the budget; surely it is no more than 19 times."""
    few = [base(number, 0.5, 100) for number in range(11)]
    some = judged([*few, base(11, 0.5, 8)])
    assert some.value == pytest.approx(50.0)
    assert some.low == pytest.approx(100 * beta.ppf(0.05, 4, 5))
    assert is_burning(some)
    fewer = judged([*few, base(11, 1 / 3, 3)])  # one of three
    assert fewer.value == pytest.approx(100 / 3)
    assert fewer.state is ReadingState.MEASURED
    assert not is_burning(fewer)


def test_events_that_could_not_tell_are_not_judged() -> None:
    """One event, even a bad one, can't show more than 14.4 times the budget."""
    before = [base(number, 0.5, 100) for number in range(11)]
    found = judged([*before, base(11, 1.0, 1)])
    assert found.state is ReadingState.TOO_FEW
    assert found.text == "1 events in the last 5m can't tell"
    assert judged([*before, base(11, 0.0, 0)]).state is ReadingState.TOO_FEW


@pytest.mark.parametrize(("bad", "n"), [(1, 1), (1, 10), (4, 8), (50, 99), (99, 99), (3, 99)])
def test_the_exact_limit_is_that_of_clopper_and_pearson(bad: int, n: int) -> None:
    assert lowest_share(bad, n) == pytest.approx(float(beta.ppf(0.05, bad, n - bad + 1)), abs=1e-9)


def test_missing_windows_are_not_judged() -> None:
    steady = [base(number, 0.2) for number in range(12)]
    enough = [each for number, each in enumerate(steady) if number not in (2, 5)]
    assert is_burning(judged(enough))  # 10 of 12: 83 %
    gaps = [each for number, each in enumerate(steady) if number not in (2, 5, 7)]
    found = judged(gaps)
    assert (found.state, found.value) == (ReadingState.TOO_FEW, None)
    assert found.text == "75% of the last 1h was measured, 80% needed"
    failed = [*steady[:-1], base(11, None)]
    assert judged(failed).text == "0% of the last 5m was measured, 80% needed"
    assert is_burning(judged(gaps, replace(PAGE, coverage=0.7)))


def test_a_base_window_that_reaches_out_counts_in_part() -> None:
    hourly = replace(base(0, 0.2), at=DAY + HOUR, window_start=DAY)
    short = BurnRate(0.99, (BurnWindow(HOUR, timedelta(minutes=30), 6),))
    assert is_burning(judged([hourly], short))


def test_of_several_pairs_one_that_burns_is_enough_and_an_unknown_one_keeps_from_clearing() -> None:
    pairs = (BurnWindow(HOUR, FIVE, 14.4), BurnWindow(6 * HOUR, 6 * FIVE, 6))
    both = BurnRate(0.99, pairs)
    hour = [base(number, 0.2) for number in range(12)]
    found = judged(hour, both)  # the six hours are not there yet
    assert is_burning(found)
    assert found.evidence["factor"] == 14.4
    calm = judged([base(number, 0.0) for number in range(12)], both)
    assert calm.state is ReadingState.TOO_FEW
    slow = judged([base(number, 0.08) for number in range(72)], both)
    assert is_burning(slow)
    assert (slow.evidence["factor"], slow.evidence["long_window"]) == (6, "6h")


def run(readings: Sequence[Reading], cuts: Sequence[int] = ()) -> Alert | None:
    """The alert after these readings, in calls cut at the given places."""
    alerts: dict[str, Alert] = {}
    seen: list[Reading] = []
    edges = [0, *sorted(cuts), len(readings)]
    for begin, end in pairwise(edges):
        kept = Seen(NO_HISTORY)
        for each in seen:
            kept.add(each)
        result = step(config(BURNING), alerts, readings[begin:end], NOW, history=kept)
        alerts |= result.alerts
        seen += readings[begin:end]
    return next(iter(alerts.values()), None)


def test_a_firing_alert_stays_while_windows_are_missing_and_ends_with_the_short_one() -> None:
    burning = [base(number, 0.2) for number in range(12)]
    fired = run(burning)
    assert fired is not None
    assert (fired.state, fired.data_state) == (AlertState.FIRING, DataState.OK)
    assert fired.last_judged is not None
    assert fired.last_judged.unit == "times the budget"
    assert excess_of(BURNING, fired.last_judged) == pytest.approx(14.4 / 2)  # 5.6, or half of 14.4
    blind = run([*burning, *(base(number, None) for number in range(12, 40))])
    assert blind is not None
    assert (blind.state, blind.data_state) == (AlertState.FIRING, DataState.TOO_FEW)
    over = run([*burning, base(12, 0.0)])
    assert over is not None
    assert over.state is AlertState.RESOLVED


def test_few_events_neither_open_an_alert_nor_end_one() -> None:
    """One of three is 33 times the budget, surely no more than twice."""
    burning = [base(number, 0.2) for number in range(12)]
    doubtful = base(12, 1 / 3, 3)
    calm = [base(number, 0.1) for number in range(12)]
    assert run([*calm, doubtful]) is None
    still = run([*burning, doubtful])
    assert still is not None
    assert still.state is AlertState.FIRING
    over = run([*burning, doubtful, base(13, 0.0, 3)])
    assert over is not None
    assert over.state is AlertState.RESOLVED


@given(
    shares=st.lists(st.sampled_from([0.0, 0.1, 0.3, None]), min_size=1, max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_how_the_readings_are_cut_into_calls_makes_no_difference(
    shares: list[float | None], cuts: list[int]
) -> None:
    readings = [base(number, share) for number, share in enumerate(shares)]
    inside = [cut for cut in cuts if cut <= len(readings)]
    assert run(readings, inside) == run(readings)


def test_a_long_window_that_fills_is_not_much_worse_twice_the_factor_is() -> None:
    slowly = [base(number, 0.0) for number in range(12)]
    filling = run([*slowly, *(base(number, 0.18) for number in range(12, 24))])
    assert filling is not None
    assert (filling.state, filling.standing) == (AlertState.FIRING, Standing.NEW)
    worse = run([*slowly, *(base(number, 0.3) for number in range(12, 24))])
    assert worse is not None
    assert worse.standing is Standing.ESCALATING


def test_it_is_told_in_words() -> None:
    said = "burning the budget of 0.01 more than 14.4 times over 1h and 5m"
    assert PAGE.describe() == said
    assert BURNING.compared == "burn_rate"
