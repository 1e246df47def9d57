"""What the ratings of a review say: weights, agreement by who rated, disagreements in order."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.checks.signals.review import (
    Disagreement,
    ReviewSample,
    agreement,
    disagreements,
    estimate,
    kappa_misleads,
)
from monitor.contract_quality import Signal
from monitor.measurement import Measured, TooFew

STARS = Signal(name="stars", kind="rating", direction="lower_is_worse", scale=(1, 5))
POLITE = Signal(name="polite", kind="rubric", direction="lower_is_worse")


def chance() -> np.random.Generator:
    return np.random.default_rng(2)


def test_a_stratum_that_was_looked_at_more_does_not_count_for_more() -> None:
    # 40 of 400 rated 4, 40 of 3,600 rated 2: plain mean 3, weighted 0.1 * 4 + 0.9 * 2 = 2.2
    strata = np.repeat([0, 1], 40)
    sample = ReviewSample(
        strata, np.repeat([0.1, 40 / 3600], 40), np.array([400, 3600]), stratified=True
    )
    rng = np.random.default_rng(1)
    ratings = [{"ada": (4.0 if s == 0 else 2.0) + rng.choice([-1, 0, 1])} for s in strata]
    found = estimate(STARS, sample, ratings)
    assert isinstance(found, Measured)
    assert found.value == pytest.approx(2.2, abs=0.35)
    assert found.detail["unweighted"] == pytest.approx(3, abs=0.25)
    assert found.detail["population"] == 4_000
    assert found.low is not None
    assert found.low < found.value < found.high


def test_two_ratings_of_an_item_count_once_and_unrated_items_are_told() -> None:
    sample = ReviewSample(np.zeros(60, int), np.full(60, 0.1), np.array([600]), stratified=True)
    ratings = [{"ada": 1.0, "ben": 0.0}] * 10 + [{"ada": 1.0}] * 40 + [{}] * 10
    found = estimate(POLITE, sample, ratings)
    assert (found.value, found.n, found.detail["drawn"]) == (pytest.approx(0.9), 50, 60)
    few = estimate(POLITE, sample, [{"ada": 1.0}] * 49 + [{}] * 11)
    assert isinstance(few, TooFew)
    assert (few.n, few.needed) == (49, 50)
    assert isinstance(estimate(POLITE, sample, [{}] * 60), TooFew)


def test_agreement_of_two_and_of_several_raters() -> None:
    rng = np.random.default_rng(6)
    names = ("ada", "ben", "cy")
    two, three = [], []
    for k in range(60):
        truth = float(rng.random() < 0.5)
        other = truth if rng.random() < 0.9 else 1 - truth
        two.append({"ada": truth, "ben": other})
        three.append({names[k % 3]: truth, names[(k + 1) % 3]: other})
    found = agreement(POLITE, two, chance())
    assert set(found) == {"agreement", "kappa", "alpha", "ac1"}
    assert all(isinstance(one, Measured) for one in found.values())
    assert found["agreement"].value == np.mean([one["ada"] == one["ben"] for one in two])
    assert found["kappa"].low < found["kappa"].value < found["kappa"].high
    several = agreement(POLITE, three, chance())
    assert isinstance(several["kappa"], TooFew)
    assert isinstance(several["alpha"], Measured)
    assert set(agreement(STARS, two, chance())) == {"agreement", "kappa", "alpha"}
    assert agreement(POLITE, two, chance()) == found


def test_fewer_than_thirty_pairs_or_one_answer_throughout_are_too_few() -> None:
    pair = {"ada": 1.0, "ben": 1.0}
    few = agreement(POLITE, [pair] * 29 + [{"ada": 1.0}] * 40, chance())
    assert {(one.n, one.needed) for one in few.values()} == {(29, 30)}
    same = agreement(POLITE, [pair] * 40, chance())
    assert same["agreement"].value == 1
    assert all(isinstance(same[kind], TooFew) for kind in ("kappa", "alpha", "ac1"))


def test_kappa_misleads_where_nearly_all_answers_are_the_same() -> None:
    same = [{"ada": 1.0, "ben": 1.0}] * 90 + [{"ada": 0.0, "ben": 1.0}] * 10
    even = [{"ada": 1.0, "ben": 1.0}] * 50 + [{"ada": 0.0, "ben": 0.0}] * 50
    apart = [{"ada": 1.0, "ben": 0.0}] * 100
    assert [kappa_misleads(one) for one in (same, even, apart, [])] == [True, False, False, False]


def test_disagreements_come_widest_first() -> None:
    ratings = [{"a": 1.0, "b": 2.0}, {"a": 3.0}, {"a": 1.0, "b": 5.0}, {"a": 2.0, "b": 2.0}, {}]
    assert disagreements(ratings) == [
        Disagreement(2, {"a": 1.0, "b": 5.0}),
        Disagreement(0, {"a": 1.0, "b": 2.0}),
    ]
