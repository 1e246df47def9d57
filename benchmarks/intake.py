"""`python -m benchmarks.intake`: acknowledged rows over HTTP against raw COPY of the same rows."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from rich.console import Console

from benchmarks.bodies import Bodies, arrow_bodies, ndjson_bodies, sliced, with_repeats
from benchmarks.collector import (
    Server,
    over_http,
    raw_copy,
    running_collector,
    timed_send,
)
from benchmarks.data import day_before, event_times, make_columns, request_ids
from benchmarks.database import Workspace, workspace
from benchmarks.machine import describe_machine
from benchmarks.progress import Progress
from benchmarks.senders import Target
from benchmarks.stored_rows import batches_of, with_envelope
from benchmarks.table import Bar, bars_json, loads_of, plain, show, show_bars, write_json, written
from benchmarks.timing import Results, Run, alternate
from monitor.store.partitions import prepare_ahead

RAW = "raw COPY, one connection"
BATCH_ROWS = 1_000
WARM_BODIES = 12
MANY_SENDERS, SMALL_SENDERS = 4, 16
REPEATED_SHARE = 0.01
PACKAGES = ("inferwatch", "pyarrow", "adbc-driver-postgresql", "uvicorn", "uvloop", "httptools",
            "fastapi", "msgspec")  # fmt: skip
DAY_SECONDS = 86_400


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    batches: int
    small_bodies: int
    rounds: int
    workers: int
    json: Path | None
    database_url: str | None


@dataclass(frozen=True)
class Material:
    """Everything that is sent or copied, encoded beforehand."""

    raw: tuple[pa.Table, ...]
    ndjson: Bodies
    arrow: Bodies
    repeated_ndjson: Bodies
    repeated_arrow: Bodies
    small: Bodies


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.intake", description=__doc__)
    parser.add_argument("--batches", type=int, default=100, help="bodies of 1,000 rows a run")
    parser.add_argument("--small-bodies", type=int, default=2_000, help="bodies of one row a run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2, help="collector processes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument(
        "--database-url", help="a login that may create databases, instead of an embedded server"
    )
    parser.add_argument("--quick", action="store_true", help="20 bodies, one round: a try only")
    given = parser.parse_args(arguments)
    if given.quick:
        given.batches, given.small_bodies, given.rounds = 20, 200, 1
    for name in ("batches", "small_bodies", "rounds", "workers"):
        if getattr(given, name) < 1:
            parser.error(f"--{name.replace('_', '-')} is at least 1")
    given.batches = max(given.batches, 2)  # a repeated row needs a body before its own
    return Options(
        given.batches, given.small_bodies, given.rounds, given.workers, given.json,
        given.database_url,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print the tables, write the JSON."""
    options, console = parse(arguments), Console()
    now = datetime.now(UTC)
    with workspace(options.database_url, now) as place, Progress(console) as progress:
        told = progress.bar("encoding bodies", 6)
        prepare_ahead(place.engine, now)
        material = make_material(options, place, now, lambda: told(1))
        with running_collector(place, options.workers) as (target, server):
            warm_up(place, target, server, material)
            contenders = _contenders(place, target, server, material)
            counted = progress.bar("runs", options.rounds * len(contenders))
            results = alternate(
                contenders, options.rounds, lambda number, name: counted(1, f"{number}: {name}")
            )
    _report(console, options, results, place.server)


def make_material(
    options: Options, place: Workspace, now: datetime, tell: Callable[[], None]
) -> Material:
    """Unique rows of one day: as stored batches, as bodies, and with repeats."""
    n = options.batches * BATCH_ROWS
    times = event_times(n, day_before(now, 2), DAY_SECONDS)
    sent = with_envelope(make_columns(n, 1), request_ids(n, 2), times, place.deployment_id)
    tables = sliced(sent, BATCH_ROWS)
    raw = tuple(batch.table for batch in batches_of(sent, place.model, BATCH_ROWS, now))
    tell()
    repeats = with_repeats(tables, REPEATED_SHARE)
    new = n - sum(round(REPEATED_SHARE * table.num_rows) for table in repeats[1:])
    small = sent.slice(0, min(options.small_bodies, n))
    makers: tuple[Callable[[], Bodies], ...] = (
        lambda: ndjson_bodies(tables),
        lambda: arrow_bodies(tables),
        lambda: ndjson_bodies(repeats, new),
        lambda: arrow_bodies(repeats, new),
        lambda: ndjson_bodies(sliced(small, 1)),
    )
    made = []
    for maker in makers:
        made.append(maker())
        tell()
    return Material(raw, *made)


def warm_up(place: Workspace, target: Target, server: Server, material: Material) -> None:
    """A few bodies from many senders, so that every worker has its connections open."""
    for bodies in (material.ndjson, material.arrow):
        some = bodies.bodies[:WARM_BODIES]
        few = Bodies(bodies.content_type, some, len(some) * BATCH_ROWS, len(some) * BATCH_ROWS)
        for _ in range(2):
            over_http(place, target, server, few, SMALL_SENDERS // 2)
    place.settle("request_log")


def _contenders(
    place: Workspace, target: Target, server: Server, material: Material
) -> dict[str, Callable[[], Run]]:
    def http(bodies: Bodies, senders: int) -> Callable[[], Run]:
        return lambda: over_http(place, target, server, bodies, senders)

    def again(bodies: Bodies, senders: int) -> Callable[[], Run]:
        known = Bodies(bodies.content_type, bodies.bodies, bodies.rows, 0)

        def run() -> Run:
            raw_copy(place, material.raw)  # the rows are there; only sending them again is timed
            return timed_send(target, server, known, senders)

        return run

    return {
        RAW: lambda: raw_copy(place, material.raw),
        **{
            named(kind, senders): http(bodies, senders)
            for senders in (1, MANY_SENDERS)
            for kind, bodies in (("NDJSON", material.ndjson), ("Arrow", material.arrow))
        },
        "NDJSON, 1 % repeated, 1 sender": http(material.repeated_ndjson, 1),
        "Arrow, 1 % repeated, 1 sender": http(material.repeated_arrow, 1),
        "NDJSON, all sent before, 1 sender": again(material.ndjson, 1),
        "Arrow, all sent before, 1 sender": again(material.arrow, 1),
        "NDJSON, one-row bodies, 16 senders": http(material.small, SMALL_SENDERS),
    }


def named(kind: str, senders: int) -> str:
    """The name of a plain run."""
    return f"{kind}, {senders} sender{'s' if senders > 1 else ''}"


def bars_of(results: Results) -> list[Bar]:
    """The promised ratios."""
    wanted = (
        ("ndjson_ratio", "NDJSON", 1, 0.5),
        ("arrow_ratio", "Arrow", 1, 0.7),
        ("ndjson_ratio_4", "NDJSON", MANY_SENDERS, 0.9),
        ("arrow_ratio_4", "Arrow", MANY_SENDERS, 1.2),
    )
    return [
        Bar(key, f"{named(kind, senders)} ÷ raw COPY",
            results.rate_ratio(named(kind, senders), RAW), bar)
        for key, kind, senders, bar in wanted
    ]  # fmt: skip


def _report(console: Console, options: Options, results: Results, server: str) -> None:
    headers = (
        "what",
        "rows/s",
        "÷ raw",
        "p50 ms",
        "p99 ms",
        "CPU µs a row*",
    )
    show(console, "Acknowledged, durable rows", headers, [_row(results, n) for n in results.runs])
    console.print("* of the sender / the collector / Postgres; raw COPY: the client is the sender")
    bars = bars_of(results)
    show_bars(console, "Ratios, compared round by round", bars)
    console.print(f"load average at the start of each round: {loads_of(results)}")
    if options.json is not None:
        ratios = {n: results.rate_ratio(n, RAW).as_json() for n in results.runs}
        facts = {
            "batches": options.batches,
            "batch_rows": BATCH_ROWS,
            "rounds": options.rounds,
            "workers": options.workers,
            "senders": "threads of one process on the same cores, kept connections, loopback",
            "machine": {**describe_machine(PACKAGES), "postgres": server},
        }
        write_json(
            options.json, {**bars_json(bars), "ratios": ratios, **facts, **results.as_json()}
        )
        console.print(f"written to {options.json}")


def _row(results: Results, name: str) -> tuple[str, ...]:
    shown = results.runs[name][0].extra
    cpu = [
        plain(results.extra(name, key).median) if key in shown else "–"
        for key in ("sender_cpu_us", "collector_cpu_us", "postgres_cpu_us")
    ]
    return (
        name,
        plain(results.rate(name).median),
        written(results.rate_ratio(name, RAW)),
        plain(results.extra(name, "p50_ms").median),
        plain(results.extra(name, "p99_ms").median),
        " / ".join(cpu),
    )


if __name__ == "__main__":
    main()
