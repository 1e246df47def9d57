"""The worst group: planted ones are found and confirmed, chance is not, intervals cover."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy import special

from monitor.checks.groups.worst import worst_group
from monitor.checks.slice_counts import SliceColumn
from monitor.checks.slices import SliceRows
from monitor.measurement import Measured, TooFew


def _columns(names: str, groups: int) -> list[SliceColumn]:
    labels = tuple(f"g{place}" for place in range(groups))
    return [SliceColumn(name, np.arange(groups), labels) for name in names]


def _rows(rng: np.random.Generator, columns: int, groups: int, n: int) -> np.ndarray:
    return rng.integers(0, groups, (columns, n))


def test_a_planted_group_is_found_and_confirmed() -> None:
    rng = np.random.default_rng(1)
    cells = _rows(rng, 4, 4, 6000)
    bad = (cells[0] == 2) & (cells[3] == 1)
    loss = (rng.random(6000) < np.where(bad, 0.45, 0.2)).astype(float)
    found = worst_group(_columns("abcd", 4), SliceRows(cells, rng.integers(1, 2**60, 6000), loss))
    assert isinstance(found, Measured)
    assert found.detail["group"] == "a = g2 and d = g1"
    assert found.detail["confirmed"] is True
    assert found.low <= 0.25 <= found.high
    told = found.detail["groups"][0]
    assert told["group"] == found.detail["group"]
    assert told["discovered"]["n"] + told["confirming"]["n"] == int(bad.sum())
    assert told["confirming"]["n"] == found.n


def test_chance_is_rarely_confirmed_and_intervals_cover() -> None:
    rng, runs = np.random.default_rng(2), 200
    held = confirmed = 0
    for _ in range(runs):
        cells = _rows(rng, 4, 3, 1600)
        loss = (rng.random(1600) < 0.2).astype(float)
        rows = SliceRows(cells, rng.integers(1, 2**60, 1600), loss)
        found = worst_group(_columns("abcd", 3), rows)
        assert isinstance(found, Measured)
        held += found.low <= 0 <= found.high
        confirmed += any(one["confirmed"] for one in found.detail["groups"])
    assert held / runs >= 0.93 - 2 * np.sqrt(0.05 * 0.95 / runs)
    assert confirmed / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def test_absolute_errors_have_normal_limits() -> None:
    rng = np.random.default_rng(3)
    cells = _rows(rng, 2, 2, 1200)
    loss = rng.gamma(2, np.where(cells[0] == 1, 1.6, 1.0))
    rows = SliceRows(cells, rng.integers(1, 2**60, 1200), loss)
    found = worst_group(_columns("ab", 2), rows)
    assert found.detail["group"].startswith("a = g1")
    assert found.low < 1.2 < found.high


def test_too_few_rows_and_nothing_worse() -> None:
    rng = np.random.default_rng(4)
    few = SliceRows(_rows(rng, 2, 2, 300), rng.integers(1, 2**60, 300), np.zeros(300))
    outcome = worst_group(_columns("ab", 2), few)
    assert isinstance(outcome, TooFew)
    assert outcome.needed == 200
    same = SliceRows(_rows(rng, 2, 2, 3000), rng.integers(1, 2**60, 3000), np.zeros(3000))
    assert worst_group(_columns("ab", 2), same) == TooFew(
        0, 1, "groups of 100 rows that do worse than the rest"
    )


@pytest.mark.parametrize("n", [50_000])
def test_thousands_of_groups_take_no_time_to_speak_of(n: int) -> None:
    """12 columns of 8 groups are 4,320 groups; a generous bound, for a machine that is busy."""
    rng = np.random.default_rng(5)
    cells = _rows(rng, 12, 8, n)
    loss = (rng.random(n) < np.where((cells[0] == 1) & (cells[1] == 2), 0.6, 0.2)).astype(float)
    rows = SliceRows(cells, rng.integers(1, 2**60, n), loss)
    begun = time.process_time()
    found = worst_group(_columns("abcdefghijkl", 8), rows)
    assert time.process_time() - begun < 10
    assert found.detail["group"] == "a = g1 and b = g2"
    assert found.detail["searched"] == 4320
    # What a search of all rows would have to exceed (Bonferroni), and about the largest z that
    # chance gives among K groups; the confirming half needs neither.
    assert special.ndtri(1 - 0.05 / 4320) == pytest.approx(4.23, abs=5e-3)
    assert np.sqrt(2 * np.log(4320)) == pytest.approx(4.09, abs=5e-3)
    assert found.detail["groups"][0]["discovered"]["z"] > 10
