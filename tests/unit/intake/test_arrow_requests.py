import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from monitor.errors import RequestRefused
from monitor.intake.arrow_requests import ARROW_REQUESTS, requests_of_table
from monitor.intake.json_requests import NDJSON_REQUESTS
from monitor.records import RejectionReason, RequestBatch
from monitor.records import ViolationReason as Reason
from tests.unit.intake.factories import (
    cell,
    context_of,
    lines,
    reasons,
    record,
    stream,
    violations,
)

CONTEXT = context_of()
MOMENT = datetime(2026, 9, 1, 10, tzinfo=UTC)


def parse(table: pa.Table, **changes: Any) -> RequestBatch:
    batch = ARROW_REQUESTS.parse(stream(table), context_of(**changes) if changes else CONTEXT)
    assert batch.table.num_rows + len(batch.rejections) == table.num_rows
    assert len(batch.places) == batch.table.num_rows
    return batch


def with_column(name: str, values: pa.Array) -> pa.Table:
    """As many records as values, each with its value in the column."""
    table = pa.Table.from_pylist([record(n) for n in range(len(values))])
    return table.set_column(table.schema.get_field_index(name), name, values)


def test_json_and_arrow_give_the_same_table() -> None:
    records = [record(n, age=float(n), income=n / 3, visits=n, shares=None) for n in range(5)]
    batch = parse(pa.Table.from_pylist(records))
    assert batch.table.equals(NDJSON_REQUESTS.parse(lines(records), CONTEXT).table)
    assert batch.places == range(5)


NUMBERS = (
    pa.array([1, 2], pa.int8()),
    pa.array([1, 2], pa.uint64()),
    pa.array([1, 2], pa.float32()),
    pa.array([1, 2], pa.float16()),
    pa.array([1, 2], pa.float64()),
    pa.array([Decimal("1.00"), Decimal("2.00")]),
    pa.array([1, 2], pa.int32()).dictionary_encode(),
)


@pytest.mark.parametrize("values", NUMBERS, ids=lambda a: str(a.type))
@pytest.mark.parametrize("name", ["age", "count"])
def test_numbers_of_every_type(name: str, values: pa.Array) -> None:
    batch = parse(with_column(name, values))
    assert violations(batch) == [[], []]
    assert [cell(batch, row, name, CONTEXT) for row in (0, 1)] == [1.0, 2.0]


def test_a_float32_keeps_its_exact_value() -> None:
    batch = parse(with_column("age", pa.array([0.1], pa.float32())))
    assert cell(batch, 0, "age", CONTEXT) == 0.10000000149011612


TEXTS = (
    pa.array(["DE", "FR"], pa.large_string()),
    pa.array(["DE", "FR"], pa.string_view()),
    pa.array(["DE", "FR"]).dictionary_encode(),
    pa.array(["DE", "FR"], pa.large_string()).dictionary_encode(),
)


@pytest.mark.parametrize("values", TEXTS, ids=lambda a: str(a.type))
@pytest.mark.parametrize("name", ["country", "shop"])
def test_texts_of_every_type(name: str, values: pa.Array) -> None:
    batch = parse(with_column(name, values))
    assert violations(batch) == [[], []]
    assert [cell(batch, row, name, CONTEXT) for row in (0, 1)] == ["DE", "FR"]


@pytest.mark.parametrize(
    ("name", "values", "reason", "stored"),
    [
        ("age", pa.array(["31"]), Reason.WRONG_TYPE, None),
        ("age", pa.array([True]), Reason.WRONG_TYPE, None),
        ("age", pa.array([math.nan]), Reason.NOT_A_NUMBER, None),
        ("age", pa.array([math.inf]), Reason.INFINITE, None),
        ("age", pa.array([b"31"]), Reason.WRONG_TYPE, None),
        ("age", pa.array([date(2026, 1, 1)]), Reason.WRONG_TYPE, None),
        ("age", pa.array([None], pa.float64()), Reason.NULL, None),
        ("age", pa.nulls(1), Reason.NULL, None),
        ("age", pa.array([Decimal("120.01")]), Reason.OUT_OF_RANGE, None),
        ("count", pa.array([2**53 + 1]), Reason.INTEGER_TOO_LARGE, None),
        ("visits", pa.array([-(2**63)]), Reason.INTEGER_TOO_LARGE, None),
        ("visits", pa.array([-(2**53) - 1]), Reason.INTEGER_TOO_LARGE, None),
        ("count", pa.array([2**64 - 1], pa.uint64()), Reason.INTEGER_TOO_LARGE, None),
        ("count", pa.array([2.5]), Reason.WRONG_TYPE, None),
        ("count", pa.array([Decimal("2.50")]), Reason.WRONG_TYPE, None),
        ("member", pa.array([2]), Reason.WRONG_TYPE, None),
        ("member", pa.array(["true"]), Reason.WRONG_TYPE, None),
        ("country", pa.array([77]), Reason.WRONG_TYPE, "77"),
        ("country", pa.array([77.0], pa.float32()), Reason.WRONG_TYPE, "77"),
        ("country", pa.array([Decimal("77.00")]), Reason.WRONG_TYPE, "77"),
        ("country", pa.array([b"DE"]), Reason.WRONG_TYPE, None),
        ("country", pa.array(["XX"]), Reason.UNKNOWN_CATEGORY, None),
        ("shop", pa.array(["x" * 513]), Reason.TOO_LONG, None),
        ("shop", pa.array(["a\0"]), Reason.UNSTORABLE_TEXT, None),
        ("shop", pa.array(["a\0"]).dictionary_encode(), Reason.UNSTORABLE_TEXT, None),
        ("born", pa.array([datetime(2020, 1, 1)]), Reason.TIME_WITHOUT_ZONE, None),  # noqa: DTZ001
        ("born", pa.array([date(2020, 1, 1)]), Reason.TIME_WITHOUT_ZONE, None),
        ("born", pa.array(["2020-01-01T00:00:00"]), Reason.TIME_WITHOUT_ZONE, None),
        ("born", pa.array([1.0]), Reason.WRONG_TYPE, None),
        ("born", pa.array([2**60], pa.timestamp("s", "UTC")), Reason.WRONG_TYPE, None),
        ("born", pa.array([5], pa.duration("s")), Reason.WRONG_TYPE, None),
        ("note", pa.array([5]), Reason.WRONG_TYPE, [None] * 7),
        ("place", pa.array([[1.0]]), Reason.WRONG_LENGTH, [None, None]),
        ("place", pa.array([[1.0, None]]), Reason.WRONG_TYPE, [None, None]),
        ("place", pa.array([[1.0, math.inf]]), Reason.INFINITE, [None, None]),
        ("place", pa.array([["a", "b"]]), Reason.WRONG_TYPE, [None, None]),
        ("top", pa.array([["a"] * 4]), Reason.WRONG_LENGTH, [None] * 3),
    ],
    ids=str,
)
def test_violations(name: str, values: pa.Array, reason: Reason, stored: Any) -> None:
    batch = parse(with_column(name, values))
    assert batch.rejections == ()
    assert violations(batch) == [[(name, reason)]]
    assert cell(batch, 0, name, CONTEXT) == stored


@pytest.mark.parametrize(
    ("name", "values", "stored"),
    [
        ("member", pa.array([1, 0]), [1.0, 0.0]),
        ("member", pa.array([1.0, 0.0]), [1.0, 0.0]),
        ("visits", pa.nulls(2), [None, None]),
        ("born", pa.array([1, -1], pa.timestamp("s", "Europe/Berlin")), [1.0, -1.0]),
        ("born", pa.array([1_999, 1_000], pa.timestamp("ns", "UTC")), [1e-06, 1e-06]),
        ("born", pa.array(["1970-01-01T00:00:01Z", None]), [1.0, None]),
        ("place", pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), [[1.0, 2.0], [None] * 2]),
        ("place", pa.array([[1, 2], [3, 4]], pa.large_list(pa.float32())), [[1, 2], [3, 4]]),
        ("place", pa.array([[1, 2], [3, 4]], pa.list_view(pa.float32())), [[1, 2], [3, 4]]),
        ("shares", pa.array([{"a": 1.0, "b": 0.0, "c": 0.0}, None]), [[1, 0, 0], [None] * 3]),
        ("top", pa.array([["p"], []]), [["p", None, None], [None] * 3]),
    ],
    ids=str,
)
def test_types_that_fit(name: str, values: pa.Array, stored: list[Any]) -> None:
    batch = parse(with_column(name, values))
    assert violations(batch) == [[], []]
    assert [cell(batch, row, name, CONTEXT) for row in (0, 1)] == stored


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("request_id", pa.array([None], pa.string()), RejectionReason.MISSING_ID),
        ("request_id", pa.array([""]), RejectionReason.MISSING_ID),
        ("request_id", pa.array([5]), RejectionReason.BAD_ID),
        ("request_id", pa.array(["x" * 201]), RejectionReason.BAD_ID),
        ("request_id", pa.array(["a\0"]), RejectionReason.BAD_ID),
        ("event_time", pa.nulls(1), RejectionReason.MISSING_TIME),
        ("event_time", pa.array([1.5]), RejectionReason.BAD_TIME),
        ("event_time", pa.array([b"x"]), RejectionReason.BAD_TIME),
        ("event_time", pa.array([datetime(2026, 9, 1)]), RejectionReason.TIME_WITHOUT_ZONE),  # noqa: DTZ001
        ("event_time", pa.array([date(2026, 9, 1)]), RejectionReason.TIME_WITHOUT_ZONE),
        ("event_time", pa.array([2**60], pa.timestamp("s", "UTC")), RejectionReason.BAD_TIME),
        (
            "event_time",
            pa.array([datetime(2013, 9, 1, tzinfo=UTC)]),
            RejectionReason.TIME_OUT_OF_RANGE,
        ),
        ("deployment", pa.array([9]), RejectionReason.UNKNOWN_DEPLOYMENT),
        ("deployment", pa.array(["7"]), RejectionReason.UNKNOWN_DEPLOYMENT),
        ("deployment", pa.array([math.nan]), RejectionReason.UNKNOWN_DEPLOYMENT),
        ("outcome", pa.array(["won"]), RejectionReason.BAD_OUTCOME),
        ("outcome", pa.array([1]), RejectionReason.BAD_OUTCOME),
    ],
    ids=str,
)
def test_a_row_that_can_not_be_placed(name: str, values: pa.Array, reason: RejectionReason) -> None:
    good = with_column("age", pa.array([1.0, 2.0]))
    bad = with_column(name, values)
    batch = parse(bad)
    assert [(r.place, r.reason) for r in batch.rejections] == [(0, reason)]
    assert "age: double" in batch.rejections[0].excerpt
    mixed = good.append_column("more", pa.array([1, 2]))
    assert parse(mixed).rejections == ()


def test_rows_between_bad_ones_are_kept_in_their_places() -> None:
    ids = pa.array(["a", None, "c", "", "e"])
    table = with_column("request_id", ids).set_column(
        2, "deployment", pa.array([7, 7, 9, 7, 8.0], pa.float64())
    )
    table = table.set_column(4, "age", pa.array([1.0, 2.0, 3.0, 4.0, 500.0]))
    batch = parse(table)
    assert batch.places == (0, 4)
    assert batch.table["deployment_id"].to_pylist() == [7, 8]
    assert [r.place for r in batch.rejections] == [1, 2, 3]
    assert violations(batch) == [[], [("age", Reason.OUT_OF_RANGE)]]
    assert [r.request_id for r in batch.rejections] == [None, "c", None]


def test_tags_are_json_text() -> None:
    texts = ['{"runtime": "a"}', '{"runtime": "a"}', None, "not json", '{"colour": "x"}', "[1]"]
    table = with_column("age", pa.array([1.0] * 6)).drop_columns(["deployment"])
    batch = parse(table.append_column("tags", pa.array(texts)))
    assert batch.table["deployment_id"].to_pylist() == [-1, -1, -2]
    assert [r.reason for r in batch.rejections] == [RejectionReason.BAD_TAGS] * 3


def test_a_missing_column_and_an_unknown_one() -> None:
    table = with_column("age", pa.array([1.0, 2.0])).drop_columns(["age", "income"])
    batch = parse(table.append_column("colour", pa.array(["red", None])))
    wanted = [("", Reason.UNKNOWN_COLUMN), ("age", Reason.MISSING)]
    assert violations(batch) == [wanted, wanted]
    assert [(e.column, e.example) for e in batch.examples] == [("colour", "<string>")]


def test_a_table_without_ids_loses_nothing_silently() -> None:
    batch = parse(with_column("age", pa.array([1.0, 2.0])).drop_columns(["request_id"]))
    assert [r.reason for r in batch.rejections] == [RejectionReason.MISSING_ID] * 2


def test_a_request_without_an_answer_may_lack_score() -> None:
    table = with_column("score", pa.array([None, None], pa.float64()))
    table = table.set_column(3, "outcome", pa.array(["timed_out", "cached"]))
    assert violations(parse(table)) == [[], [("score", Reason.NULL)]]


def test_text_that_is_not_utf8_costs_its_row_only() -> None:
    raw = pa.array([b"north", b"\xff\xfe", b"south"])
    broken = pa.StringArray.from_buffers(3, raw.buffers()[1], raw.buffers()[2])
    batch = parse(with_column("shop", broken))
    assert violations(batch) == [[], [("shop", Reason.UNSTORABLE_TEXT)], []]
    assert [cell(batch, row, "shop", CONTEXT) for row in range(3)] == ["north", None, "south"]
    twice = pa.concat_tables(
        [with_column("shop", pa.array(["x"] * 3)), with_column("shop", broken)]
    )
    found = violations(requests_of_table(twice, CONTEXT))
    assert [row for row, reasons_of_row in enumerate(found) if reasons_of_row] == [4]
    ids = parse(with_column("request_id", broken))
    assert [(r.place, r.reason) for r in ids.rejections] == [(1, RejectionReason.BAD_ID)]


def test_a_name_twice_is_refused_by_name() -> None:
    # Case pub-057: the duplicate is named, and no column is read in place of the other.
    table = with_column("age", pa.array([1.0])).append_column("age", pa.array([2.0]))
    with pytest.raises(RequestRefused) as caught:
        parse(table)
    assert caught.value.reason == "duplicate_columns"
    assert "'age'" in str(caught.value)


def test_several_batches_with_their_own_dictionaries() -> None:
    one = with_column("shop", pa.array(["a", "b"]).dictionary_encode())
    two = with_column("shop", pa.array(["c", "a"]).dictionary_encode())
    batch = requests_of_table(pa.concat_tables([one, two]), CONTEXT)
    assert [cell(batch, row, "shop", CONTEXT) for row in range(4)] == ["a", "b", "c", "a"]


def test_sliced_tables_are_read_from_their_slice() -> None:
    table = with_column("shop", pa.array(["a", None, "c", "d"]))
    place = table.schema.get_field_index("income")
    table = table.set_column(place, "income", pa.array([1.0, None, 3.0, None])).slice(1, 2)
    batch = requests_of_table(table, CONTEXT)
    assert batch.table["request_id"].to_pylist() == ["r-1", "r-2"]
    assert [cell(batch, row, "income", CONTEXT) for row in (0, 1)] == [None, 3.0]
    assert [cell(batch, row, "shop", CONTEXT) for row in (0, 1)] == [None, "c"]


def test_the_public_decimal_case() -> None:
    # Case pub-022: amount 50.04 against "at most 50": one violation, shown exactly.
    context = context_of(
        {"name": "amount", "type": "number", "range": (None, 50), "sensitivity": "public"}
    )
    table = pa.table(
        {
            "request_id": ["1"],
            "event_time": [MOMENT],
            "amount": pa.array([Decimal("50.04")]),
        }
    )
    batch = ARROW_REQUESTS.parse(stream(table), context)
    assert reasons(batch) == [[Reason.OUT_OF_RANGE]]
    assert [e.example for e in batch.examples] == ["50.04"]
