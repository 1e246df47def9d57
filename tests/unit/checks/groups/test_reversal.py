"""Gaps that turn when a second column is held fixed."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.checks.groups.reversal import adjusted_gap
from monitor.measurement import Measured, TooFew
from tests.unit.checks.test_stratified import ADMISSIONS


def test_berkeley_turns_when_departments_are_held_fixed() -> None:
    found = adjusted_gap(ADMISSIONS, by="department")
    assert isinstance(found, Measured)
    assert found.value == pytest.approx(-0.0184, abs=5e-5)
    assert found.detail["crude"] == pytest.approx(0.4452 - 0.3035, abs=1e-4)
    assert found.detail["standardised"] == pytest.approx(0.3873 - 0.4300, abs=1e-4)
    assert found.detail["rate_standardised_reference"] == pytest.approx(0.4300, abs=5e-5)
    assert found.detail["statistic"] == pytest.approx(1.5246, abs=5e-5)
    assert found.detail["p_value"] == pytest.approx(0.2323, abs=5e-5)
    assert found.detail["odds_ratio"] == pytest.approx(0.9047, abs=5e-5)
    assert found.detail["flag"] == "reversed"
    assert (found.n, found.n_reference, found.detail["strata"]) == (2691, 1835, 6)


def test_a_gap_that_is_the_same_everywhere_is_not_flagged() -> None:
    table = np.array([[[60, 40], [40, 60]], [[70, 30], [50, 50]]])
    assert adjusted_gap(table, by="city").detail["flag"] == "none"


def test_a_gap_that_mostly_goes_away_is_flagged() -> None:
    table = np.array([[[180, 20], [85, 15]], [[22, 28], [80, 120]]])
    found = adjusted_gap(table, by="city")
    assert 0 < found.value < found.detail["crude"] / 2
    assert found.detail["flag"] == "more_than_half"


def test_signs_of_chance_are_not_flagged() -> None:
    rng, flagged = np.random.default_rng(8), 0
    for _ in range(500):
        events = rng.binomial(80, 0.4, (3, 2))
        table = np.stack([events, 80 - events], axis=2)
        flagged += adjusted_gap(table, by="city").detail["flag"] != "none"
    assert flagged <= 10


def test_floors() -> None:
    table = np.array([[[20, 29], [40, 60]], [[30, 30], [0, 0]]])
    assert adjusted_gap(table, by="city") == TooFew(
        49, 50, "answers of a side in shared values of city", {"by": "city"}
    )
    rare = np.array([[[2, 100], [2, 100]]])
    assert adjusted_gap(rare, by="city") == TooFew(
        4, 5, "answers of the rarer kind", {"by": "city"}
    )
    assert adjusted_gap(np.zeros((0, 2, 2), np.int64), by="city").n == 0
