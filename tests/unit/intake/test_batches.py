from datetime import date

import numpy as np
import pyarrow as pa

from monitor.deployment import Tags
from monitor.intake.batches import (
    count_later_than,
    count_violations,
    days_of,
    merge_requests,
    with_default_deployment,
)
from monitor.intake.json_requests import NDJSON_REQUESTS
from monitor.intake.times import micros_of
from monitor.records import REQUEST_SCHEMA, RequestBatch
from tests.unit.intake.factories import NOW, context_of, lines, record

CONTEXT = context_of()
ONE, TWO = {"runtime": "a"}, {"runtime": "b"}


def parse(*records: object) -> RequestBatch:
    return NDJSON_REQUESTS.parse(lines(records), CONTEXT)


def told(number: int, tags: object) -> dict[str, object]:
    return record(number, deployment=..., tags=tags)


def test_merged_tags_still_name_the_right_rows() -> None:
    first = parse(told(0, ONE), record(1), told(2, None))
    second = parse(told(3, TWO), told(4, ONE), "bad")
    third = parse(record(5, deployment=8))
    merged = merge_requests([first, second, third])
    assert merged.table.schema.equals(REQUEST_SCHEMA)
    numbers = merged.table["deployment_id"].to_pylist()
    named = [n if n > 0 else dict(merged.tags[-n - 1].known) for n in numbers]
    assert named == [ONE, 7, {}, TWO, ONE, 8]
    assert len(merged.tags) == 3
    assert [r.place for r in merged.rejections] == [2]


def test_a_default_deployment_is_for_rows_that_tell_nothing() -> None:
    batch = with_default_deployment(parse(told(0, None), told(1, ONE), told(2, {}), record(3)), 9)
    numbers = batch.table["deployment_id"].to_pylist()
    assert [n if n > 0 else batch.tags[-n - 1] for n in numbers] == [9, Tags.of(ONE), 9, 7]
    assert batch.table.schema.equals(REQUEST_SCHEMA)


def test_days_are_utc_days() -> None:
    batch = parse(
        record(0, event_time="2026-08-31T23:59:59.999999Z"),
        record(1, event_time="2026-09-01T01:00:00+02:00"),
        record(2, event_time="2026-09-01T00:00:00Z"),
    )
    assert days_of(batch.table) == {date(2026, 8, 31), date(2026, 9, 1)}


def test_counting() -> None:
    batch = parse(record(0, age="x", count="y"), record(1), record(2, age="x"))
    assert count_violations(batch.table) == 3
    assert count_violations(batch.table, np.array([True, True, False])) == 2
    assert count_later_than(batch.table, micros_of(NOW)) == 0
    assert count_later_than(batch.table, 0) == 3
    nothing: pa.Table = REQUEST_SCHEMA.empty_table()
    assert (count_violations(nothing), days_of(nothing)) == (0, set())
