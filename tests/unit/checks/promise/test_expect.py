"""What a baseline expects: shares, seasons and inflation against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.checks.promise.expect import Cut, choose_season, shares_of, slot_totals, windows_of
from monitor.checks.promise.hours import Hours, Season
from tests.reference import slow_promise as slow
from tests.unit.checks.promise.factories import MONDAY

SEASONS = list(Season)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1, 24, 48]), st.integers(2, 9))
def test_shares_are_those_of_plain_loops(seed, slots, cells):
    rng = np.random.default_rng(seed)
    totals = slow.random_totals(rng, slots, cells, int(rng.integers(0, 300)))
    totals[0] = [0.0] * cells
    shares = shares_of(np.array(totals))
    assert shares == pytest.approx(np.array(slow.smoothed_shares(totals)), rel=1e-12)
    assert shares.sum(axis=1) == pytest.approx(np.ones(slots))
    assert (shares > 0).all()


# By hand: pooled = (3.5, 1.5)/5 = (.7, .3); the full slot is (3 + .7, 1 + .3)/5, the empty one
# knows nothing of its own.
def test_an_empty_slot_expects_the_pooled_shares():
    shares = shares_of(np.array([[3.0, 1.0], [0.0, 0.0]]))
    assert shares[0] == pytest.approx((0.74, 0.26))
    assert shares[1] == pytest.approx((0.7, 0.3))


@pytest.mark.parametrize("season", SEASONS)
@pytest.mark.parametrize("length", [1, 6, 24, 168])
def test_windows_are_those_of_plain_loops(season, length):
    rng = np.random.default_rng(length)
    hours = Hours(MONDAY, 400, "Europe/Berlin")
    counts = rng.poisson(rng.uniform(0, 30, (400, 1)) * [0.5, 0.3, 0.2, 0.0]).astype(float)
    totals = np.array(slow.random_totals(rng, season.n_slots, 4, 500))
    ends = np.array([length, length + 1, 217, 300, 400])
    windows = windows_of(counts, totals, hours, season, Cut(length, ends), column=3)
    slots = hours.slots(season).tolist()
    for place, end in enumerate(ends.tolist()):
        inside = slice(end - length, end)
        expected, inflation = slow.expectation(
            counts[inside].tolist(), slots[inside], totals.tolist()
        )
        assert windows.expected[place] == pytest.approx(expected, rel=1e-9)
        assert windows.observed[place].tolist() == counts[inside].sum(axis=0).tolist()
        assert windows.rows[place] == counts[inside].sum()
        assert windows.inflation[place] == pytest.approx(inflation, rel=1e-9)
    assert windows.column.tolist() == [3] * 5
    assert windows.valid.all()


# By hand: one slot of 1,000 rows and a window of 250: 1 + 250/1000.
def test_inflation_without_a_season_is_one_plus_window_over_baseline():
    hours = Hours(MONDAY, 5)
    counts = np.tile([[30.0, 20.0]], (5, 1))
    windows = windows_of(
        counts, np.array([[600.0, 400.0]]), hours, Season.NONE, Cut(5, np.array([5]))
    )
    assert windows.inflation.tolist() == [1.25]
    assert windows.expected[0] == pytest.approx((150, 100), rel=1e-3)


def test_no_rows_and_no_baseline_are_not_an_error():
    hours = Hours(MONDAY, 30)
    nothing = np.zeros((30, 3))
    windows = windows_of(nothing, np.zeros((24, 3)), hours, Season.HOUR, Cut(6, np.array([6, 30])))
    assert windows.rows.tolist() == [0, 0]
    assert windows.inflation.tolist() == [1, 1]
    assert np.isfinite(windows.expected).all()


def test_a_window_with_an_excluded_hour_is_not_valid():
    excluded = np.zeros(30, bool)
    excluded[10] = True
    hours = Hours(MONDAY, 30, "UTC", excluded)
    ends = np.arange(6, 31)
    windows = windows_of(np.ones((30, 2)), np.ones((1, 2)), hours, Season.NONE, Cut(6, ends))
    assert windows.valid.tolist() == [not end - 6 <= 10 < end for end in ends.tolist()]


def _weeks(rng, n: int, effect: np.ndarray) -> np.ndarray:
    """Two cells; the share of the second follows `effect` float64[168]."""
    p = np.stack((0.6 - effect, 0.4 + effect), axis=1)
    return np.stack([rng.multinomial(60, p) for _ in range(n)]).astype(float)


HOUR = np.arange(168)
TRUE_SEASONS = {
    Season.NONE: np.zeros(168),
    Season.HOUR: 0.2 * np.sin(2 * np.pi * HOUR / 24),
    Season.DAY_TYPE_HOUR: np.where(HOUR >= 120, 0.2 * np.sin(2 * np.pi * HOUR / 24), -0.1),
    Season.HOUR_OF_WEEK: 0.2 * np.sin(2 * np.pi * HOUR / 56),
}


@pytest.mark.parametrize("season", SEASONS)
def test_the_season_that_made_the_weeks_is_chosen(season):
    weeks = _weeks(np.random.default_rng(4), 8, TRUE_SEASONS[season])
    hours = Hours(MONDAY, 8 * 168)
    slots = {one: hours.slots(one).reshape(8, 168) for one in SEASONS}
    chosen, totals = choose_season(weeks, slots)
    assert chosen is season
    assert totals.shape == (8, season.n_slots, 2)
    assert totals.sum(axis=1) == pytest.approx(weeks.sum(axis=1))


def test_the_choice_is_by_the_likelihood_of_left_out_weeks():
    rng = np.random.default_rng(11)
    hours = Hours(MONDAY, 4 * 168)
    slots = {one: hours.slots(one).reshape(4, 168) for one in SEASONS}
    for effect in TRUE_SEASONS.values():
        weeks = _weeks(rng, 4, effect / 4)  # faint, so that the choice is a close one
        slowly = {
            season: slow.season_likelihood(weeks.tolist(), slots[season].tolist(), season.n_slots)
            for season in SEASONS
        }
        assert choose_season(weeks, slots)[0] is max(SEASONS, key=lambda one: slowly[one])


def test_equal_seasons_are_told_by_the_simplest():
    weeks = np.zeros((3, 168, 2))
    weeks[:, :, 0] = 1.0
    slots = {one: np.zeros((3, 168), np.int64) for one in SEASONS}
    assert choose_season(weeks, slots)[0] is Season.NONE
    with pytest.raises(AssertionError, match="no season"):
        choose_season(weeks, {})


def test_totals_by_slot():
    rng = np.random.default_rng(0)
    counts, slots = rng.integers(0, 9, (50, 3)), rng.integers(0, 24, 50)
    expected = slow.totals_by_slot(counts.tolist(), slots.tolist(), 24)
    assert slot_totals(counts.astype(float), slots, 24).tolist() == expected
    assert (
        slot_totals(counts.astype(float), slots * 0, 1)[0].tolist() == counts.sum(axis=0).tolist()
    )
