"""The model the demo watches: will this flight arrive more than 15 minutes late?

Gradient-boosted trees trained on January to March from what was known two hours before departure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import ThreadpoolController

from monitor.demo.flights import CATEGORY_FEATURES, FEATURES, Columns, Flights

TRAINING_FIRST_DAY = date(2013, 1, 1)
TRAINING_LAST_DAY = date(2013, 3, 31)
THRESHOLD = 0.3
FOLDS = 3

# One thread: the collector and the database share the cores, and threads that wait for each other
# on busy cores take ten times as long.
_THREADS = ThreadpoolController()


@dataclass(frozen=True)
class LateArrivalModel:
    """A trained classifier with the categories it knows, numbered in training order."""

    estimator: Any
    codes: Mapping[str, Mapping[str, int]]

    def assemble(self, features: Columns) -> NDArray[np.float64]:
        """The matrix [n, 16] the trees read; an unknown category counts as missing."""
        n = len(features[FEATURES[0]])
        matrix = np.empty((n, len(FEATURES)))
        for place, name in enumerate(FEATURES):
            matrix[:, place] = self._encode(name, features[name])
        return matrix

    def score(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability of a late arrival for each row of an assembled matrix."""
        with _THREADS.limit(limits=1, user_api="openmp"):
            scores: NDArray[np.float64] = self.estimator.predict_proba(matrix)[:, 1]
        return scores

    def _encode(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        codes = self.codes.get(name)
        if codes is None:
            return values
        return np.array([codes.get(value, np.nan) for value in values], dtype=np.float64)


def train(flights: Flights, seed: int = 0) -> LateArrivalModel:
    """Fit on the labelled flights given; the same flights and seed give the same model."""
    labelled = flights.take(flights.labelled)
    codes = {name: _codes(labelled.features[name]) for name in CATEGORY_FEATURES}
    untrained = LateArrivalModel(_estimator(seed), codes)
    with _THREADS.limit(limits=1, user_api="openmp"):
        untrained.estimator.fit(untrained.assemble(labelled.features), labelled.late)
    return untrained


def out_of_fold_scores(flights: Flights, seed: int = 0) -> NDArray[np.float64]:
    """Scores for flights by models that did not train on that week: what live scores look like.

    Scoring training rows with the model fitted on them would make the reference overconfident and
    every live week look drifted. Whole weeks are held out together because weather lasts for days.
    """
    weeks = flights.flight_date.astype("datetime64[W]").astype(np.int64)
    scores = np.empty(len(flights))
    for fold in range(FOLDS):
        held_out = weeks % FOLDS == fold
        model = train(flights.take(~held_out), seed)
        scores[held_out] = model.score(model.assemble(flights.take(held_out).features))
    return scores


def _codes(values: NDArray[Any]) -> dict[str, int]:
    known = sorted({value for value in values if value is not None})
    return {value: number for number, value in enumerate(known)}


def _estimator(seed: int) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        max_iter=80,
        learning_rate=0.1,
        max_leaf_nodes=31,
        min_samples_leaf=200,
        l2_regularization=1.0,
        early_stopping=False,
        categorical_features=[name in CATEGORY_FEATURES for name in FEATURES],
        random_state=seed,
    )
