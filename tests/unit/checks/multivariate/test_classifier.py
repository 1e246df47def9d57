"""The classifier: no area without a change, not blind to correlation, the right columns named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from monitor.checks.multivariate.classifier import _area, logit, tell_apart
from monitor.measurement import Failed, Measured, TooFew
from monitor.profiles.binning import Binning, fit_binning
from monitor.profiles.views import views_of
from tests.unit.checks.multivariate.worlds import VIEWS, correlated, independent
from tests.unit.profiles.factories import contract_of, rows_of

CONTRACT = contract_of(*({"name": name, "type": "number"} for name in VIEWS))
WATCHED = views_of(CONTRACT)
NO_CELLS = Binning({})
DAY = 86_400_000_000


def sample(values: np.ndarray, seed: int, day: int = 28, days: int = 1, **more: Any) -> pa.Table:
    """A stored sample of normal columns over some days."""
    rng = np.random.default_rng(seed)
    times = DAY * (20_457 + day) + rng.integers(0, days * DAY, len(values))
    columns = {name: values[:, place] for place, name in enumerate(VIEWS)}
    return pa.table({"event_time": pa.array(times, pa.timestamp("us", "UTC")), **columns, **more})


def measured(reference: pa.Table, current: pa.Table, **more: Any) -> Measured:
    found = tell_apart(reference, current, WATCHED, NO_CELLS, **more)
    assert isinstance(found, Measured)
    return found


def named(found: Measured) -> list[str]:
    return [each["column"] for each in found.detail["columns"]]


def test_without_a_change_the_area_is_a_half_with_its_spread() -> None:
    areas = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        reference = sample(independent(3_000)(rng), seed, 0, 28)
        areas.append(measured(reference, sample(independent(500)(rng), seed), max_rows=500).value)
    theory = np.sqrt(1_001 / (12 * 500 * 500))
    assert abs(np.mean(areas) - 0.5) < 4 * theory / np.sqrt(10)
    # between half and twice the theory's standard deviation: 9 degrees, one in a thousand
    assert 0.5 < np.std(areas, ddof=1) / theory < 2.2


def test_a_turned_correlation_is_told_where_a_linear_model_is_blind() -> None:
    rng = np.random.default_rng(1)
    before = correlated(2_000, 0.6, loading=0.0)(rng)
    after = correlated(2_000, -0.6, loading=0.0)(rng)
    found = measured(sample(before, 1, 0, 28), sample(after, 2))
    assert found.value > 0.68
    assert found.detail["logit_auc"] == pytest.approx(np.log(found.value / (1 - found.value)))
    assert set(named(found)[:2]) == {"x10", "x11"}
    losses = [each["loss"] for each in found.detail["columns"]]
    assert losses == sorted(losses, reverse=True)
    assert min(losses[:2]) > 0.15
    assert max([*losses[2:], 0]) < 0.03
    both, labels = np.concatenate([before, after]), np.repeat([0, 1], 2_000)
    linear = cross_val_predict(
        LogisticRegression(),
        both,
        labels,
        cv=StratifiedKFold(5, shuffle=True, random_state=0),
        method="predict_proba",
    )
    assert roc_auc_score(labels, linear[:, 1]) < 0.53


def test_the_time_of_day_tells_nothing() -> None:
    """Values follow the hour, and the day's traffic comes at other hours than the reference's."""
    rng = np.random.default_rng(2)

    def by_hour(seed: int, day: int, days: int, n: int, centre: float) -> pa.Table:
        draw = np.random.default_rng(seed)
        hours = np.clip(draw.normal(centre, 4, n), 0, 23.9)
        times = DAY * (20_457 + day + draw.integers(0, days, n)) + hours * DAY / 24
        values = rng.normal(size=(n, len(VIEWS))) + 0.5 * hours[:, None]
        columns = {name: values[:, place] for place, name in enumerate(VIEWS)}
        stamps = pa.array(times.astype(np.int64), pa.timestamp("us", "UTC"))
        return pa.table({"event_time": stamps, **columns})

    reference, current = by_hour(3, 0, 28, 8_000, 10), by_hour(4, 28, 1, 800, 15)
    found = measured(reference, current, max_rows=400)
    assert found.detail["matched_by"] == "weekday type and hour"
    assert abs(found.value - 0.5) < 4 * np.sqrt(801 / (12 * 400 * 400))
    timeless = reference.set_column(
        0, "event_time", pa.nulls(8_000, pa.int64()).fill_null(0).cast(pa.timestamp("us", "UTC"))
    )
    assert measured(timeless, current, max_rows=400).value > 0.7


def test_views_of_one_column_are_shuffled_together_and_missing_values_are_read() -> None:
    contract = contract_of(
        {"name": "v", "type": "vector", "size": 40},
        {"name": "city", "type": "category", "nullable": True},
        {"name": "x", "type": "number", "nullable": True},
    )
    rng = np.random.default_rng(5)
    cities = np.array(["oslo", "rome", "bonn"])
    names = rng.choice(cities, 400).tolist()
    binning = fit_binning(
        rows_of(contract, {"city": names, "x": [0.0] * 400, "v": [[0.0] * 40] * 400}), contract
    )

    def made(n: int, turned: float, gone: float, day: int, days: int) -> pa.Table:
        vectors = rng.normal(size=(n, 40))
        vectors[:, :20] += turned
        x = np.where(rng.random(n) < gone, np.nan, rng.normal(size=n))
        times = DAY * (20_457 + day) + rng.integers(0, days * DAY, n)
        return pa.table(
            {
                "event_time": pa.array(times, pa.timestamp("us", "UTC")),
                "v": pa.array(vectors.tolist(), pa.list_(pa.float64())),
                "city": rng.choice(cities, n),
                "x": pa.array(x, mask=np.isnan(x)),
            }
        )

    found = tell_apart(
        made(3_000, 0.0, 0.05, 0, 28), made(600, 1.0, 0.4, 28, 1), views_of(contract), binning
    )
    assert isinstance(found, Measured)
    assert named(found)[:2] == ["v", "x"]
    assert found.detail["n_features"] == 11
    assert found.value > 0.8


def test_the_same_seed_gives_the_same_answer() -> None:
    rng = np.random.default_rng(6)
    reference = sample(independent(1_000)(rng), 1, 0, 28)
    current = sample(independent(300)(rng), 2)
    assert measured(reference, current, seed=3) == measured(reference, current, seed=3)
    assert measured(reference, current, seed=3) != measured(reference, current, seed=4)


def test_what_can_not_be_measured_is_told() -> None:
    rng = np.random.default_rng(7)
    reference = sample(independent(30_000)(rng), 1, 0, 28)
    few = sample(independent(199)(rng), 2)
    assert tell_apart(reference, few, WATCHED, NO_CELLS) == TooFew(
        199, 200, "rows of the same hours in both samples"
    )
    nothing = tell_apart(reference, few.select(["event_time"]), WATCHED, NO_CELLS)
    assert nothing == Failed(
        "no watched column has values in the sample of the day and in the reference"
    )


def test_areas_equal_those_of_scikit_learn_and_logits_are_finite() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        labels = rng.integers(0, 2, 50)
        scores = rng.integers(0, 9, 50) + labels
        assert _area(scores.astype(float), labels) == pytest.approx(roc_auc_score(labels, scores))
    assert logit(1.0, 200) == pytest.approx(np.log(399))
    assert logit(0.0, 200) == pytest.approx(-np.log(399))
    assert logit(0.5, 200) == 0.0
