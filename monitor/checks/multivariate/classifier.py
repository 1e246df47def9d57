"""Can a classifier tell a day from its reference? Sees any change that trees can see. Pure.

Correlations, interactions and shifts of several columns that are too small each. Whether the answer
is unusual for this model is for `daily.judge`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import stats
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import ThreadpoolController

from monitor.checks.multivariate.features import feature_matrix, usable_views
from monitor.checks.multivariate.matching import match_rows
from monitor.measurement import Failed, Measured, TooFew
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.binning import Binning
from monitor.profiles.sample import EVENT_TIME
from monitor.profiles.views import View

MAX_ROWS = 2_000
MIN_ROWS = 200
FOLDS = 5
TREES, LEAVES = 60, 15
SHOWN = 5

# One thread: on busy cores the trees' threads wait for each other, which took 17 s instead of 0.5.
# scikit-learn itself requires and uses threadpoolctl.
_THREADS = ThreadpoolController()


@dataclass(frozen=True, eq=False)
class _Problem:
    """Rows float64[n, features] with label 1 for the current ones, and each feature's column."""

    matrix: Floats
    labels: Integers
    columns: tuple[str, ...]


def tell_apart(
    reference: pa.Table,
    current: pa.Table,
    views: Sequence[View],
    binning: Binning,
    *,
    zone: str = "UTC",
    seed: int = 0,
    max_rows: int = MAX_ROWS,
) -> Measured | TooFew | Failed:
    """Area under the ROC curve of a classifier that tells current rows from reference rows.

    Both tables are samples as `profiles.sample` makes them; the reference may be the merged samples
    of many days (`merge_samples` with a larger limit). `views` are the watched ones. At most
    `max_rows` rows of each are drawn with the same mix of hours (`match_rows`); fewer than 200 of
    either are TooFew. Gradient-boosted trees (60 of 15 leaves) are fitted on four fifths of the
    rows and score the fifth; the value is the mean of the five areas, 0.5 without any change
    (Lopez-Paz and Oquab 2017 take the accuracy). The detail holds `logit_auc`, and under `columns`
    the up to five columns whose values matter most: by how much the area falls when they are
    shuffled among the held-out rows, all views of a column together (Breiman 2001). Columns that
    stand for each other share their loss.

    One area has a standard deviation of about sqrt((n + m + 1)/(12 n m)) without a change, and more
    where days differ by nature; a fixed limit such as 0.55 is never right. A column that only ever
    grows tells every two days apart and hides all else: leave it out of `views`. The same tables
    and seed give the same result.
    """
    used = usable_views(views, binning, reference, current)
    if not used:
        return Failed("no watched column has values in the sample of the day and in the reference")
    rng = np.random.default_rng(seed)
    matched = match_rows(_times(reference), _times(current), zone, max_rows, rng)
    n, m = len(matched.reference), len(matched.current)
    if min(n, m) < MIN_ROWS:
        return TooFew(min(n, m), MIN_ROWS, "rows of the same hours in both samples")
    problem = _Problem(
        np.concatenate(
            [
                feature_matrix(sample.take(pa.array(rows)), used, binning)
                for sample, rows in ((reference, matched.reference), (current, matched.current))
            ]
        ),
        np.repeat([0, 1], [n, m]),
        tuple(view.column.name for view in used),
    )
    with _THREADS.limit(limits=1, user_api="openmp"):
        area, losses = _cross_validated(problem, seed, rng)
    detail = {
        "logit_auc": logit(area, min(n, m)),
        "columns": [{"column": name, "loss": loss} for name, loss in losses],
        "n_features": len(used),
        "matched_by": matched.by.value,
    }
    return Measured(area, m, n_reference=n, detail=detail)


def logit(area: float, rows: int) -> float:
    """ln(area/(1 - area)); areas of 0 and 1 count as half a row from there, so it is finite."""
    nearest = 0.5 / rows
    drawn_in = min(max(area, nearest), 1 - nearest)
    return math.log(drawn_in / (1 - drawn_in))


def _times(sample: pa.Table) -> Integers:
    return np.asarray(sample[EVENT_TIME].cast(pa.int64()).to_numpy(), np.int64)


def _cross_validated(
    problem: _Problem, seed: int, rng: np.random.Generator
) -> tuple[float, list[tuple[str, float]]]:
    """Mean area over the folds, and the columns that lose most when shuffled."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    areas = []
    losses = dict.fromkeys(problem.columns, 0.0)
    for train, test in folds.split(problem.matrix, problem.labels):
        model = HistGradientBoostingClassifier(
            max_iter=TREES, max_leaf_nodes=LEAVES, early_stopping=False, random_state=seed
        )
        model.fit(problem.matrix[train], problem.labels[train])
        held_out, labels = problem.matrix[test], problem.labels[test]
        areas.append(_area(model.decision_function(held_out), labels))
        for name in losses:
            shuffled = _shuffled(held_out, problem.columns, name, rng)
            loss = areas[-1] - _area(model.decision_function(shuffled), labels)
            losses[name] += loss / FOLDS
    ranked = sorted(losses.items(), key=lambda each: (-each[1], each[0]))
    return float(np.mean(areas)), [each for each in ranked[:SHOWN] if each[1] > 0]


def _shuffled(
    matrix: Floats, columns: Sequence[str], name: str, rng: np.random.Generator
) -> Floats:
    places = [place for place, column in enumerate(columns) if column == name]
    changed = matrix.copy()
    changed[:, places] = matrix[rng.permutation(len(matrix))][:, places]
    return changed


def _area(scores: Floats, labels: Integers) -> float:
    """P(score of a current row > that of a reference row) + ½ P(equal), from ranks."""
    ones = int(labels.sum())
    zeros = len(labels) - ones
    ranks = stats.rankdata(scores)
    return float((ranks[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * zeros))
