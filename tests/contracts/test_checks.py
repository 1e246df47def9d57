"""What every registered check must hold; a method is tested by being registered."""

from __future__ import annotations

import inspect
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.checks.calibration import calibration
from monitor.checks.calibration_change import calibration_change
from monitor.checks.calibration_classes import class_calibration
from monitor.checks.cascade import escalated_share, route_shares, threshold_kept
from monitor.checks.confidence import mean_confidence, score_confidence
from monitor.checks.contrast import contrast
from monitor.checks.costs.bill import Bill
from monitor.checks.costs.per_success import answered, costs_of
from monitor.checks.drift.base import DriftMethod, ReferenceSummary, ViewKind
from monitor.checks.drift.registry import METHODS
from monitor.checks.groups.gaps import gap_outcomes
from monitor.checks.groups.reversal import adjusted_gap
from monitor.checks.groups.selection import selection_ratios
from monitor.checks.groups.worst import worst_group
from monitor.checks.language import finish_reasons, first_token_times, language_rates
from monitor.checks.maturity.bounds import (
    accuracy_bounds,
    bound_outcomes,
    precision_bounds,
    recall_bounds,
)
from monitor.checks.maturity.change import binary_cohort, quality_change, regression_cohort
from monitor.checks.maturity.weighting import (
    Weighed,
    Weight,
    weighted_mean_outcome,
    weighted_share_outcome,
)
from monitor.checks.missing import missing_share
from monitor.checks.operation import cold_and_warm, operation_rates
from monitor.checks.quality.binary import binary_quality
from monitor.checks.quality.class_scores import class_quality, class_score_quality
from monitor.checks.quality.multiclass import multiclass_quality
from monitor.checks.quality.ranking import ranking_quality
from monitor.checks.quality.regression import regression_quality, relative_quality
from monitor.checks.registry import CHECKS, CheckName, entry
from monitor.checks.serving import percentiles, serving_rates
from monitor.checks.signals.outcomes import METHODS as SIGNAL_METHODS
from monitor.checks.signals.outcomes import signal_outcome
from monitor.checks.signals.spread import grouped
from monitor.checks.slice_counts import SliceColumn
from monitor.checks.slices import SliceRows
from monitor.checks.stages import stage_measurements
from monitor.checks.violations import ANY, shares_of
from monitor.contract_quality import SignalKind
from monitor.measurement import Direction, Failed, Measured, Outcome, TooFew
from monitor.profiles.cascade import RouterCounts
from monitor.profiles.cells import CategoryCells
from monitor.profiles.columns import ColumnCounts
from monitor.profiles.fitting import fit_number_cells
from monitor.profiles.labels import BinaryCounts
from monitor.profiles.labels_multiclass import ConfusionCounts
from monitor.profiles.labels_ranking import RankCounts
from monitor.profiles.labels_regression import (
    ErrorSums,
    RegressionCounts,
    RelativeCounts,
    RelativeSums,
)
from monitor.profiles.part import Part
from monitor.profiles.serving import build_serving_parts
from monitor.records import ViolationReason
from tests.unit.checks.factories import (
    binary,
    categories,
    category_cells,
    numbers,
    quantile_cells,
    value_cells,
)
from tests.unit.checks.groups.makers import scored
from tests.unit.checks.test_language import chat
from tests.unit.profiles.factories import contract_of, one_group, rows_of

NUMBER, CATEGORY = ViewKind.NUMBER, ViewKind.CATEGORY
PAIRS = [(method, kind) for method in METHODS for kind in sorted(method.kinds)]
pytestmark = pytest.mark.parametrize(
    ("method", "kind"), PAIRS, ids=[f"{method.name}-{kind}" for method, kind in PAIRS]
)


def _sample(kind: ViewKind, shift: float, rows: int, seed: int) -> list:
    """Numbers around `shift`, or categories whose mix moves with it."""
    rng = np.random.default_rng(seed)
    values = rng.normal(shift, 1, rows)
    if kind is NUMBER:
        return values.tolist()
    return [f"c{int(np.clip(np.floor(v * 2), -4, 4)) + 4}" for v in values]


REFERENCE = {kind: _sample(kind, 0.0, 4_000, 1) for kind in ViewKind}
CELLS = {
    NUMBER: quantile_cells(np.array(REFERENCE[NUMBER])),
    CATEGORY: category_cells(REFERENCE[CATEGORY]),
}


def _count(kind: ViewKind, rows: list, cells=None) -> ColumnCounts:
    used = cells or CELLS[kind]
    return numbers(rows, used) if kind is NUMBER else categories(rows, used)


def _compare(method: DriftMethod, reference: ColumnCounts, current: ColumnCounts) -> Outcome:
    return method.compare(method.fit(reference), current)


def _require_sound(outcome: Outcome) -> None:
    """Finite everywhere, strict JSON, limits around the value, a reason where there is no value."""
    json.dumps(dict(outcome.detail), allow_nan=False)
    if isinstance(outcome, Measured):
        assert math.isfinite(outcome.value)
        assert outcome.low is None or outcome.low <= outcome.value
        assert outcome.high is None or outcome.value <= outcome.high
        assert 0 <= outcome.detail.get("p_value", 0.5) <= 1
    elif isinstance(outcome, TooFew):
        assert outcome.reason
        assert outcome.n < outcome.needed
    else:
        assert isinstance(outcome, Failed)
        assert outcome.reason


def test_identical_samples_do_not_drift(method, kind):
    counts = _count(kind, REFERENCE[kind])
    outcome = _compare(method, counts, counts)
    assert isinstance(outcome, Measured)
    _require_sound(outcome)
    assert outcome.value <= 1e-12
    assert outcome.detail.get("p_value", 1.0) == pytest.approx(1.0)
    assert outcome.detail["moved"] == []


def test_a_second_sample_of_the_same_source_stays_near_its_null(method, kind):
    outcome = _compare(
        method, _count(kind, REFERENCE[kind]), _count(kind, _sample(kind, 0.0, 1_000, 2))
    )
    assert isinstance(outcome, Measured)
    assert outcome.detail.get("p_value", 1.0) > 0.001
    assert outcome.value < 0.05 + 2 * max(0.0, outcome.detail["null_expectation"])


def test_row_order_does_not_matter(method, kind):
    rows = _sample(kind, 0.4, 500, 3)
    reference = _count(kind, REFERENCE[kind])
    straight = _compare(method, reference, _count(kind, rows))
    assert straight == _compare(method, reference, _count(kind, rows[::-1]))


def test_the_direction_holds_more_shift_is_more_drift(method, kind):
    assert method.direction is Direction.HIGHER_IS_WORSE
    reference = _count(kind, REFERENCE[kind])
    values = []
    for shift in (0.0, 0.3, 0.8, 2.0):
        outcome = _compare(method, reference, _count(kind, _sample(kind, shift, 1_000, 4)))
        _require_sound(outcome)
        assert isinstance(outcome, Measured)
        values.append(outcome.value)
    assert values == sorted(values)
    assert values[-1] > values[0] + 0.1


def test_swapping_the_samples_keeps_the_value_of_symmetric_methods(method, kind):
    if not method.symmetric:
        return
    first, second = _count(kind, REFERENCE[kind]), _count(kind, _sample(kind, 0.5, 900, 5))
    forth, back = _compare(method, first, second), _compare(method, second, first)
    assert isinstance(forth, Measured)
    assert isinstance(back, Measured)
    assert forth.value == pytest.approx(back.value, rel=1e-9)


@pytest.mark.parametrize("rows", [0, 1, 2, 29])
def test_tiny_windows_are_too_few(method, kind, rows):
    reference = _count(kind, REFERENCE[kind])
    outcome = _compare(method, reference, _count(kind, _sample(kind, 0.0, rows, 6)))
    assert isinstance(outcome, TooFew)
    assert (outcome.n, outcome.needed) == (rows, 30)
    _require_sound(outcome)


@pytest.mark.parametrize("rows", [0, 1, 29])
def test_tiny_baselines_are_too_few(method, kind, rows):
    outcome = _compare(method, _count(kind, REFERENCE[kind][:rows]), _count(kind, REFERENCE[kind]))
    assert isinstance(outcome, TooFew)
    assert "baseline" in outcome.reason
    _require_sound(outcome)


def test_only_missing_values_are_named(method, kind):
    reference = _count(kind, REFERENCE[kind])
    outcome = _compare(method, reference, _count(kind, [None] * 400))
    assert isinstance(outcome, TooFew)
    assert outcome.reason == "no values in current"
    assert outcome.detail["missing_share"] == 1.0
    outcome = _compare(method, _count(kind, [None] * 400), reference)
    assert isinstance(outcome, TooFew)
    assert outcome.reason == "no values in baseline"


@pytest.mark.parametrize("rows", [1, 30, 5_000])
def test_constant_columns_do_not_drift(method, kind, rows):
    value = 7.0 if kind is NUMBER else "no"
    cells = value_cells([7.0]) if kind is NUMBER else CategoryCells(("no",))
    outcome = _compare(
        method, _count(kind, [value] * 400, cells), _count(kind, [value] * rows, cells)
    )
    _require_sound(outcome)
    provisional = outcome.detail.get("provisional")
    assert (outcome.value if isinstance(outcome, Measured) else provisional) == 0
    assert outcome.detail.get("p_value", 1.0) == 1.0
    assert outcome.detail["null_expectation"] == 0.0


def test_values_outside_everything_known_are_seen(method, kind):
    rows = [1e100] * 500 if kind is NUMBER else ["never seen"] * 500
    outcome = _compare(method, _count(kind, REFERENCE[kind]), _count(kind, rows))
    assert isinstance(outcome, Measured)
    _require_sound(outcome)
    assert outcome.value > 0.5


def test_infinities_and_missing_leave_the_other_rows_alone(method, kind):
    rows = _sample(kind, 0.3, 500, 7)
    odd = [np.inf, -np.inf, np.nan, None] if kind is NUMBER else [None]
    reference = _count(kind, REFERENCE[kind])
    plain = _compare(method, reference, _count(kind, rows))
    mixed = _compare(method, reference, _count(kind, [*rows, *odd * 20]))
    assert isinstance(plain, Measured)
    assert isinstance(mixed, Measured)
    assert (plain.value, plain.n) == (mixed.value, mixed.n)
    assert mixed.detail["missing_share"] > 0


def test_the_detail_says_what_a_reader_needs(method, kind):
    outcome = _compare(
        method, _count(kind, REFERENCE[kind]), _count(kind, _sample(kind, 1.0, 600, 8))
    )
    assert isinstance(outcome, Measured)
    assert outcome.n_reference == 4_000
    assert {"null_expectation", "empty_cells", "n_eff", "moved"} <= set(outcome.detail)
    assert len(outcome.detail["moved"]) == 3
    assert set(outcome.detail["moved"][0]) == {"label", "share_then", "share_now"}
    assert outcome.detail["n_eff"] == pytest.approx(4_000 * 600 / 4_600)


def test_a_summary_is_frozen_and_keeps_nothing_of_a_comparison(method, kind):
    summary = method.fit(_count(kind, REFERENCE[kind]))
    assert isinstance(summary, ReferenceSummary)
    with pytest.raises(ValueError, match="read-only"):
        summary.counts[0] = 1
    current = _count(kind, _sample(kind, 0.7, 300, 9))
    assert method.compare(summary, current) == method.compare(summary, current)


def test_other_cells_or_kinds_are_programming_errors(method, kind):
    summary = method.fit(_count(kind, REFERENCE[kind]))
    with pytest.raises(AssertionError, match="other cells"):
        method.compare(
            summary,
            _count(kind, [], value_cells([1.0, 2.0]))
            if kind is NUMBER
            else _count(kind, [], CategoryCells(("a",))),
        )
    for other in set(ViewKind) - method.kinds:
        with pytest.raises(AssertionError, match="can't compare"):
            method.fit(_count(other, REFERENCE[other]))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_counts_give_a_sound_outcome(method, kind, data):
    cells = value_cells([-1e150, 0.0, 3.0]) if kind is NUMBER else CategoryCells(("a", "b"), ("c",))
    rows = st.one_of(st.just(0), st.integers(0, 40), st.integers(0, 10**12))
    counts = st.lists(rows, min_size=cells.n_cells, max_size=cells.n_cells)
    reference, current = (
        ColumnCounts("any", cells, np.array(data.draw(counts), np.int64), {}) for _ in range(2)
    )
    _require_sound(_compare(method, reference, current))


@pytest.mark.parametrize("values", [[-1e308, 1e308], [5e-324, 1e-320], [1e15, 1e15 + 2], [0.0]])
def test_extreme_numbers_give_a_sound_outcome(method, kind, values):
    if kind is not NUMBER:
        return
    rows = np.repeat(values, 50)
    cells = fit_number_cells(rows)
    counts = np.bincount(cells.assign(rows), minlength=cells.n_cells).astype(np.int64)
    mean = sum(value / len(values) for value in values)
    reference = ColumnCounts("any", cells, counts, {}, len(rows), mean, cells.reference_sd)
    for shifted in (counts, counts[::-1].copy(), np.roll(counts, 1)):
        _require_sound(_compare(method, reference, ColumnCounts("any", cells, shifted, {})))


def test_a_method_is_registered_and_documented(method, kind):
    known = entry("drift", method.name)
    assert (known.unit, known.direction, known.version) == (
        method.unit,
        method.direction,
        method.version,
    )
    assert kind in method.kinds
    assert len(inspect.getdoc(type(method)) or "") > 100
    source = Path(inspect.getfile(type(method)))
    assert source.name != "base.py"


SERVED_COLUMNS = ("latency", "retries", "cold_start")
SERVED = contract_of(
    {"name": "latency", "type": "number", "role": "timing"},
    {"name": "retries", "type": "integer", "role": "count"},
    {"name": "cold_start", "type": "boolean"},
    objective={"column": "latency", "at_most": 0.5},
    stages=[{"name": "all", "column": "latency"}],
)


def _all_outcomes(empty: bool) -> dict[tuple[str, str], Outcome]:
    """Every check outside drift once, on nothing or on a fair amount of rows."""
    rng = np.random.default_rng(10)
    n = 0 if empty else 1_000
    score = rng.random(n)
    labels = binary(score, (rng.random(n) < score).astype(int), group=rng.integers(0, 20, n))
    column = numbers(score, value_cells([0.25, 0.5, 0.75]))
    size = 50 if not empty else 0
    confusion = np.full((3, 3), size, np.int64)
    sums = ErrorSums(n, 1.0 * size, 2.0 * n, 5.0 * n, 0.0, 9.0 * n, 0)
    nothing = np.zeros(0, np.int64)
    regression = RegressionCounts(sums, (), (), nothing, nothing, 0, n)
    matrix = ConfusionCounts(confusion, confusion[None], nothing, 0, nothing, int(confusion.sum()))
    violations = {} if empty else dict.fromkeys(ViolationReason, 3)
    binary_outcomes = binary_quality(labels)
    found = {
        CheckName.MISSING: {"share": missing_share(column, column)},
        CheckName.VIOLATIONS: shares_of(violations, n),
        CheckName.CONTRAST: {"within_hours": contrast([(column, column)])},
        CheckName.QUALITY: multiclass_quality(matrix)
        | regression_quality(regression)
        | _more_quality(labels, matrix, regression, n)
        | binary_outcomes,
        CheckName.QUALITY_CHANGE: _changes(labels, regression),
        CheckName.CALIBRATION: calibration(labels)
        | calibration_change(labels, labels)
        | {method: found for (method, _), found in class_calibration({"a": labels}).items()},
        CheckName.GROUPS: _group_outcomes(rng, n),
        CheckName.CONFIDENCE: score_confidence(labels, 0.5)
        | {"mean_confidence": mean_confidence(column)},
        CheckName.SIGNAL: _signal_outcomes(score),
        CheckName.SERVING: _serving_outcomes(empty),
        CheckName.LANGUAGE: _language_outcomes(empty),
        CheckName.COST: _cost_outcomes(n),
        CheckName.CASCADE: _cascade_outcomes(n),
    }
    return {(c, name): o for c, outcomes in found.items() for name, o in outcomes.items()}


def _language_outcomes(empty: bool) -> dict[str, Outcome]:
    contract = chat()
    told: dict[str, list[object]] = {
        column.name: ["stop" if column.type == "category" else 1.0 + k % 3 for k in range(200)]
        for column in contract.columns
    }
    told["latency"], told["output_tokens"] = [500.0] * 200, [20] * 200
    told["first_token_from"] = ["arrival"] * 200
    rows = rows_of(contract, told)
    built = build_serving_parts(rows, contract, rows.layout, one_group(rows), 1)[0]
    part = Part() if empty else built
    stopped = finish_reasons(built, contract)["stop"]
    return {
        **language_rates(part, contract, 60),
        **{method: found for (method, _), found in first_token_times(part, contract).items()},
        **dict.fromkeys(("finish_reason_share",)[: not empty], stopped),
    }


def _cost_outcomes(n: int) -> dict[str, Outcome]:
    made = Bill(n, {"usage": 0.5 * n}, energy=2.0 * n)
    return costs_of(made, answered(n, n - n // 5))


def _cascade_outcomes(n: int) -> dict[str, Outcome]:
    routes = ("small", "large")
    counts = {"small": n - n // 4, "large": n // 4}
    return {
        "route_share": route_shares(routes, counts)["large"],
        "escalated": escalated_share(routes, counts),
        "threshold_kept": threshold_kept(RouterCounts(n // 4, 0, n // 10, n // 2)),
    }


def _serving_outcomes(empty: bool) -> dict[str, Outcome]:
    """Everything that is measured of a service with an objective, retries, cold starts, stages."""
    contract = SERVED
    rows = rows_of(contract, {name: [float(k % 2) for k in range(200)] for name in SERVED_COLUMNS})
    built = build_serving_parts(rows, contract, rows.layout, one_group(rows), 1)[0]
    part = Part() if empty else built
    return {
        **percentiles(part, "latency"),
        **serving_rates(part, 60),
        **operation_rates(part, contract, 60),
        **{method: found for (method, _), found in cold_and_warm(part, contract).items()},
        **{method: found for (method, _), found in stage_measurements(part, contract).items()},
    }


def _signal_outcomes(score: np.ndarray) -> dict[str, Outcome]:
    """Every kind of signal on the same rows."""
    told = grouped(np.round(score), np.arange(len(score)) % 20, 20, clustered=True)
    return {SIGNAL_METHODS[kind]: signal_outcome(kind, told, (0.0, 1.0), {}) for kind in SignalKind}


def _more_quality(
    labels: BinaryCounts, matrix: ConfusionCounts, regression: RegressionCounts, n: int
) -> dict[str, Outcome]:
    """Class scores, one class of them, relative errors and ranks."""
    ranks = np.full((20, 3), n // 60, np.int64)
    queries = RankCounts(ranks.sum(axis=0), ranks, np.zeros(0, np.int64), 0, n)
    by_class = class_quality(matrix, "abc", (labels,) * 3)
    relative = RelativeCounts(RelativeSums(n, 0, 0.1 * n, 3.0 * n))
    return {
        **class_score_quality((labels,) * 3, labels, 3),
        **{method: found for (method, _), found in by_class.items()},
        **relative_quality(regression, relative),
        **ranking_quality(queries),
        **_of_whole_cohorts(n),
    }


def _of_whole_cohorts(n: int) -> dict[str, Outcome]:
    """Weighted quality and bounds of a cohort of which half has its labels."""
    rows = [Weighed(kind, Weight(2.0, 0.1, False), n // 2, n // 3) for kind in (0, 1)]
    losses = {1: [(Weight(2.0, 0.1, False), np.full(20, n / 20), np.full(20, n / 80))]}
    worst = {"accuracy": accuracy_bounds(n // 2, n // 4, n),
             "precision": precision_bounds(n // 3, n // 9, n),
             "recall": recall_bounds(n // 3, n // 9, n, n)}  # fmt: skip
    return {
        **{f"{name}_weighted": weighted_share_outcome(rows, n, "rows") for name in worst},
        **{f"{name}_weighted": weighted_mean_outcome(losses, "rows") for name in ("brier", "mae")},
        **{m: o for name, one in worst.items() for m, o in bound_outcomes(name, one, n).items()},
    }


def _changes(labels: BinaryCounts, regression: RegressionCounts) -> dict[str, Outcome]:
    """A cohort against seven like it."""
    cohorts = [binary_cohort(labels), regression_cohort(regression)]
    return {m: o for one in cohorts for m, o in quality_change(one, [one] * 7).items()}


def _group_outcomes(rng: np.random.Generator, n: int) -> dict[str, Outcome]:
    """What is measured of one group among two, and the group that does worst."""
    score = rng.random((2, n))
    label = (rng.random((2, n)) < score).astype(int)
    groups = [scored(name, score[k], label[k]) for k, name in enumerate("ab")]
    cells = rng.integers(0, 2, (1, n))
    column = SliceColumn("city", np.arange(2), ("x", "y"))
    rows = SliceRows(cells, rng.integers(1, 2**60, n), (cells[0] == 1).astype(np.float64))
    counts = [[g.favourable.events, g.favourable.n - g.favourable.events] for g in groups]
    return {
        "selection_ratio": selection_ratios(groups, 0.8)["a"],
        **{method: found["a"] for method, found in gap_outcomes(groups).items()},
        "adjusted_gap": adjusted_gap(np.array([counts]), by="city"),
        "worst_group": worst_group([column], rows),
    }


@pytest.mark.parametrize("empty", [True, False])
def test_every_check_gives_sound_outcomes_under_registered_names(method, kind, empty):
    if (method, kind) != PAIRS[0]:
        return
    outcomes = _all_outcomes(empty)
    for (check, name), outcome in outcomes.items():
        assert entry(check, name).check == check
        _require_sound(outcome)
        if empty:
            rate = (check, name) in (("serving", "request_rate"), ("language", "system_tokens"))
            assert isinstance(outcome, Measured if rate else TooFew), (check, name)
    if not empty:
        # Incidents, the label feed, estimates, golden sets and shadow pairs are told by jobs and
        # commands, from more than the counts of a window.
        elsewhere = (
            *(CheckName.DRIFT, CheckName.INCIDENT, CheckName.LABEL_FEED),
            *(CheckName.GOLDEN, CheckName.SHADOW, CheckName.ESTIMATE),
        )
        registered = {(e.check, e.method) for e in CHECKS if e.check not in elsewhere}
        assert set(outcomes) == registered
        assert ("violations", ANY) in outcomes


def test_names_are_unique(method, kind):
    names = [(known.check, known.method) for known in CHECKS]
    assert len(set(names)) == len(names)
    assert [m.name for m in METHODS].count(method.name) == 1


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_contrast_and_any_labels_are_sound(method, kind, data):
    if method is not METHODS[0]:
        return
    cells = value_cells([-2.0, 3.0]) if kind is NUMBER else CategoryCells(("a", "b"))
    hours = data.draw(st.integers(0, 4))
    rows = st.one_of(st.just(0), st.integers(0, 30), st.integers(0, 10**7))
    table = st.lists(
        st.lists(rows, min_size=cells.n_cells, max_size=cells.n_cells),
        min_size=2 * hours,
        max_size=2 * hours,
    )
    counts = [ColumnCounts("any", cells, np.array(row), {}) for row in data.draw(table)]
    _require_sound(contrast(list(zip(counts[::2], counts[1::2], strict=True))))
    scored = st.tuples(st.sampled_from([0.0, 0.3, 0.5, 0.999, 1.0]), st.sampled_from([0, 1, None]))
    drawn = data.draw(st.lists(scored, max_size=40)) * data.draw(st.sampled_from([1, 30]))
    labels = binary([s for s, _ in drawn], [y for _, y in drawn])
    for outcomes in (binary_quality(labels), calibration(labels), score_confidence(labels, 0.5)):
        for outcome in outcomes.values():
            _require_sound(outcome)
