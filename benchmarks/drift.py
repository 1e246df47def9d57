"""`python -m benchmarks.drift`: from stored rows to drift measurements, against reading alone,
NannyML and Evidently.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

from benchmarks.data import day_before, make_columns
from benchmarks.database import workspace
from benchmarks.drift_product import (
    Product,
    StoredDay,
    measured_columns,
    read_only,
    store_day,
)
from benchmarks.machine import describe_machine
from benchmarks.peers import EVIDENTLY, NANNYML, Peer, ensure_peer, run_peer
from benchmarks.progress import Progress
from benchmarks.table import Bar, bars_json, loads_of, plain, show, show_bars, write_json, written
from benchmarks.timing import Results, Run, alternate

READ, READ_ARRAYS = "read", "read numbers and texts only"
DRIFT, JOBS = "rows to drift measurements", "whole jobs"
MEMORY = "rows in memory to drift measurements"
NANNYML_FIT = f"{NANNYML.name} with fit, reference as large"
EVIDENTLY_EQUAL = f"{EVIDENTLY.name}, reference as large"
EVIDENTLY_SMALL = f"{EVIDENTLY.name}, small reference"
PACKAGES = ("inferwatch", "pyarrow", "numpy", "adbc-driver-postgresql", "scipy")
INCLUDED = {
    READ: "select of the day's rows through ADBC, batches dropped",
    READ_ARRAYS: "the same rows, two columns only",
    DRIFT: "baseline from the database, read in a snapshot, counts by hour, merge, every drift"
    " method on 25 columns",
    MEMORY: "the same from rows in memory, as the peers have them",
    JOBS: "profile job and day check job: also serving parts, blocks, samples, pairs, roll-up, all"
    " other checks, rules, writing",
    NANNYML.name: "calculate() of ks + jensen_shannon and chi2 + jensen_shannon, ten chunks, frame"
    " in memory; fit of the reference not counted",
    NANNYML_FIT: "fit() of a reference as large as the rows it gets, and calculate()",
    EVIDENTLY_EQUAL: "Report([DataDriftPreset()]).run(), frames in memory; it reads the reference"
    " anew each time, here one as large as the rows it gets",
    EVIDENTLY_SMALL: "the same with a reference in the proportion that the others have",
}


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    rows: int
    reference_rows: int
    peer_rows: int
    rounds: int
    json: Path | None
    database_url: str | None

    @property
    def small_reference_rows(self) -> int:
        """A reference for the peers' rows in the proportion of the others'."""
        return max(1, self.peer_rows * self.reference_rows // self.rows)


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="stored rows")
    parser.add_argument("--reference-rows", type=int, default=100_000)
    parser.add_argument(
        "--peer-rows", type=int, default=200_000,
        help="rows where a peer works through a reference too, which is slow; rows/s are compared",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument(
        "--database-url", help="a login that may create databases, instead of an embedded server"
    )
    parser.add_argument("--quick", action="store_true", help="50,000 rows, one round: a try only")
    given = parser.parse_args(arguments)
    if given.quick:
        given.rows, given.reference_rows, given.rounds = 50_000, 10_000, 1
    for name in ("rows", "reference_rows", "peer_rows", "rounds"):
        if getattr(given, name) < 1:
            parser.error(f"--{name.replace('_', '-')} is at least 1")
    return Options(
        given.rows, given.reference_rows, min(given.peer_rows, given.rows), given.rounds,
        given.json, given.database_url,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print the tables, write the JSON."""
    options, console = parse(arguments), Console()
    now = datetime.now(UTC)
    pythons = {peer: ensure_peer(peer, console.print) for peer in (NANNYML, EVIDENTLY)}
    reference = make_columns(max(options.reference_rows, options.peer_rows), seed=1)
    current = make_columns(options.rows, seed=3, moved=0.05)
    with tempfile.TemporaryDirectory() as folder, workspace(options.database_url, now) as place:
        files = _write_files(Path(folder), reference, current, options)
        with Progress(console) as progress:
            tell = progress.bar("storing rows", options.rows)
            baseline = reference.slice(0, options.reference_rows)
            stored = store_day(place, baseline, current, day_before(now, 2), tell)
            del reference, baseline, current
            product = Product(stored)
            product.drift()  # not timed: opens the connections, which a worker keeps
            contenders = _contenders(stored, product, pythons, files)
            counted = progress.bar("runs", options.rounds * len(contenders))
            results = alternate(
                contenders, options.rounds, lambda number, name: counted(1, f"{number}: {name}")
            )
        product.close()
        server = place.server
    _report(console, options, results, _facts(options, product, server))


def _contenders(
    stored: StoredDay,
    product: Product,
    pythons: Mapping[Peer, Path],
    files: Mapping[str, Path],
) -> dict[str, Callable[[], Run]]:
    def peer(which: Peer, reference: str, current: str) -> Callable[[], Run]:
        return lambda: _peer_run(run_peer(which, pythons[which], files[reference], files[current]))

    return {
        READ: lambda: read_only(stored),
        DRIFT: product.drift,
        READ_ARRAYS: lambda: read_only(stored, "numbers, texts"),
        MEMORY: product.drift_from_memory,
        JOBS: product.whole_jobs,
        NANNYML.name: peer(NANNYML, "reference", "current"),
        NANNYML_FIT: lambda: _with_fit(peer(NANNYML, "equal reference", "part")()),
        EVIDENTLY_EQUAL: peer(EVIDENTLY, "equal reference", "part"),
        EVIDENTLY_SMALL: peer(EVIDENTLY, "small reference", "part"),
    }


def _peer_run(measured: Mapping[str, Any]) -> Run:
    extra = {
        name: float(measured[name])
        for name in ("cpu_seconds", "fit_seconds", "fit_cpu_seconds", "figures")
        if name in measured
    }
    return Run(measured["seconds"], measured["rows"], extra)


def _with_fit(run: Run) -> Run:
    fit = {name: run.extra[name] for name in ("fit_seconds", "fit_cpu_seconds")}
    cpu = run.extra["cpu_seconds"] + fit["fit_cpu_seconds"]
    return Run(run.seconds + fit["fit_seconds"], run.rows, {**run.extra, "cpu_seconds": cpu})


def _write_files(
    folder: Path, reference: pa.Table, current: pa.Table, options: Options
) -> dict[str, Path]:
    tables = {
        "reference": reference.slice(0, options.reference_rows),
        "current": current,
        "part": current.slice(0, options.peer_rows),
        "equal reference": reference.slice(0, options.peer_rows),
        "small reference": reference.slice(0, options.small_reference_rows),
    }
    files = {}
    for name, table in tables.items():
        files[name] = folder / f"{name}.arrow"
        sink = str(files[name])
        with pa.OSFile(sink, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return files


def bars_of(results: Results) -> list[Bar]:
    """The promised ratios, and the whole jobs beside them."""
    return [
        Bar("read_ratio", f"{DRIFT} ÷ {READ} (seconds)", results.time_ratio(DRIFT, READ), 2, False),
        Bar("nannyml_ratio", "rows/s ÷ NannyML's", results.rate_ratio(DRIFT, NANNYML.name), 3),
        Bar(
            "evidently_ratio",
            "rows/s ÷ Evidently's",
            results.rate_ratio(DRIFT, EVIDENTLY_EQUAL),
            30,
        ),
    ]


def beside_of(results: Results) -> dict[str, Any]:
    """Ratios without a bar: rows in memory, both jobs whole, a small reference, a narrow read."""
    return {
        "nannyml_with_fit_ratio": results.rate_ratio(DRIFT, NANNYML_FIT).as_json(),
        "memory_nannyml_ratio": results.rate_ratio(MEMORY, NANNYML.name).as_json(),
        "memory_evidently_ratio": results.rate_ratio(MEMORY, EVIDENTLY_EQUAL).as_json(),
        "jobs_read_ratio": results.time_ratio(JOBS, READ).as_json(),
        "jobs_nannyml_ratio": results.rate_ratio(JOBS, NANNYML.name).as_json(),
        "jobs_evidently_ratio": results.rate_ratio(JOBS, EVIDENTLY_EQUAL).as_json(),
        "evidently_small_reference_ratio": results.rate_ratio(DRIFT, EVIDENTLY_SMALL).as_json(),
        "narrow_read_ratio": results.time_ratio(DRIFT, READ_ARRAYS).as_json(),
    }


def _facts(options: Options, product: Product, server: str) -> dict[str, Any]:
    return {
        "rows": options.rows,
        "reference_rows": options.reference_rows,
        "peer_rows": options.peer_rows,
        "small_reference_rows": options.small_reference_rows,
        "rounds": options.rounds,
        "columns_measured": measured_columns(product.measurements),
        "measurements": len(product.measurements),
        "included": INCLUDED,
        "machine": {**describe_machine(PACKAGES), "postgres": server},
        "peers": {peer.name: peer.version for peer in (NANNYML, EVIDENTLY)},
    }


def _report(console: Console, options: Options, results: Results, facts: Mapping[str, Any]) -> None:
    rows = [
        (name, f"{results.runs[name][0].rows:,}", written(results.seconds(name)),
         plain(results.rate(name).median), plain(results.extra(name, "cpu_seconds").median))
        for name in results.runs
    ]  # fmt: skip
    headers = ("what", "rows", "seconds", "rows/s", "CPU s")
    show(console, "Drift of 25 columns", headers, rows)
    bars = bars_of(results)
    show_bars(console, "Ratios, compared round by round", bars)
    console.print(f"load average at the start of each round: {loads_of(results)}")
    if options.json is not None:
        write_json(
            options.json,
            {**bars_json(bars), "beside": beside_of(results), **facts, **results.as_json()},
        )
        console.print(f"written to {options.json}")


if __name__ == "__main__":
    main()
