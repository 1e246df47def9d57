"""Bodies of requests over HTTP, into the real database."""

import gzip
import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from monitor.settings import Settings
from tests.integration.collector.conftest import World, settings_of
from tests.unit.intake.factories import array, lines, record, stream

ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"


def good(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A record whose deployment is told by tags."""
    return record(number, **{"deployment": ..., **changes})


def counts(response: Any) -> tuple[int, int, int, int]:
    assert response.status_code == 200, response.text
    answer = response.json()
    assert answer["rejected"] == len(answer["rejections"]) + answer["rejections_not_listed"]
    return answer["accepted"], answer["duplicate"], answer["conflict"], answer["rejected"]


@pytest.mark.parametrize("kind", ["application/x-ndjson", "application/ndjson", JSON, ARROW])
def test_every_format_is_stored_before_it_is_answered(world: World, kind: str) -> None:
    records = [good(n, age=float(n), count=n) for n in range(60)]
    bodies = {JSON: array(records), ARROW: stream(pa.Table.from_pylist(records))}
    response = world.post(bodies.get(kind, lines(records)), kind=kind)
    assert counts(response) == (60, 0, 0, 0)
    stored = world.rows("select count(*), min(leg) from request_log where model_id = :model")
    assert stored == [(60, "live")]


def test_legs_are_stored_apart(world: World) -> None:
    body = lines([good()])
    for leg in ("live", "batch", "shadow:new", "replay:7"):
        assert counts(world.post(body, leg=leg)) == (1, 0, 0, 0)
    legs = world.rows("select leg from request_log where model_id = :model order by leg")
    assert [row.leg for row in legs] == ["batch", "live", "replay:7", "shadow:new"]


def test_pub_032_duplicate_ids_in_one_batch(world: World) -> None:
    # Two rows stored, one duplicate; the batch sent again changes nothing: three duplicates.
    batch = [good(1, score=0.2), good(2, score=0.7), good(1, score=0.2)]
    assert counts(world.post(lines(batch))) == (2, 1, 0, 0)
    assert counts(world.post(lines(batch))) == (0, 3, 0, 0)
    assert world.rows("select count(*) from request_log where model_id = :model") == [(2,)]


def test_other_content_under_a_known_key_is_a_conflict_and_the_first_stays(world: World) -> None:
    assert counts(world.post(lines([good(1, score=0.2)]))) == (1, 0, 0, 0)
    assert counts(world.post(lines([good(1, score=0.3), good(2)]))) == (1, 0, 1, 0)
    assert counts(world.post(lines([good(1, event_time="2026-09-01T09:00:00Z")]))) == (1, 0, 0, 0)
    scores = world.rows(
        "select numbers[cardinality(numbers)] s from request_log where model_id = :model"
        " and request_id = 'r-1' order by event_time desc"
    )
    assert [row.s for row in scores] == [0.2, 0.25]


def test_violations_and_rejections_are_counted_and_kept(world: World) -> None:
    records = [
        good(0),
        good(1, age="old", shop=5),
        good(2, event_time="2026-09-01T10:00:00"),
        good(3, colour="s3cret"),
        b'{"request_id": "r-4", "age": ' + b"[" * 5_000 + b"}",
    ]
    response = world.post(lines(records))
    assert counts(response) == (3, 0, 0, 2)
    answer = response.json()
    assert answer["violations"] == 3
    assert [(r["place"], r["reason"], r["request_id"]) for r in answer["rejections"]] == [
        (2, "time_without_zone", "r-2"),
        (4, "too_deep", None),
    ]
    kept = world.rows("select place, reason, excerpt from rejection where model_id = :model")
    assert sorted((row.place, row.reason) for row in kept) == [
        (2, "time_without_zone"),
        (4, "too_deep"),
    ]
    examples = world.rows("select column_name, example from violation_example")
    assert sorted(row.column_name for row in examples) == ["age", "colour", "shop"]
    assert not any("s3cret" in row.example for row in examples)


def test_a_body_of_nothing_but_rejections_is_kept_too(world: World) -> None:
    assert counts(world.post(b"null\n")) == (0, 0, 0, 1)
    kept = world.rows("select reason, kind from rejection where model_id = :model")
    assert kept == [("not_an_object", "requests")]


def test_at_most_100_rejections_are_listed(world: World) -> None:
    response = world.post(lines([good(0)] + ["no record"] * 150))
    assert counts(response) == (1, 0, 0, 150)
    assert response.json()["rejections_not_listed"] == 50


BAD_RECORDS: tuple[tuple[Any, str | None], ...] = (
    (good(1, age="x"), None),
    (good(1, unknown=1), None),
    (good(1, age=...), None),
    (good(1, age=500), None),
    (good(1, age=math.nan), None),
    (good(1, age=math.inf), None),
    (good(1, age=-math.inf), None),
    (good(1, shop="a\0b"), None),
    (good(1, shop="\ud800"), None),
    (good(1, shop="\U0001f600"), None),
    (good(1, request_id="a\0b"), "bad_id"),
    (good(1, request_id="\udfff"), "bad_id"),
    (json.dumps(good(1)).replace("31.5", "9" * 5000).encode(), None),
    (json.dumps(good(1)).replace("31.5", "[" * 9_000 + "]" * 9_000).encode(), "too_deep"),
    (good(1, event_time="2026-09-01T10:00:00"), "time_without_zone"),
    (good(1, event_time="2016-09-01T10:00:00Z"), "time_out_of_range"),
    (good(1, event_time="2036-09-01T10:00:00Z"), "time_out_of_range"),
    (good(1, tags={"model_version": "\0"}), "bad_tags"),
    (good(1, outcome_reason="\0\ud800"), None),
)


@pytest.mark.parametrize(("bad", "reason"), BAD_RECORDS, ids=range(len(BAD_RECORDS)))
def test_a_bad_record_never_costs_its_neighbours(
    world: World, bad: Any, reason: str | None
) -> None:
    response = world.post(lines([good(0), bad, good(2)]))
    rejected = 0 if reason is None else 1
    assert counts(response) == (3 - rejected, 0, 0, rejected)
    assert [r["reason"] for r in response.json()["rejections"]] == [reason] * rejected
    ids = world.rows("select request_id from request_log where model_id = :model order by 1")
    assert {"r-0", "r-2"} <= {row.request_id for row in ids}


def test_years_away_with_the_scope_backfill(world: World) -> None:
    key = world.make_key("ingest", "backfill")
    body = lines([good(0, event_time="2013-04-01T00:00:00Z")])
    assert counts(world.post(body)) == (0, 0, 0, 1)
    assert counts(world.post(body, key=key)) == (1, 0, 0, 0)
    far = lines([good(0, event_time="2036-04-01T00:00:00Z")])
    assert counts(world.post(far, key=key)) == (0, 0, 0, 1)


def test_one_body_can_not_begin_thousands_of_days(world: World) -> None:
    key = world.make_key("ingest", "backfill")
    times = np.datetime_as_string(np.datetime64("1990-01-01") + np.arange(401) * 7)
    records = [good(n, event_time=f"{day}T00:00:00Z") for n, day in enumerate(times)]
    response = world.post(lines(records), key=key)
    assert (response.status_code, response.json()["reason"]) == (422, "too_many_days")


def test_pub_036_a_fast_clock_is_stored_and_counted(world: World) -> None:
    # Now is 12:00; the record of 14:00 is 7,200 s ahead.
    times = ("11:55:00", "11:58:00", "14:00:00")
    records = [good(n, event_time=f"2026-09-01T{clock}Z") for n, clock in enumerate(times)]
    assert counts(world.post(lines(records))) == (3, 0, 0, 0)
    assert world.metric("clock_skewed_total", kind="requests") == 1
    skew = world.rows(
        "select extract(epoch from event_time - received_at)::int s from request_log"
        " where model_id = :model order by 1 desc limit 1"
    )
    assert skew == [(7200,)]


@pytest.mark.parametrize(
    ("body", "kind", "status", "reason"),
    [
        (b"", "application/x-ndjson", 400, "empty_body"),
        (b"\n\n", "application/x-ndjson", 400, "empty_body"),
        (b"", JSON, 400, "empty_body"),
        (b"", ARROW, 400, "empty_body"),
        (b"null\n", JSON, 400, "unreadable"),
        (b"[" * 100_000, JSON, 400, "unreadable"),
        (b"null\n", ARROW, 400, "unreadable"),
        (b"{}", "text/csv", 415, "unsupported_type"),
        (b"{}", "", 415, "unsupported_type"),
    ],
)
def test_a_body_that_can_not_be_read(
    world: World, body: bytes, kind: str, status: int, reason: str
) -> None:
    response = world.post(body, kind=kind)
    assert (response.status_code, response.json()["reason"]) == (status, reason)
    assert len(response.json()["message"]) > 10


def test_gzip_of_one_and_of_several_members(world: World) -> None:
    packed = gzip.compress(lines([good(0)])) + gzip.compress(lines([good(1)]))
    response = world.post(packed, headers={"Content-Encoding": "gzip"})
    assert counts(response) == (2, 0, 0, 0)


@pytest.mark.parametrize(
    ("body", "coding", "status", "reason"),
    [
        (gzip.compress(lines([good()]), mtime=0)[:-9], "gzip", 400, "truncated_gzip"),
        (gzip.compress(lines([good()]), mtime=0)[:30], "gzip", 400, "truncated_gzip"),
        (b"", "gzip", 400, "truncated_gzip"),
        (lines([good()]), "gzip", 400, "bad_gzip"),
        (gzip.compress(lines([good()]), mtime=0) + b"rest", "gzip", 400, "bad_gzip"),
        (gzip.compress(b"\n" * (50 << 20), mtime=0), "gzip", 413, "too_large"),
        (
            gzip.compress(gzip.compress(lines([good()]), mtime=0)),
            "gzip, gzip",
            415,
            "unsupported_encoding",
        ),
        (lines([good()]), "br", 415, "unsupported_encoding"),
    ],
    ids=range(8),
)
def test_encodings(world: World, body: bytes, coding: str, status: int, reason: str) -> None:
    response = world.post(body, headers={"Content-Encoding": coding})
    assert (response.status_code, response.json()["reason"]) == (status, reason)


class TestSmallLimits:
    @pytest.fixture
    def settings(self) -> Settings:
        return settings_of(max_body_bytes=2_048, max_inflated_bytes=4_096, max_records=3)

    def test_a_body_over_the_limit_is_refused_by_its_length(self, world: World) -> None:
        response = world.post(b"x" * 2_049)
        assert (response.status_code, response.json()["reason"]) == (413, "too_large")

    def test_and_while_it_arrives_in_chunks(self, world: World) -> None:
        response = world.client.post(
            "/v1/requests",
            content=(b"x" * 100 for _ in range(1_000)),
            params={"model": world.model},
            headers={
                "Authorization": f"Bearer {world.key}",
                "Content-Type": "application/x-ndjson",
            },
        )
        assert (response.status_code, response.json()["reason"]) == (413, "too_large")

    def test_and_unpacked(self, world: World) -> None:
        body = gzip.compress(b"x" * 4_097)
        response = world.post(body, headers={"Content-Encoding": "gzip"})
        assert (response.status_code, response.json()["reason"]) == (413, "too_large")

    def test_too_many_records(self, world: World) -> None:
        response = world.post(b"{}\n" * 4)
        assert (response.status_code, response.json()["reason"]) == (413, "too_many_records")


def test_the_counts_add_up_in_the_metrics(world: World) -> None:
    world.post(lines([good(0), good(0), good(0, score=0.9), "bad", good(1, age="x")]))
    names = ("accepted", "duplicate", "conflict")
    kind = {"kind": "requests"}
    stored = [world.metric(f"{name}_total", **kind) for name in names]
    assert stored == [2, 1, 1]
    rejected = world.metric("rejected_total", kind="requests", reason="not_an_object")
    assert sum(stored) + rejected == world.metric("received_total", **kind) == 5
    assert world.metric("violations_total", **kind) == 1
