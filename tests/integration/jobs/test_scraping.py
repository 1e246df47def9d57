"""Targets are read at their pace, pages become readings, and what goes wrong is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from alerts.channels.outbound import Outbound
from monitor.jobs.scraping.scraper import Scraper, scrape
from monitor.reports.server_readings import reading_points, server_report
from monitor.scrape_targets import ScrapeTarget
from monitor.store.engine import Role, transaction
from monitor.store.models import ModelContext
from monitor.store.scrape_targets import apply_targets, claim_due, target_states
from monitor.windows import Window
from tests.factories import TestClock, rows_of
from tests.unit.intake.server_metrics.pages import VLLM

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
PAUSE = timedelta(seconds=15)


@dataclass
class Server:
    """A page of metrics on loopback; what it holds and how it answers can be changed."""

    url: str = ""
    page: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def serving() -> Iterator[Server]:
    made = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append(dict(self.headers))
            content = made.page.encode()
            self.send_response(made.status)
            for name, text in made.headers.items():
                self.send_header(name, text)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Nothing: the test's output is read by people."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, args=(0.05,))
    thread.start()
    made.url = f"http://127.0.0.1:{http.server_address[1]}/metrics"
    yield made
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture
def http() -> Iterator[Outbound]:
    with Outbound() as made:
        yield made


def target(server: Server, *, private: bool = True, **options: Any) -> ScrapeTarget:
    address = {"url": server.url, "private_addresses_allowed": private}
    return ScrapeTarget("vllm-a", ("credit",), options={**address, **options})


def page(waiting: int = 3, count: int = 0, seconds: float = 0.0) -> str:
    text = VLLM.format(waiting=waiting, queries=0, hits=0, fast=count, count=count, seconds=seconds)
    return text.replace('model_name="chat"', 'model_name="credit"')


def put_in_force(engine: Engine, *targets: ScrapeTarget) -> tuple[int, int]:
    with transaction(engine, 1, Role.OWNER) as connection:
        return apply_targets(connection, 1, targets, by="tests")


def read(
    engine: Engine, one: ScrapeTarget, http: Outbound, at: datetime, **environment: str
) -> Any:
    return scrape(engine, 1, one, environment, lambda: at, http)


def state(engine: Engine) -> Any:
    with transaction(engine, 1, Role.WORKER) as connection:
        (found,) = target_states(connection, 1)
        return found


def test_pages_read_one_after_the_other_become_readings_of_their_minutes(
    engine: Engine, credit: ModelContext, server: Server, http: Outbound
) -> None:
    one = target(server)
    put_in_force(engine, one)
    for place, (waiting, count, seconds) in enumerate([(3, 10, 2.0), (5, 14, 3.0), (9, 20, 6.0)]):
        server.page = page(waiting, count, seconds)
        read(engine, one, http, NOON + place * PAUSE)
    found = {row.reading: row for row in rows_of(engine, 1, "select * from server_reading")}
    assert sorted(found) == ["cache_usage", "prefix_cache_hits", "queue_length", "request_time"]
    waiting = found["queue_length"]
    assert (waiting.n, waiting.total, waiting.low, waiting.high) == (3, 20, 4, 10)
    times = found["request_time"]
    assert (times.n, times.total, times.seconds) == (10, pytest.approx(4_000), 30)
    assert (times.minute, times.source, times.model_id) == (NOON, "vllm-a", credit.model_id)
    told = state(engine)
    assert (told.read_at, told.failures) == (NOON + 2 * PAUSE, 0)
    assert told.told["servers"] == ["vllm"]


def test_a_page_that_was_read_already_adds_nothing(
    engine: Engine, credit: ModelContext, server: Server, http: Outbound
) -> None:
    one = target(server)
    put_in_force(engine, one)
    for count, at in ((10, NOON), (14, NOON + PAUSE), (14, NOON + PAUSE)):
        server.page = page(count=count, seconds=count)
        read(engine, one, http, at)
    query = "select n, total from server_reading where reading = 'request_time'"
    (times,) = rows_of(engine, 1, query)
    assert (times.n, times.total) == (4, 4_000)


def test_a_server_that_starts_again_is_told_and_its_counts_begin_anew(
    engine: Engine, credit: ModelContext, server: Server, http: Outbound
) -> None:
    one = target(server)
    put_in_force(engine, one)
    server.page = page(count=10, seconds=1)
    read(engine, one, http, NOON)
    started = (NOON + timedelta(seconds=5)).timestamp()
    server.page = page(count=2, seconds=0.5).replace("1.7959e+09", str(started))
    read(engine, one, http, NOON + PAUSE)
    found = {row.reading: row for row in rows_of(engine, 1, "select * from server_reading")}
    assert found["restarts"].total == 1
    assert (found["request_time"].n, found["request_time"].total) == (2, 500)


def test_names_that_no_model_has_are_told_with_the_target(
    engine: Engine, credit: ModelContext, server: Server, http: Outbound
) -> None:
    one = target(server)
    put_in_force(engine, one)
    server.page = page().replace('model_name="credit"', 'model_name="stranger"')
    read(engine, one, http, NOON)
    told = state(engine).told
    assert told["unknown_models"] == ["stranger"]
    assert rows_of(engine, 1, "select * from server_reading") == []


@pytest.mark.parametrize(
    ("status", "text", "why"),
    [
        (401, "", "answered 401; name authorization_env"),
        (404, "", "answered 404; is it the address of the metrics page?"),
        (302, "", "answered 302"),
        (200, "tgi_queue_size {", "no Prometheus text"),
    ],
)
def test_what_goes_wrong_is_told_and_asked_again_later(
    engine: Engine, credit: ModelContext, server: Server, http: Outbound, status: int, text: str,
    why: str,
) -> None:  # fmt: skip
    one = target(server)
    put_in_force(engine, one)
    server.status, server.page = status, text
    server.headers = {"location": server.url}
    for failures in (1, 2, 3):
        assert read(engine, one, http, NOON) is None
        told = state(engine)
        assert (told.failures, why in told.told["error"]) == (failures, True), told.told
    assert len(server.asked) == 3  # a redirect is not followed
    wait = rows_of(engine, 1, "select next_at from scrape_target")[0].next_at - NOON
    assert wait == 4 * PAUSE


def test_private_addresses_are_opened_by_the_target_alone(
    engine: Engine, credit: ModelContext, server: Server, http: Outbound
) -> None:
    one = target(server, private=False)
    put_in_force(engine, one)
    assert read(engine, one, http, NOON) is None
    assert "private_addresses_allowed: true" in state(engine).told["error"]
    assert server.asked == []


def test_the_authorization_comes_from_the_environment(
    engine: Engine, credit: ModelContext, server: Server, http: Outbound
) -> None:
    one = target(server, authorization_env="VLLM_METRICS")
    put_in_force(engine, one)
    server.page = page()
    assert read(engine, one, http, NOON) is None
    assert "VLLM_METRICS" in state(engine).told["error"]
    assert read(engine, one, http, NOON, VLLM_METRICS="Bearer xyz") is not None
    assert [each["authorization"] for each in server.asked] == ["Bearer xyz"]


def test_due_targets_are_claimed_once_and_ended_ones_are_gone(
    engine: Engine, credit: ModelContext, server: Server
) -> None:
    one = target(server)
    assert put_in_force(engine, one) == (1, 0)
    now = datetime.now(UTC) + timedelta(seconds=1)
    with transaction(engine, 1, Role.WORKER) as connection:
        assert claim_due(connection, 1, now) == [one]
        assert claim_due(connection, 1, now) == []
        assert claim_due(connection, 1, now + PAUSE) == [one]
    assert put_in_force(engine) == (0, 1)


def test_the_scraper_reads_what_is_due_and_waits_at_its_end(
    engine: Engine, credit: ModelContext, server: Server, http: Outbound, clock: TestClock
) -> None:
    put_in_force(engine, target(server))
    server.page = page()
    clock.now = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
    scraper = Scraper(engine, {}, clock, http)
    assert scraper.tick([1]) == 1
    assert scraper.tick([1]) == 0
    scraper.close()
    read_at = state(engine).read_at
    assert abs(read_at - clock.now) < timedelta(seconds=1)


def test_the_report_puts_minutes_together_and_says_between_which_edges_quantiles_lie(
    engine: Engine, credit: ModelContext, server: Server, http: Outbound
) -> None:
    one = target(server)
    put_in_force(engine, one)
    for minute in range(4):
        server.page = page(minute, 10 * minute, minute)
        read(engine, one, http, NOON + timedelta(minutes=minute))
    report = server_report(engine, 1, credit.model_id, "credit", timedelta(minutes=15))
    lines = {line.reading.name: line for line in report.lines}
    times, waiting = lines["request_time"], lines["queue_length"]
    assert (times.value, times.n, times.rate) == (pytest.approx(100), 30, pytest.approx(1 / 6))
    assert [(q, each.describe()) for q, each in times.quantiles] == [
        (q, "at most 300") for q in (0.5, 0.95, 0.99)
    ]
    assert (waiting.value, waiting.low, waiting.high, waiting.newest) == (2.5, 1, 4, 4)
    assert [each.target.name for each in report.targets] == ["vllm-a"]
    span = Window(NOON, NOON + timedelta(minutes=2))
    points = reading_points(engine, 1, credit.model_id, "queue_length", span)
    assert [each.value for each in points] == [1, 2]
