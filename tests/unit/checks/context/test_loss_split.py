"""DISDE with a domain classifier: the discrete truth, coverage, refusals; losses by segment."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special
from sklearn.linear_model import LogisticRegression

from monitor.checks.context.disde import LossParts, loss_parts
from monitor.checks.context.domain import FOLDS, Domain
from monitor.checks.context.explained import SampledColumn, explain_output
from monitor.checks.context.loss_split import NAMES, JudgedRows, LossSplit, loss_split
from monitor.checks.context.loss_words import loss_sentences, segment_sentence
from monitor.checks.context.segment_losses import SegmentLosses, segment_shares
from monitor.measurement import Failed, Measured, TooFew

# Two columns of four groups; log q/p is additive, as the classifier supposes.
A, B = (axis.ravel() for axis in np.meshgrid(np.arange(4), np.arange(4), indexing="ij"))
P = np.outer([0.4, 0.3, 0.2, 0.1], [0.25] * 4).ravel()
Q = np.outer([0.15, 0.25, 0.3, 0.3], [0.4, 0.3, 0.2, 0.1]).ravel()
R_P, R_Q = 0.10 + 0.05 * A, 0.12 + 0.07 * A + 0.03 * B


def rows(rng, shares, loss, n, repeats=1) -> JudgedRows:
    """n rows; `repeats` of an entity have the same inputs and alike losses."""
    entities = n // repeats
    cell = rng.choice(16, entities, p=shares)
    luck = rng.random(entities)
    drawn = [
        (np.where(rng.random(entities) < 0.5, luck, rng.random(entities)) < loss[cell])
        if repeats > 1
        else luck < loss[cell]
        for _ in range(repeats)
    ]
    return JudgedRows(
        np.tile(np.array([A[cell], B[cell]]), repeats),
        np.concatenate(drawn).astype(float),
        np.tile(rng.integers(1, 2**60, entities), repeats),
    )


def truth() -> LossParts:
    found = loss_parts(P, Q, R_P, R_Q)
    assert found is not None
    return found


def test_large_samples_give_the_discrete_split():
    rng = np.random.default_rng(1)
    found = loss_split(
        rows(rng, P, R_P, 60_000), rows(rng, Q, R_Q, 60_000), [4, 4], seed=1, draws=10
    )
    assert isinstance(found, LossSplit)
    for name in NAMES:
        assert getattr(found, name).value == pytest.approx(getattr(truth(), name), abs=0.006)
    assert found.total.value == pytest.approx(found.loss_now - found.loss_then)
    assert found.within.value == pytest.approx(found.shared_now - found.shared_then)


@pytest.mark.parametrize(("n", "repeats"), [(150, 1), (330, 3)])
def test_intervals_of_the_parts_cover(n, repeats):
    rng, runs = np.random.default_rng(12), 50
    held = np.zeros(4)
    for run in range(runs):
        then, now = (rows(rng, *side, n, repeats) for side in ((P, R_P), (Q, R_Q)))
        found = loss_split(then, now, [4, 4], seed=run, draws=20)
        parts = [(getattr(found, name), getattr(truth(), name)) for name in NAMES]
        held += [part.low <= true <= part.high for part, true in parts]
    assert (held / runs >= 0.93 - 2 * np.sqrt(0.05 * 0.95 / runs)).all(), held / runs


def test_the_same_rows_give_the_same_answer_and_nothing_changed_is_nothing():
    rng = np.random.default_rng(3)
    then, now = rows(rng, P, R_P, 500), rows(rng, P, R_P, 500)
    found = loss_split(then, now, [4, 4], seed=9, draws=20)
    assert found == loss_split(then, now, [4, 4], seed=9, draws=20)
    assert found.within.low < 0 < found.within.high
    assert "chance" in loss_sentences(found, share=True)[1]


def test_too_few_rows_entities_and_no_overlap_are_refused():
    rng = np.random.default_rng(4)
    some, few = rows(rng, P, R_P, 500), rows(rng, P, R_P, 99)
    assert loss_split(some, few, [4, 4], seed=1) == TooFew(
        99, 100, "labelled sampled rows of a window"
    )
    alike = JudgedRows(some.groups, some.loss, np.arange(500) % 40)
    assert loss_split(some, alike, [4, 4], seed=1) == TooFew(
        40, 100, "entities with a labelled row in a window"
    )


def test_windows_without_shared_inputs_say_so():
    rng = np.random.default_rng(5)
    n = 4000
    then = JudgedRows(np.zeros((1, n), int), rng.random(n), rng.integers(1, 2**60, n))
    now = JudgedRows(np.ones((1, n), int), rng.random(n), rng.integers(1, 2**60, n))
    found = loss_split(then, now, [2], seed=1)
    assert isinstance(found, Failed)
    assert "share hardly any inputs" in found.reason


def test_probabilities_are_those_of_scikit_learn():
    rng = np.random.default_rng(6)
    n = 900
    groups = np.array([rng.integers(0, 4, n), rng.integers(0, 3, n)])
    current = (rng.random(n) < special.expit(groups[0] - 1.0)).astype(float)
    entities = rng.integers(1, 2**60, n)
    domain = Domain.of(groups, [4, 3], current, entities)
    found, _ = domain.probabilities(np.ones(n))
    dense = domain.indicators.toarray()[:, 1:]
    for fold in range(FOLDS):
        inside = domain.fold == fold
        weights = np.where(
            current == 1, 0.5 / current[~inside].sum(), 0.5 / (1 - current)[~inside].sum()
        )
        model = LogisticRegression(C=1.0, tol=1e-10, max_iter=2000)
        model.fit(
            dense[~inside], current[~inside], sample_weight=(weights * (~inside).sum())[~inside]
        )
        theirs = model.predict_proba(dense[inside])[:, 1]
        assert found[inside] == pytest.approx(theirs, abs=1e-4)


def test_an_entity_is_never_judged_by_its_own_rows():
    entities = np.repeat(np.random.default_rng(7).integers(1, 2**60, 200), 3)
    domain = Domain.of(np.zeros((1, 600), int), [1], np.tile([0.0, 1.0], 300), entities)
    folds = domain.fold.reshape(200, 3)
    assert (folds == folds[:, :1]).all()
    assert set(domain.fold.tolist()) == set(range(FOLDS))


def test_sentences_say_consistent_and_never_caused():
    rng = np.random.default_rng(8)
    found = loss_split(rows(rng, P, R_P, 8000), rows(rng, Q, R_Q, 8000), [4, 4], seed=1, draws=20)
    told = loss_sentences(found, share=True)
    assert told[0].startswith("The error rate went from")
    assert len(told) == 4
    assert all("consistent with" in sentence for sentence in told[1:])
    assert not any("caus" in sentence for sentence in told)


def losses(rng, shares, rates, n, groups=20) -> SegmentLosses:
    """Rows and errors of segments by entity group."""
    cell = rng.multinomial(n, np.outer(shares, np.full(groups, 1 / groups)).ravel())
    cell = cell.reshape(len(shares), groups)
    return SegmentLosses(cell, rng.binomial(cell, np.array(rates)[:, None]).astype(float))


def test_segment_contributions_add_up_and_rank():
    rng = np.random.default_rng(9)
    then = losses(rng, [0.5, 0.3, 0.2], [0.1, 0.1, 0.2], 6000)
    now = losses(rng, [0.3, 0.3, 0.4], [0.1, 0.25, 0.2], 6000)
    found = segment_shares(["a", "b", "c"], then, now)
    total = now.sums.sum() / now.rows.sum() - then.sums.sum() / then.rows.sum()
    assert sum(one.mix + one.within for one in found) == pytest.approx(total)
    assert found[0].label == "b"
    assert found[0].within == pytest.approx(0.3 * 0.15, abs=0.01)
    last = next(one for one in found if one.label == "c")
    assert last.mix == pytest.approx(0.2 * (0.2 - (0.12 + 0.185) / 2), abs=0.005)
    assert isinstance(found[0].contribution, Measured)
    assert "b carries" in segment_sentence(found[0], total)


def test_segment_intervals_cover():
    rng, runs, held = np.random.default_rng(10), 300, np.zeros(3)
    a, r = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.1, 0.2])
    b, s = np.array([0.3, 0.3, 0.4]), np.array([0.1, 0.25, 0.2])
    middle = (a @ r + b @ s) / 2
    true = (b - a) * ((r + s) / 2 - middle) + (a + b) / 2 * (s - r)
    for _ in range(runs):
        found = {
            one.label: one.contribution
            for one in segment_shares(list("abc"), losses(rng, a, r, 800), losses(rng, b, s, 800))
        }
        held += [found[x].low <= t <= found[x].high for x, t in zip("abc", true, strict=True)]
    assert (held / runs >= 0.93 - 2 * np.sqrt(0.05 * 0.95 / runs)).all(), held / runs
    assert (held / runs <= 0.98).all(), held / runs


def test_segments_with_few_rows_and_new_ones():
    then = SegmentLosses(np.full((2, 20), 10), np.full((2, 20), 1.0))
    now = SegmentLosses(np.array([[10] * 20, [0] * 20]), np.array([[1.0] * 20, [0.0] * 20]))
    found = {one.label: one for one in segment_shares(["a", "b"], then, now)}
    assert found["b"].contribution == TooFew(0, 50, "labelled rows of the segment in a window")
    assert found["b"].loss_now is None
    few = SegmentLosses(np.ones((2, 20), int), np.zeros((2, 20)))
    assert isinstance(segment_shares(["a", "b"], few, now), TooFew)
    lonely = SegmentLosses(np.eye(1, 20, dtype=int) * 500, np.zeros((1, 20)))
    assert segment_shares(["a"], lonely, lonely).needed == 10


def test_shares_of_columns_hold_entities_together():
    rng = np.random.default_rng(11)
    cell = [rng.integers(0, 2, 300), (rng.random(300) < 0.8).astype(int)]
    output = [np.where(side == 1, 0.4, 0.1) + rng.normal(0, 0.1, 300) for side in cell]
    repeat = [np.tile(side, 4) for side in (*cell, *output)]
    ids = [np.tile(np.arange(300), 4), np.tile(np.arange(300, 600), 4)]
    column = SampledColumn("a", repeat[0], repeat[1], 2)
    alone = explain_output(
        [SampledColumn("a", cell[0], cell[1], 2)], output[0], output[1], seed=1
    ).total
    naive = explain_output([column], repeat[2], repeat[3], seed=1).total
    held = explain_output([column], repeat[2], repeat[3], seed=1, entities=(ids[0], ids[1])).total
    assert naive.high - naive.low == pytest.approx((alone.high - alone.low) / 2, rel=0.05)
    assert held.high - held.low == pytest.approx(alone.high - alone.low, rel=0.2)
