"""Sends bodies over HTTP on kept connections, from threads of this process: one a sender."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from benchmarks.bodies import Bodies
from benchmarks.timing import Run

TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Target:
    """Where bodies go."""

    port: int
    path: str
    key: str


@dataclass
class _Tally:
    """What the answers said, added up over the senders."""

    milliseconds: list[float] = field(default_factory=list)
    accepted: int = 0
    duplicate: int = 0
    problems: list[str] = field(default_factory=list)


def send(target: Target, bodies: Bodies, senders: int) -> Run:
    """Send every body once and wait for its answer; rows a second are those acknowledged.

    Raises AssertionError unless every record was acknowledged and counted as it should be.
    """
    tally, lock = _Tally(), threading.Lock()
    todo = iter(bodies.bodies)
    start = threading.Barrier(senders + 1)
    threads = [
        threading.Thread(target=_one_sender, args=(target, bodies, todo, lock, start, tally))
        for _ in range(senders)
    ]
    for thread in threads:
        thread.start()
    start.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - started
    counted = (tally.accepted, tally.duplicate)
    if tally.problems or counted != (bodies.new, bodies.rows - bodies.new):
        raise AssertionError(f"of {bodies.rows} rows {counted} were counted: {tally.problems[:3]}")
    p50, p99 = np.percentile(tally.milliseconds, [50, 99])
    return Run(seconds, bodies.rows, {"p50_ms": float(p50), "p99_ms": float(p99)})


def _one_sender(
    target: Target,
    bodies: Bodies,
    todo: Iterator[bytes],
    lock: threading.Lock,
    start: threading.Barrier,
    tally: _Tally,
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=TIMEOUT_SECONDS)
    connection.connect()
    start.wait()
    headers = {"Content-Type": bodies.content_type, "Authorization": f"Bearer {target.key}"}
    while True:
        with lock:
            body = next(todo, None)
        if body is None or tally.problems:
            break
        began = time.perf_counter()
        try:
            connection.request("POST", target.path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            tally.problems.append(repr(error))
            break
        took = (time.perf_counter() - began) * 1000
        with lock:
            _count(tally, answer.status, text, took)
    connection.close()


def _count(tally: _Tally, status: int, text: bytes, milliseconds: float) -> None:
    if status != http.client.OK:
        tally.problems.append(f"{status} {text[:300]!r}")
        return
    said = json.loads(text)
    tally.milliseconds.append(milliseconds)
    tally.accepted += said["accepted"]
    tally.duplicate += said["duplicate"]
