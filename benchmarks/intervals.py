"""`python -m benchmarks.intervals`: how often each printed 95 % interval holds the truth.

Monte Carlo on seeded worlds whose truth is known, through the product's own functions. An interval
holds when it covers at least 93 % and, unless its method is named conservative, at most 98 %, both
within two Monte-Carlo errors.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks.interval_worlds.base import World
from benchmarks.interval_worlds.registry import worlds_by_key
from benchmarks.machine import describe_machine
from benchmarks.progress import Progress
from benchmarks.table import show, write_json
from benchmarks.timing import significant

DRAWS, SMOKE_DRAWS, LEAST_DRAWS = 2_000, 40, 3
LEVEL, LEAST, MOST, ERRORS = 0.95, 0.93, 0.98, 2
PACKAGES = ("inferwatch", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    draws: int
    seed: int
    workers: int
    only: str
    json: Path | None


@dataclass
class Tally:
    """Readings of one interval in one world."""

    held: int = 0
    methods: Counter[str] = field(default_factory=Counter)
    widths: list[float] = field(default_factory=list)

    @property
    def printed(self) -> int:
        """How many intervals were printed."""
        return self.methods.total()


@dataclass(frozen=True)
class Row:
    """What one interval covered in one world.

    `method` is the commonest, `methods` the share of each. `draws` intervals were printed,
    `not_printed` were not, having too few rows or none to divide by. `monte_carlo_error`: standard
    error of a coverage of 0.95. `mean_width`: of intervals with two sides.
    """

    part: str
    interval: str
    method: str
    methods: dict[str, float]
    world: str
    n: int
    truth: str
    draws: int
    not_printed: int
    coverage: float
    monte_carlo_error: float
    mean_width: float | None
    conservative: bool
    held: bool


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.intervals", description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS,
                        help="draws of a cheap interval; slow ones get a part of them")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1)
    cores = min(2, len(os.sched_getaffinity(0)))
    parser.add_argument("--workers", type=int, default=cores, help="processes")
    parser.add_argument("--only", default="", metavar="TEXT", help="worlds whose name holds it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--smoke", action="store_true",
                        help=f"{SMOKE_DRAWS} draws: a try only")  # fmt: skip
    given = parser.parse_args(arguments)
    draws = SMOKE_DRAWS if given.smoke else given.draws
    for name, value in (("draws", draws), ("workers", given.workers)):
        if value < 1:
            parser.error(f"--{name} is at least 1")
    if given.seed < 0:
        parser.error("--seed is at least 0")
    if not any(given.only in key for key in worlds_by_key()):
        parser.error(f"no world's name holds {given.only!r}")
    return Options(draws, given.seed, given.workers, given.only, given.json)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print the tables, write the JSON."""
    options, console, started = parse(arguments), Console(), time.perf_counter()
    rows = measure(options, console)
    seconds = time.perf_counter() - started
    report(console, rows)
    console.print(f"{seconds:.0f} s with {options.workers} processes, seed {options.seed}")
    if options.json is not None:
        facts = {"seed": options.seed, "draws": options.draws, "seconds": round(seconds)}
        machine = describe_machine(PACKAGES)
        results = {"summary": summary(rows), **facts, "rows": [asdict(row) for row in rows]}
        write_json(options.json, {**results, "machine": machine})
        console.print(f"written to {options.json}")


def measure(options: Options, console: Console) -> list[Row]:
    """Rows of all chosen worlds in the order of the registry; worlds run side by side."""
    chosen = {key: one for key, one in worlds_by_key().items() if options.only in key}
    # Slow worlds have few draws and go first, so that no process is left with one at the end.
    order = sorted(chosen, key=lambda key: chosen[key].share)
    found: dict[str, list[Row]] = {}
    with Progress(console) as progress:
        advance = progress.bar("worlds", len(order))
        for key, rows in _results(order, options):
            found[key] = rows
            advance(1)
    return [row for key in chosen for row in found[key]]


def _results(keys: Sequence[str], options: Options) -> Iterator[tuple[str, list[Row]]]:
    """Rows of each world as they become known, one core a process."""
    if options.workers == 1:
        with threadpool_limits(1):
            for key in keys:
                yield key, rows_of_key(key, options.draws, options.seed)
        return
    with ProcessPoolExecutor(
        options.workers,
        multiprocessing.get_context("spawn"),
        initializer=threadpool_limits,
        initargs=(1,),
    ) as pool:
        waiting = {pool.submit(rows_of_key, key, options.draws, options.seed): key for key in keys}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def rows_of_key(key: str, draws: int, seed: int) -> list[Row]:
    """The rows of one world, by name."""
    return rows_of(worlds_by_key()[key], draws, seed)


def rows_of(world: World, draws: int, seed: int) -> list[Row]:
    """Draw from a world as often as its cost allows, with a generator of its own."""
    wanted = max(LEAST_DRAWS, round(draws * world.share))
    rng = np.random.default_rng([seed, zlib.crc32(world.key.encode())])
    draw = world.prepare()
    tallies: dict[str, Tally] = {}
    for _ in range(wanted):
        for reading in draw(rng):
            tally = tallies.setdefault(reading.interval, Tally())
            tally.held += reading.held
            tally.methods[reading.method] += 1
            if reading.width is not None:
                tally.widths.append(reading.width)
    return [_row(world, name, tally, wanted) for name, tally in tallies.items()]


def _row(world: World, interval: str, tally: Tally, wanted: int) -> Row:
    n = tally.printed
    coverage, error = tally.held / n, float(np.sqrt(LEVEL * (1 - LEVEL) / n))
    methods = {name: significant(many / n, 3) for name, many in tally.methods.most_common()}
    return Row(
        part=world.part,
        interval=interval,
        method=next(iter(methods)),
        methods=methods,
        world=world.name,
        n=world.n,
        truth=world.truth,
        draws=n,
        not_printed=wanted - n,
        coverage=significant(coverage, 4),
        monte_carlo_error=significant(error, 3),
        mean_width=significant(float(np.mean(tally.widths)), 4) if tally.widths else None,
        conservative=world.conservative,
        held=holds(coverage, error, conservative=world.conservative),
    )


def holds(coverage: float, error: float, *, conservative: bool) -> bool:
    """At least 0.93 and, unless conservative, at most 0.98, within two Monte-Carlo errors."""
    wide = coverage > MOST + ERRORS * error
    return coverage >= LEAST - ERRORS * error and (conservative or not wide)


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """The interval that covers least, how many hold, and whether all do."""
    worst = min(rows, key=lambda row: row.coverage)
    return {
        "worst": {name: getattr(worst, name) for name in ("interval", "world", "n", "coverage")},
        "held_all": all(row.held for row in rows),
        "held": sum(row.held for row in rows),
        "of": len(rows),
    }


def report(console: Console, rows: Sequence[Row]) -> None:
    """A table a part, and what did not hold."""
    headers = ("interval", "world", "n", "draws", "coverage", "± error", "mean width", "")
    for part, mine in groupby(rows, key=lambda row: row.part):
        show(console, f"95 % intervals: {part}", headers, list(_shown(mine)))
    told = summary(rows)
    worst = told["worst"]
    console.print(
        f"{told['held']} of {told['of']} hold; lowest: {worst['interval']} in"
        f" {worst['world']!r}, n = {worst['n']:,}: {worst['coverage']:.3f}"
    )


def _shown(rows: Iterator[Row]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        width = "–" if row.mean_width is None else f"{row.mean_width:.3g}"
        named = "held (conservative)" if row.conservative else "held"
        yield (
            row.interval, row.world, f"{row.n:,}", f"{row.draws:,}", f"{row.coverage:.3f}",
            f"{row.monte_carlo_error:.3f}", width, named if row.held else "NOT held",
        )  # fmt: skip


if __name__ == "__main__":
    main()
