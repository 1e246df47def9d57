"""Direct loss estimation for regression: a second model says how wrong the first one is. Pure.

Knows feature tables, predictions and labels; chance is a seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import ThreadpoolController

from monitor.checks.estimation.binary import MIN_ROWS, with_limits
from monitor.measurement import Outcome, TooFew
from monitor.profiles.arrays import Floats, Integers

MIN_LABELS = 500
FOLDS = 5
TREES, LEAVES, LEAST_IN_LEAF, RATE = 100, 31, 20, 0.1

_THREADS = ThreadpoolController()


class RegressionEstimate(StrEnum):
    """What is estimated; the names are those of the realised measures."""

    MAE = "mae"
    RMSE = "rmse"


@dataclass(frozen=True, eq=False)
class LossModel:
    """Models of |error| and error², each fitted without one fifth of the labelled rows.

    `absolute_noise`, `squared_noise`: Σ(loss - expected)²/Σ expected² over held-out rows: a row's
    loss varies by about sqrt(noise) times what is expected of it. Nothing is expected to be below
    `smallest`. `n` labelled rows.
    """

    absolute: tuple[HistGradientBoostingRegressor, ...]
    squared: tuple[HistGradientBoostingRegressor, ...]
    absolute_noise: float
    squared_noise: float
    smallest: float
    n: int


def fit_loss_model(
    features: Floats, prediction: Floats, label: Floats, *, seed: int
) -> LossModel | TooFew:
    """Learn |prediction - label| and its square from features and prediction.

    `features` float64[n, k] with NaN for missing, `prediction`, `label` float64[n]. Gradient-
    boosted trees (scikit-learn's; the method's authors take LightGBM). TooFew under 500 rows.
    """
    n = len(label)
    if n < MIN_LABELS:
        return TooFew(n, MIN_LABELS, "labelled sampled requests to learn errors from")
    rows = np.column_stack((features, prediction))
    size = np.abs(prediction - label)
    smallest = max(float(size.mean()) * 1e-3, np.finfo(np.float64).tiny)
    fold = np.random.default_rng(seed).permutation(n) % FOLDS
    with _THREADS.limit(limits=1, user_api="openmp"):
        absolute, absolute_noise = _fitted(rows, size, fold, smallest, seed)
        squared, squared_noise = _fitted(rows, size**2, fold, smallest**2, seed)
    return LossModel(absolute, squared, absolute_noise, squared_noise, smallest, n)


def _fitted(
    rows: Floats, loss: Floats, fold: Integers, smallest: float, seed: int
) -> tuple[tuple[HistGradientBoostingRegressor, ...], float]:
    """A model a fold, and the noise around what each expects of the fold it has not seen."""
    models, forecast = [], np.empty(len(loss))
    for number in range(FOLDS):
        held_out = fold == number
        model = HistGradientBoostingRegressor(
            max_iter=TREES, max_leaf_nodes=LEAVES, min_samples_leaf=LEAST_IN_LEAF,
            learning_rate=RATE, early_stopping=False, random_state=seed,
        )  # fmt: skip
        model.fit(rows[~held_out], loss[~held_out])
        forecast[held_out] = np.maximum(model.predict(rows[held_out]), smallest)
        models.append(model)
    return tuple(models), float(((loss - forecast) ** 2).sum() / (forecast**2).sum())


@dataclass(frozen=True)
class LossEstimate:
    """Expected mean loss and one sigma of the realised one around it."""

    value: float
    sigma: float


def expected_losses(
    model: LossModel, features: Floats, prediction: Floats, n: int
) -> dict[RegressionEstimate, LossEstimate]:
    """MAE and RMSE to be expected of a cohort of n rows, from m rows sampled of it.

    MAE = mean of expected |e|, RMSE = sqrt of the mean of expected e² (direct loss estimation,
    NannyML 2022). Var = noise Σ expected²/(m n) for the rows' own losses, plus the variance of the
    sample's mean (1/m - 1/n), plus the grouped jackknife over the fold models
    ((G - 1)/G Σ (θ_g - θ)²; Efron and Stein 1981); for RMSE by the delta method.
    """
    rows = np.column_stack((features, prediction))
    with _THREADS.limit(limits=1, user_api="openmp"):
        absolute = _mean_loss(model.absolute, rows, model.absolute_noise, model.smallest, n)
        squared = _mean_loss(model.squared, rows, model.squared_noise, model.smallest**2, n)
    root = math.sqrt(squared.value)
    return {
        RegressionEstimate.MAE: absolute,
        RegressionEstimate.RMSE: LossEstimate(root, squared.sigma / (2 * root)),
    }


def _mean_loss(
    models: tuple[HistGradientBoostingRegressor, ...],
    rows: Floats,
    noise: float,
    smallest: float,
    n: int,
) -> LossEstimate:
    by_model = np.stack([np.maximum(model.predict(rows), smallest) for model in models])
    each, m = by_model.mean(axis=0), len(rows)
    means = by_model.mean(axis=1)
    own = noise * float(np.mean(each**2)) / n
    sampled = max(0.0, 1 / m - 1 / n) * float(each.var(ddof=1)) if m > 1 else 0.0
    groups = len(models)
    learned = (groups - 1) / groups * float(((means - means.mean()) ** 2).sum())
    return LossEstimate(float(each.mean()), math.sqrt(own + sampled + learned))


def loss_outcomes(
    estimates: Mapping[RegressionEstimate, LossEstimate],
    n: int,
    n_reference: int,
    allowance: Mapping[str, float] | None = None,
) -> dict[RegressionEstimate, Outcome]:
    """Each estimate with its interval, `allowance` (one sigma of bias, by measure) included.

    TooFew under 50 rows in the cohort.
    """
    if n < MIN_ROWS:
        return {name: TooFew(n, MIN_ROWS, "predictions") for name in estimates}
    return {
        name: with_limits(
            found.value, found.sigma, n, n_reference, allowance=(allowance or {}).get(name, 0.0)
        )
        for name, found in estimates.items()
    }
