"""Reference requests weighted to look like a cohort, and the cohort's share that looks like none.

A classifier is asked which rows are the cohort's; p/(1 - p) is then how much more frequent such a
row is now. Pure; chance is a seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import ThreadpoolController

from monitor.measurement import Failed, TooFew
from monitor.profiles.arrays import Flags, Floats, Integers

MIN_ROWS = 200
FITTED_ROWS = 1_000
TREES, LEAVES, LEAST_IN_LEAF, RATE, CUTS = 30, 8, 20, 0.15, 32
FOREIGN = 0.95
"""A row of which the classifier is this sure that it is the cohort's has no like before."""
MOST_FOREIGN = 0.05
LARGEST_WEIGHT = 20.0
TELLING = 0.55
OUTSIDE = "outside the region where this estimate was checked"

_THREADS = ThreadpoolController()


@dataclass(frozen=True, eq=False)
class Likeness:
    """How a cohort differs from the reference rows.

    `weight` float64[n reference], of mean 1; `area` of the classifier (0.5: nothing to tell them
    apart by); `foreign` the share of the cohort's rows with p > .95; `effective` rows that the
    weighted reference is worth, (Σw)²/Σw² (Kish 1965).
    """

    weight: Floats
    area: float
    foreign: float
    effective: float

    @property
    def told_apart(self) -> bool:
        """Whether reweighting has anything to correct."""
        return self.area >= TELLING


def likeness(reference: Floats, cohort: Floats, *, seed: int) -> Likeness | TooFew:
    """Density-ratio weights of reference rows, float64[n, features] against float64[m, features].

    NaN is a missing value. Gradient-boosted trees are fitted on each half of both tables (at most
    1,000 rows of each) and judge the other half, so no row is judged by a model that has seen it.
    w = p/(1 - p) · n/m of the fitted rows, at most 20, scaled to mean 1 (density ratio by
    classification: Bickel, Brückner and Scheffer 2007). Valid while P(y | x) is unchanged and every
    cohort row has likes in the reference; `foreign` tells where it has not. Columns that only grow,
    or that are one value a day, tell any two days apart: leave them out.
    """
    if min(len(reference), len(cohort)) < MIN_ROWS:
        return TooFew(min(len(reference), len(cohort)), MIN_ROWS, "sampled rows to compare")
    rng = np.random.default_rng(seed)
    ours, theirs = _halves(len(reference), rng), _halves(len(cohort), rng)
    then, now = np.empty(len(reference)), np.empty(len(cohort))
    with _THREADS.limit(limits=1, user_api="openmp"):
        for half in (False, True):
            model = _fitted(reference[ours == half], cohort[theirs == half], rng, seed)
            then[ours != half] = model.predict_proba(reference[ours != half])[:, 1]
            now[theirs != half] = model.predict_proba(cohort[theirs != half])[:, 1]
    weight = np.minimum(then / np.maximum(1 - then, 1e-9), LARGEST_WEIGHT)
    return Likeness(
        weight=weight / weight.mean(),
        area=_area(then, now),
        foreign=float((now > FOREIGN).mean()),
        effective=float(weight.sum() ** 2 / (weight**2).sum()),
    )


def foreign_reason(share: float) -> Failed | None:
    """Failed when more than 5 % of a cohort's rows have no like in the reference."""
    if share <= MOST_FOREIGN:
        return None
    return Failed(
        f"{OUTSIDE}: {share:.1%} of the requests have no like among the labelled ones"
        f" (at most {MOST_FOREIGN:.0%})",
        {"outside_share": share},
    )


def _halves(n: int, rng: np.random.Generator) -> Flags:
    return np.asarray(rng.permutation(n) % 2 == 1)


def _fitted(
    reference: Floats, cohort: Floats, rng: np.random.Generator, seed: int
) -> HistGradientBoostingClassifier:
    then, now = _at_most(reference, rng), _at_most(cohort, rng)
    rows = np.concatenate((then, now))
    labels: Integers = np.repeat([0, 1], [len(then), len(now)])
    # Equal weight of both sides: p is then the chance between one reference and one cohort row.
    weights = np.where(labels == 1, len(rows) / (2 * len(now)), len(rows) / (2 * len(then)))
    model = HistGradientBoostingClassifier(
        max_iter=TREES, max_leaf_nodes=LEAVES, min_samples_leaf=LEAST_IN_LEAF,
        learning_rate=RATE, max_bins=CUTS, early_stopping=False, random_state=seed,
    )  # fmt: skip
    return model.fit(rows, labels, sample_weight=weights)


def _at_most(rows: Floats, rng: np.random.Generator) -> Floats:
    if len(rows) <= FITTED_ROWS:
        return rows
    return rows[np.sort(rng.choice(len(rows), FITTED_ROWS, replace=False))]


def _area(then: Floats, now: Floats) -> float:
    """P(p of a cohort row > p of a reference row) + ½ P(equal)."""
    ordered = np.sort(then)
    below = np.searchsorted(ordered, now, "left")
    equal = np.searchsorted(ordered, now, "right") - below
    return float((below + equal / 2).mean() / len(then))
