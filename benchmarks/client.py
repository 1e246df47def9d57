"""`python -m benchmarks.client`: what a call of inferwatch-client costs the thread of the model.

Calls of 25 columns while the collector is healthy (a real one), slow (each answer takes a second)
or dead, paced as a model makes them and in one burst; and how much memory waits at most.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
from inferwatch_client.client import Client
from rich.console import Console

from benchmarks.collector import running_collector
from benchmarks.data import MODEL, make_columns
from benchmarks.database import workspace
from benchmarks.machine import describe_machine
from benchmarks.processes import MemoryWatch
from benchmarks.progress import Progress
from benchmarks.table import Bar, bars_json, loads_of, plain, show, show_bars, write_json, written
from benchmarks.timing import Results, Run, Spread, alternate
from monitor.demo.processes import free_port

HEALTHY, SLOW, DEAD, SPOOLED = "healthy", "slow (1 s an answer)", "dead", "dead, with a spool"
NOTHING = "no client: an empty call"
SLOW_SECONDS = 1.0
PACE_SECONDS = 0.001
BURST = 50_000
BOUND_MICROSECONDS = 20.0
MEGABYTE = 1 << 20
PACKAGES = ("httpx",)


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    calls: int
    rounds: int
    json: Path | None
    database_url: str | None


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.client", description=__doc__)
    parser.add_argument("--calls", type=int, default=5_000, help="paced calls a run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument(
        "--database-url", help="a login that may create databases, instead of an embedded server"
    )
    parser.add_argument("--quick", action="store_true", help="500 calls, one round: a try only")
    given = parser.parse_args(arguments)
    if given.quick:
        given.calls, given.rounds = 500, 1
    return Options(given.calls, given.rounds, given.json, given.database_url)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark as the command line says."""
    options, console = parse(arguments), Console()
    rows = make_columns(2_000, seed=7).to_pylist()
    with (
        workspace(options.database_url, datetime.now(UTC)) as place,
        running_collector(place, 1) as (target, _),
        slow_collector() as slow,
        tempfile.TemporaryDirectory() as spool,
    ):
        healthy = f"http://127.0.0.1:{target.port}"
        dead = f"http://127.0.0.1:{free_port()}"
        clients: dict[str, Callable[[], Client]] = {
            HEALTHY: lambda: client_of(healthy, place.api_key),
            SLOW: lambda: client_of(slow, place.api_key),
            DEAD: lambda: client_of(dead, place.api_key),
            SPOOLED: lambda: client_of(dead, place.api_key, spool=Path(spool)),
        }
        contenders: dict[str, Callable[[], Run]] = {
            NOTHING: lambda: timed(lambda _: None, rows, options.calls)
        }
        for name, make in clients.items():
            contenders[name] = _contender(make, rows, options.calls)
        with Progress(console) as progress:
            advance = progress.bar("runs", options.rounds * len(contenders))
            results = alternate(
                contenders, options.rounds, lambda number, name: advance(1, f"{number} {name}")
            )
        memory = {name: burst(make, rows) for name, make in clients.items()}
    report(console, results, memory)
    if options.json is not None:
        write_json(options.json, as_json(results, memory))


def client_of(url: str, key: str, **settings: Any) -> Client:
    """A client with its usual settings, which does not linger at its end."""
    return Client(url, key, model=MODEL, tags={"model_version": "1"}, exit_seconds=0.0, **settings)


def _contender(
    make: Callable[[], Client], rows: Sequence[dict[str, Any]], calls: int
) -> Callable[[], Run]:
    def run() -> Run:
        client = make()
        client.log_request(rows[0])  # starts the threads
        time.sleep(0.2)
        measured = timed(client.log_request, rows, calls)
        waiting = client.statistics().waiting_bytes
        client.close()
        return Run(measured.seconds, calls, {**measured.extra, "waiting_kb": waiting / 1024})

    return run


def timed(call: Callable[[dict[str, Any]], Any], rows: Sequence[dict[str, Any]], calls: int) -> Run:
    """Paced calls: a millisecond of sleep, as a model that computes outside of Python, then one.

    CPU microseconds are this thread's and hold about 4 for reading its clock, as an empty call
    shows; wall microseconds hold whatever the machine does besides. After a sleep the processor's
    caches are cold, which makes a call some four times dearer than in a burst.
    """
    wall = np.empty(calls)
    cpu = 0
    began = time.perf_counter()
    for number in range(calls):
        time.sleep(PACE_SECONDS)
        row = _made_anew(rows[number % len(rows)])
        used = time.thread_time_ns()
        start = time.perf_counter_ns()
        call(row)
        wall[number] = time.perf_counter_ns() - start
        cpu += time.thread_time_ns() - used
    seconds = time.perf_counter() - began
    p50, p99, most = np.percentile(wall, [50, 99, 100]) / 1e3
    extra = {"cpu_us": cpu / calls / 1e3, "p50_us": p50, "p99_us": p99, "max_us": most}
    return Run(seconds, calls, extra)


def _made_anew(row: dict[str, Any]) -> dict[str, Any]:
    """The columns as the model has just computed them."""
    return {name: value + 0.5 if isinstance(value, float) else value for name, value in row.items()}


def burst(make: Callable[[], Client], rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """BURST calls in a loop that leaves the background no time: microseconds a call, what was
    dropped, memory at most."""
    client = make()
    watch = MemoryWatch()
    spent = 0
    for number in range(BURST):
        row = _made_anew(rows[number % len(rows)])
        began = time.perf_counter_ns()
        client.log_request(row)
        spent += time.perf_counter_ns() - began
    told = client.statistics()
    grown = watch.peak()
    client.close()
    return {
        "us_a_call": spent / BURST / 1e3,
        "dropped": float(sum(told.dropped.values())),
        "waiting_mb": told.waiting_bytes / MEGABYTE,
        "bound_mb": client.options.memory_bytes / MEGABYTE,
        "grown_mb": grown,
    }


@contextmanager
def slow_collector() -> Iterator[str]:
    """A collector that takes everything, a second later; its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            time.sleep(SLOW_SECONDS)
            accepted = len(gzip.decompress(body).split(b"\n"))
            counts = {"accepted": accepted, "duplicate": 0, "conflict": 0, "rejected": 0}
            content = json.dumps(counts).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *facts: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def bars_of(results: Results) -> list[Bar]:
    """The promise: at most 20 µs a call, whatever the collector does."""
    return [
        Bar(
            f"{key}_us_of_20",
            f"{name}: CPU time of a call beyond an empty one / {BOUND_MICROSECONDS:g} µs",
            share_of_bound(results, name),
            1.0,
            at_least=False,
        )
        for key, name in (("healthy", HEALTHY), ("slow", SLOW), ("dead", DEAD), ("spool", SPOOLED))
    ]


def share_of_bound(results: Results, name: str) -> Spread:
    """CPU microseconds of a call beyond those of an empty call, as a share of what is allowed."""
    pairs = zip(results.runs[name], results.runs[NOTHING], strict=True)
    spent = [one.extra["cpu_us"] - empty.extra["cpu_us"] for one, empty in pairs]
    return Spread.of([each / BOUND_MICROSECONDS for each in spent])


def report(console: Console, results: Results, memory: dict[str, dict[str, float]]) -> None:
    """Print the tables."""
    rows = [
        (
            name,
            *(written(results.extra(name, key), "µs") for key in ("cpu_us", "p50_us", "p99_us")),
        )
        for name in results.runs
    ]
    headers = ("collector", "CPU a call", "wall, median", "wall, p99")
    show(console, "A call of 25 columns in the model's thread, a call each ms", headers, rows)
    show_bars(console, "At most 20 µs a call", bars_of(results))
    rows = [
        (name, *(plain(value) for value in figures.values())) for name, figures in memory.items()
    ]
    headers = ("collector", "µs a call", "dropped", "waiting MB", "bound MB", "process grew MB")
    show(console, f"A burst of {BURST:,} calls without a pause", headers, rows)
    console.print(f"load averages of the rounds: {loads_of(results)}")


def as_json(results: Results, memory: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Everything as JSON."""
    return {
        "machine": describe_machine(PACKAGES),
        **bars_json(bars_of(results)),
        "burst": memory,
        **results.as_json(),
    }


if __name__ == "__main__":
    main()
