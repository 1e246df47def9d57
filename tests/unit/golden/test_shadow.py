"""Shadow pairs of every task, and the verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from monitor.checks.paired.numbers import Tolerance
from monitor.deployment import Tags
from monitor.jobs.golden.shadow import ShadowVerdict, compare_shadow
from monitor.measurement import Measured, TooFew
from tests.unit.golden.support import FOUND, PARTS, SCORE, WHO, answers, contract

N = 400
TAGS = {1: Tags.of({"precision": "float64"}), 2: Tags.of({"precision": "float16"})}
IDS = [str(i) for i in range(N)]


def compared(made: Any, live: Any, shadow: Any, labels: Any = None, **tolerances: Tolerance) -> Any:
    known = np.full(len(live), np.nan) if labels is None else np.asarray(labels, np.float64)
    return compare_shadow(made, TAGS, live, shadow, known, tolerances, np.random.default_rng(2))


def binary(right: Any, truth: Any, deployment: int, entities: Any = None) -> Any:
    """Answers that are right where told: 0.9 and 0.1 for the two classes."""
    predicted = np.where(right, truth, 1 - truth)
    score = np.where(predicted == 1, 0.9, 0.1)
    return answers(
        IDS, numbers={"score": score}, score=score, predicted=predicted, deployment=deployment,
        entities=entities,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("live_right", "shadow_right", "verdict"),
    [
        (0.7, 0.9, ShadowVerdict.BETTER),
        (0.9, 0.7, ShadowVerdict.WORSE),
        (0.8, 0.8, ShadowVerdict.NO_DIFFERENCE_SHOWN),
    ],
)
def test_verdicts_on_labels(live_right, shadow_right, verdict):
    rng = np.random.default_rng(11)
    truth = rng.integers(0, 2, N)
    order = rng.permutation(N)
    live = binary(order < live_right * N, truth, 1)
    shadow = binary(rng.permutation(N) < shadow_right * N, truth, 2)
    found = compared(contract(SCORE), live, shadow, truth)
    assert found.verdict is verdict
    assert isinstance(found.accuracy, Measured)
    assert found.accuracy.value == pytest.approx(shadow_right - live_right)
    assert found.differs.groups == {"precision": ("precision",)}


def test_repeated_entities_widen_the_interval():
    rng = np.random.default_rng(4)
    truth, who = rng.integers(0, 2, N), np.repeat(np.arange(80), 5)
    right = np.repeat(rng.random(80) < 0.7, 5)
    other = np.repeat(rng.random(80) < 0.8, 5)
    alone = compared(
        contract(SCORE), binary(right, truth, 1), binary(other, truth, 2), truth
    ).accuracy
    grouped = compared(
        contract(SCORE, WHO), binary(right, truth, 1, who), binary(other, truth, 2, who), truth
    ).accuracy
    assert alone.value == grouped.value
    assert grouped.detail["limits"] == "bootstrap over entities"
    assert grouped.high - grouped.low > 1.6 * (alone.high - alone.low)


def test_classes_out_of_scores():
    parts = np.random.default_rng(5).dirichlet([1, 1, 1], N)
    turned = parts[:, [1, 0, 2]]
    live = answers(IDS, numbers={"parts": parts}, predicted=parts.argmax(1))
    shadow = answers(IDS, numbers={"parts": turned}, predicted=turned.argmax(1), deployment=2)
    found = compared(contract(PARTS, task="multiclass"), live, shadow, parts.argmax(1))
    assert found.agreement.value == pytest.approx((parts.argmax(1) == 2).mean())
    assert found.verdict is ShadowVerdict.WORSE
    assert isinstance(found.loss, TooFew)


def test_numbers_within_a_tolerance():
    value = np.linspace(1, 100, N)
    live = answers(IDS, numbers={"score": value}, score=value)
    shadow = answers(IDS, numbers={"score": value + 0.5}, score=value + 0.5, deployment=2)
    made = contract(SCORE, task="regression")
    found = compared(made, live, shadow, value, score=Tolerance(0.1, 0.01))
    assert found.agreement.value == pytest.approx((0.1 + 0.01 * value >= 0.5).mean())
    assert found.loss.value == pytest.approx(0.5)
    assert found.verdict is ShadowVerdict.WORSE
    assert isinstance(found.accuracy, TooFew)


def test_ranked_lists():
    lists = [("a", "b", "c")] * N
    live = answers(IDS, lists={"found": lists})
    half = [each if i % 2 else ("b", "a", "c") for i, each in enumerate(lists)]
    found = compared(
        contract(FOUND, task="ranking"), live, answers(IDS, lists={"found": half}, deployment=2)
    )
    assert found.agreement.value == 0.5
    assert found.columns[0].lists.overlap == 1.0
    assert found.verdict is ShadowVerdict.OUTPUTS_ONLY


def test_few_pairs_and_no_pairs():
    score = np.full(49, 0.5)
    some = answers(IDS[:49], numbers={"score": score}, score=score, predicted=np.ones(49, int))
    found = compared(contract(SCORE), some, some)
    assert found.verdict is ShadowVerdict.TOO_FEW
    assert isinstance(found.agreement, TooFew)
    assert (found.agreement.n, found.agreement.needed) == (49, 50)
