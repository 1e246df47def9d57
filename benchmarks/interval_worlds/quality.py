"""Quality of binary, multi-class, regression and ranking models, and calibration of scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from scipy import special, stats
from sklearn import metrics

from benchmarks.interval_worlds.base import (
    Draw,
    Floats,
    Integers,
    Reading,
    Rng,
    World,
    all_printed,
    between,
    entities_of,
)
from benchmarks.interval_worlds.rows import (
    binary_rows,
    class_part,
    ranked_rows,
    regression_rows,
    score_cells_of,
)
from monitor.checks.calibration import GROUPS, calibration
from monitor.checks.quality.binary import binary_quality
from monitor.checks.quality.class_scores import class_score_quality
from monitor.checks.quality.multiclass import multiclass_quality
from monitor.checks.quality.ranking import gains, ranking_quality, reciprocal_ranks
from monitor.checks.quality.regression import regression_quality
from monitor.checks.reliability import equal_mass_groups
from monitor.measurement import Measured
from monitor.profiles.labels import binary_counts
from monitor.profiles.labels_multiclass import CONFIDENCE, confusion_counts, one_vs_rest_counts

MANY = 500_000
LARGE_DRAW = f"a draw of {MANY:,} rows"
CLOSED = "closed form"
LISTED = 20
CLASSES = 3


@dataclass(frozen=True)
class Scored:
    """Logits are `base` + N(0, 1); rows of an entity share `alike` of their variance, and a fault
    of N(0, (2·alike)²) that the score does not know. Decided at `threshold`."""

    base: float
    threshold: float
    rows_an_entity: int = 1
    alike: float = 0.0

    def rows(self, rng: Rng, n: int) -> tuple[Floats, Integers, Integers, Integers]:
        """Score, label, predicted class and entity group of n rows."""
        entity, group = entities_of(rng, n, self.rows_an_entity)
        shared, fault = rng.normal(size=(2, n // self.rows_an_entity))
        own = rng.normal(size=len(entity))
        x = own * np.sqrt(1 - self.alike) + shared[entity] * np.sqrt(self.alike)
        logit = self.base + x
        chance = special.expit(logit + 2 * self.alike * fault[entity])
        label = (rng.random(len(entity)) < chance).astype(np.int64)
        score = special.expit(logit)
        return score, label, (score >= self.threshold).astype(np.int64), group


@lru_cache(maxsize=8)
def binary_truth(world: Scored) -> Mapping[str, float]:
    """The measures of a very large draw."""
    score, label, predicted, _ = world.rows(np.random.default_rng(1), MANY)
    return {
        "accuracy": float(np.mean(predicted == label)),
        "precision": float(label[predicted == 1].mean()),
        "recall": float(predicted[label == 1].mean()),
        "f1": float(metrics.f1_score(label, predicted)),
        "auc": float(metrics.roc_auc_score(label, score)),
        "brier": float(np.mean((score - label) ** 2)),
        "log_loss": float(-np.log(np.where(label == 1, score, 1 - score)).mean()),
    }


def _binary(world: Scored, n: int) -> Draw:
    truth = binary_truth(world)

    def draw(rng: Rng) -> Iterator[Reading]:
        yield from all_printed(binary_quality(binary_rows(*world.rows(rng, n))), truth)

    return draw


def _classes(rng: Rng, n: int, rows_an_entity: int) -> tuple[Floats, Integers, Integers]:
    """Calibrated scores of three classes; rows of an entity share half of the logits' variance."""
    entity, group = entities_of(rng, n, rows_an_entity)
    alike = 0.0 if rows_an_entity == 1 else 0.5
    own = rng.normal(size=(len(entity), CLASSES)) * np.sqrt(1 - alike)
    shared = rng.normal(size=(n // rows_an_entity, CLASSES))[entity] * np.sqrt(alike)
    weight = np.exp(np.array([0.8, 0.0, -0.8]) + 1.5 * (own + shared))
    scores = weight / weight.sum(axis=1, keepdims=True)
    label = (scores.cumsum(axis=1) < rng.random(len(entity))[:, None]).sum(axis=1)
    return scores, np.minimum(label, CLASSES - 1).astype(np.int64), group


def _multiclass(n: int, rows_an_entity: int) -> Draw:
    scores, label, _ = _classes(np.random.default_rng(2), MANY, rows_an_entity)
    predicted = scores.argmax(axis=1)
    truth = {
        "accuracy": float(np.mean(predicted == label)),
        "macro_f1": float(metrics.f1_score(label, predicted, average="macro")),
        "log_loss": float(-np.log(scores[np.arange(MANY), label]).mean()),
        "brier": float(((scores - np.eye(CLASSES)[label]) ** 2).sum(axis=1).mean()),
        "macro_auc": float(metrics.roc_auc_score(label, scores, multi_class="ovr")),
    }

    def draw(rng: Rng) -> Iterator[Reading]:
        part = class_part(*_classes(rng, n, rows_an_entity))
        each = [one_vs_rest_counts(part, place) for place in range(CLASSES)]
        confidence = binary_counts(part, table=CONFIDENCE)
        found = {
            **class_score_quality(each, confidence, CLASSES),
            **multiclass_quality(confusion_counts(part, CLASSES)),
        }
        named = {f"{name} (3 classes)": one for name, one in found.items()}
        yield from all_printed(named, {f"{name} (3 classes)": one for name, one in truth.items()})

    return draw


def _regression(n: int, rows_an_entity: int) -> Draw:
    """Errors are N(0.3, 1); rows of an entity share half of the variance."""
    mean, alike = 0.3, 0.0 if rows_an_entity == 1 else 0.5
    folded = np.sqrt(2 / np.pi) * np.exp(-(mean**2) / 2) + mean * (1 - 2 * stats.norm.cdf(-mean))
    truth = {"mae": float(folded), "rmse": float(np.sqrt(1 + mean**2)), "mean_error": mean}

    def draw(rng: Rng) -> Iterator[Reading]:
        entity, group = entities_of(rng, n, rows_an_entity)
        shared = rng.normal(size=n // rows_an_entity)[entity]
        own = rng.normal(size=len(entity))
        label = rng.normal(20, 4, len(entity))
        predicted = label + mean + own * np.sqrt(1 - alike) + shared * np.sqrt(alike)
        yield from all_printed(regression_quality(regression_rows(label, predicted, group)), truth)

    return draw


def _ranking(n: int, rows_an_entity: int) -> Draw:
    """Ranks are geometric; an entity's chance is Beta(1, 7/3), or 0.3 for rows of their own."""
    a, b = 1.0, 7 / 3
    ranks = np.arange(1, LISTED + 1)
    if rows_an_entity == 1:
        mass = stats.geom.pmf(ranks, a / (a + b))
    else:
        mass = np.exp(special.betaln(a + 1, b + ranks - 1) - special.betaln(a, b))
    truth = {
        "ndcg_10": float(mass @ gains(LISTED, 10)[1:]),
        "mrr": float(mass @ reciprocal_ranks(LISTED)[1:]),
    }

    def draw(rng: Rng) -> Iterator[Reading]:
        entity, group = entities_of(rng, n, rows_an_entity)
        chance = np.full(n // rows_an_entity, a / (a + b))
        if rows_an_entity > 1:
            chance = np.maximum(rng.beta(a, b, len(chance)), 1e-6)
        drawn = rng.geometric(chance[entity])
        found = np.where(drawn > LISTED, 0, drawn).astype(np.int64)
        yield from all_printed(ranking_quality(ranked_rows(found, LISTED, group)), truth)

    return draw


_ROOT = "groups of scores, noncentral chi-square inverted"
_FIT = "normal, from the fit's information"


def _calibration(n: int, slope: float, shift: float) -> Draw:
    """Logits of the chance are N(0, 1.5²); logits of the score are (that - shift)/slope."""
    truth = {"cox_slope": slope, "cox_intercept": shift}
    if slope == 1 or shift == 0:  # the offset that makes the mean score right
        truth["in_the_large"] = shift

    def draw(rng: Rng) -> Iterator[Reading]:
        logit = 1.5 * rng.normal(size=n)
        chance, score = special.expit(logit), special.expit((logit - shift) / slope)
        label = (rng.random(n) < chance).astype(np.int64)
        counts = binary_rows(score, label, (score >= 0.5).astype(np.int64))
        found = calibration(counts)
        yield from all_printed(found, truth, _FIT)
        error = found["debiased_error"]
        if isinstance(error, Measured):
            group = equal_mass_groups(counts, GROUPS)[score_cells_of(score)]
            rows = np.bincount(group)
            gap = (np.bincount(group, chance) - np.bincount(group, score)) / rows
            true = float(np.sqrt(rows @ gap**2 / n))
            yield between("debiased_error", error.low, error.high, true, _ROOT)

    return draw


def quality_worlds() -> Iterator[World]:
    """All of this file."""
    plain = Scored(0.0, 0.5)
    rare, pairs = Scored(-2.0, 0.25), Scored(0.0, 0.5, 2, 0.5)
    tens, twenties = Scored(-1.0, 0.25, 10, 0.5), Scored(-1.0, 0.25, 20, 0.5)
    for name, world, n in (
        ("binary, independent rows", plain, 50),
        ("binary, independent rows", plain, 1_000),
        ("binary, few events", rare, 50),
        ("binary, few events", rare, 1_000),
        ("binary, 2 rows an entity", pairs, 60),
        ("binary, 10 rows an entity", tens, 400),
        ("binary, 20 rows an entity", twenties, 2_000),
    ):
        yield World("quality", name, n, LARGE_DRAW, partial(_binary, world, n))
    for n, rows in ((50, 1), (1_000, 1), (60, 2), (400, 10)):
        name = "independent rows" if rows == 1 else f"{rows} rows an entity"
        prepare = partial(_multiclass, n, rows)
        yield World("quality", f"3 classes, {name}", n, LARGE_DRAW, prepare, share=0.5)
        prepare = partial(_regression, n, rows)
        yield World("quality", f"regression, {name}", n, CLOSED, prepare)
        prepare = partial(_ranking, n, rows)
        yield World("quality", f"ranking, {name}", n, CLOSED, prepare)
    for n, slope, shift, name in (
        (500, 1.0, 0.0, "perfect scores"),
        (500, 0.75, 0.0, "overconfident scores"),
        (500, 1.0, -0.25, "scores too high"),
        (5_000, 0.75, 0.0, "overconfident scores"),
    ):
        truth = f"{CLOSED}; debiased_error: of the drawn scores and groups"
        prepare = partial(_calibration, n, slope, shift)
        yield World("calibration", name, n, truth, prepare, share=0.5)
