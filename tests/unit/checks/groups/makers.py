"""Groups from plain numbers."""

from __future__ import annotations

import numpy as np

from monitor.checks.groups.counts import Group, Rate


def answers(name: str, favourable: int, n: int) -> Group:
    """A group of which only the answers are known."""
    return Group(name, Rate(favourable, n), 0, 0, 0, 0)


def labelled(name: str, tp: int, fp: int, fn: int, tn: int) -> Group:
    """A group of labelled rows without scores."""
    return Group(name, Rate(tp + fp, tp + fp + fn + tn), tp, fp, fn, tn)


def scored(name: str, score: np.ndarray, label: np.ndarray) -> Group:
    """A group of rows with score and label, decided at one half."""
    predicted = score >= 0.5
    truth = label == 1
    error = label - score
    return Group(
        name,
        Rate(int(predicted.sum()), len(score)),
        int((predicted & truth).sum()),
        int((predicted & ~truth).sum()),
        int((~predicted & truth).sum()),
        int((~predicted & ~truth).sum()),
        len(score),
        int(truth.sum()),
        float(error.sum()),
        float((error**2).sum()),
    )
