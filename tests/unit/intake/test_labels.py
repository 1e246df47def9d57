import json
import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from monitor.contract import Task
from monitor.contract_quality import Label
from monitor.errors import RequestRefused
from monitor.intake.arrow_labels import ARROW_LABELS
from monitor.intake.base import IntakeContext
from monitor.intake.json_labels import JSON_LABELS, NDJSON_LABELS
from monitor.records import LABEL_SCHEMA, LabelBatch, RejectionReason
from tests.unit.intake.factories import NOW, array, context_of, contract_of, lines, stream


def context(task: Task = Task.BINARY, positive: Any = None, **changes: Any) -> IntakeContext:
    contract = contract_of(task=task, label=Label(name="default", positive=positive))
    return context_of(contract=contract, **changes)


def label(number: int = 0, **changes: Any) -> dict[str, Any]:
    made = {"request_id": f"r-{number}", "value": 1, "observed_at": "2026-09-01T11:00:00Z"}
    made.update(changes)
    return {name: value for name, value in made.items() if value is not ...}


def parse(*records: Any, given: IntakeContext | None = None) -> LabelBatch:
    """The records as NDJSON; the same as a JSON array must give the same."""
    given = given or context()
    batch = NDJSON_LABELS.parse(lines(records), given)
    other = JSON_LABELS.parse(array(records), given)
    assert batch.table.equals(other.table)
    assert batch.rejections == other.rejections
    assert batch.table.num_rows + len(batch.rejections) == len(records)
    return batch


def test_a_label() -> None:
    whole = label(
        label="default", source="clerk", leg="shadow:b", event_time="2026-08-31T23:00:00-02:00"
    )
    batch = parse(label(), whole)
    assert batch.table.schema.equals(LABEL_SCHEMA)
    assert batch.places == range(2)
    first, second = batch.table.to_pylist()
    assert first == {
        "project_id": 3,
        "model_id": 5,
        "label_name": "default",
        "request_id": "r-0",
        "source": "default",
        "observed_at": datetime(2026, 9, 1, 11, tzinfo=UTC),
        "arrived_at": NOW,
        "event_time": None,
        "leg": "live",
        "value": 1.0,
        "text": None,
    }
    assert (second["source"], second["leg"]) == ("clerk", "shadow:b")
    assert second["event_time"] == datetime(2026, 9, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("task", "positive", "value", "stored"),
    [
        (Task.BINARY, None, True, (1.0, None)),
        (Task.BINARY, None, 0.0, (0.0, None)),
        (Task.BINARY, False, False, (0.0, None)),
        (Task.BINARY, "late", "on time", (None, "on time")),
        (Task.BINARY, "1", 1, (None, "1")),
        (Task.MULTICLASS, None, "cat", (None, "cat")),
        (Task.MULTICLASS, None, 3, (None, "3")),
        (Task.MULTICLASS, None, 3.0, (None, "3")),
        (Task.REGRESSION, None, -2.5, (-2.5, None)),
        (Task.REGRESSION, None, 7, (7.0, None)),
        (Task.RANKING, None, 2, (2.0, None)),
        (Task.RANKING, None, "item-5", (None, "item-5")),
    ],
)
def test_values_by_task(
    task: Task, positive: Any, value: Any, stored: tuple[float | None, str | None]
) -> None:
    given = context(task, positive)
    batch = parse(label(value=value), given=given)
    row = batch.table.to_pylist()[0]
    assert (row["value"], row["text"]) == stored
    sent = pa.table({name: [v] for name, v in label(value=value).items()})
    assert ARROW_LABELS.parse(stream(sent), given).table.equals(batch.table)


@pytest.mark.parametrize(
    ("task", "positive", "value"),
    [
        (Task.BINARY, None, 2),
        (Task.BINARY, None, 0.5),
        (Task.BINARY, None, "1"),
        (Task.BINARY, None, math.nan),
        (Task.BINARY, None, [1]),
        (Task.BINARY, "late", {"a": 1}),
        (Task.REGRESSION, None, True),
        (Task.REGRESSION, None, "2.5"),
        (Task.REGRESSION, None, math.inf),
        (Task.REGRESSION, None, int("9" * 400)),
        (Task.RANKING, None, False),
        (Task.MULTICLASS, None, math.nan),
        (Task.MULTICLASS, None, "a\0"),
        (Task.MULTICLASS, None, "\ud800"),
    ],
)
def test_values_that_are_no_label(task: Task, positive: Any, value: Any) -> None:
    good = {Task.BINARY: 1, Task.MULTICLASS: "a"}.get(task, 1.5) if positive is None else "late"
    given = context(task, positive)
    batch = parse(label(0, value=good), label(1, value=value), label(2, value=good), given=given)
    assert batch.table["request_id"].to_pylist() == ["r-0", "r-2"]
    assert [(r.place, r.reason) for r in batch.rejections] == [(1, RejectionReason.BAD_LABEL)]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (label(request_id=...), RejectionReason.MISSING_ID),
        (label(request_id=""), RejectionReason.MISSING_ID),
        (label(request_id=3), RejectionReason.BAD_ID),
        (label(request_id="x" * 201), RejectionReason.BAD_ID),
        (label(request_id="a\0"), RejectionReason.BAD_ID),
        (label(value=...), RejectionReason.MISSING_LABEL),
        (label(value=None), RejectionReason.MISSING_LABEL),
        (label(value="x" * 513), RejectionReason.BAD_LABEL),
        (label(label="other"), RejectionReason.UNKNOWN_LABEL),
        (label(label=5), RejectionReason.UNKNOWN_LABEL),
        (label(source=""), RejectionReason.BAD_LABEL),
        (label(source="a\0"), RejectionReason.BAD_LABEL),
        (label(leg="shadow"), RejectionReason.BAD_LABEL),
        (label(leg=3), RejectionReason.BAD_LABEL),
        (label(observed_at=...), RejectionReason.MISSING_TIME),
        (label(observed_at=None), RejectionReason.MISSING_TIME),
        (label(observed_at=5), RejectionReason.BAD_TIME),
        (label(observed_at="soon"), RejectionReason.BAD_TIME),
        (label(observed_at="2026-09-01T11:00:00"), RejectionReason.TIME_WITHOUT_ZONE),
        (label(observed_at="2027-01-01T00:00:00Z"), RejectionReason.TIME_OUT_OF_RANGE),
        (label(event_time="2026-09-01T11:00:00"), RejectionReason.TIME_WITHOUT_ZONE),
        (label(event_time=7), RejectionReason.BAD_TIME),
        (label(evnt_time="2026-09-01T11:00:00Z"), RejectionReason.BAD_LABEL),
        (None, RejectionReason.NOT_AN_OBJECT),
        (b"{", RejectionReason.UNREADABLE),
        (b'{"request_id": "a", "value": 1, "value": 0}', RejectionReason.UNREADABLE),
    ],
)
def test_a_bad_label_never_costs_its_neighbours(bad: Any, reason: RejectionReason) -> None:
    if bad == b"{":
        batch = NDJSON_LABELS.parse(lines([label(0), bad, label(2)]), context())
    else:
        batch = parse(label(0), bad, label(2))
    assert batch.table["request_id"].to_pylist() == ["r-0", "r-2"]
    assert [(r.place, r.reason) for r in batch.rejections] == [(1, reason)]


def test_a_repeated_key_is_noticed_although_every_label_is_typed() -> None:
    twice = json.dumps(label(1))[:-1].encode() + b', "value": 0}'
    batch = parse(label(0), twice)
    assert [r.reason for r in batch.rejections] == [RejectionReason.UNREADABLE]


def test_a_contract_without_a_label_takes_none() -> None:
    given = context_of(contract=contract_of(label=None))
    batch = parse(label(), given=given)
    assert [r.reason for r in batch.rejections] == [RejectionReason.UNKNOWN_LABEL]


def test_labels_in_arrow() -> None:
    table = pa.table(
        {
            "request_id": pa.array(["a", "b", None, "d", "e"]),
            "value": pa.array([True, False, True, None, True]),
            "observed_at": pa.array([NOW, NOW, NOW, NOW, None], pa.timestamp("ns", "UTC")),
            "event_time": pa.array([None, NOW, None, None, None], pa.timestamp("s", "UTC")),
            "source": pa.array([None, "clerk", None, None, None]).dictionary_encode(),
        }
    )
    batch = ARROW_LABELS.parse(stream(table), context())
    assert batch.places == (0, 1)
    assert batch.table["event_time"].to_pylist() == [None, NOW]
    assert batch.table["source"].to_pylist() == ["default", "clerk"]
    assert [(r.place, r.reason) for r in batch.rejections] == [
        (2, RejectionReason.MISSING_ID),
        (3, RejectionReason.MISSING_LABEL),
        (4, RejectionReason.MISSING_TIME),
    ]


def test_decimal_labels_in_arrow() -> None:
    table = pa.table(
        {"request_id": ["a"], "value": pa.array([Decimal("2.50")]), "observed_at": [NOW]}
    )
    batch = ARROW_LABELS.parse(stream(table), context(Task.REGRESSION))
    assert batch.table["value"].to_pylist() == [2.5]


def test_an_unknown_column_of_a_table_of_labels_is_refused() -> None:
    table = pa.table({"request_id": ["a"], "value": [1], "observed": [NOW]})
    with pytest.raises(RequestRefused, match="'observed'"):
        ARROW_LABELS.parse(stream(table), context())
