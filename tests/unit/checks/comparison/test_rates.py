"""Shares of two sides: what is shown, when, and how often the interval covers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from monitor.checks.comparison.cells import (
    Control,
    RateTable,
    Strata,
    overlap,
    strata_for,
    strata_of,
)
from monitor.checks.comparison.rates import compare_rates, slot_reach, stratified_tables
from monitor.checks.resampling import jackknife_limits
from monitor.checks.stratified import cmh, informative
from monitor.measurement import Measured, TooFew
from tests.unit.checks.comparison.factories import SHARE, cells


def strata(count: int) -> Strata:
    return Strata(np.arange(count), count, Control.MATCHED)


def rates(events: list[list[int]], n: list[list[int]]) -> RateTable:
    return RateTable(SHARE, np.array(events), np.array(n))


def test_admissions_turn_around_when_departments_are_held_fixed() -> None:
    # UC Berkeley 1973: a women, b men; crude .3035 and .4452, Mantel-Haenszel difference -.0184
    men = [(512, 825), (353, 560), (120, 325), (138, 417), (53, 191), (22, 373)]
    women = [(89, 108), (17, 25), (202, 593), (131, 375), (94, 393), (24, 341)]
    pairs = list(zip(women, men, strict=True))
    table = rates([[w[0], m[0]] for w, m in pairs], [[w[1], m[1]] for w, m in pairs])
    found = compare_rates(table, strata(6))
    assert found.crude == pytest.approx((0.3035, 0.4452), abs=5e-5)
    assert isinstance(found.outcome, Measured)
    assert found.outcome.value == pytest.approx(-0.0184, abs=5e-5)
    assert found.outcome.detail["p_value"] == pytest.approx(0.2323, abs=5e-5)
    assert found.adjusted[0] is not None
    assert found.adjusted[1] is not None
    assert found.adjusted[1] - found.adjusted[0] == pytest.approx(found.outcome.value)


counts = arrays(np.int64, (5, 2), elements=st.integers(0, 60))


@given(counts, st.integers(0, 2**32 - 1))
def test_swapping_the_sides_turns_the_sign(n: np.ndarray, seed: int) -> None:
    events = np.random.default_rng(seed).binomial(n, 0.4)
    one = compare_rates(RateTable(SHARE, events, n), strata(5)).outcome
    other = compare_rates(RateTable(SHARE, events[:, ::-1], n[:, ::-1]), strata(5)).outcome
    assert type(one) is type(other)
    if isinstance(one, Measured) and isinstance(other, Measured):
        assert one.low is not None
        assert other.high is not None
        assert one.value == pytest.approx(-other.value)
        assert one.low == pytest.approx(-other.high)
        assert -1 <= one.low <= one.value <= 1


def test_it_is_printed_from_fifty_rows_a_side_on() -> None:
    enough = compare_rates(rates([[10, 20]], [[50, 400]]), strata(1)).outcome
    assert isinstance(enough, Measured)
    short = compare_rates(rates([[10, 20]], [[49, 400]]), strata(1)).outcome
    assert isinstance(short, TooFew)
    assert (short.n, short.needed) == (49, 50)


def test_rows_without_a_counterpart_count_in_the_crude_value_only() -> None:
    found = compare_rates(rates([[60, 90], [40, 0]], [[100, 100], [100, 0]]), strata(2))
    assert found.crude == (0.5, 0.9)
    assert found.adjusted == pytest.approx((0.6, 0.9))
    assert found.shares == (0.5, 1.0)


def test_no_common_support_is_too_few_and_says_so() -> None:
    found = compare_rates(rates([[60, 0], [0, 70]], [[100, 0], [0, 100]]), strata(2)).outcome
    assert isinstance(found, TooFew)
    assert found.reason == "no common support"


def test_no_event_at_all_still_has_a_width() -> None:
    found = compare_rates(rates([[0, 0]], [[1000, 1000]]), strata(1)).outcome
    assert isinstance(found, Measured)
    assert found.value == 0
    assert found.high == pytest.approx(0.0038, abs=1e-4)  # as far as Wilson's 0 of 1,000 reaches


@pytest.mark.parametrize(
    ("slots", "rows", "share_a", "share_b"),
    [(1, 30, 0.5, 0.5), (2, 15, 0.2, 0.3), (24, 3, 0.02, 0.02), (48, 5, 0.1, 0.15),
     (100, 1, 0.3, 0.4), (3, 200, 0.01, 0.01)],
)  # fmt: skip
def test_the_interval_covers(slots: int, rows: int, share_a: float, share_b: float) -> None:
    rng = np.random.default_rng(11)
    hits = printed = 0
    for _ in range(400):
        n = rng.poisson(rows, (2 * slots, 2))
        shift = np.repeat(rng.normal(0, 0.5, slots), 2) + np.tile([-0.5, 0.5], slots)
        odds = np.log([share_a / (1 - share_a), share_b / (1 - share_b)])
        chance = 1 / (1 + np.exp(-(odds + shift[:, None])))
        table = RateTable(SHARE, rng.binomial(n, chance), n)
        slot = np.repeat(np.arange(slots), 2)
        outcome = compare_rates(table, strata(2 * slots), slot=slot).outcome
        if not isinstance(outcome, Measured) or outcome.low is None or outcome.high is None:
            continue
        weights = n[:, 0] * n[:, 1] / np.maximum(n.sum(axis=1), 1)
        truth = float(weights @ (chance[:, 1] - chance[:, 0]) / weights.sum())
        printed += 1
        hits += outcome.low <= truth <= outcome.high
    error = 3 * np.sqrt(0.05 * 0.95 / printed)
    assert printed > 250
    assert 0.93 - error <= hits / printed <= 0.98 + error / 3


def test_the_interval_covers_when_the_rows_of_an_hour_go_together() -> None:
    rng = np.random.default_rng(12)
    hits = plain = 0
    slot = np.repeat(np.arange(20), 2)
    odds = np.log([0.2 / 0.8, 0.25 / 0.75])
    own = rng.normal(0, 0.4, (1_000_000, 2))
    truth = float(np.diff((1 / (1 + np.exp(-(odds + own)))).mean(axis=0))[0])
    for _ in range(500):
        n = rng.poisson(40, (40, 2))
        chance = 1 / (1 + np.exp(-(odds + np.repeat(rng.normal(0, 0.4, (20, 2)), 2, axis=0))))
        table = RateTable(SHARE, rng.binomial(n, chance), n)
        for with_slots in (True, False):
            outcome = compare_rates(table, strata(40), slot=slot if with_slots else None).outcome
            assert isinstance(outcome, Measured)
            assert outcome.low is not None
            assert outcome.high is not None
            inside = outcome.low <= truth <= outcome.high
            hits, plain = (hits + inside, plain) if with_slots else (hits, plain + inside)
    error = np.sqrt(0.05 * 0.95 / 500)
    assert 0.93 - 3 * error <= hits / 500 <= 0.98 + 3 * error
    assert plain / 500 < 0.9  # rows taken as independent: too narrow


def test_leaving_out_slots_is_the_plain_jackknife() -> None:
    rng = np.random.default_rng(13)
    slot = np.repeat(np.arange(14), 3)
    season = Strata(np.tile([0, 1, 2], 14) + 3 * (slot % 2), 6, Control.SEASON)
    for held in (strata(42), season):
        n = rng.poisson(6, (42, 2))
        table = RateTable(SHARE, rng.binomial(n, 0.3), n)

        def difference(kept: np.ndarray, held: Strata = held, table: RateTable = table) -> float:
            part = RateTable(SHARE, table.events * kept[:, None], table.n * kept[:, None])
            tables = stratified_tables(part, held)
            return cmh(tables[informative(tables)]).risk_difference

        every = [difference(slot != one) for one in range(14)]
        low, high = jackknife_limits(difference(np.ones(42, bool)), every)
        assert slot_reach(table, held, slot) == pytest.approx((high - low) / 2)
    assert slot_reach(table, held, slot // 2) is None  # seven slots


def test_sides_that_followed_each_other_are_compared_by_the_hour_of_the_day() -> None:
    slot = list(range(48))
    requests = np.zeros((48, 2), np.int64)
    requests[:24, 0] = requests[24:, 1] = 10
    found = cells(slot, [0] * 48, requests)
    season = np.arange(48) % 24
    held = strata_of(found, season)
    assert held.control is Control.SEASON
    assert held.count == 24
    shown = overlap(found, held)
    assert (shown.share_a, shown.share_b) == (1.0, 1.0)


def test_rare_rows_are_held_fixed_by_day() -> None:
    slot = list(range(72))
    requests = np.full((72, 2), 50)
    found = cells(slot, [0] * 72, requests)
    hours = strata_of(found, np.arange(72) % 24)
    assert strata_for(found, requests, hours) is hours
    rare = np.zeros((72, 2), np.int64)
    rare[::2, 0] = rare[1::2, 1] = 1  # never in the same hour
    days = strata_for(found, rare, hours)
    assert days.count == 3
    assert days.totals(rare).tolist() == [[12, 12]] * 3
    beside = np.column_stack([np.full(72, 3), np.where(np.arange(72) >= 60, 2, 0)])
    assert strata_for(found, beside, hours) is hours  # all of b's have a counterpart


def test_a_canary_beside_a_long_history_is_compared_by_matched_hours() -> None:
    requests = np.column_stack([np.full(48, 100), np.where(np.arange(48) >= 40, 10, 0)])
    found = cells(list(range(48)), [0] * 48, requests)
    held = strata_of(found, np.arange(48) % 24)
    assert held.control is Control.MATCHED
    shown = overlap(found, held)
    assert shown.share_b == 1.0
    assert shown.share_a == pytest.approx(8 / 48)
    assert (shown.strata, shown.strata_shared) == (48, 8)
