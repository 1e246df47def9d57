"""The client's parts one by one: settings, answers, waits, files of the spool."""

from __future__ import annotations

import gzip
import json
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from inferwatch_client.answers import Verdict, judge, retry_after
from inferwatch_client.bodies import MAX_PLAIN_BYTES, Body, halves, pack
from inferwatch_client.encoding import rfc3339
from inferwatch_client.items import Item, Kind, Lane
from inferwatch_client.options import Options, environment_options
from inferwatch_client.spool import Spool, SpoolDamaged, SpoolFull, read_payload
from inferwatch_client.waiting import Waiting

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)
LANE = Lane("requests", "credit", "live")


def test_mistakes_in_settings_are_told_all_at_once_and_without_the_key() -> None:
    wanted = r"url is .*; key is .*; interval is above 0, not -1"
    with pytest.raises(ValueError, match=wanted) as told:
        Options("collector:8700", "se cret", interval=-1)
    assert "se cret" not in str(told.value)
    assert "secret" not in repr(Options("http://here", "secret"))
    with pytest.raises(ValueError, match="not both"):
        Options("http://here", "secret", deployment=1, tags={})


def test_the_environment_names_address_key_model_and_spool(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("iw_a_b\n")
    given = {
        "INFERWATCH_COLLECTOR_URL": "http://here",
        "INFERWATCH_KEY_FILE": str(key),
        "INFERWATCH_MODEL": "credit",
        "INFERWATCH_SPOOL": "/spool",
    }
    assert environment_options(given) == {
        "url": "http://here",
        "key": "iw_a_b",
        "model": "credit",
        "spool": Path("/spool"),
    }
    assert environment_options({}) == {}


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (503, Verdict.LATER), (429, Verdict.LATER), (408, Verdict.LATER), (504, Verdict.LATER),
        (401, Verdict.AFTER_CHANGE), (403, Verdict.AFTER_CHANGE), (404, Verdict.AFTER_CHANGE),
        (302, Verdict.AFTER_CHANGE), (500, Verdict.FAILED), (413, Verdict.SPLIT),
        (400, Verdict.REFUSED), (415, Verdict.REFUSED), (422, Verdict.REFUSED),
    ],
)  # fmt: skip
def test_a_status_says_what_to_do(status: int, verdict: Verdict) -> None:
    judged = judge(status, {"retry-after": "7"}, b'{"reason": "because"}', NOW)
    assert judged.verdict is verdict
    assert judged.reason == f"{status} because"


def test_retry_after_is_a_number_or_a_date_and_never_too_long() -> None:
    assert retry_after("7", NOW) == 7.0
    assert retry_after(format_datetime(NOW + timedelta(seconds=9), usegmt=True), NOW) == 9.0
    assert retry_after(format_datetime(NOW - timedelta(seconds=9), usegmt=True), NOW) == 0.0
    assert retry_after("99999999999999", NOW) == retry_after("301", NOW) == 300.0
    assert retry_after("soon", NOW) is None
    assert retry_after(None, NOW) is None


def test_rejections_beyond_the_listed_ones_are_counted_too() -> None:
    body = {"accepted": 1, "duplicate": 0, "conflict": 0, "rejected": 3,
            "rejections": [{"reason": "bad_id"}]}  # fmt: skip
    judged = judge(200, {}, json.dumps(body).encode(), NOW)
    assert judged.rejected == {"bad_id": 1, "not_listed": 2}
    assert judged.counts == {"accepted": 1, "duplicate": 0, "conflict": 0}


@pytest.mark.parametrize("body", [b"", b"[1]", b'{"accepted": -1}', b'{"accepted": "1"}', b"[" * 9])
def test_a_200_without_counts_is_not_believed(body: bytes) -> None:
    assert judge(200, {}, body, NOW).verdict is Verdict.AFTER_CHANGE


def test_bodies_are_packed_and_halved_without_losing_a_line() -> None:
    lines = [b'{"n":%d}' % number for number in range(5)]
    body = pack(LANE, lines)
    assert body.packed
    assert gzip.decompress(body.payload or b"").split(b"\n") == lines
    one, other = halves(body, body.payload or b"")
    assert (one.records, other.records) == (2, 3)
    parts = [gzip.decompress(part.payload or b"").split(b"\n") for part in (one, other)]
    assert parts[0] + parts[1] == lines
    single = pack(LANE, lines[:1])
    assert halves(single, single.payload or b"") == []


def test_a_body_that_would_unpack_too_far_is_sent_plain() -> None:
    body = pack(LANE, [b"x" * (MAX_PLAIN_BYTES + 1)])
    assert not body.packed
    assert len(body.payload or b"") == MAX_PLAIN_BYTES + 1


def test_a_moment_is_told_to_the_microsecond() -> None:
    assert rfc3339(1_788_264_000_123_456_789) == "2026-09-01T12:00:00.123456Z"
    assert rfc3339(999) == "1970-01-01T00:00:00.000000Z"


def item(size: int = 100) -> Item:
    return Item(Kind.REQUEST, LANE, {}, {}, 1, size)


def test_the_line_holds_no_more_than_it_may_and_is_closed_at_first() -> None:
    waiting = Waiting(threading.RLock(), most_records=3, most_bytes=250)
    assert not waiting.put(item())
    waiting.open = True
    assert [waiting.put(item()) for _ in range(3)] == [True, True, False]
    assert waiting.put(item(50))
    assert not waiting.put(item(0))
    assert len(waiting.take()) == 3
    assert not waiting.put(item(1)), "what was taken counts until it is released"
    waiting.release(3, 250)
    assert waiting.put(item(250))
    assert (waiting.offered, waiting.records, waiting.bytes) == (4, 1, 250)


def body_of(payload: bytes = b"payload") -> Body:
    return Body(LANE, 7, payload, packed=True)


def test_a_spool_gives_back_what_a_process_left(tmp_path: Path) -> None:
    first, second = Spool(tmp_path, 10_000), Spool(tmp_path, 10_000)
    first.write(body_of(b"one"))
    first.write(body_of(b"two\nlines"))
    assert list(second.orphans()) == [], "its process lives"
    first.close()
    found = [body for body in second.orphans() if body is not None]
    assert [read_payload(body) for body in found] == [b"one", b"two\nlines"]
    assert [(body.lane, body.records, body.packed) for body in found] == [(LANE, 7, True)] * 2
    for body in found:
        second.remove(body)
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_threads_that_open_a_spool_at_once_get_one_folder(tmp_path: Path) -> None:
    for number in range(20):
        spool = Spool(tmp_path / str(number), 10_000)
        start = threading.Barrier(4)
        threads = [
            threading.Thread(target=lambda: (start.wait(), spool.open()))  # noqa: B023
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(list((tmp_path / str(number)).iterdir())) == 1
        spool.close()
        assert list((tmp_path / str(number)).iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"{}", b"no json\npayload"])
def test_a_changed_file_of_a_spool_is_found(tmp_path: Path, damage: bytes) -> None:
    spool = Spool(tmp_path, 10_000)
    body = spool.write(body_of())
    Path(body.path or "").write_bytes(damage)
    with pytest.raises(SpoolDamaged):
        read_payload(body)
    spool.close()


def test_every_cut_of_a_file_of_a_spool_is_found(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 10_000)
    body = spool.write(body_of())
    path = Path(body.path or "")
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(SpoolDamaged):
            read_payload(body)
    spool.close()


def test_a_spool_is_bounded_over_all_its_processes_and_for_its_owner_only(tmp_path: Path) -> None:
    first, second = Spool(tmp_path, 600), Spool(tmp_path, 600)
    body = first.write(body_of(b"x" * 300))
    assert Path(body.path or "").stat().st_mode & 0o077 == 0
    assert Path(body.path or "").parent.stat().st_mode & 0o077 == 0
    with pytest.raises(SpoolFull):
        second.write(body_of(b"x" * 300))
    first.close()
    second.close()
