"""Which deployment stands apart: the faulty one, not the ones it is compared with."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.jobs.contrast_windows import outcomes_of, stands_apart
from monitor.measurement import Measured
from monitor.profiles.cells import NumberCells

CELLS = NumberCells(edges=(10.0, 20.0, 30.0))
SOUND, FAULTY = (25, 25, 25, 25), (5, 10, 25, 60)


def served(*shares: tuple[int, ...], hours: int = 12, seed: int = 0) -> np.ndarray:
    """Counts int64[hours, deployments, n_cells] of 40 rows an hour, drawn by these shares."""
    rng = np.random.default_rng(seed)
    drawn = [
        [[*rng.multinomial(40, np.array(share) / sum(share)), 0] for share in shares]
        for _ in range(hours)
    ]
    return np.array(drawn, np.int64)


def test_only_the_faulty_one_of_three_stands_apart():
    found = outcomes_of(CELLS, served(SOUND, SOUND, FAULTY), [0, 1, 2], (11, 12, 13))
    assert [stands_apart(found[place]) for place in range(3)] == [False, False, True]
    assert [found[place].detail["left_out"] for place in range(3)] == [[13], [13], []]


def test_two_can_not_tell_who_is_wrong():
    found = outcomes_of(CELLS, served(SOUND, FAULTY), [0, 1], (11, 12))
    first, second = found[0], found[1]
    assert isinstance(first, Measured)
    assert isinstance(second, Measured)
    assert first.value == pytest.approx(second.value)
    assert stands_apart(first)
    assert first.detail["left_out"] == second.detail["left_out"] == []


def test_two_faulty_ones_of_four_are_both_found():
    counts = served(SOUND, FAULTY, SOUND, tuple(reversed(FAULTY)))
    found = outcomes_of(CELLS, counts, [0, 1, 2, 3], (1, 2, 3, 4))
    assert {place for place in range(4) if stands_apart(found[place])} == {1, 3}


def test_sound_deployments_are_held_against_all_others():
    found = outcomes_of(CELLS, served(SOUND, SOUND, SOUND, seed=4), [0, 1, 2], (1, 2, 3))
    assert not any(stands_apart(outcome) for outcome in found.values())
    assert all(outcome.detail["left_out"] == [] for outcome in found.values())
