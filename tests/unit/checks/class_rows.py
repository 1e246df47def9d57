"""Class scores and labels as a labels part, through the product's own packing."""

from __future__ import annotations

import numpy as np

from monitor.checks.quality.class_scores import class_quality, class_score_quality
from monitor.measurement import Outcome
from monitor.profiles.arrays import totals_by_key
from monitor.profiles.labels import SCORE_CELLS, UNIT, binary_counts, pack_binary
from monitor.profiles.labels_multiclass import (
    CONFIDENCE,
    CONFUSION,
    ONE_VS_REST,
    OneVsRestCounts,
    confusion_counts,
    one_vs_rest_counts,
    pack_confusion,
    pack_one_vs_rest,
)
from monitor.profiles.part import Part


def _cells(score: np.ndarray) -> np.ndarray:
    return np.minimum((score * SCORE_CELLS).astype(np.int64), SCORE_CELLS - 1)


def _sums(score: np.ndarray, happened: np.ndarray) -> list[np.ndarray]:
    fixed = np.rint(score * UNIT).astype(np.int64)
    squares = np.rint(score * score * UNIT).astype(np.int64)
    return [fixed, squares, fixed * happened]


def class_part(
    scores: np.ndarray, label: np.ndarray, group: np.ndarray, predicted: np.ndarray | None = None
) -> Part:
    """Rows with scores float64[n, c], label and entity group int64[n], all labelled at once."""
    chosen = scores.argmax(axis=1) if predicted is None else predicted
    at_once = np.zeros(len(label), np.int64)
    largest, right = scores.max(axis=1), (chosen == label).astype(np.int64)
    keys = pack_binary(np.ones_like(label), _cells(largest), right, at_once, group)
    tables = {
        CONFUSION: totals_by_key(pack_confusion(chosen, label, at_once, group), []),
        CONFIDENCE: totals_by_key(keys, _sums(largest, right)),
    }
    for place in range(scores.shape[1]):
        own, is_it = scores[:, place], (label == place).astype(np.int64)
        keys = pack_one_vs_rest(_cells(own), is_it, group)
        tables[f"{ONE_VS_REST}{place}"] = totals_by_key(keys, _sums(own, is_it))
    return Part({}, tables)


def against_the_rest(part: Part, classes: int) -> tuple[OneVsRestCounts, ...]:
    return tuple(one_vs_rest_counts(part, place) for place in range(classes))


def class_outcomes(part: Part, names: str) -> dict[str, Outcome]:
    """Every outcome, those of a class as `method/class`."""
    classes = against_the_rest(part, len(names))
    confidence = binary_counts(part, table=CONFIDENCE)
    by_class = class_quality(confusion_counts(part, len(names)), names, classes)
    return {
        **class_score_quality(classes, confidence, len(names)),
        **{f"{method}/{name}": found for (method, name), found in by_class.items()},
    }


def class_world(
    rng: np.random.Generator,
    n: int,
    rows_an_entity: int = 1,
    agreement: float = 0.0,
    sharpness: float = 1.5,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Calibrated scores of three classes (about .6, .25, .15), labels and entity groups.

    Rows of one entity share `agreement` of the variance of their scores.
    """  # fmt: skip
    entities = n // rows_an_entity
    entity = np.repeat(np.arange(entities), rows_an_entity)
    own = rng.normal(size=(len(entity), 3)) * np.sqrt(1 - agreement)
    shared = rng.normal(size=(entities, 3))[entity] * np.sqrt(agreement)
    weight = np.exp(np.array([0.8, 0.0, -0.8]) + sharpness * (own + shared))
    scores = weight / weight.sum(axis=1, keepdims=True)
    label = (scores.cumsum(axis=1) < rng.random(len(entity))[:, None]).sum(axis=1).clip(0, 2)
    return scores, label, rng.integers(0, 20, entities)[entity]
