"""Quality of the tasks beside binary, counted from labels parts against the rows."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.checks.comparison.metrics import (
    ACCURACY,
    FOUND,
    MAE,
    RECIPROCAL_RANK,
    count_labels,
    quality_metrics,
    quantiles_of,
    serving_metric,
)
from monitor.contract import Contract
from monitor.measurement import Direction
from monitor.profiles.arrays import Integers, totals_by_key
from monitor.profiles.cells import NumberCells
from monitor.profiles.labels import CLASS_UNKNOWN, NO_SCORE, pack_binary
from monitor.profiles.labels_multiclass import CONFIDENCE
from monitor.profiles.labels_ranking import RANK, pack_rank
from monitor.profiles.labels_regression import REGRESSION, pack_regression, residual_cells
from monitor.profiles.part import Part
from monitor.profiles.tally import fixed_point

LABEL = {"name": "truth", "max_age": "7d", "correction_time": "1d"}
RNG = np.random.default_rng(4)


def contract(task: str, *columns: dict[str, object]) -> Contract:
    return Contract.model_validate(
        {"model": "m", "owner": "o", "purpose": "p", "task": task, "label": LABEL,
         "columns": list(columns)}
    )  # fmt: skip


def zeros(n: int) -> Integers:
    return np.zeros(n, np.int64)


def test_multi_class_accuracy_counts_known_predictions_with_a_label() -> None:
    several = contract(
        "multiclass", {"name": "kind", "type": "category", "role": "prediction",
                       "categories": ["a", "b", "c"]},
    )  # fmt: skip
    n = 500
    state = RNG.choice([0, 1, 2], n)  # wrong, right, unlabelled
    chosen = RNG.choice([1, CLASS_UNKNOWN], n, p=[0.9, 0.1])
    keys = pack_binary(chosen, np.full(n, NO_SCORE), state, zeros(n), zeros(n))
    part = Part({}, {CONFIDENCE: totals_by_key(keys, (zeros(n),) * 3)})
    found = count_labels(part, several, None)
    known = (state < 2) & (chosen == 1)
    assert found.rates == {ACCURACY: ((known & (state == 1)).sum(), known.sum())}
    assert (found.labelled, found.rows) == ((state < 2).sum(), n)
    assert list(quality_metrics(several)) == [ACCURACY]


def test_mean_absolute_error_is_that_of_the_rows() -> None:
    price = contract("regression", {"name": "price", "type": "number", "role": "prediction"})
    cells = NumberCells(edges=tuple(np.linspace(0, 100, 11)), centre=50.0, scale=20.0)
    predicted = RNG.uniform(0, 100, 400)
    errors = RNG.normal(2, 8, 400)
    errors[:40] = np.nan  # no label yet
    labels = predicted - errors
    residual = residual_cells(errors, cells.scale)
    e = fixed_point(errors, 0.0, cells.scale)
    y = fixed_point(labels, cells.centre, cells.scale)
    keys = pack_regression(
        cells.assign(predicted).astype(np.int64), residual, zeros(400), zeros(400)
    )
    sums = (e.q, np.abs(e.q), e.high, e.low, y.q, y.high, y.low, zeros(400))
    columns = tuple(np.asarray(each, np.int64) for each in sums)
    part = Part({}, {REGRESSION: totals_by_key(keys, columns)})
    found = count_labels(part, price, cells)
    values = found.values[MAE]
    exact = np.nansum(np.abs(errors))
    assert values.total == pytest.approx(exact, rel=1e-4)
    assert values.rows.sum() == found.labelled == 360
    assert values.values @ values.rows == pytest.approx(exact, rel=0.05)
    assert count_labels(part, price, None).values == {}  # before the first baseline


def test_ranks_give_found_and_reciprocal_rank() -> None:
    listed = contract(
        "ranking", {"name": "items", "type": "ranked_list", "role": "prediction", "size": 5}
    )
    ranks = RNG.integers(0, 6, 300)
    labelled = RNG.random(300) < 0.8
    keys = pack_rank(ranks, labelled, zeros(300), zeros(300))
    found = count_labels(Part({}, {RANK: totals_by_key(keys, ())}), listed, None)
    mine = ranks[labelled]
    assert found.rates[FOUND] == ((mine > 0).sum(), len(mine))
    gains = np.where(mine > 0, 1 / np.maximum(mine, 1), 0)
    assert found.values[RECIPROCAL_RANK].total == pytest.approx(gains.sum())
    assert (found.labelled, found.rows) == (len(mine), 300)


def test_percentiles_are_compared_of_timings_only() -> None:
    served = contract(
        "regression",
        {"name": "price", "type": "number", "role": "prediction"},
        {"name": "ms", "type": "number", "role": "timing", "unit": "ms"},
        {"name": "tokens", "type": "integer", "role": "count"},
        {"name": "cents", "type": "number", "role": "cost"},
    )
    ms, tokens, cents = (serving_metric(served, name) for name in ("ms", "tokens", "cents"))
    assert (ms.title, ms.unit, ms.direction) == ("mean of ms", "ms", Direction.HIGHER_IS_WORSE)
    assert tokens.direction is Direction.TWO_SIDED
    assert quantiles_of(served, ms) == (0.5, 0.95, 0.99)
    assert quantiles_of(served, tokens) == quantiles_of(served, cents) == ()
    assert quantiles_of(served, MAE) == ()
