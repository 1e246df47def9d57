"""Published faults of other monitors, as inputs with right values (ids pub-NNN)."""

from typing import Any

import pytest

from monitor.intake.json_requests import NDJSON_REQUESTS
from monitor.records import RejectionReason, RequestBatch
from monitor.records import ViolationReason as Reason
from tests.unit.intake.factories import cell, context_of, lines, reasons

TIME = "2026-09-01T10:00:00Z"


def send(values: list[Any], **column: Any) -> tuple[RequestBatch, list[Any]]:
    context = context_of({"name": "x", **column})
    records = [
        {"request_id": str(row), "event_time": TIME, "x": value} for row, value in enumerate(values)
    ]
    batch = NDJSON_REQUESTS.parse(lines(records), context)
    return batch, [cell(batch, row, "x", context) for row in range(batch.table.num_rows)]


def violating_rows(batch: RequestBatch) -> list[int]:
    return [row for row, found in enumerate(reasons(batch)) if found]


def test_pub_019_numbers_in_a_text_column() -> None:
    reference, stored_reference = send(["A1", 77, "B2", "B2"], type="category")
    current, stored_current = send(["77", "B2", "A1", "B2"], type="category")
    assert [len(violating_rows(batch)) for batch in (reference, current)] == [1, 0]
    assert sorted(stored_reference) == sorted(stored_current)


@pytest.mark.parametrize(("nullable", "rows"), [(True, []), (False, [2])])
def test_pub_020_missing_booleans_stay_missing(nullable: bool, rows: list[int]) -> None:
    batch, stored = send([True, False, None, 1, 0], type="boolean", nullable=nullable)
    assert stored == [1.0, 0.0, None, 1.0, 0.0]
    assert violating_rows(batch) == rows


@pytest.mark.parametrize(("nullable", "rows"), [(True, []), (False, [1])])
def test_pub_021_integers_with_a_missing_one(nullable: bool, rows: list[int]) -> None:
    batch, stored = send([8, None, 15, 16], type="integer", nullable=nullable)
    assert stored == [8.0, None, 15.0, 16.0]
    assert violating_rows(batch) == rows


def test_pub_026_times_are_ordered_by_instant_and_never_guessed() -> None:
    sent = ["2024-03-07T08:00:00", "2024-03-07T08:30:00+00:00", "2024-03-07T13:15:00+05:30"]
    batch, stored = send(sent, type="timestamp")
    # 07:45Z and 08:30Z as epoch seconds; the time without a zone is a violation, not UTC.
    assert stored == [None, 1709800200.0, 1709797500.0]
    assert reasons(batch) == [[Reason.TIME_WITHOUT_ZONE], [], []]


def test_pub_044_class_scores_are_checked_and_never_rescaled() -> None:
    rows = [[0.2, 0.3, 0.5], [0.2, 0.3, 0.6], [0.33333334] * 3, [0.5, 0.6, -0.1]]
    batch, stored = send(rows, type="class_scores", categories=("a", "b", "c"))
    assert violating_rows(batch) == [1, 3]
    assert reasons(batch)[1] == [Reason.NOT_A_DISTRIBUTION]
    assert stored == [rows[0], [None] * 3, rows[2], [None] * 3]


@pytest.mark.parametrize("where", ["x", "request_id"])
def test_pub_052_one_record_with_nul_does_not_sink_the_batch(where: str) -> None:
    context = context_of({"name": "x", "type": "text", "keep_text": True})
    records = [{"request_id": f"e{n}", "event_time": TIME, "x": "ok"} for n in (1, 2, 3)]
    records[1][where] = "ab\0cd"
    batch = NDJSON_REQUESTS.parse(lines(records), context)
    ids = batch.table["request_id"].to_pylist()
    assert ids[0] == "e1"
    assert ids[-1] == "e3"
    assert len(ids) + len(batch.rejections) == 3
    if where == "x":
        assert reasons(batch) == [[], [Reason.UNSTORABLE_TEXT], []]
    else:
        assert [r.reason for r in batch.rejections] == [RejectionReason.BAD_ID]


def test_pub_053_integers_beyond_doubles_are_a_violation_not_a_neighbour() -> None:
    batch, stored = send([9007199254740993, 9007199254740992, 4611686018427387905], type="integer")
    assert stored == [None, 2.0**53, None]
    assert violating_rows(batch) == [0, 2]
