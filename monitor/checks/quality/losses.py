"""Losses per score cell and class, from counts and exact sums of scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.checks.calibration_cells import ScoredCounts
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.labels import SCORE_CELLS

CLIP = 1e-15


@dataclass(frozen=True, eq=False)
class CellMoments:
    """Per score cell, [512]: labelled rows by class and the mean score of each class.

    An empty cell's mean is its midpoint, so that arithmetic stays finite; its count is 0.
    """

    positives: Integers
    negatives: Integers
    mean_of_positives: Floats
    mean_of_negatives: Floats

    @property
    def base_rate(self) -> float | None:
        """Share of positives among labelled rows with a score; None without any."""
        n = int(self.positives.sum() + self.negatives.sum())
        return int(self.positives.sum()) / n if n else None


def cell_moments(counts: ScoredCounts) -> CellMoments:
    """Means by class from the sums of score and of score × label."""
    middle = (np.arange(SCORE_CELLS) + 0.5) / SCORE_CELLS
    of_positives = _means(counts.score_label_sums, counts.positives, middle)
    others = counts.score_sums - counts.score_label_sums
    of_negatives = _means(others, counts.negatives, middle)
    return CellMoments(counts.positives, counts.negatives, of_positives, of_negatives)


def _means(sums: Floats, counts: Integers, otherwise: Floats) -> Floats:
    means = otherwise.copy()
    np.divide(sums, counts, out=means, where=counts > 0)
    return np.clip(means, 0.0, 1.0)


def cell_losses(moments: CellMoments, *, logarithmic: bool) -> tuple[Floats, Floats]:
    """Loss of a positive and of a negative row at its cell's mean score, two float64[512].

    Logarithmic: -ln of the probability given to what happened, scores clipped to
    [1e-15, 1 - 1e-15], and an exact 1 for what happened costs 0. Otherwise: (s - y)².
    """
    if not logarithmic:
        return (1 - moments.mean_of_positives) ** 2, moments.mean_of_negatives**2
    return _surprise(moments.mean_of_positives), _surprise(1 - moments.mean_of_negatives)


def _surprise(probability: Floats) -> Floats:
    return np.asarray(-np.log(np.clip(probability, CLIP, 1.0)))


def log_loss_bounds(moments: CellMoments) -> tuple[float | None, float | None]:
    """The log loss of the rows lies between these two; None without labelled rows.

    -ln is convex: by Jensen the loss at a cell's mean is a lower bound, and the chord between the
    cell's borders an upper one.
    """
    n = int(moments.positives.sum() + moments.negatives.sum())
    if n == 0:
        return None, None
    of_positive, of_negative = cell_losses(moments, logarithmic=True)
    lower = float(moments.positives @ of_positive + moments.negatives @ of_negative) / n
    borders = np.arange(SCORE_CELLS + 1) / SCORE_CELLS
    upper_positive = _chord(moments.mean_of_positives, borders, _surprise(borders))
    upper_negative = _chord(moments.mean_of_negatives, borders, _surprise(1 - borders))
    upper = float(moments.positives @ upper_positive + moments.negatives @ upper_negative) / n
    return lower, max(lower, upper)


def _chord(mean: Floats, borders: Floats, loss: Floats) -> Floats:
    place = np.clip((mean - borders[:-1]) * SCORE_CELLS, 0.0, 1.0)
    return np.asarray(loss[:-1] * (1 - place) + loss[1:] * place)
