"""`python -m benchmarks.pages`: the dashboard over a year of 20 models and 5,000 alerts.

The time until the overview is useful is held against an empty Streamlit page in the same browser.
A rerun is timed over Streamlit's own web socket: from the request to the message that the script
has finished. Statements are timed by Postgres itself; raw rows by what the tables were scanned.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlencode

import sqlalchemy as sa
from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from sqlalchemy.engine import Engine
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.machine import describe_machine
from benchmarks.table import show, write_json
from benchmarks.year import Year, fill
from dashboards.registry import PAGES
from monitor.postgres.server import embedded_database
from monitor.store import schema
from monitor.store.engine import make_engine
from tests.acceptance.pages import CHROMIUM
from tests.signed_in import COOKIE, Served, new_session, served, wait_for_health

RESULTS = Path(__file__).parent / "results" / "pages.json"
RERUNS, CLIENTS, THINK_SECONDS = 5, 20, 10.0
RAW = ("request_log", "label")
EMPTY = 'import streamlit as st\nst.title("Empty")\n'


@contextmanager
def empty_page() -> Iterator[str]:
    """A page of Streamlit with a title and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "empty.py"
        script.write_text(EMPTY)
        port = 18_431
        options = {"port": port, "headless": "true", "fileWatcherType": "none"}
        command = [sys.executable, "-m", "streamlit", "run", str(script),
                   *(f"--server.{name}={value}" for name, value in options.items()),
                   "--browser.gatherUsageStats=false"]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            wait_for_health(f"http://127.0.0.1:{port}/_stcore/health")
            yield f"http://127.0.0.1:{port}"
            process.terminate()


def seconds_until(browser: Browser, address: str, words: str, cookie: str | None) -> float:
    """From the request of an address to the words on the page, in a fresh window."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    if cookie is not None:
        context.add_cookies([{"name": COOKIE, "value": cookie, "url": address}])
    page = context.new_page()
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.get_by_text(words).first.wait_for(timeout=60_000)
    took = time.perf_counter() - began
    context.close()
    return took


class Client:
    """One reader: a web socket that asks for pages and waits until their script has finished."""

    def __init__(self, socket: ClientConnection, query: str) -> None:
        self._socket, self._query = socket, query
        self._hashes: dict[str, str] = {}

    async def rerun(self, page: str) -> float:
        """Seconds of one run of a page."""
        asked = BackMsg()
        asked.rerun_script.query_string = self._query
        asked.rerun_script.page_name = page
        asked.rerun_script.page_script_hash = self._hashes.get(page, "")
        began = time.perf_counter()
        await self._socket.send(asked.SerializeToString())
        while True:
            told = ForwardMsg()
            told.ParseFromString(bytes(await self._socket.recv()))
            kind = told.WhichOneof("type")
            if kind == "navigation":
                self._hashes |= {
                    p.url_pathname: p.page_script_hash for p in told.navigation.app_pages
                }
            if kind == "script_finished":
                return time.perf_counter() - began


def query_of(year: Year, place: int = 0) -> str:
    """The address's parameters of one reader: each looks at a model of its own."""
    model = year.models[place % len(year.models)]
    return urlencode({"project": "flights", "model": model})


@contextmanager
def socket_headers(server: Served) -> Iterator[dict[str, Any]]:
    """What a web socket of somebody who is signed in needs."""
    cookie = f"{COOKIE}={new_session(server.database_url)}"
    yield {"origin": str(server), "additional_headers": {"Cookie": cookie},
           "subprotocols": ["streamlit"], "proxy": None, "max_size": None}  # fmt: skip


async def page_times(server: Served, year: Year) -> dict[str, dict[str, float]]:
    """Of every page the first run, when nothing is kept, and the median of warm ones."""
    address = f"{server.replace('http', 'ws', 1)}/_stcore/stream"
    found = {}
    with socket_headers(server) as headers:
        async with connect(address, **headers) as socket:
            client = Client(socket, query_of(year))
            await client.rerun("")
            for page in PAGES:
                first = await client.rerun(page.url_path)
                warm = [await client.rerun(page.url_path) for _ in range(RERUNS)]
                found[page.url_path] = {
                    "first_s": round(first, 3),
                    "warm_s": round(median(warm), 3),
                }
    return found


async def crowd(server: Served, year: Year, rounds: int) -> list[float]:
    """Reruns of many readers who think between two looks."""
    address = f"{server.replace('http', 'ws', 1)}/_stcore/stream"
    names = [page.url_path for page in PAGES]

    async def reader(place: int) -> list[float]:
        await asyncio.sleep(THINK_SECONDS * place / CLIENTS)
        with socket_headers(server) as headers:
            async with connect(address, **headers) as socket:
                client = Client(socket, query_of(year, place))
                took = [await client.rerun("")]
                for turn in range(rounds):
                    await asyncio.sleep(THINK_SECONDS)
                    took.append(await client.rerun(names[(place + turn) % len(names)]))
                return took

    return [one for found in await asyncio.gather(*map(reader, range(CLIENTS))) for one in found]


def memory_mb(database_url: str) -> float:
    """Resident memory of the dashboard's processes: those that were given this database."""
    wanted = f"DATABASE_URL={database_url}".encode()
    pages = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                pages += int((process / "statm").read_text().split()[1])
        except (OSError, IndexError):  # it ended meanwhile
            continue
    return round(pages * 4096 / 1e6, 1)


def scans_of_raw_rows(engine: Engine) -> int:
    """How often tables of raw rows and their partitions were scanned so far."""
    query = sa.text(
        "select coalesce(sum(seq_scan + coalesce(idx_scan, 0)), 0) from pg_stat_user_tables"
        " where relname = any(:names) or relname ~ '^(request_log|label)_[0-9]'"
    )
    with engine.connect() as connection:
        return int(connection.scalar(query, {"names": list(RAW)}) or 0)


class Watcher:
    """Looks every 20 ms at what Postgres works on, and keeps the longest of each statement."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.longest = engine, dict[str, float]()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        query = sa.text(
            "select extract(epoch from clock_timestamp() - query_start) * 1000, query"
            " from pg_stat_activity where state = 'active' and pid <> pg_backend_pid()"
            " and datname = current_database()"
        )
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            while not self._over.wait(0.02):
                for took, text in connection.execute(query):
                    key = " ".join(text.split())[:300]
                    self.longest[key] = max(self.longest.get(key, 0.0), float(took))

    def slowest(self, most: int = 5) -> list[dict[str, Any]]:
        """The longest ones in milliseconds, as far as they had come when they were last seen."""
        found = sorted(self.longest.items(), key=lambda each: -each[1])[:most]
        return [{"ms": round(took, 1), "statement": text} for text, took in found]


def main() -> None:
    """Fill, measure, print, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--alerts", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=6, help="looks of each of 20 readers")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    folder = tempfile.TemporaryDirectory(prefix="inferwatch-pages-")
    with folder as home, embedded_database(Path(home)) as url:
        value = measure(url, options)
    write_json(options.output, value)
    report(value)


def measure(url: str, options: argparse.Namespace) -> dict[str, Any]:
    """Everything that is measured."""
    engine = make_engine(url)
    schema.upgrade(engine)
    began = time.perf_counter()
    year = fill(engine, datetime.now(UTC), options.models, options.months, options.alerts)
    filled = time.perf_counter() - began
    raw = scans_of_raw_rows(engine)
    with served(url) as server, Watcher(engine) as watcher:
        pages = asyncio.run(page_times(server, year))
        alone = memory_mb(url)
        overview, empty = openings(server, url)
        took = asyncio.run(crowd(server, year, options.rounds))
        many = memory_mb(url)
    return {
        "rows": year.rows, "filled_s": round(filled, 1), "pages": pages,
        "overview_s": overview, "empty_s": empty,
        "overview_after_empty_s": round(median(overview) - median(empty), 3),
        "slowest_warm_s": max(each["warm_s"] for each in pages.values()),
        "clients": CLIENTS, "reruns": len(took), "rerun_p50_s": round(median(took), 3),
        "rerun_p95_s": round(quantiles(took, n=20)[-1], 3), "memory_mb": alone,
        "memory_of_20_mb": many, "slowest_statements": watcher.slowest(),
        "scans_of_raw_rows": scans_of_raw_rows(engine) - raw,
        "machine": describe_machine(["streamlit", "altair"]),
    }  # fmt: skip


def openings(server: Served, url: str) -> tuple[list[float], list[float]]:
    """The overview and an empty page, in turn, each in a fresh window."""
    cookie = new_session(url)
    overview, empty = [], []
    with empty_page() as nothing, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for _ in range(RERUNS + 1):
            empty.append(round(seconds_until(browser, nothing, "Empty", None), 3))
            words = "Alerts that fire now"
            overview.append(round(seconds_until(browser, str(server), words, cookie), 3))
        browser.close()
    return overview[1:], empty[1:]


def report(value: dict[str, Any]) -> None:
    """The figures as tables."""
    console = Console(width=120)
    rows = [(name, f"{each['first_s']:.3f}", f"{each['warm_s']:.3f}")
            for name, each in value["pages"].items()]  # fmt: skip
    show(console, "Server runs of each page", ("page", "first s", "warm s"), rows)
    told = (
        ("rows", ", ".join(f"{name} {n:,}" for name, n in value["rows"].items())),
        ("overview useful after an empty page, s (bar 1.0)", value["overview_after_empty_s"]),
        ("slowest warm rerun, s (bar 0.3)", value["slowest_warm_s"]),
        ("p95 rerun of 20 readers, s (bar 2)", value["rerun_p95_s"]),
        ("memory, MB: one reader, 20", f"{value['memory_mb']}, {value['memory_of_20_mb']}"),
        ("scans of raw rows (bar 0)", value["scans_of_raw_rows"]),
        ("slowest statement, ms (bar 300)", value["slowest_statements"][0]["ms"]),
    )
    show(console, "Together", ("what", "found"), [(what, str(found)) for what, found in told])


if __name__ == "__main__":
    main()
