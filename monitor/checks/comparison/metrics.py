"""What two deployments are compared by, and how each is counted from the parts of a profile. Pure.

A share gives (events, rows), a value gives (values that stand for cells, rows in them, exact sum).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from monitor.checks.comparison.cells import Metric
from monitor.checks.serving import PERCENTILES
from monitor.contract import ColumnRole, ColumnType, Contract, Task
from monitor.contract_quality import Feedback
from monitor.measurement import Direction
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.cells import NumberCells
from monitor.profiles.labels import (
    NO_SCORE,
    SCORE_CELLS,
    UNIT,
    UNLABELLED,
    binary_rows,
)
from monitor.profiles.labels_multiclass import CONFIDENCE
from monitor.profiles.labels_ranking import rank_counts
from monitor.profiles.labels_regression import RESIDUAL_EDGES, regression_counts
from monitor.profiles.part import Part
from monitor.profiles.serving import (
    good_counts,
    log_totals,
    outcome_counts,
    serving_columns,
    value_counts,
)
from monitor.records import RequestOutcome

_UP, _DOWN, _BOTH = Direction.HIGHER_IS_WORSE, Direction.LOWER_IS_WORSE, Direction.TWO_SIDED
_ERRORS = (RequestOutcome.FAILED, RequestOutcome.TIMED_OUT)
_LABELLED = "labelled requests"

ERROR_RATE = Metric("error_rate", "share", _UP, "requests")
GOODPUT = Metric("goodput", "share", _DOWN, "requests")
SELECTION = Metric("selection_rate", "share", _BOTH, "requests with a prediction")
ACCURACY = Metric("accuracy", "share", _DOWN, _LABELLED)
PRECISION = Metric("precision", "share", _DOWN, "labelled positive predictions")
RECALL = Metric("recall", "share", _DOWN, "positive labels")
BRIER = Metric("brier", "squared_probability", _UP, "labelled requests with a score")
MAE = Metric("mae", "label", _UP, _LABELLED)
FOUND = Metric("found", "share", _DOWN, _LABELLED)
RECIPROCAL_RANK = Metric("reciprocal_rank", "share", _DOWN, _LABELLED)

MIN_RATIO_ROWS = {PRECISION.name: 5, RECALL.name: 5}
"""Ratios within labelled rows need 5 rows in the denominator a side, beside 50 labelled ones."""


@dataclass(frozen=True, eq=False)
class Values:
    """Rows by the value that stands for their cell, and the exact sum of the values."""

    values: Floats
    rows: Integers
    total: float


@dataclass
class Counted:
    """What one part says: shares and values by metric, labelled rows, and all of them."""

    rates: dict[Metric, tuple[int, int]]
    values: dict[Metric, Values]
    labelled: int = 0
    rows: int = 0


def count_serving(part: Part, contract: Contract) -> Counted:
    """Outcomes, goodput where the contract has an objective, and every timing, count and cost."""
    outcomes = outcome_counts(part)
    n = sum(outcomes.values())
    found = Counted({ERROR_RATE: (sum(outcomes[one] for one in _ERRORS), n)}, {}, rows=n)
    if contract.objective is not None:
        counted = good_counts(part, contract.objective)
        found.rates[GOODPUT] = (counted, n) if counted is not None else (0, 0)
    for name in serving_columns(contract):
        values, rows = value_counts(part, name)
        found.values[serving_metric(contract, name)] = Values(
            values, rows, log_totals(part, name).total
        )
    return found


def serving_metric(contract: Contract, name: str) -> Metric:
    """The metric of a timing, count or cost column."""
    column = contract.column(name)
    bad = _BOTH if column.role is ColumnRole.COUNT else _UP
    return Metric("mean", column.unit or "column", bad, "requests with a value", name)


def quantiles_of(contract: Contract, metric: Metric) -> tuple[float, ...]:
    """Percentiles that are compared: those of timings."""
    timed = metric.column and contract.column(metric.column).role is ColumnRole.TIMING
    return tuple(PERCENTILES.values()) if timed else ()


def count_labels(part: Part, contract: Contract, cells: NumberCells | None) -> Counted:
    """Quality of a labels part by the contract's task; regression needs the binning's `cells`."""
    if contract.label is None and contract.task is not Task.BINARY:
        return Counted({}, {})
    return _BY_TASK[contract.task](part, contract, cells)


def quality_metrics(contract: Contract) -> Iterator[Metric]:
    """Metrics that need labels, whether or not any has come."""
    if contract.label is not None:
        yield from _QUALITY[contract.task]


def _binary(part: Part, contract: Contract, _: NumberCells | None) -> Counted:
    predicted, cell, label, values = binary_rows(part)
    rows = values[:, 0]
    chosen = int(rows[predicted == 1].sum()), int(rows[predicted < 2].sum())
    found = Counted({SELECTION: chosen}, {}, rows=int(rows.sum()))
    if contract.label is None:
        return found
    if contract.label.feedback is Feedback.POSITIVE_ONLY:
        label = np.where(label == UNLABELLED, 0, label)  # silence is a negative once it is mature

    def of(prediction: int, truth: int) -> int:
        return int(rows[(predicted == prediction) & (label == truth)].sum())

    tp, fp, fn, tn = of(1, 1), of(1, 0), of(0, 1), of(0, 0)
    found.labelled = int(rows[label != UNLABELLED].sum())
    found.rates |= {
        ACCURACY: (tp + tn, tp + fp + fn + tn),
        PRECISION: (tp, tp + fp),
        RECALL: (tp, tp + fn),
    }
    if contract.single(ColumnRole.SCORE) is not None:
        found.values[BRIER] = _brier(cell, label, values)
    return found


def _brier(cell: Integers, label: Integers, values: Integers) -> Values:
    """(s - y)² by score cell and label; the sum comes from the exact sums."""
    judged = (label != UNLABELLED) & (cell != NO_SCORE)
    cell, label, values = cell[judged], label[judged], values[judged]
    losses = ((cell + 0.5) / SCORE_CELLS - label) ** 2
    squares = values[:, 2] - 2 * values[:, 1] * label + values[:, 0] * label * UNIT
    return Values(losses, values[:, 0], float(squares.sum()) / UNIT)


def _multiclass(part: Part, _: Contract, __: NumberCells | None) -> Counted:
    predicted, _cell, right, values = binary_rows(part, CONFIDENCE)
    rows = values[:, 0]
    labelled = right != UNLABELLED
    judged = labelled & (predicted < 2)
    events = int(rows[judged & (right == 1)].sum())
    return Counted(
        {ACCURACY: (events, int(rows[judged].sum()))},
        {},
        labelled=int(rows[labelled].sum()),
        rows=int(rows.sum()),
    )


def _regression(part: Part, _: Contract, cells: NumberCells | None) -> Counted:
    if cells is None:
        return Counted({}, {})
    counts = regression_counts(part, cells)
    edges = np.concatenate((RESIDUAL_EDGES[:1] * 1.2, RESIDUAL_EDGES, RESIDUAL_EDGES[-1:] * 1.2))
    sizes = np.abs((edges[1:] + edges[:-1]) / 2) * cells.scale
    rows = counts.residuals.sum(axis=0)
    values = Values(sizes, rows, counts.total.absolute_error)
    return Counted({}, {MAE: values}, labelled=counts.total.n, rows=counts.n)


def _ranking(part: Part, contract: Contract, _: NumberCells | None) -> Counted:
    sizes = [c.size or 1 for c in contract.columns if c.type is ColumnType.RANKED_LIST]
    counts = rank_counts(part, max(sizes, default=1))
    ranks = np.arange(len(counts.ranks))
    gains = np.divide(1.0, ranks, out=np.zeros(len(ranks)), where=ranks > 0)
    n = int(counts.ranks.sum())
    return Counted(
        {FOUND: (n - int(counts.ranks[0]), n)},
        {RECIPROCAL_RANK: Values(gains, counts.ranks, float(gains @ counts.ranks))},
        labelled=n,
        rows=counts.n,
    )


_BY_TASK: Mapping[Task, Callable[[Part, Contract, NumberCells | None], Counted]] = {
    Task.BINARY: _binary,
    Task.MULTICLASS: _multiclass,
    Task.REGRESSION: _regression,
    Task.RANKING: _ranking,
}
_QUALITY: Mapping[Task, tuple[Metric, ...]] = {
    Task.BINARY: (ACCURACY, PRECISION, RECALL, BRIER),
    Task.MULTICLASS: (ACCURACY,),
    Task.REGRESSION: (MAE,),
    Task.RANKING: (FOUND, RECIPROCAL_RANK),
}
