"""What a client logs is what a real collector stores."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

import numpy as np
from inferwatch_client.client import Client
from inferwatch_client.counters import Statistics

from tests.client.conftest import Place


def accounted(told: Statistics) -> int:
    """All records of which something became, and those that wait."""
    return (
        told.accepted
        + told.duplicate
        + told.conflict
        + sum(told.rejected.values())
        + sum(told.dropped.values())
        + told.waiting
    )


def test_requests_and_their_labels_are_stored(place: Place, collector: str) -> None:
    client = place.client(collector, tags={"model_version": "1.4", "precision": "int8"})
    moment = datetime.now(UTC)
    ids = [
        client.log_request({"age": 30 + n, "score": 0.25, "country": "DE"}, event_time=moment)
        for n in range(20)
    ]
    for request_id in ids:
        client.log_label(request_id, True, event_time=moment)
    assert client.flush()
    told = client.statistics()
    assert (told.accepted, told.rejected, told.dropped) == (40, {}, {})
    assert accounted(told) == told.logged == 40
    assert place.stored() == 20
    assert place.rows("select count(*) from label where model_id = :model") == [(20,)]
    assert len(set(ids)) == 20
    tags = place.rows("select tags from deployment where model_id = :model")
    assert tags == [({"model_version": "1.4", "precision": "int8"},)]
    client.close()


def test_a_batch_becomes_one_request_a_row(place: Place, collector: str) -> None:
    client = place.client(collector)
    ages, places = np.array([20.0, 30.0, np.nan]), np.arange(6.0).reshape(3, 2)
    ids = client.log_requests({"age": ages, "place": places, "country": ["DE", "FR", None]})
    ages[:] = 99  # the caller goes on with its own array
    places[:] = 99
    assert client.flush()
    client.close()
    rows = {row.request_id: row for row in place.logged("request_id, age, place, country")}
    assert [rows[one].age for one in ids] == [20.0, 30.0, None]
    assert [rows[one].country for one in ids] == ["DE", "FR", None]
    assert [list(rows[one].place) for one in ids] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_what_the_caller_changes_afterwards_is_not_logged(place: Place, collector: str) -> None:
    client = place.client(collector, interval=0.5)
    columns = {"age": 41, "place": [1.0, 2.0]}
    client.log_request(columns)
    columns["age"] = 42
    columns["place"][0] = 9.0  # type: ignore[index]
    assert client.flush()
    client.close()
    assert place.logged("age, place") == [(41.0, [1.0, 2.0])]


def test_numbers_that_are_none_reach_the_monitor_as_violations(
    place: Place, collector: str
) -> None:
    client = place.client(collector)
    client.log_request({"age": float("nan"), "score": np.float32(0.5), "tokens": np.int64(7)})
    assert client.flush()
    client.close()
    assert place.logged("age, score, tokens") == [(None, 0.5, 7)]


def test_a_registered_deployment_gets_its_number(place: Place, collector: str) -> None:
    client = place.client(collector)
    client.register_deployment({"model_version": "2"}, name="blue")
    client.flush()
    client.close()
    number = client.statistics().registered[place.model]
    assert place.rows("select id, name from deployment where model_id = :model") == [
        (number, "blue")
    ]


def test_a_deployment_is_registered_for_the_marks_of_a_host(place: Place, collector: str) -> None:
    client = place.client(collector)
    moment = datetime(2026, 9, 1, tzinfo=UTC)
    client.register_deployment(
        {"driver_version": "550.90"}, joins={"host": "gpu-3"}, valid_from=moment
    )
    assert client.flush()
    client.register_deployment({"colour": "blue"})  # no tag: refused, and told in the log
    client.flush()
    client.close()
    number = client.statistics().registered[place.model]
    [row] = place.rows(
        "select deployment_id, valid_from from deployment_registration where model_id = :model"
    )
    assert tuple(row) == (number, moment)


def test_many_threads_log_at_once_and_nothing_is_lost(place: Place, collector: str) -> None:
    client = place.client(collector)

    def work() -> None:
        for n in range(500):
            client.log_request({"age": n % 90})

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.flush(30)
    client.close()
    assert client.statistics().accepted == 4_000 == place.stored()


def test_rejections_are_counted_by_their_reason(place: Place, collector: str) -> None:
    client = place.client(collector)
    client.log_request({"age": 1}, outcome="exploded")
    client.log_request({"age": 1}, event_time=datetime(2026, 1, 1))  # noqa: DTZ001 - no zone
    client.log_request({"age": 2})
    assert client.flush()
    client.close()
    told = client.statistics()
    assert told.rejected == {"bad_outcome": 1, "time_without_zone": 1}
    assert accounted(told) == told.logged == 3


def test_values_that_cannot_be_logged_are_dropped_and_raise_nothing(
    place: Place, collector: str
) -> None:
    client = place.client(collector)
    looped: list[object] = []
    looped.append(looped)
    client.log_request({"age": object()})
    client.log_request({"age": looped})
    client.log_request({"tags": "mine"})
    client.log_request(None)  # type: ignore[arg-type]
    client.log_request({"age": 1}, tags=7)  # type: ignore[arg-type]
    client.log_requests({"age": [1, 2], "score": [0.5]})
    client.log_request({"country": "x" * (2 << 20)})
    client.log_label("r", object())  # type: ignore[arg-type]
    client.log_request({"age": 2})
    assert client.flush()
    client.close()
    told = client.statistics()
    assert told.dropped == {"not_encodable": 7, "reserved_name": 1, "too_large": 1}
    assert told.accepted == 1
    assert accounted(told) == told.logged


def test_without_a_collector_everything_is_counted_as_dropped() -> None:
    client = Client.from_environment(model="credit")
    client.log_request({"age": 1})
    client.log_label("r-1", 1)
    assert client.statistics().dropped == {"disabled": 2}
    assert client.flush()
    client.close()


def test_a_call_costs_the_caller_little_even_when_its_values_are_many(
    place: Place, collector: str
) -> None:
    """A bound far above the benchmark's: a call that waited for the network would break it."""
    client = place.client(collector)
    columns = {"age": 1.0, **{f"extra_{n}": float(n) for n in range(24)}}
    spent = time.thread_time()
    for _ in range(1_000):
        client.log_request(columns)
    spent = time.thread_time() - spent
    client.close(20)
    assert spent / 1_000 < 0.001
