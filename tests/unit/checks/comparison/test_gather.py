"""Parts counted into cells, against the rows that they were made from."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from monitor.checks.comparison.cells import Cells
from monitor.checks.comparison.gather import CellKey, Gatherer
from monitor.contract import Contract
from monitor.profiles.arrays import totals_by_key
from monitor.profiles.labels import UNIT, pack_binary
from monitor.profiles.log_cells import log_keys
from monitor.profiles.part import Part, PartKind
from monitor.profiles.serving import OUTCOME, OUTCOME_SLOTS, good_name
from monitor.profiles.serving_rows import LOG
from monitor.records import RequestOutcome
from tests.factories import make_contract
from tests.unit.checks.comparison.factories import MONDAY

HOUR = timedelta(hours=1)
LATE = MONDAY + timedelta(days=90)


def key(hour: int, part: str = "city Bonn") -> CellKey:
    return CellKey(MONDAY + hour * HOUR, MONDAY + (hour + 1) * HOUR, part, 0)


def labels_part(score: np.ndarray, predicted: np.ndarray, label: np.ndarray) -> Part:
    """Rows with score, class 0 or 1 and label 0, 1 or 2 (unlabelled) as a labels part."""
    zero = np.zeros(len(score), np.int64)
    keys = pack_binary(predicted, np.floor(score * 512).astype(np.int64), label, zero, zero)
    s = np.rint(score * UNIT).astype(np.int64)
    squares = np.rint(score * score * UNIT).astype(np.int64)
    return Part({}, {"binary": totals_by_key(keys, (s, squares, np.where(label == 1, s, 0)))})


def serving_part(outcomes: list[RequestOutcome], ms: np.ndarray, contract: Contract) -> Part:
    counts = np.bincount([int(one) for one in outcomes], minlength=OUTCOME_SLOTS).astype(np.int64)
    cells, rest = log_keys(ms)
    dense = {OUTCOME: counts}
    if contract.objective is not None:
        answered = np.array(
            [one in (RequestOutcome.ANSWERED, RequestOutcome.CACHED) for one in outcomes]
        )
        good = answered & (ms <= contract.objective.at_most)
        dense[good_name(contract.objective)] = np.array([good.sum()])
    return Part(dense, {LOG + "ms": totals_by_key(cells, (rest,))})


def rate(found: Cells, name: str) -> tuple[list[int], list[int]]:
    table = next(one for one in found.rates if one.metric.name == name)
    return table.events.sum(axis=0).tolist(), table.n.sum(axis=0).tolist()


def test_labels_are_counted_as_in_the_rows() -> None:
    rng = np.random.default_rng(1)
    gatherer = Gatherer(make_contract(), None)
    every: list[tuple[int, np.ndarray, np.ndarray, np.ndarray]] = []
    for hour in range(3):
        for side in (0, 1):
            score = rng.random(200)
            predicted = (score >= 0.5).astype(np.int64)
            label = rng.choice([0, 1, 2], 200, p=[0.5, 0.4, 0.1])
            every.append((side, score, predicted, label))
            part = labels_part(score, predicted, label)
            gatherer.add(key(hour), side, PartKind.LABELS, part)
    found = gatherer.cells(LATE)
    for side in (0, 1):
        mine = [row for row in every if row[0] == side]
        score, predicted, label = (np.concatenate([row[k] for row in mine]) for k in (1, 2, 3))
        known = label < 2
        assert found.labelled[side] == (known.sum(), 600)
        for name, events, rows in (
            ("accuracy", known & (predicted == label), known),
            ("precision", (predicted == 1) & (label == 1), known & (predicted == 1)),
            ("recall", (predicted == 1) & (label == 1), label == 1),
            ("selection_rate", predicted == 1, predicted >= 0),
        ):
            told = rate(found, name)
            assert (told[0][side], told[1][side]) == (events.sum(), rows.sum()), name
        (brier,) = [one for one in found.values if one.metric.name == "brier"]
        expected = ((score - label)[known] ** 2).sum()
        assert brier.sums[:, side].sum() == pytest.approx(expected, rel=1e-6)
        by_bins = float(np.asarray(brier.counts[side].sum(axis=0)).ravel() @ brier.values)
        assert by_bins == pytest.approx(expected, rel=0.01)


def test_serving_is_counted_as_in_the_rows() -> None:
    contract = make_contract(objective={"column": "ms", "at_most": 12})
    rng = np.random.default_rng(2)
    gatherer = Gatherer(contract, None)
    outcomes = [RequestOutcome(int(one)) for one in rng.choice([1, 4, 5, 8], 300)]
    ms = rng.lognormal(2.3, 0.4, 300)
    gatherer.add(key(0), 0, PartKind.SERVING, serving_part(outcomes, ms, contract))
    gatherer.add(key(0), 1, PartKind.SERVING, serving_part(outcomes[:50], ms[:50], contract))
    found = gatherer.cells(LATE)
    assert found.requests.tolist() == [[300, 50]]
    failed = sum(one in (RequestOutcome.FAILED, RequestOutcome.TIMED_OUT) for one in outcomes)
    assert rate(found, "error_rate")[0][0] == failed
    fine = np.array([one in (RequestOutcome.ANSWERED, RequestOutcome.CACHED) for one in outcomes])
    events, n = rate(found, "goodput")
    assert (events[0], n) == ((fine & (ms <= 12)).sum(), [300, 50])
    (timing,) = [one for one in found.values if one.metric.column == "ms"]
    assert timing.sums[0, 0] == pytest.approx(ms.sum(), rel=1e-9)
    assert timing.n.tolist() == [[300, 50]]
    assert timing.quantiles == (0.5, 0.95, 0.99)


def test_parts_counted_before_the_objective_give_no_goodput() -> None:
    without, contract = make_contract(), make_contract(objective={"column": "ms", "at_most": 12})
    gatherer = Gatherer(contract, None)
    part = serving_part([RequestOutcome.ANSWERED] * 3, np.array([1.0, 2.0, 3.0]), without)
    gatherer.add(key(0), 0, PartKind.SERVING, part)
    assert rate(gatherer.cells(LATE), "goodput") == ([0, 0], [0, 0])


def gathered(contract: Contract, labelled: float, now_hours: float) -> Cells:
    """One slot, 100 rows a side, b with this share of labels."""
    gatherer = Gatherer(contract, None)
    for side, share in ((0, 1.0), (1, labelled)):
        label = np.where(np.arange(100) < 100 * share, 1, 2)
        part = labels_part(np.full(100, 0.7), np.ones(100, np.int64), label)
        gatherer.add(key(0), side, PartKind.LABELS, part)
    return gatherer.cells(MONDAY + now_hours * HOUR)


@pytest.mark.parametrize(
    ("labelled", "hours", "counted"),
    [
        (0.79, 2, False),  # too young, and b has not enough
        (0.80, 2, True),
        (0.10, 7 * 24 + 1, True),  # as old as labels get
        (0.10, 7 * 24 + 0.9, False),
    ],
)
def test_only_mature_labels_are_compared(labelled: float, hours: float, counted: bool) -> None:
    found = gathered(make_contract(), labelled, hours)
    assert (rate(found, "accuracy")[1][0] == 100) is counted
    assert found.immature == (0 if counted else 1)
    assert rate(found, "selection_rate")[1] == [100, 100]  # needs no labels


def test_silence_is_a_negative_where_only_positives_are_reported() -> None:
    label = {"name": "fraud", "max_age": "7d", "correction_time": "1d", "feedback": "positive_only"}
    young = gathered(make_contract(label=label), 1.0, 2)
    assert rate(young, "accuracy")[1] == [0, 0]
    old = gathered(make_contract(label=label), 0.3, 24 * 8)
    assert rate(old, "precision") == ([100, 30], [100, 100])


def test_a_quality_metric_without_any_label_is_planned_all_the_same() -> None:
    gatherer = Gatherer(make_contract(), None)
    part = serving_part([RequestOutcome.ANSWERED], np.array([1.0]), make_contract())
    gatherer.add(key(0), 0, PartKind.SERVING, part)
    found = gatherer.cells(LATE)
    assert {one.metric.name for one in found.rates} >= {"accuracy", "precision", "recall"}
    assert "brier" in {one.metric.name for one in found.values}


def test_cells_stand_in_the_order_of_time() -> None:
    gatherer = Gatherer(make_contract(), None)
    part = serving_part([RequestOutcome.ANSWERED], np.array([1.0]), make_contract())
    for hour, name in ((5, "b"), (1, "b"), (5, "a"), (3, "a")):
        gatherer.add(key(hour, name), 0, PartKind.SERVING, part)
    found = gatherer.cells(LATE)
    assert [found.slots[slot].hour for slot in found.slot] == [1, 3, 5, 5]
    assert [found.slices[part] for part in found.slice] == ["b", "a", "a", "b"]
