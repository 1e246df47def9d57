"""Collectors that are dead, slow, busy or wrong: what the client does, and what it counts."""

from __future__ import annotations

import gzip
import json
import threading
import time
from pathlib import Path

import pytest

from monitor.demo.processes import free_port
from tests.client.conftest import Answer, Place, Seen, answering
from tests.client.test_logging import accounted


def stored(call: Seen) -> Answer:
    """The answer of a collector that takes all."""
    lines = len(gzip.decompress(call.body).split(b"\n"))
    counts = {"accepted": lines, "duplicate": 0, "conflict": 0, "rejected": 0, "rejections": []}
    return 200, {}, json.dumps(counts).encode()


def wait_for(condition: object, seconds: float = 20.0) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def test_a_collector_that_is_killed_and_comes_back_loses_nothing(place: Place) -> None:
    port = free_port()
    client = place.client(f"http://127.0.0.1:{port}")
    with place.collector_process(port) as process:
        client.log_request({"age": 1})
        assert client.flush(20)
        process.kill()
        process.wait()
        for number in range(200):
            client.log_request({"age": number % 90})
        wait_for(lambda: client.statistics().retries > 0)
        assert client.statistics().waiting == 200
    with place.collector_process(port):
        assert client.flush(60)
    client.close()
    told = client.statistics()
    assert (told.accepted, told.dropped, told.logged) == (201, {}, 201)
    assert place.stored() == 201


def test_what_a_dead_collector_never_took_is_counted_at_the_end(place: Place, dead: str) -> None:
    client = place.client(dead)
    for number in range(200):
        client.log_request({"age": number % 90})
    wait_for(lambda: client.statistics().retries > 0)
    client.close(0)
    told = client.statistics()
    assert told.dropped == {"exit": 200}
    assert accounted(told) == told.logged == 200


def test_a_busy_collector_is_asked_again_when_it_says(place: Place) -> None:
    moments = []

    def answer(number: int, call: Seen) -> Answer:
        moments.append(time.monotonic())
        return (503, {"Retry-After": "1"}, b"{}") if number == 0 else stored(call)

    with answering(answer) as (address, calls):
        client = place.client(address)
        client.log_request({"age": 1})
        assert client.flush(20)
        client.close()
    assert len(calls) == 2
    assert moments[1] - moments[0] >= 1.0
    assert calls[0].body == calls[1].body
    assert client.statistics().retries == 1


def test_a_body_that_is_too_large_is_halved(place: Place) -> None:
    def answer(_: int, call: Seen) -> Answer:
        lines = gzip.decompress(call.body).split(b"\n")
        return (413, {}, b"{}") if len(lines) > 2 else stored(call)

    with answering(answer) as (address, calls):
        client = place.client(address, interval=0.2)
        for number in range(8):
            client.log_request({"age": number})
        assert client.flush(20)
        client.close()
    assert client.statistics().accepted == 8
    assert len(calls) >= 6  # 8, 4, 2 + 2, 4, 2 + 2


def test_a_refused_body_is_dropped_and_later_ones_go_on(place: Place) -> None:
    def answer(number: int, call: Seen) -> Answer:
        return (422, {}, b'{"reason": "bad_leg"}') if number == 0 else stored(call)

    with answering(answer) as (address, _):
        client = place.client(address)
        client.log_request({"age": 1})
        assert client.flush()
        client.log_request({"age": 2})
        assert client.flush()
        client.close()
    told = client.statistics()
    assert (told.accepted, told.dropped) == (1, {"refused": 1})


def test_a_model_that_is_not_known_yet_holds_up_no_other(place: Place, collector: str) -> None:
    client = place.client(collector)
    client.log_request({"age": 1}, model="not-applied-yet")
    client.log_request({"age": 2})
    wait_for(lambda: client.statistics().accepted == 1)
    assert client.statistics().waiting == 1
    client.close()
    assert client.statistics().dropped == {"exit": 1}


def test_without_patience_an_unknown_model_is_dropped_as_refused(
    place: Place, collector: str
) -> None:
    client = place.client(collector, patience=0.0)
    client.log_request({"age": 1}, model="not-applied-yet")
    assert client.flush()
    client.close()
    assert client.statistics().dropped == {"refused": 1}


def test_a_wrong_address_that_answers_200_is_no_collector(place: Place) -> None:
    with answering(lambda *_: (200, {}, b"<html>welcome</html>")) as (address, _):
        client = place.client(address, patience=0.0)
        client.log_request({"age": 1})
        assert client.flush()
        client.close()
    assert client.statistics().dropped == {"refused": 1}


@pytest.mark.parametrize("limit", [{"memory_records": 100}, {"memory_bytes": 100_000}])
def test_memory_is_bounded_while_the_collector_is_dead(
    place: Place, dead: str, limit: dict[str, int]
) -> None:
    client = place.client(dead, interval=5.0, batch_records=1_000_000, **limit)
    for _ in range(5_000):
        client.log_request({"country": "x" * 400})
    told = client.statistics()
    assert told.dropped["queue_full"] > 0
    assert told.waiting <= limit.get("memory_records", 5_000)
    assert told.waiting_bytes <= limit.get("memory_bytes", 32 << 20)
    assert accounted(told) == told.logged == 5_000
    client.close(0)
    assert accounted(client.statistics()) == 5_000


def test_a_batch_job_may_wait_for_room_instead_of_dropping(place: Place, collector: str) -> None:
    client = place.client(collector, memory_records=50, wait_for_room=20.0)
    for number in range(500):
        client.log_request({"age": number % 90})
    assert client.flush(20)
    client.close()
    assert (client.statistics().accepted, client.statistics().dropped) == (500, {})


def test_a_spool_takes_what_memory_does_not_and_is_bounded(
    place: Place, dead: str, tmp_path: Path
) -> None:
    client = place.client(dead, spool=tmp_path, spool_bytes=20_000, batch_records=50, interval=0.01)
    for number in range(3_000):
        client.log_request({"country": f"{number:x}" * 50})
        if number % 100 == 0:
            time.sleep(0.02)
    wait_for(lambda: not len(client._pipeline.waiting) and client.statistics().dropped)
    on_disk = sum(path.stat().st_size for path in tmp_path.rglob("*.body"))
    told = client.statistics()
    assert told.dropped["spool_full"] > 0
    assert 0 < on_disk <= 20_000
    assert told.waiting > 0
    client.close(0)
    assert "exit" not in client.statistics().dropped


def test_a_slow_collector_does_not_keep_records_from_the_spool(
    place: Place, tmp_path: Path
) -> None:
    release = threading.Event()

    def answer(_: int, call: Seen) -> Answer:
        release.wait(20)
        return stored(call)

    with answering(answer) as (address, calls):
        client = place.client(address, spool=tmp_path)
        client.log_request({"age": 1})
        wait_for(lambda: calls)
        client.log_request({"age": 2})
        wait_for(lambda: len(list(tmp_path.rglob("*.body"))) == 2)
        release.set()
        assert client.flush()
        client.close()
    assert client.statistics().accepted == 2


def test_a_damaged_file_of_the_spool_is_counted_and_the_rest_is_sent(
    place: Place, dead: str, tmp_path: Path
) -> None:
    first = place.client(dead, spool=tmp_path)
    for number in range(2):
        first.log_request({"age": number})
        wait_for(lambda: len(list(tmp_path.rglob("*.body"))) == number + 1)  # noqa: B023
    first.close(0)
    damaged = min(tmp_path.rglob("*.body"))
    damaged.write_bytes(damaged.read_bytes()[:-3])
    with place.collector() as address:
        client = place.client(address, spool=tmp_path)
        client.log_request({"age": 3})
        wait_for(lambda: client.statistics().accepted == 2)
        client.close()
    told = client.statistics()
    assert told.dropped == {"spool_damaged": 1}
    assert accounted(told) == told.logged == 3


def test_a_spool_that_cannot_be_written_leaves_memory(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    with place.collector() as address:
        client = place.client(address, spool=file)
        client.log_request({"age": 3})
        assert client.flush()
        client.close()
    told = client.statistics()
    assert told.accepted == 1
    assert told.spool_failures > 0


def test_what_is_logged_after_the_end_is_counted(place: Place, collector: str) -> None:
    client = place.client(collector)
    client.close()
    client.log_request({"age": 3})
    assert client.statistics().dropped == {"closed": 1}
