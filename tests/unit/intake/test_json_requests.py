import json
import math
from typing import Any

import pytest

from monitor.errors import RequestRefused
from monitor.intake.json_requests import JSON_REQUESTS, NDJSON_REQUESTS
from monitor.keys import keyed_hash
from monitor.layout import extend
from monitor.records import REQUEST_SCHEMA, RejectionReason, RequestBatch
from monitor.records import ViolationReason as Reason
from tests.unit.intake.factories import (
    KEY,
    array,
    cell,
    context_of,
    contract_of,
    lines,
    reasons,
    record,
    violations,
)

CONTEXT = context_of()


def parse(*records: Any, **changes: Any) -> RequestBatch:
    """The records as NDJSON; the same as a JSON array must give the same."""
    context = context_of(**changes) if changes else CONTEXT
    batch = NDJSON_REQUESTS.parse(lines(records), context)
    other = JSON_REQUESTS.parse(array(records), context)
    assert batch.table.equals(other.table)
    assert [(r.place, r.reason) for r in batch.rejections] == [
        (r.place, r.reason) for r in other.rejections
    ]
    assert batch.table.num_rows + len(batch.rejections) == len(records)
    return batch


def test_a_record_that_keeps_its_contract() -> None:
    batch = parse(record())
    row = batch.table.to_pylist()[0]
    assert batch.table.schema.equals(REQUEST_SCHEMA)
    assert (row["project_id"], row["model_id"], row["leg"]) == (3, 5, "live")
    assert (row["request_id"], row["deployment_id"], row["contract_version"]) == ("r-0", 7, 2)
    assert row["event_time"].isoformat() == "2026-09-01T10:00:00.123456+00:00"
    assert (row["outcome"], row["outcome_reason"], row["violations"]) == (1, None, None)
    hashed = f"{int(keyed_hash(['late again'], KEY).view('u8')[0]):016x}"
    stored = {name: cell(batch, 0, name, CONTEXT) for name in record() if name in _columns()}
    assert stored == {
        "age": 31.5,
        "income": None,
        "count": 3.0,
        "visits": None,
        "member": 1.0,
        "country": "DE",
        "shop": "north",
        "born": 631249445.0,  # date -u -d 1990-01-02T03:04:05Z +%s
        "note": [10.0, 2.0, 0.0, 0.0, 0.0, 0.0, hashed],
        "kept": [8.0, 3.0, 0.0, 0.0, 0.0, 0.0, "as it is"],
        "place": [0.5, -1.5],
        "shares": [0.2, 0.3, 0.5],
        "top": ["x", "y", None],
        "score": 0.25,
    }
    assert batch.places == range(1)
    assert batch.examples == ()


def _columns() -> set[str]:
    return {column.name for column in CONTEXT.contract.columns}


@pytest.mark.parametrize(
    ("change", "reason", "kept"),
    [
        ({"age": "31.5"}, Reason.WRONG_TYPE, None),
        ({"age": True}, Reason.WRONG_TYPE, None),
        ({"age": [1]}, Reason.WRONG_TYPE, None),
        ({"age": 121}, Reason.OUT_OF_RANGE, None),
        ({"age": -0.001}, Reason.OUT_OF_RANGE, None),
        ({"age": math.nan}, Reason.NOT_A_NUMBER, None),
        ({"age": math.inf}, Reason.INFINITE, None),
        ({"income": -math.inf}, Reason.INFINITE, None),
        ({"age": None}, Reason.NULL, None),
        ({"age": ...}, Reason.MISSING, None),
        ({"income": int("9" * 400)}, Reason.INTEGER_TOO_LARGE, None),
        ({"count": 2.5}, Reason.WRONG_TYPE, None),
        ({"count": 2**53 + 1}, Reason.INTEGER_TOO_LARGE, None),
        ({"visits": -(2**53) - 1}, Reason.INTEGER_TOO_LARGE, None),
        ({"count": -1}, Reason.OUT_OF_RANGE, None),
        ({"count": "3"}, Reason.WRONG_TYPE, None),
        ({"member": "true"}, Reason.WRONG_TYPE, None),
        ({"member": 2}, Reason.WRONG_TYPE, None),
        ({"member": math.nan}, Reason.NOT_A_NUMBER, None),
        ({"country": "XX"}, Reason.UNKNOWN_CATEGORY, None),
        ({"country": 77}, Reason.WRONG_TYPE, "77"),
        ({"country": 77.0}, Reason.WRONG_TYPE, "77"),
        ({"country": 78}, Reason.WRONG_TYPE, None),
        ({"shop": False}, Reason.WRONG_TYPE, "false"),
        ({"shop": 1.5}, Reason.WRONG_TYPE, "1.5"),
        ({"shop": {"a": 1}}, Reason.WRONG_TYPE, None),
        ({"shop": "x" * 513}, Reason.TOO_LONG, None),
        ({"shop": "a\0b"}, Reason.UNSTORABLE_TEXT, None),
        ({"shop": "a\ud800"}, Reason.UNSTORABLE_TEXT, None),
        ({"born": "1990-01-02T03:04:05"}, Reason.TIME_WITHOUT_ZONE, None),
        ({"born": 631249445}, Reason.WRONG_TYPE, None),
        ({"born": "1990"}, Reason.WRONG_TYPE, None),
        ({"note": 5}, Reason.WRONG_TYPE, [None] * 7),
        ({"note": "\0"}, Reason.UNSTORABLE_TEXT, [None] * 7),
        ({"kept": "x" * 32_769}, Reason.TOO_LONG, [None] * 7),
        ({"place": [1.0]}, Reason.WRONG_LENGTH, [None, None]),
        ({"place": [1.0, None]}, Reason.WRONG_TYPE, [None, None]),
        ({"place": [1.0, math.nan]}, Reason.NOT_A_NUMBER, [None, None]),
        ({"place": "1,2"}, Reason.WRONG_TYPE, [None, None]),
        ({"shares": {"a": 1, "b": 0, "z": 0}}, Reason.UNKNOWN_CATEGORY, [None] * 3),
        ({"shares": {"a": 1}}, Reason.WRONG_LENGTH, [None] * 3),
        ({"top": ["a", "b", "c", "d"]}, Reason.WRONG_LENGTH, [None] * 3),
        ({"top": ["a", 5]}, Reason.WRONG_TYPE, ["a", "5", None]),
        ({"top": ["a", None]}, Reason.WRONG_TYPE, [None] * 3),
        ({"score": 1.5}, Reason.OUT_OF_RANGE, None),
    ],
)
def test_a_violation_is_counted_and_costs_only_its_column(
    change: dict[str, Any], reason: Reason, kept: Any
) -> None:
    name = next(iter(change))
    batch = parse(record(0), record(1, **change), record(2))
    assert batch.rejections == ()
    assert violations(batch) == [[], [(name, reason)], []]
    assert cell(batch, 1, name, CONTEXT) == kept
    for other in _columns() - {name}:
        assert cell(batch, 1, other, CONTEXT) == cell(batch, 0, other, CONTEXT)


@pytest.mark.parametrize(
    ("change", "name", "stored"),
    [
        ({"count": 3.0}, "count", 3.0),
        ({"count": 2**53}, "count", 2.0**53),
        ({"age": 120}, "age", 120.0),
        ({"member": 0}, "member", 0.0),
        ({"member": 1.0}, "member", 1.0),
        ({"income": 10**300}, "income", 1e300),
        ({"shop": ""}, "shop", ""),
        ({"shop": "x" * 512}, "shop", "x" * 512),
        ({"shop": "日本 😀"}, "shop", "日本 😀"),
        ({"shop": 'a "quoted\\" thing'}, "shop", 'a "quoted\\" thing'),
        ({"note": ""}, "note", [0.0] * 6 + [f"{int(keyed_hash([''], KEY).view('u8')[0]):016x}"]),
        ({"shares": {"c": 0.5, "a": 0.25, "b": 0.25}}, "shares", [0.25, 0.25, 0.5]),
        ({"top": []}, "top", [None] * 3),
        ({"shop": ...}, "shop", None),
    ],
)
def test_what_is_no_violation(change: dict[str, Any], name: str, stored: Any) -> None:
    batch = parse(record(0), record(1, **change))
    assert violations(batch) == [[], []]
    assert cell(batch, 1, name, CONTEXT) == stored


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (record(request_id=...), RejectionReason.MISSING_ID),
        (record(request_id=""), RejectionReason.MISSING_ID),
        (record(request_id=None), RejectionReason.MISSING_ID),
        (record(request_id=5), RejectionReason.BAD_ID),
        (record(request_id="x" * 201), RejectionReason.BAD_ID),
        (record(request_id="a\0b"), RejectionReason.BAD_ID),
        (record(request_id="a\udfff"), RejectionReason.BAD_ID),
        (record(event_time=...), RejectionReason.MISSING_TIME),
        (record(event_time=1756700000), RejectionReason.BAD_TIME),
        (record(event_time="soon"), RejectionReason.BAD_TIME),
        (record(event_time="\ud800"), RejectionReason.BAD_TIME),
        (record(event_time="2026-09-01T10:00:00"), RejectionReason.TIME_WITHOUT_ZONE),
        (record(event_time="2013-09-01T10:00:00Z"), RejectionReason.TIME_OUT_OF_RANGE),
        (record(event_time="2026-09-02T12:00:00Z"), RejectionReason.TIME_OUT_OF_RANGE),
        (record(deployment=9), RejectionReason.UNKNOWN_DEPLOYMENT),
        (record(deployment=True), RejectionReason.UNKNOWN_DEPLOYMENT),
        (record(deployment="7"), RejectionReason.UNKNOWN_DEPLOYMENT),
        (record(tags={}), RejectionReason.BAD_TAGS),
        (record(deployment=..., tags="x"), RejectionReason.BAD_TAGS),
        (record(deployment=..., tags={"model_version": 3}), RejectionReason.BAD_TAGS),
        (record(deployment=..., tags={"colour": "red"}), RejectionReason.BAD_TAGS),
        (record(outcome="won"), RejectionReason.BAD_OUTCOME),
        (record(outcome=1), RejectionReason.BAD_OUTCOME),
        (None, RejectionReason.NOT_AN_OBJECT),
        ([], RejectionReason.NOT_AN_OBJECT),
        ("text", RejectionReason.NOT_AN_OBJECT),
        (b'{"request_id": }', RejectionReason.UNREADABLE),
        (b'{"request_id": "\xff"}', RejectionReason.UNREADABLE),
        (b'{"request_id": "a", "request_id": "b"}', RejectionReason.UNREADABLE),
        (b'{"x": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", RejectionReason.TOO_DEEP),
    ],
)
def test_a_bad_record_never_costs_its_neighbours(bad: Any, reason: RejectionReason) -> None:
    batch = parse(record(0), bad, record(2))
    assert batch.table["request_id"].to_pylist() == ["r-0", "r-2"]
    assert list(batch.places) == [0, 2]
    assert [(r.place, r.reason) for r in batch.rejections] == [(1, reason)]
    assert len(batch.rejections[0].message) > 10
    assert len(batch.rejections[0].excerpt) <= 200


@pytest.mark.parametrize("name", ["age", "count", "member", "country", "note", "place", "new"])
def test_an_integer_of_5000_digits(name: str) -> None:
    huge = json.dumps(record(1))[:-1].encode() + b', "new": 1}'
    whole = json.loads(huge)
    whole[name] = "HUGE"
    body = json.dumps(whole).replace('"HUGE"', "9" * 5000).encode()
    batch = parse(record(0), body)
    assert batch.rejections == ()
    assert cell(batch, 1, "score", CONTEXT) == 0.25
    assert set(reasons(batch)[1]) >= {Reason.UNKNOWN_COLUMN}


def test_a_repeated_key_is_noticed_on_a_body_that_is_clean_otherwise() -> None:
    twice = json.dumps(record(1))[:-1].encode() + b', "age": 32.5}'
    batch = parse(record(0), twice, record(2))
    assert [(r.place, r.reason) for r in batch.rejections] == [(1, RejectionReason.UNREADABLE)]
    assert "'age'" in batch.rejections[0].message
    assert batch.rejections[0].request_id is None


def test_a_repeated_key_inside_tags_is_noticed() -> None:
    whole = json.dumps(record(1, deployment=..., tags="TAGS"))
    twice = whole.replace('"TAGS"', '{"runtime": "a", "runtime": "b"}').encode()
    batch = parse(record(0), twice)
    assert [r.reason for r in batch.rejections] == [RejectionReason.UNREADABLE]


def test_unknown_columns_are_violations_of_no_column() -> None:
    batch = parse(record(0), record(1, colour="red", size=None))
    assert violations(batch)[1] == [("", Reason.UNKNOWN_COLUMN)] * 2
    assert [(e.column, e.example) for e in batch.examples] == [
        ("colour", "<text of 3 characters, begins with a letter>"),
        ("size", "<null>"),
    ]


def test_at_most_20_unknown_columns_of_a_record_are_counted() -> None:
    batch = parse(record(0, **{f"new_{number}": 1 for number in range(500)}))
    assert reasons(batch) == [[Reason.UNKNOWN_COLUMN] * 20]


def test_examples_are_masked_unless_public_and_few() -> None:
    batch = parse(*[record(n, age=200 + n, shop=f"{'s3cret' * 100}{n}") for n in range(10)])
    ages = [e for e in batch.examples if e.column == "age"]
    shops = [e for e in batch.examples if e.column == "shop"]
    assert [e.example for e in ages] == ["<number, positive>"] * 3
    assert len(shops) == 3
    assert all(e.example.startswith('"s3crets3cret') and len(e.example) <= 80 for e in shops)


def test_a_rejection_shows_no_value() -> None:
    batch = parse(record(0, event_time="never", shop="s3cret", note="s3cret"))
    rejection = batch.rejections[0]
    assert rejection.request_id == "r-0"
    assert "s3cret" not in rejection.excerpt + rejection.message
    assert "shop: text" in rejection.excerpt


def test_a_request_without_an_answer_may_lack_score() -> None:
    failed = record(0, outcome="failed", outcome_reason="no GPU", score=...)
    answered = record(1, outcome="fell_back", score=None)
    batch = parse(failed, answered)
    assert violations(batch) == [[], [("score", Reason.NULL)]]
    assert batch.table["outcome"].to_pylist() == [4, 7]
    assert batch.table["outcome_reason"].to_pylist() == ["no GPU", None]


@pytest.mark.parametrize("value", [5, "x" * 513, "\0", "\ud800"])
def test_a_bad_outcome_reason_is_left_out_and_counted(value: Any) -> None:
    batch = parse(record(0, outcome_reason=value))
    assert batch.table["outcome_reason"].to_pylist() == [None]
    assert len(reasons(batch)[0]) == 1


def test_deployments_and_tags() -> None:
    tags = {"model_version": "3", "precision": "fp16"}
    batch = parse(
        record(0),
        record(1, deployment=..., tags=tags),
        record(2, deployment=None, tags=dict(reversed(tags.items()))),
        record(3, deployment=...),
        record(4, deployment=..., tags={"precision": "int8", "runtime": None}),
        record(5, deployment=8),
    )
    assert batch.table["deployment_id"].to_pylist() == [7, -1, -1, -2, -3, 8]
    assert [dict(t.known) for t in batch.tags] == [tags, {}, {"precision": "int8"}]


def test_lines_may_be_blank_and_end_in_any_way() -> None:
    body = (
        b"\xef\xbb\xbf"
        + lines([record(0)])
        + b"\r\n  \n"
        + json.dumps(record(1)).encode()
        + b"\r\n"
    )
    batch = NDJSON_REQUESTS.parse(body, CONTEXT)
    assert list(batch.places) == [0, 1]
    pretty = b"\n" + json.dumps([record(0), record(1)], indent=2).encode() + b"\n"
    assert JSON_REQUESTS.parse(pretty, CONTEXT).table.num_rows == 2


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty_body"),
        (b" \n\t ", "empty_body"),
        (b"null\n", "unreadable"),
        (b'{"request_id": "a"}', "unreadable"),
        (b'[{"request_id": "a"}', "unreadable"),
        (b"[" * 100_000, "unreadable"),
        (b"\x1f\x8b\x08", "unreadable"),
    ],
)
def test_a_body_that_is_no_array_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(RequestRefused) as caught:
        JSON_REQUESTS.parse(body, CONTEXT)
    assert (caught.value.status, caught.value.reason) == (400, reason)


def test_the_line_null_is_one_rejected_record() -> None:
    batch = NDJSON_REQUESTS.parse(b"null\n", CONTEXT)
    assert [r.reason for r in batch.rejections] == [RejectionReason.NOT_AN_OBJECT]
    assert batch.table.num_rows == 0
    with pytest.raises(RequestRefused):
        NDJSON_REQUESTS.parse(b"", CONTEXT)


def test_an_empty_array_is_an_empty_batch() -> None:
    batch = JSON_REQUESTS.parse(b"[]", CONTEXT)
    assert (batch.table.num_rows, batch.rejections) == (0, ())


@pytest.mark.parametrize("clean", [True, False])
def test_too_many_records_are_refused(clean: bool) -> None:
    records = [record(n, **({} if clean else {"age": "x"})) for n in range(11)]
    for form, body in ((NDJSON_REQUESTS, lines(records)), (JSON_REQUESTS, array(records))):
        with pytest.raises(RequestRefused) as caught:
            form.parse(body, context_of(max_records=10))
        assert (caught.value.status, caught.value.reason) == (413, "too_many_records")


def test_duplicate_ids_are_the_stores_business() -> None:
    # Case pub-032: three rows with two ids all reach the store, which tells duplicates apart.
    batch = parse(record(1), record(2), record(1))
    assert batch.table["request_id"].to_pylist() == ["r-1", "r-2", "r-1"]


def test_columns_of_older_versions_stay_empty() -> None:
    older = contract_of({"name": "old", "type": "number"}, {"name": "city", "type": "category"})
    newer = contract_of({"name": "city", "type": "category"}, {"name": "new", "type": "number"})
    layout = extend(extend(None, older), newer)
    sent = {"request_id": "a", "event_time": "2026-09-01T10:00:00Z", "city": "Bonn", "new": 2}
    batch = parse(sent, contract=newer, layout=layout)
    assert batch.table["numbers"].to_pylist() == [[None, 2.0]]
    assert batch.table["texts"].to_pylist() == [["Bonn"]]
