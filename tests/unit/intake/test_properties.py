"""Whatever is sent: nothing but RequestRefused, nothing lost, and every reader agrees."""

import json
import math
from contextlib import suppress
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.errors import RequestRefused
from monitor.intake.arrow_requests import requests_of_table
from monitor.intake.json_records import Lines, read_one_by_one
from monitor.intake.json_requests import JSON_REQUESTS, NDJSON_REQUESTS
from monitor.intake.json_struct import reader_for
from monitor.intake.plan import plan_for
from monitor.intake.registry import LABEL_FORMATS, REQUEST_FORMATS
from monitor.records import REQUEST_SCHEMA
from tests.unit.intake.factories import COLUMNS, array, context_of, lines, record

CONTEXT = context_of()
NAMES = [column["name"] for column in COLUMNS]
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | texts
    | st.sampled_from([0, 1, 77, "DE", "FR", "77", 0.5, "2020-01-01T00:00:00Z", 1e400])
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)
fields = st.sampled_from(
    [*NAMES, "request_id", "event_time", "deployment", "tags", "outcome", "outcome_reason", "x"]
)
mutated = st.dictionaries(fields, values | st.just(...), max_size=4).map(
    lambda changes: record(0, **changes)
)
kept_types = st.fixed_dictionaries(
    {},
    optional={
        "age": st.floats(0, 120) | st.integers(0, 120),
        "income": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "count": st.integers(0, 2**53),
        "visits": st.none() | st.integers(-(2**53), 2**53),
        "member": st.booleans(),
        "country": st.sampled_from(["DE", "FR", "XX"]),
        "shop": st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
        "born": st.none() | st.just("2020-01-01T00:00:00.25+02:00"),
        "note": st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
        "kept": st.none() | st.text("aZ9 .é😀\n", max_size=20),
        "place": st.none() | st.lists(st.floats(-1, 1), min_size=2, max_size=2),
        "shares": st.none() | st.sampled_from([[1.0, 0.0, 0.0], [0.5, 0.6, -0.1]]),
        "top": st.none() | st.lists(st.sampled_from(["p", "q"]), max_size=3),
        "score": st.floats(-1, 2),
    },
)


@given(st.binary(max_size=200), st.sampled_from(sorted(REQUEST_FORMATS)))
@quick
def test_any_bytes_are_answered_or_refused(body: bytes, kind: str) -> None:
    for formats in (REQUEST_FORMATS, LABEL_FORMATS):
        with suppress(RequestRefused):
            formats[kind].parse(body, CONTEXT)


@given(st.lists(mutated, min_size=1, max_size=4))
@quick
def test_mutated_records_are_all_accounted_for(records: list[Any]) -> None:
    by_line = NDJSON_REQUESTS.parse(lines(records), CONTEXT)
    by_array = JSON_REQUESTS.parse(array(records), CONTEXT)
    for batch in (by_line, by_array):
        assert batch.table.num_rows + len(batch.rejections) == len(records)
        places = [*batch.places, *(rejection.place for rejection in batch.rejections)]
        assert sorted(places) == list(range(len(records)))
        assert batch.table.schema.equals(REQUEST_SCHEMA)
        batch.table.validate(full=True)
    assert by_line.table.equals(by_array.table)


@given(st.lists(st.binary(max_size=40) | mutated, min_size=1, max_size=4))
@quick
def test_a_good_record_survives_any_neighbours(neighbours: list[Any]) -> None:
    bad = [n.replace(b"\n", b"") if isinstance(n, bytes) else n for n in neighbours]
    batch = NDJSON_REQUESTS.parse(lines([*bad, record(99), *bad]), CONTEXT)
    assert "r-99" in batch.table["request_id"].to_pylist()


@given(st.lists(kept_types, min_size=1, max_size=5), st.booleans())
@quick
def test_typed_and_lenient_reading_give_identical_rows(
    changes: list[dict[str, Any]], ascii_only: bool
) -> None:
    records = [record(n, **change) for n, change in enumerate(changes)]
    body = b"".join(json.dumps(r, ensure_ascii=ascii_only).encode() + b"\n" for r in records)
    typed = NDJSON_REQUESTS.parse(body, CONTEXT)
    # One more record that only the lenient reader takes, and a key order that it meets first.
    forced = [{"x_unknown": 1, **r} for r in records]
    lenient = NDJSON_REQUESTS.parse(lines(forced), CONTEXT)
    for name in typed.table.column_names:
        if name != "violations":
            assert typed.table[name].equals(lenient.table[name]), name
    without_unknown = [
        [code for code in codes if code != 14] or None
        for codes in lenient.table["violations"].to_pylist()
    ]
    assert typed.table["violations"].to_pylist() == without_unknown
    assert typed.examples == tuple(e for e in lenient.examples if e.column != "x_unknown")


@given(st.lists(kept_types, min_size=1, max_size=5))
@quick
def test_records_that_keep_their_types_take_the_typed_path(changes: list[dict[str, Any]]) -> None:
    records = [record(n, **change) for n, change in enumerate(changes)]
    reader = reader_for(plan_for(CONTEXT.contract, CONTEXT.layout))
    found = read_one_by_one(lines(records), Lines(), reader, 100)
    assert found.notes.empty
    assert not found.rejections


@given(st.lists(kept_types, min_size=1, max_size=4))
@quick
def test_many_rows_are_read_as_a_few_are(changes: list[dict[str, Any]]) -> None:
    records = [record(n, **change) for n, change in enumerate(changes)]
    few = NDJSON_REQUESTS.parse(lines(records), CONTEXT).table
    many = NDJSON_REQUESTS.parse(lines(records * 12), CONTEXT).table
    assert many.equals(pa.concat_tables([few] * 12).combine_chunks())


@given(st.lists(kept_types, min_size=1, max_size=5))
@quick
def test_json_and_arrow_of_the_same_rows_give_the_same_table(
    changes: list[dict[str, Any]],
) -> None:
    records = [record(n, **change) for n, change in enumerate(changes)]
    columns = {name: [r.get(name) for r in records] for name in record()}
    kinds = {"count": pa.int64(), "visits": pa.int64(), "age": pa.float64()}
    table = pa.table({n: pa.array(v, kinds.get(n)) for n, v in columns.items()})
    by_json = NDJSON_REQUESTS.parse(lines(records), CONTEXT)
    assert requests_of_table(table, CONTEXT).table.equals(by_json.table)


def test_nothing_that_is_stored_is_a_number_that_is_none() -> None:
    batch = NDJSON_REQUESTS.parse(
        lines([record(0, age=math.nan, income=math.inf, place=[math.nan, 1.0])]), CONTEXT
    )
    stored = batch.table["numbers"].to_pylist()[0]
    assert all(number is None or math.isfinite(number) for number in stored)
