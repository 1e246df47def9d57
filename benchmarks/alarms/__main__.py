"""`python -m benchmarks.alarms`: AlarmBench, the benchmark of drift alarms."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.alarms.comparison import Plan, compare
from benchmarks.alarms.contest import Contest
from benchmarks.alarms.file_months import run_file_month
from benchmarks.alarms.months import Month, WorldOutcome, run_month
from benchmarks.alarms.options import PROCESSES, Options, parse
from benchmarks.alarms.peers.cache import THREADS
from benchmarks.alarms.peers.registry import PEER_RUNS, SMOKE_RUNS, PeerRun
from benchmarks.alarms.report import contest_json, show_contest, show_worlds, worlds_json
from benchmarks.alarms.worlds.from_file import WorldRefused, load_world
from benchmarks.alarms.worlds.registry import WORLDS
from benchmarks.machine import describe_machine
from benchmarks.peers import FOLDER, ensure_peer
from benchmarks.progress import Advance, Progress
from benchmarks.table import write_json

PACKAGES = ("inferwatch", "numpy", "scipy", "pyarrow")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print the tables, write the JSON; 2 for a world file that can't be used."""
    options, console = parse(arguments), Console()
    try:
        outcomes, contest = _run(options, console)
    except WorldRefused as refused:
        console.print(str(refused), markup=False, highlight=False)
        return 2
    _report(console, options, outcomes, contest)
    return 0


def _run(options: Options, console: Console) -> tuple[list[WorldOutcome], Contest | None]:
    with Progress(console) as progress:
        outcomes = _worlds(options, progress)
        contest = None
        if options.comparison:
            plan = _plan(options, console)
            counted = progress.bar("comparison", len(plan.tune_seeds) + len(plan.judge_seeds))
            contest = compare(plan, lambda what: counted(int(" seed " in what), what))
    return outcomes, contest


def _worlds(options: Options, progress: Progress) -> list[WorldOutcome]:
    seeds = range(options.months)
    if options.world is not None:
        path: Path = options.world
        world = load_world(path)
        counted = progress.bar(f"months of {world.name}", options.months)
        with _pool() as pool:
            jobs = [pool.submit(run_file_month, path, options.seed + place) for place in seeds]
            return [WorldOutcome(world.name, str(path), None, _collect(jobs, counted))]
    if not options.worlds:
        return []
    counted = progress.bar("months", options.months * len(options.worlds))
    outcomes = []
    with _pool() as pool:
        for name in options.worlds:
            jobs = [pool.submit(run_month, name, options.seed, place) for place in seeds]
            known = WORLDS[name]
            outcomes.append(WorldOutcome(name, known.tells, known.bar, _collect(jobs, counted)))
            counted(0, name)
    return outcomes


def _collect(jobs: Sequence[Any], counted: Advance) -> list[Month]:
    months = []
    for job in jobs:
        months.append(job.result())
        counted(1)
    return months


@contextmanager
def _pool() -> Iterator[ProcessPoolExecutor]:
    """Two processes, one thread of linear algebra each; started anew, so that it takes effect."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        yield pool


def _plan(options: Options, console: Console) -> Plan:
    """Seeds for tuning and judging never meet: streams of the two purposes are independent."""
    tuning = range(options.seed, options.seed + options.tune_seeds)
    judging = range(options.seed, options.seed + options.seeds)
    pythons = _pythons(options, console.print) if options.peers else {}
    return Plan(tuning, judging, pythons, options.seed)


def _pythons(options: Options, tell: Callable[[str], None]) -> dict[PeerRun, Path]:
    """The Pythons of the peers; a smoke run installs none and says which it leaves out."""
    if not options.smoke:
        return {run: ensure_peer(run.peer, tell) for run in PEER_RUNS}
    pythons = {}
    for run in SMOKE_RUNS:
        home = FOLDER / f"{run.peer.package}-{run.peer.version}"
        if (home / "finished").exists():
            pythons[run] = home / "bin" / "python"
        else:
            tell(f"{run.peer.name} is left out: it is not installed in {home}")
    others = sorted({run.peer.name for run in PEER_RUNS} - {run.peer.name for run in SMOKE_RUNS})
    tell(f"a smoke run leaves out {', '.join(others)} and all hourly runs of peers")
    return pythons


def _report(
    console: Console, options: Options, outcomes: list[WorldOutcome], contest: Contest | None
) -> None:
    if outcomes:
        show_worlds(console, outcomes)
    if contest is not None:
        show_contest(console, contest)
    if options.json is None:
        return
    found = {"contestants": [], "comparison": None} if contest is None else contest_json(contest)
    facts = {
        "seed": options.seed,
        "smoke": options.smoke,
        "tune_seeds": options.tune_seeds,
        "judge_seeds": options.seeds,
        "machine": describe_machine(PACKAGES),
    }
    write_json(options.json, {"worlds": worlds_json(outcomes), **found, **facts})
    console.print(f"written to {options.json}")


if __name__ == "__main__":
    sys.exit(main())
