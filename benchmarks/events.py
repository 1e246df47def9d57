"""`python -m benchmarks.events`: senders like KServe's payload logger against the real collector.

KServe's agent puts events into a queue of 100 and sends them with 5 workers, one event a POST; its
handler blocks the model when the queue is full. Here each sender is five connections that are kept
open; events come at a fixed rate whether earlier ones were answered or not: waiting counts.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from rich.console import Console
from rich.table import Table

from benchmarks.collector import running_collector
from benchmarks.data import MODEL
from benchmarks.database import Workspace, workspace
from benchmarks.machine import describe_machine
from benchmarks.table import write_json
from monitor.store.engine import Role, transaction

RESULTS = Path(__file__).parent / "results" / "events.json"
QUEUE, WORKERS, SENDERS = 100, 5, 4
BAR_RATE, BAR_P99_MS = 500, 50.0
RATES = (500, 750, 1_000, 1_500, 2_000)
TYPE = "org.kubeflow.serving.inference"
BODY = b'{"instances":[[0.2,1.0,3.5,4.1,0.7]]}'


@dataclass
class Load:
    """What senders saw: milliseconds of each answer, and how long the model waited for room."""

    answers: list[float] = field(default_factory=list)
    blocked: list[float] = field(default_factory=list)
    failed: int = 0

    def told(self, rate: float, seconds: float) -> dict[str, Any]:
        """Percentiles in milliseconds."""
        found = np.array(self.answers)
        shares = (50, 95, 99, 100)
        p50, p95, p99, most = (
            round(float(np.percentile(found, q)), 2) if len(found) else None for q in shares
        )
        return {
            "events_per_second_wanted": rate,
            "events_per_second_answered": round(len(self.answers) / seconds, 1),
            "p50_ms": p50, "p95_ms": p95, "p99_ms": p99, "max_ms": most,
            "model_waited_ms_total": round(sum(self.blocked), 1), "failed": self.failed,
        }  # fmt: skip


def headers(number: int, side: str, key: str) -> dict[str, str]:
    """Headers of one event, as the agent writes them."""
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    return {
        "Authorization": f"Bearer {key}", "Content-Type": "application/json",
        "Ce-Specversion": "1.0", "Ce-Id": f"{time.time_ns()}-{number}", "Ce-Type": f"{TYPE}.{side}",
        "Ce-Source": "http://localhost:9081/", "Ce-Time": now, "Ce-Recordedtime": now,
        "Ce-Inferenceservicename": MODEL, "Ce-Namespace": "prod", "Ce-Component": "predictor",
        "Ce-Endpoint": "default",
    }  # fmt: skip


async def drive(port: int, key: str, rate: float, seconds: float) -> tuple[Load, float]:
    """Requests and responses in turn at a rate; each answer's time runs from when it was due."""
    load = Load()
    queues = [asyncio.Queue[Any](QUEUE) for _ in range(SENDERS)]
    workers = [
        asyncio.create_task(_work(port, queue, load)) for queue in queues for _ in range(WORKERS)
    ]
    began, asked = time.perf_counter(), ""
    for number in range(int(rate * seconds)):
        due = began + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        told = headers(number, "response" if number % 2 else "request", key)
        if number % 2:  # the response has the id of its request
            told["Ce-Id"] = asked
        else:
            asked = told["Ce-Id"]
        before = time.perf_counter()
        await queues[number % SENDERS].put((due, told))
        if time.perf_counter() - before > 0.001:
            load.blocked.append((time.perf_counter() - before) * 1e3)
    for queue in queues:
        await queue.join()
    took = time.perf_counter() - began
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    return load, took


async def _work(port: int, queue: asyncio.Queue[Any], load: Load) -> None:
    """One connection that is kept open, as cheap as can be: the sender is not what is measured."""
    reader = writer = None
    while True:
        due, told = await queue.get()
        try:
            if writer is None or reader is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(_message(told))
            status = await _answer(reader)
            if status == 200:
                load.answers.append((time.perf_counter() - due) * 1e3)
            else:
                load.failed += 1
        except (OSError, asyncio.IncompleteReadError):
            load.failed += 1
            reader = writer = None
        finally:
            queue.task_done()


def _message(told: dict[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    head = f"POST /v1/cloudevents HTTP/1.1\r\nHost: x\r\n{lines}Content-Length: {len(BODY)}\r\n\r\n"
    return head.encode() + BODY


async def _answer(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    size = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
    await reader.readexactly(int(size or b"0"))
    return int(head[9:12])


def drained(place: Workspace, seconds: float = 60) -> float | None:
    """Seconds until every pair is stored; None when that takes longer."""
    began = time.perf_counter()
    query = sa.text("select count(*) from intake_part where not done")
    while time.perf_counter() - began < seconds:
        with transaction(place.engine, place.project_id, Role.INGEST) as connection:
            if not connection.scalar(query):
                return round(time.perf_counter() - began, 1)
        time.sleep(0.2)
    return None


async def _slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A collector that takes 200 ms for each answer."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            size = next(
                int(line.split(b":")[1]) for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length")
            )  # fmt: skip
            await reader.readexactly(size)
            await asyncio.sleep(0.2)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def unhealthy(rate: float, seconds: float) -> dict[str, Any]:
    """What the same senders and their model feel of a slow and of a dead collector."""
    server = await asyncio.start_server(_slow, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    slow, slow_took = await drive(port, "none", rate, seconds)
    server.close()
    dead, dead_took = await drive(9, "none", rate, seconds)
    return {
        "slow_200_ms": slow.told(rate, slow_took), "dead": dead.told(rate, dead_took),
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all rates, print a table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="at each rate")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    rows = []
    with workspace(None, datetime.now(UTC)) as place, running_collector(place, 1) as (target, _):
        asyncio.run(
            drive(target.port, place.api_key, 100, 2)
        )  # connections, plans and caches are warm
        for rate in RATES:
            load, took = asyncio.run(drive(target.port, place.api_key, rate, options.seconds))
            rows.append(load.told(rate, took) | {"pairs_stored_after_s": drained(place)})
            if rows[-1]["events_per_second_answered"] < 0.9 * rate:
                break
    others = asyncio.run(unhealthy(BAR_RATE, 5))
    bar = rows[0]["p99_ms"] <= BAR_P99_MS and not rows[0]["failed"]
    highest = max(row["events_per_second_answered"] for row in rows)
    value = {
        "p99_ms_at_500": rows[0]["p99_ms"], "bar_ms": BAR_P99_MS, "held": bar,
        "highest_events_per_second": highest, "rates": rows, **others,
        "machine": describe_machine(["fastapi", "uvicorn", "psycopg"]),
    }  # fmt: skip
    write_json(options.output, value)
    _print(rows, others, bar, highest)


def _print(rows: list[dict[str, Any]], others: dict[str, Any], bar: bool, highest: float) -> None:
    table = Table("collector", "wanted/s", "answered/s", "p50 ms", "p95 ms", "p99 ms", "max ms",
                  "model waited ms", "failed", "pairs stored after s")  # fmt: skip
    every = [("Inferwatch", row) for row in rows] + list(others.items())
    for name, row in every:
        keys = ("events_per_second_wanted", "events_per_second_answered", "p50_ms", "p95_ms",
                "p99_ms", "max_ms", "model_waited_ms_total", "failed")  # fmt: skip
        table.add_row(
            name,
            *("" if row[k] is None else f"{row[k]:,}" for k in keys),
            str(row.get("pairs_stored_after_s", "")),
        )
    console = Console(width=150)
    console.print(table)
    verdict = "held" if bar else "NOT held"
    console.print(f"p99 at {BAR_RATE} events/s ≤ {BAR_P99_MS:g} ms: {verdict}. Highest rate"
                  f" answered: {highest:,} events/s.")  # fmt: skip


if __name__ == "__main__":
    main()
