"""Means and percentiles on one mix: values against plain weighing, floors, coverage."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.checks.comparison.cells import Cells, strata_of
from monitor.checks.comparison.rates import Compared
from monitor.checks.comparison.resample import Shared
from monitor.checks.comparison.values import BY_ROW, BY_TIME, compare_values
from monitor.measurement import Measured, TooFew
from tests.unit.checks.comparison.factories import cells, value_table

GRID = np.exp(np.linspace(-6, 6, 800))
QUANTILES = (0.5, 0.95, 0.99)


def on_grid(values: np.ndarray) -> np.ndarray:
    return GRID[np.clip(np.searchsorted(GRID, values), 0, len(GRID) - 1)]


def drawn(
    rng: np.random.Generator,
    slots: int,
    rows: float,
    *,
    ratio: float = 1.0,
    slot_sd: float = 0.1,
    own_sd: float = 0.05,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Log-normal values by slot and slice; a slot moves both sides, and each by its own as well."""
    found = []
    for _ in range(slots):
        both, own = rng.normal(0, slot_sd), rng.normal((0, np.log(ratio)), own_sd)
        for heavy in (0.0, 0.7):
            a, b = (
                np.exp(rng.normal(both + own[s] + heavy, 0.5, rng.poisson(rows))) for s in (0, 1)
            )
            found.append((on_grid(a), on_grid(b)))
    return found


def scene(rows: list[tuple[np.ndarray, np.ndarray]]) -> Cells:
    slots = len(rows) // 2
    n = np.array([[len(a), len(b)] for a, b in rows])
    return cells(np.repeat(np.arange(slots), 2).tolist(), [0, 1] * slots, n)


def compared(
    rows: list[tuple[np.ndarray, np.ndarray]],
    seed: int = 1,
    quantiles: tuple[float, ...] = QUANTILES,
) -> dict[str, Compared]:
    found = scene(rows)
    held = strata_of(found, np.zeros(len(found.slots), np.int64))
    table = value_table(rows, quantiles)
    return {m.name: c for m, c in compare_values(found, table, held, np.random.default_rng(seed))}


def test_values_are_those_of_rows_weighed_to_the_pooled_mix() -> None:
    rows = drawn(np.random.default_rng(3), 20, 300, ratio=1.2)
    found = compared(rows)
    assert set(found) == {"mean", "p50", "p95", "p99"}
    for side in (0, 1):
        values = np.concatenate([cell[side] for cell in rows])
        weights = np.concatenate(
            [np.full(len(c[side]), (len(c[0]) + len(c[1])) / len(c[side])) for c in rows]
        )
        assert found["mean"].adjusted[side] == pytest.approx(np.average(values, weights=weights))
        assert found["mean"].crude[side] == pytest.approx(values.mean())
        order = np.argsort(values, kind="stable")
        cumulated = np.cumsum(weights[order])
        for name, q in zip(("p50", "p95", "p99"), QUANTILES, strict=True):
            place = np.searchsorted(cumulated, q * cumulated[-1] * (1 - 1e-12))
            assert found[name].adjusted[side] == values[order][place]
            rank = int(np.ceil(q * len(values))) - 1
            assert found[name].crude[side] == np.sort(values)[rank]
    assert isinstance(found["p99"].outcome, Measured)
    assert found["p99"].outcome.detail["interval_method"] == BY_TIME


def test_a_percentile_needs_fifty_rows_beyond_it() -> None:
    found = compared(drawn(np.random.default_rng(4), 13, 36))
    assert isinstance(found["p50"].outcome, Measured)
    p95 = found["p95"].outcome
    assert isinstance(p95, TooFew)
    assert p95.needed == 1000
    assert isinstance(found["p99"].outcome, TooFew)
    assert found["p95"].crude[0] is not None
    (low, high), _ = found["p95"].crude_limits
    assert low is not None
    assert high is not None
    assert low <= found["p95"].crude[0] <= high


def test_with_few_slots_rows_are_resampled() -> None:
    found = compared(drawn(np.random.default_rng(5), 3, 60, own_sd=0), quantiles=(0.5,))
    outcome = found["mean"].outcome
    assert isinstance(outcome, Measured)
    assert outcome.detail["interval_method"] == BY_ROW
    assert outcome.detail["slots"] == 3


def test_without_common_support_there_is_no_difference_but_the_crude_values() -> None:
    rows = [([1.0] * 60, []), ([], [2.0] * 60)]
    found = compared([(np.array(a), np.array(b)) for a, b in rows])
    assert found["mean"].crude == (1.0, 2.0)
    assert found["mean"].adjusted == (None, None)
    outcome = found["mean"].outcome
    assert isinstance(outcome, TooFew)
    assert outcome.reason == "no common support"


def test_the_same_seed_gives_the_same_interval() -> None:
    rows = drawn(np.random.default_rng(6), 14, 20)
    one, other = compared(rows, quantiles=(0.5,)), compared(rows, quantiles=(0.5,))
    assert one["p50"].outcome == other["p50"].outcome


def test_adding_up_slots_first_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = drawn(np.random.default_rng(7), 14, 30)
    quick = compared(rows)
    monkeypatch.setattr(Shared, "_nested", lambda _: False)
    plain = compared(rows)
    for name, one in quick.items():
        expected, got = plain[name].outcome, one.outcome
        assert type(got) is type(expected)
        if isinstance(got, Measured) and isinstance(expected, Measured):
            assert got.value == pytest.approx(expected.value)
            assert (got.low, got.high) == pytest.approx((expected.low, expected.high))


def test_seasonal_strata_are_weighed_anew_in_every_draw() -> None:
    # a on the first 14 days, b on the next: strata are hours of the day, slots are hours
    rng = np.random.default_rng(8)
    heavy = np.tile(np.r_[np.zeros(12), np.full(12, 0.7)], 28)
    sides = np.repeat([0, 1], 14 * 24)
    rows = []
    for shift, side in zip(heavy, sides, strict=True):
        mine = on_grid(np.exp(rng.normal(shift, 0.3, rng.poisson(3 + 5 * (shift > 0) * side))))
        rows.append((mine, mine[:0]) if side == 0 else (mine[:0], mine))
    n = np.array([[len(a), len(b)] for a, b in rows])
    found = cells(list(range(len(rows))), [0] * len(rows), n)
    held = strata_of(found, np.arange(len(rows)) % 24)
    table = value_table(rows, (0.5,))
    got = {m.name: c for m, c in compare_values(found, table, held, rng)}
    outcome = got["mean"].outcome
    assert isinstance(outcome, Measured)
    assert outcome.low is not None
    assert outcome.high is not None
    assert outcome.low < 0 < outcome.high  # alike on the same mix
    crude = got["mean"].crude
    assert crude[0] is not None
    assert crude[1] is not None
    assert crude[1] - crude[0] > outcome.high  # though b served more of the heavy half


def truths(quantiles: tuple[float, ...], ratio: float, **sds: float) -> dict[str, float]:
    """Differences of the population, from half a million rows a side."""
    rng = np.random.default_rng(99)
    sides = []
    for side in (0, 1):
        n = 500_000
        place = rng.normal(0, sds["slot_sd"], n) + rng.normal(0, sds["own_sd"], n)
        place += np.log(ratio) * side + np.where(rng.random(n) < 0.5, 0.0, 0.7)
        sides.append(on_grid(np.exp(rng.normal(place, 0.5))))
    found = {"mean": float(sides[1].mean() - sides[0].mean())}
    for q in quantiles:
        found[f"p{round(100 * q)}"] = float(np.quantile(sides[1], q) - np.quantile(sides[0], q))
    return found


@pytest.mark.parametrize(
    ("slots", "rows", "quantiles", "repeats"),
    [(12, 4, (), 300), (24, 3, (0.5,), 160), (20, 28, (0.5, 0.95), 120), (24, 110, (0.99,), 70)],
)
def test_the_interval_covers_from_the_smallest_sizes_shown(
    slots: int, rows: int, quantiles: tuple[float, ...], repeats: int
) -> None:
    rng = np.random.default_rng(21)
    truth = truths(quantiles, 1.1, slot_sd=0.1, own_sd=0.05)
    hits: dict[str, list[bool]] = {}
    for seed in range(repeats):
        made = drawn(rng, slots, rows, ratio=1.1)
        for name, one in compared(made, seed, quantiles).items():
            outcome = one.outcome
            if isinstance(outcome, Measured) and outcome.low is not None:
                assert outcome.high is not None
                hits.setdefault(name, []).append(outcome.low <= truth[name] <= outcome.high)
    assert set(hits) == {"mean", *(f"p{round(100 * q)}" for q in quantiles)}
    for name, covered in hits.items():
        error = np.sqrt(0.05 * 0.95 / len(covered))
        assert len(covered) > repeats / 2, name
        assert 0.93 - 3 * error <= np.mean(covered) <= 0.98 + 3 * error, name


def test_rows_resampled_cover_too() -> None:
    rng = np.random.default_rng(22)
    truth = truths((), 1.1, slot_sd=0.0, own_sd=0.0)["mean"]
    covered = []
    for seed in range(100):
        made = drawn(rng, 2, 25, ratio=1.1, slot_sd=0.0, own_sd=0.0)
        outcome = compared(made, seed, ())["mean"].outcome
        if isinstance(outcome, Measured) and outcome.low is not None and outcome.high is not None:
            covered.append(outcome.low <= truth <= outcome.high)
    error = np.sqrt(0.05 * 0.95 / len(covered))
    assert len(covered) >= 75
    assert np.mean(covered) >= 0.93 - 3 * error
