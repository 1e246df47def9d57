"""Estimates of quality without labels, row by row in plain Python: slow and written another way."""

from __future__ import annotations

import itertools
from collections.abc import Sequence


def pooled_chances(
    scores: Sequence[float], labels: Sequence[float], weights: Sequence[float]
) -> list[tuple[float, float]]:
    """Pool adjacent violators: (score, chance) by distinct score, ascending."""
    distinct = sorted(set(scores))
    blocks = []
    for score in distinct:
        rows = [k for k, one in enumerate(scores) if one == score]
        weight = sum(weights[k] for k in rows)
        blocks.append([sum(weights[k] * labels[k] for k in rows), weight, [score]])
        while len(blocks) > 1 and (blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]):
            ones, weight, members = blocks.pop()
            blocks[-1][0] += ones
            blocks[-1][1] += weight
            blocks[-1][2] += members
    return [(score, ones / weight) for ones, weight, members in blocks for score in members]


def chance_of(score: float, points: Sequence[tuple[float, float]]) -> float:
    """On the line between the two labelled scores around it; the end's chance beyond them."""
    if score <= points[0][0]:
        return points[0][1]
    for (left, low), (right, high) in itertools.pairwise(points):
        if score <= right:
            return low + (high - low) * (score - left) / (right - left)
    return points[-1][1]


def expected_measures(
    scores: Sequence[float], predicted: Sequence[float], chances: Sequence[float]
) -> dict[str, float]:
    """Accuracy, F1, Brier and AUC when row k is positive with chance k, pair by pair."""
    n = len(scores)
    right = sum(c if p else 1 - c for p, c in zip(predicted, chances, strict=True))
    tp = sum(c for p, c in zip(predicted, chances, strict=True) if p)
    fp = sum(1 - c for p, c in zip(predicted, chances, strict=True) if p)
    fn = sum(c for p, c in zip(predicted, chances, strict=True) if not p)
    brier = sum(c * (1 - s) ** 2 + (1 - c) * s**2 for s, c in zip(scores, chances, strict=True))
    won = sum(
        chances[i] * (1 - chances[j]) * (1.0 if scores[i] > scores[j] else 0.5)
        for i in range(n)
        for j in range(n)
        if scores[i] >= scores[j]
    )
    pairs = sum(chances) * (n - sum(chances))
    return {
        "accuracy": right / n,
        "f1": 2 * tp / (2 * tp + fp + fn),
        "brier": brier / n,
        "auc": won / pairs,
    }
