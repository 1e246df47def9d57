"""The real collector as processes of its own, and the raw write it is compared with."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import adbc_driver_postgresql.dbapi as adbc
import numpy as np
import pyarrow as pa

from benchmarks.bodies import Bodies
from benchmarks.data import MODEL
from benchmarks.database import Workspace
from benchmarks.processes import cpu_seconds, family, postgres_process
from benchmarks.senders import Target, send
from benchmarks.timing import Run
from monitor.demo.processes import free_port, running


@dataclass(frozen=True)
class Server:
    """Process numbers of the collector (its workers included) and of Postgres, 0 if elsewhere."""

    collector: int
    postgres: int


@contextmanager
def running_collector(place: Workspace, workers: int) -> Iterator[tuple[Target, Server]]:
    """`inferwatch collector` with so many worker processes, until the block ends."""
    port = free_port()
    command = [sys.executable, "-m", "monitor", "collector"]
    command += ["--workers", str(workers), "--host", "127.0.0.1", "--port", str(port)]
    environment = {**os.environ, "DATABASE_URL": place.url}
    target = Target(port, f"/v1/requests?model={MODEL}", place.api_key)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "collector.log"
        address = f"http://127.0.0.1:{port}/readyz"
        with running("collector", command, environment, address, log) as process:
            yield target, Server(process.pid, postgres_process(place.url))


def over_http(
    place: Workspace, target: Target, server: Server, bodies: Bodies, senders: int
) -> Run:
    """Send the bodies into the empty table; CPU microseconds a row are told by process."""
    place.empty()
    return timed_send(target, server, bodies, senders)


def timed_send(target: Target, server: Server, bodies: Bodies, senders: int) -> Run:
    """Send the bodies into the table as it is."""
    before = _cpu(server)
    run = send(target, bodies, senders)
    return Run(run.seconds, run.rows, {**run.extra, **_spent(before, _cpu(server), run.rows)})


def raw_copy(place: Workspace, batches: Sequence[pa.Table]) -> Run:
    """COPY the same rows through ADBC into the empty table, a transaction a batch.

    One connection, nothing else written: no marks, no counts, no check of anything.
    """
    place.empty()
    milliseconds = []
    with adbc.connect(place.url) as connection:
        server = Server(0, postgres_process(place.url))
        before = _cpu(server)
        started = time.perf_counter()
        for batch in batches:
            began = time.perf_counter()
            with connection.cursor() as cursor:
                cursor.adbc_ingest("request_log", batch, mode="append")
            connection.commit()
            milliseconds.append((time.perf_counter() - began) * 1000)
        seconds = time.perf_counter() - started
        spent = _spent(before, _cpu(server), sum(batch.num_rows for batch in batches))
    p50, p99 = np.percentile(milliseconds, [50, 99])
    rows = sum(batch.num_rows for batch in batches)
    return Run(seconds, rows, {"p50_ms": float(p50), "p99_ms": float(p99), **spent})


def _cpu(server: Server) -> dict[str, float]:
    """CPU seconds used so far: by the sender (this process), the collector and Postgres."""
    used = {"sender": time.process_time()}
    for name, pid in (("collector", server.collector), ("postgres", server.postgres)):
        if pid:
            used[name] = cpu_seconds(family(pid))
    return used


def _spent(before: dict[str, float], after: dict[str, float], rows: int) -> dict[str, float]:
    return {
        f"{name}_cpu_us": (after[name] - before[name]) / rows * 1e6
        for name in after
        if name in before
    }
