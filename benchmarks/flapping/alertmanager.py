"""The same values through a real Alertmanager, fed as Prometheus feeds it, its clock sped up.

A rule of Prometheus has `for` and `keep_firing_for` too; a series that is absent ends its alert.
A window of 15 minutes takes a fraction of a second here, and Alertmanager's waits are shortened by
the same factor.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from benchmarks.flapping.shapes import THRESHOLD, Shape
from benchmarks.flapping.tally import Tally

Take = Callable[[bytes], None]

WINDOW_MINUTES = 15
CONFIG = """
route:
  receiver: counted
  group_by: [alertname]
  group_wait: {group_wait}ms
  group_interval: {group_interval}ms
  repeat_interval: {repeat_interval}ms
receivers:
  - name: counted
    webhook_configs: [{{url: "{url}", send_resolved: true}}]
"""


def program() -> str | None:
    """Where Alertmanager is, None when it is not installed."""
    return shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")


@dataclass(frozen=True)
class Policy:
    """So many windows in a row until it fires, and until it is over."""

    hold: int = 1
    keep: int = 1


def prometheus_states(values: Sequence[float | None], policy: Policy) -> list[bool]:
    """Whether a Prometheus rule fires at each window: an absent value counts as not breaching."""
    states, firing, breaches, clears = [], False, 0, 0
    for value in values:
        breach = value is not None and value > THRESHOLD
        breaches, clears = (breaches + 1, 0) if breach else (0, clears + 1)
        firing = breaches >= policy.hold if not firing else clears < policy.keep
        states.append(firing)
    return states


def run(shapes: Sequence[Shape], policy: Policy, seconds_a_window: float) -> dict[str, Tally]:
    """Feed all shapes at once, a window at a time; what the receiver was told."""
    tallies = {shape.name: Tally() for shape in shapes}
    states = {shape.name: prometheus_states(shape.values, policy) for shape in shapes}
    minute_ms = seconds_a_window * 1000 / WINDOW_MINUTES
    started: list[float] = []

    def take(body: bytes) -> None:
        message = json.loads(body)
        window = (time.monotonic() - started[0]) / seconds_a_window
        name = message["groupLabels"]["alertname"]
        tallies[name].tell(window, is_open=message["status"] == "firing")

    with receiving(take) as url, alertmanager(url, minute_ms) as address, httpx.Client() as client:
        started.append(time.monotonic())
        since: dict[str, datetime] = {}
        for window in range(len(shapes[0].values)):
            now = datetime.now(UTC)
            lasts = timedelta(seconds=4 * seconds_a_window)
            alerts = []
            for name, firing in states.items():
                if firing[window]:
                    begun = since.setdefault(name, now)
                    alerts.append(_alert(name, begun, now + lasts))
                elif name in since:
                    alerts.append(_alert(name, since.pop(name), now))
            client.post(f"{address}/api/v2/alerts", json=alerts).raise_for_status()
            _sleep_until(started[0] + (window + 1) * seconds_a_window)
        time.sleep(4 * seconds_a_window)
    for name, fired in states.items():
        pairs = zip([False, *fired], fired, strict=False)
        tallies[name].transitions = sum(before != after for before, after in pairs)
    return tallies


def _alert(name: str, start: datetime, end: datetime) -> dict[str, object]:
    return {
        "labels": {"alertname": name},
        "startsAt": start.isoformat(),
        "endsAt": end.isoformat(),
    }


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))


@contextmanager
def alertmanager(receiver: str, minute_ms: float) -> Iterator[str]:
    """A running Alertmanager with Prometheus' usual waits (30 s, 5 min, 4 h) at this speed."""
    found = program()
    if found is None:
        raise SystemExit("Alertmanager is needed: apt install prometheus-alertmanager")
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "alertmanager.yml"
        waits = {"group_wait": 0.5, "group_interval": 5.0, "repeat_interval": 240.0}
        scaled = {name: max(1, round(minutes * minute_ms)) for name, minutes in waits.items()}
        config.write_text(CONFIG.format(url=receiver, **scaled), encoding="utf-8")
        port = _free_port()
        command = [
            found, f"--config.file={config}", f"--storage.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=",
            "--log.level=error",
        ]  # fmt: skip
        address = f"http://127.0.0.1:{port}"
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                _wait_ready(address)
                yield address
            finally:
                process.terminate()
                process.wait(10)


def _wait_ready(address: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{address}/-/ready").is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise SystemExit("Alertmanager did not become ready within 30 seconds")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def receiving(take: Take) -> Iterator[str]:
    """A webhook receiver that hands every body over, one at a time."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                take(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Silent: the table is the output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
