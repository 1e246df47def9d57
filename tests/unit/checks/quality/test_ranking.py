"""Ranked lists: measures of single queries by hand, scikit-learn's NDCG, limits that hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from monitor.checks.quality.ranking import RANKING_METHODS, gains, ranking_quality, reciprocal_ranks
from monitor.measurement import Measured, TooFew
from monitor.profiles.labels_ranking import RankCounts
from tests.unit.checks.coverage import Held

LISTED = 20


def _counts(ranks: np.ndarray, group: np.ndarray | None = None, unlabelled: int = 0) -> RankCounts:
    by_group = np.zeros((20, LISTED + 1), np.int64)
    np.add.at(by_group, (np.arange(len(ranks)) % 20 if group is None else group, ranks), 1)
    n = len(ranks) + unlabelled
    return RankCounts(by_group.sum(axis=0), by_group, np.zeros(0, np.int64), unlabelled, n)


def test_gains_of_single_queries():
    assert gains(12, 10)[[0, 1, 2, 3, 10, 11, 12]] == pytest.approx(
        [0, 1, 0.63092975, 0.5, 0.28906483, 0, 0], abs=1e-8
    )
    assert reciprocal_ranks(4) == pytest.approx([0, 1, 1 / 2, 1 / 3, 1 / 4])


# scikit-learn scores one relevant item among 20 in the order of the list.
@given(st.lists(st.integers(1, LISTED), min_size=1, max_size=30))
def test_ndcg_is_scikit_learns(ranks):
    relevance = np.zeros((len(ranks), LISTED))
    relevance[np.arange(len(ranks)), np.array(ranks) - 1] = 1
    order = np.tile(np.arange(LISTED, 0, -1.0), (len(ranks), 1))
    ours = float(np.mean(gains(LISTED, 10)[ranks]))
    assert ours == pytest.approx(metrics.ndcg_score(relevance, order, k=10), abs=1e-12)


def test_measures_of_a_hundred_queries():
    ranks = np.array([1] * 40 + [2] * 20 + [12] * 10 + [0] * 30)
    outcomes = ranking_quality(_counts(ranks, unlabelled=100))
    expected = {
        "ndcg_10": 0.4 + 0.2 / np.log2(3),
        "mrr": 0.4 + 0.1 + 0.1 / 12,
        "recall_1": 0.4,
        "recall_10": 0.6,
        "label_coverage": 0.5,
    }
    for name, value in expected.items():
        outcome = outcomes[name]
        assert isinstance(outcome, Measured), name
        assert outcome.value == pytest.approx(value), name
        assert outcome.low < value < outcome.high
    for name in RANKING_METHODS:
        assert "is not known" in outcomes[name].detail["best_constant_unknown"]
        assert outcomes[name].detail["listed"] == LISTED


def _draw(rng: np.random.Generator, n: int, an_entity: int, spread: float) -> tuple:
    """Ranks, geometric with a chance that differs between entities, and entity groups."""
    entities = n // an_entity
    entity = np.repeat(np.arange(entities), an_entity)
    chance = np.full(entities, 0.3)
    if spread:
        chance = np.clip(rng.beta(0.3 / spread, 0.7 / spread, entities), 0.01, 0.99)
    ranks = rng.geometric(chance[entity])
    return np.where(ranks > LISTED, 0, ranks), rng.integers(0, 20, entities)[entity]


@pytest.mark.parametrize(
    ("n", "an_entity", "spread"), [(50, 1, 0.0), (400, 10, 0.3)], ids=["floor", "entities"]
)
def test_limits_hold(n, an_entity, spread):
    rng = np.random.default_rng(61)
    ranks, _ = _draw(rng, 400_000, an_entity, spread)
    truth = {
        "ndcg_10": float(gains(LISTED, 10)[ranks].mean()),
        "mrr": float(reciprocal_ranks(LISTED)[ranks].mean()),
        "recall_1": float((ranks == 1).mean()),
        "recall_10": float(((ranks > 0) & (ranks <= 10)).mean()),
    }
    held = Held()
    for _ in range(800):
        held.add_outcomes(ranking_quality(_counts(*_draw(rng, n, an_entity, spread))), truth)
    held.require()


def test_floors():
    few = ranking_quality(_counts(np.array([1] * 49)))
    assert all(isinstance(few[name], TooFew) for name in RANKING_METHODS)
    missed = ranking_quality(_counts(np.array([1] * 4 + [0] * 96)))
    assert isinstance(missed["ndcg_10"], TooFew)
    assert (missed["ndcg_10"].n, missed["ndcg_10"].needed) == (4, 5)
    nothing = ranking_quality(_counts(np.zeros(0, np.int64)))
    assert all(isinstance(outcome, TooFew) for outcome in nothing.values())
