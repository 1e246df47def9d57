"""What a baseline expects: shares, seasons and inflation against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.checks.promise.expect import (
    STRENGTHS,
    Cut,
    choose_season,
    shares_of,
    slot_totals,
    windows_of,
)
from monitor.checks.promise.hours import Hours, Season
from tests.reference import slow_promise as slow
from tests.unit.checks.promise.factories import MONDAY

SEASONS = list(Season)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(SEASONS),
    st.sampled_from([*STRENGTHS, 3.0]),
    st.integers(2, 6),
)
def test_shares_are_those_of_plain_loops(seed, season, strength, cells):
    rng = np.random.default_rng(seed)
    totals = slow.random_totals(rng, season.n_slots, cells, int(rng.integers(0, 300)))
    totals[0] = [0.0] * cells
    shares = shares_of(np.array(totals), season, strength)
    slowly = slow.smoothed_shares(totals, season, strength)
    assert shares == pytest.approx(np.array(slowly), rel=1e-12)
    assert shares.sum(axis=1) == pytest.approx(np.ones(season.n_slots))
    assert (shares > 0).all()


@pytest.mark.parametrize("season", SEASONS)
def test_shares_of_several_baselines_at_once_are_those_of_each(season):
    rng = np.random.default_rng(2)
    totals = rng.poisson(3.0, (4, season.n_slots, 5)).astype(float)
    together = shares_of(totals, season, 8.0)
    for place in range(4):
        assert together[place] == pytest.approx(shares_of(totals[place], season, 8.0), rel=1e-14)


# By hand: pooled = (3.5, 1.5)/5 = (.7, .3); the full slot is (3 + .7, 1 + .3)/5, the empty one
# knows nothing of its own. Eight rows a cell: (3 + 16·.7, 1 + 16·.3)/20.
def test_an_empty_slot_expects_the_pooled_shares():
    shares = shares_of(np.array([[3.0, 1.0], [0.0, 0.0]]), Season.HOUR, 0.5)
    assert shares[0] == pytest.approx((0.74, 0.26))
    assert shares[1] == pytest.approx((0.7, 0.3))
    stronger = shares_of(np.array([[3.0, 1.0], [0.0, 0.0]]), Season.HOUR, 8.0)
    assert stronger[0] == pytest.approx((0.71, 0.29))
    assert stronger[1] == pytest.approx((0.7, 0.3))


# By hand: weekdays at 0 h saw (30, 10), at 1 h (10, 30), weekends at 0 h (60, 20) and nothing at
# 1 h. Pooled (100.5, 60.5)/161; hour 1: (10 + p, 30 + 1 - p)/41; weekend: (60 + p, 20 + 1 - p)/81.
def test_an_empty_slot_of_day_and_hour_expects_their_product():
    totals = np.zeros((48, 2))
    totals[0], totals[1], totals[24] = (30, 10), (10, 30), (60, 20)
    p = 100.5 / 161
    first = (10 + p) / 41 * (60 + p) / 81 / p
    second = (31 - p) / 41 * (21 - p) / 81 / (1 - p)
    wanted = first / (first + second)
    shares = shares_of(totals, Season.DAY_TYPE_HOUR, 0.5)
    assert shares[25] == pytest.approx((wanted, 1 - wanted))
    assert shares_of(totals, Season.DAY_TYPE_HOUR, 64.0)[25] == pytest.approx((wanted, 1 - wanted))
    assert wanted < 0.45 < p  # nearer to what hour 1 shows than the pooled shares are


def _product(rng: np.random.Generator, days: int, cells: int) -> np.ndarray:
    """Shares of slots that are exactly hour x day: pooled · hour · day over its sum, spread mildly;
    float64[days · 24, cells]."""
    hour = np.exp(rng.normal(0, 0.6, (1, 24, cells)))
    day = np.exp(rng.normal(0, 0.4, (days, 1, cells)))
    shares = rng.dirichlet(np.full(cells, 5.0)) * hour * day
    return (shares / shares.sum(axis=-1, keepdims=True)).reshape(days * 24, cells)


def _divergence(true: np.ndarray, found: np.ndarray) -> float:
    """Mean Kullback-Leibler divergence over the slots, in nats a row."""
    return float((true * np.log(true / found)).sum(axis=1).mean())


# The expected loss of log-likelihood a row, at the best strength of each; the yardstick draws slots
# to the pooled shares. Hours of the week lose less than 0.7 of it from a dozen rows a slot on (0.5
# at most in 150 tries); two kinds of day share an hour's shares less, so they need 100 rows.
@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10_000), st.sampled_from([(2, 100), (7, 15)]), st.floats(1, 6), st.integers(3, 8)
)
def test_the_product_is_learned_from_few_rows_better_than_pooled_shares(seed, least, more, cells):
    (days, rows), limit = least, 1.0 if least[0] == 2 else 0.7
    rng = np.random.default_rng(seed)
    true = _product(rng, days, cells)
    totals = rng.multinomial(round(rows * more), true).astype(float)
    season = Season.DAY_TYPE_HOUR if days == 2 else Season.HOUR_OF_WEEK
    by_product = [_divergence(true, shares_of(totals, season, one)) for one in STRENGTHS]
    to_pooled = [_divergence(true, shares_of(totals, Season.HOUR, one)) for one in STRENGTHS]
    assert min(by_product) < limit * min(to_pooled)


def test_the_product_of_many_weeks_is_the_distribution_itself():
    """Counts without chance: a strong prior leaves exact products as they are, half a row a cell
    aside; hours with the same rows every day, which is where sums of hours and days are theirs."""
    rng = np.random.default_rng(8)
    hour, day = rng.uniform(0.5, 1.5, (1, 24)), rng.uniform(0.5, 1.5, (7, 1))
    hour, day = hour / hour.mean(), day / day.mean()
    second = (0.1 * hour * day).reshape(168)
    third = (0.2 * hour[:, ::-1] * day).reshape(168)
    # Cells two and three are exact products; what is left over is so only without the normalising.
    totals = 1e7 * np.stack((1 - second - third, second, third), axis=1)
    shares = shares_of(totals, Season.HOUR_OF_WEEK, 64.0)
    assert shares == pytest.approx(totals / 1e7, rel=1e-4)


@pytest.mark.parametrize("season", SEASONS)
@pytest.mark.parametrize(("length", "strength"), [(1, 0.5), (6, 8.0), (24, 64.0), (168, 8.0)])
def test_windows_are_those_of_plain_loops(season, length, strength):
    rng = np.random.default_rng(length)
    hours = Hours(MONDAY, 400, "Europe/Berlin")
    counts = rng.poisson(rng.uniform(0, 30, (400, 1)) * [0.5, 0.3, 0.2, 0.0]).astype(float)
    totals = np.array(slow.random_totals(rng, season.n_slots, 4, 500))
    ends = np.array([length, length + 1, 217, 300, 400])
    shares = shares_of(totals, season, strength)
    windows = windows_of(counts, shares, totals, hours, season, Cut(length, ends), column=3)
    slots = hours.slots(season).tolist()
    for place, end in enumerate(ends.tolist()):
        inside = slice(end - length, end)
        expected, inflation = slow.expectation(
            counts[inside].tolist(), slots[inside], totals.tolist(), season, strength
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
    totals = np.array([[600.0, 400.0]])
    shares = shares_of(totals, Season.NONE, 0.5)
    windows = windows_of(counts, shares, totals, hours, Season.NONE, Cut(5, np.array([5])))
    assert windows.inflation.tolist() == [1.25]
    assert windows.expected[0] == pytest.approx((150, 100), rel=1e-3)


def test_no_rows_and_no_baseline_are_not_an_error():
    hours = Hours(MONDAY, 30)
    nothing = np.zeros((30, 3))
    for season in SEASONS:
        totals = np.zeros((season.n_slots, 3))
        shares = shares_of(totals, season, 0.5)
        assert shares == pytest.approx(np.full(totals.shape, 1 / 3))
        windows = windows_of(nothing, shares, totals, hours, season, Cut(6, np.array([6, 30])))
        assert windows.rows.tolist() == [0, 0]
        assert windows.inflation.tolist() == [1, 1]
        assert np.isfinite(windows.expected).all()


def test_a_window_with_an_excluded_hour_is_not_valid():
    excluded = np.zeros(30, bool)
    excluded[10] = True
    hours = Hours(MONDAY, 30, "UTC", excluded)
    ends = np.arange(6, 31)
    half, two = np.full((1, 2), 0.5), np.ones((1, 2))
    windows = windows_of(np.ones((30, 2)), half, two, hours, Season.NONE, Cut(6, ends))
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
    chosen = choose_season(weeks, slots)
    assert chosen.season is season
    assert chosen.by_week.shape == (8, season.n_slots, 2)
    assert chosen.by_week.sum(axis=1) == pytest.approx(weeks.sum(axis=1))
    for week in range(8):
        slowly = slow.totals_by_slot(
            weeks[week].tolist(), slots[season][week].tolist(), season.n_slots
        )
        assert chosen.by_week[week].tolist() == slowly


def _slow_choice(weeks: np.ndarray, slots: dict[Season, np.ndarray]) -> tuple[str, float]:
    return slow.chosen_season(
        [
            (season, strength, slow.season_likelihood(
                weeks.tolist(), slots[season].tolist(), season.n_slots, season, strength))
            for season in SEASONS
            for strength in ([0.5, 8, 64] if season.n_slots in (48, 168) else [0.5])
        ]
    )  # fmt: skip


def test_the_choice_is_by_the_likelihood_of_left_out_weeks():
    rng = np.random.default_rng(11)
    hours = Hours(MONDAY, 4 * 168)
    slots = {one: hours.slots(one).reshape(4, 168) for one in SEASONS}
    for effect in TRUE_SEASONS.values():
        weeks = _weeks(rng, 4, effect / 4)  # faint, so that the choice is a close one
        found = choose_season(weeks, slots)
        assert (found.season, found.strength) == _slow_choice(weeks, slots)


# Few rows of an exact product ask for much of it; many rows of what is no product for little.
def test_slots_are_drawn_to_their_product_as_strongly_as_left_out_weeks_ask():
    rng = np.random.default_rng(3)
    slots = {Season.HOUR_OF_WEEK: np.tile(np.arange(168), (6, 1))}
    product, free = _product(rng, 7, 4), rng.dirichlet(np.ones(4), 168)
    found = {}
    for name, true, rows in (("product", product, 12), ("free", free, 60)):
        weeks = np.stack([rng.multinomial(rows, true) for _ in range(6)]).astype(float)
        chosen = choose_season(weeks, slots)
        assert (chosen.season, chosen.strength) == _slow_choice_of_strength(weeks, slots)
        found[name] = chosen.strength
    assert found == {"product": 64.0, "free": 0.5}


def _slow_choice_of_strength(weeks: np.ndarray, slots: dict[Season, np.ndarray]):
    ((season, places),) = slots.items()
    return slow.chosen_season(
        [
            (season, one, slow.season_likelihood(
                weeks.tolist(), places.tolist(), 168, season, one))
            for one in (0.5, 8, 64)
        ]
    )  # fmt: skip


def test_equal_seasons_are_told_by_the_simplest():
    weeks = np.zeros((3, 168, 2))
    weeks[:, :, 0] = 1.0
    slots = {one: np.zeros((3, 168), np.int64) for one in SEASONS}
    chosen = choose_season(weeks, slots)
    assert (chosen.season, chosen.strength) == (Season.NONE, 0.5)
    with pytest.raises(AssertionError, match="no season"):
        choose_season(weeks, {})


# Only what is added to empty cells tells the seasons of a constant column apart, by less than 1.
@pytest.mark.parametrize(("cells", "rows"), [(2, 1), (4, 1), (4, 100), (24, 5), (54, 1)])
def test_one_value_has_no_season(cells, rows):
    hours = Hours(MONDAY, 8 * 168)
    weeks = np.zeros((8, 168, cells))
    weeks[:, :, 0] = rows
    slots = {one: hours.slots(one).reshape(8, 168) for one in SEASONS}
    assert choose_season(weeks, slots).season is Season.NONE


def test_totals_by_slot():
    rng = np.random.default_rng(0)
    counts, slots = rng.integers(0, 9, (50, 3)), rng.integers(0, 24, 50)
    expected = slow.totals_by_slot(counts.tolist(), slots.tolist(), 24)
    assert slot_totals(counts.astype(float), slots, 24).tolist() == expected
    assert (
        slot_totals(counts.astype(float), slots * 0, 1)[0].tolist() == counts.sum(axis=0).tolist()
    )
