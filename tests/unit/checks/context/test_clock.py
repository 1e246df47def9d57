"""The clock check: a moved clock is found with its direction, drift of one column is not one."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.checks.context.clock import ClockCheck, ClockColumn, clock_check
from monitor.measurement import TooFew

WEEK = np.arange(168)


def _expected(seed: int, season: float = 1.0) -> np.ndarray:
    """Four cells whose shares follow the hour of the day."""
    rng = np.random.default_rng(seed)
    phase = rng.uniform(0, 24, 4)
    logits = season * np.cos(2 * np.pi * (WEEK[:, None] - phase) / 24)
    shares = np.exp(logits)
    return shares / shares.sum(axis=1, keepdims=True)


def _column(name: str, seed: int, shift: int, season: float = 1.0, rows: int = 100) -> ClockColumn:
    """A week whose rows in hour h look like those expected in hour h + shift."""
    expected = _expected(seed, season)
    rng = np.random.default_rng(seed + 100)
    observed = np.stack([rng.multinomial(rows, expected[(h + shift) % 168]) for h in WEEK])
    return ClockColumn(name, expected, observed)


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_clock_that_moved_is_found_with_its_direction(shift):
    columns = [_column(f"c{k}", k, shift) for k in range(4)]
    found = clock_check(columns, WEEK)
    assert isinstance(found, ClockCheck)
    assert found.shift == shift
    assert found.agreeing == ("c0", "c1", "c2", "c3")
    assert found.verdict == "clock moved by one hour"


def test_a_clock_that_stands_is_left_alone():
    found = clock_check([_column(f"c{k}", k, 0) for k in range(5)], WEEK)
    assert (found.shift, found.agreeing, found.verdict) == (0, (), "clock did not move")
    assert all(column.gain < 0 for column in found.columns)


def test_two_columns_are_too_few_to_agree():
    columns = [_column("a", 1, -1), _column("b", 2, -1), _column("c", 3, 0), _column("d", 4, 1)]
    found = clock_check(columns, WEEK)
    assert found.shift == 0
    assert [column.shift for column in found.columns] == [-1, -1, 0, 1]


def test_nearly_flat_columns_gain_too_little_however_many_rows_say_so():
    columns = [_column(f"c{k}", k, -1, season=0.1, rows=1_000_000) for k in range(6)]
    found = clock_check(columns, WEEK)
    assert all(0 < column.gain < 0.005 and column.z > 3 for column in found.columns)
    assert found.shift == 0


def test_one_hour_with_many_rows_does_not_decide():
    columns = []
    for k in range(4):
        base = _column(f"c{k}", k, 0, season=2.0)
        observed = base.observed.copy()
        observed[50] = np.round(1e6 * base.expected[49]).astype(int)
        columns.append(ClockColumn(base.name, base.expected, observed))
    found = clock_check(columns, WEEK)
    assert sum(column.gain > 0.005 for column in found.columns) >= 3
    assert found.shift == 0


def test_drift_of_a_level_is_no_moved_clock():
    columns = []
    for k in range(5):
        base = _column(f"c{k}", k, 0)
        drifted = base.expected * np.array([3.0, 1.0, 1.0, 0.3])
        rng = np.random.default_rng(k)
        shares = drifted / drifted.sum(axis=1, keepdims=True)
        observed = np.stack([rng.multinomial(100, row) for row in shares])
        columns.append(ClockColumn(base.name, base.expected, observed))
    assert clock_check(columns, WEEK).shift == 0


# Mean log-likelihood by its definition, one row at a time.
def test_log_likelihoods_are_those_of_a_slow_sum():
    column = _column("a", 7, 0, rows=3)
    found = clock_check([column, _column("b", 8, 0), _column("c", 9, 0)], WEEK)
    for place, shift in enumerate((-1, 0, 1)):
        total = 0.0
        for hour in range(168):
            for cell in range(4):
                q = 0.999 * column.expected[(hour + shift) % 168, cell] + 0.001 / 4
                total += column.observed[hour, cell] * np.log(q)
        mean = total / column.observed.sum()
        assert found.columns[0].log_likelihoods[place] == pytest.approx(mean)


def test_zero_shares_and_empty_slots_stay_finite():
    columns = []
    for k in range(3):
        expected = np.zeros((168, 3))
        expected[:100, 0] = 1
        observed = np.zeros((168, 3), int)
        observed[:, 1] = 5
        columns.append(ClockColumn(f"c{k}", expected, observed))
    found = clock_check(columns, WEEK)
    assert found.shift == 0
    assert np.isfinite(found.columns[0].log_likelihoods).all()


def test_too_little_is_named():
    columns = [_column(f"c{k}", k, 0) for k in range(3)]
    short = [ClockColumn(c.name, c.expected, c.observed[:11]) for c in columns]
    assert clock_check(short, WEEK[:11]) == TooFew(11, 12, "hours with rows")
    assert clock_check(columns[:2], WEEK) == TooFew(2, 3, "columns with at least 100 rows")
    assert clock_check([], WEEK[:0]) == TooFew(0, 12, "hours with rows")
