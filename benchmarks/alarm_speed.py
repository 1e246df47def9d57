"""`python -m benchmarks.alarm_speed`: what judging hours, months and years of history costs."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.data import make_columns
from benchmarks.database import Workspace, workspace
from benchmarks.machine import describe_machine
from monitor.checks.promise.column import ColumnHours
from monitor.checks.promise.fit import fit_seasonal
from monitor.checks.promise.hours import HOUR, WEEK_HOURS, Hours
from monitor.checks.promise.watch import watch
from monitor.jobs.base import JobContext
from monitor.jobs.promise.series import load_hours
from monitor.jobs.set_baseline import baseline_from_file
from monitor.profiles.cells import NumberCells
from monitor.profiles.columns import CELLS
from monitor.profiles.part import Part, PartKind
from monitor.records import LIVE_LEG
from monitor.store.baselines import StoredBinning, current_baselines, current_binning
from monitor.store.bulk import BulkConnections
from monitor.store.engine import Role, transaction
from monitor.store.profile_rows import ProfileKey, StoredProfile, write_profiles
from monitor.windows import Grain, Window

COLUMNS = 20
PACKAGES = ("inferwatch", "numpy", "scipy")
LEARNED_WEEKS, MONTH_HOURS, YEAR_WEEKS = 8, 720, 52
ROWS_AN_HOUR = 500
BARS = {"one hour of a model": 0.050, "a month in one batch": 2.0, "a year learned anew": 30.0}


@dataclass(frozen=True)
class Timed:
    """Seconds of each repetition, and the bar."""

    name: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print the table, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alarm_speed", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    given, console = parser.parse_args(arguments), Console()
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    with workspace(None, now) as place:
        found = [_hour(place, now, given.rounds), *_in_memory(given.rounds)]
        server = place.server
    table = Table("what", "median s", "fastest s", "bar s", "held")
    for one in found:
        bar = BARS[one.name]
        held = "yes" if one.median <= bar else "no"
        table.add_row(one.name, f"{one.median:.3f}", f"{min(one.seconds):.3f}", f"{bar:g}", held)
    console.print(table)
    if given.json is not None:
        facts = {"machine": describe_machine(PACKAGES), "postgres": server, "columns": COLUMNS}
        results = {o.name: {"seconds": o.seconds, "median": o.median, "bar": BARS[o.name],
                            "held": o.median <= BARS[o.name]} for o in found}  # fmt: skip
        given.json.write_text(json.dumps({**facts, "results": results}, indent=1, default=str))


def _timed(name: str, rounds: int, work: Callable[[], object]) -> Timed:
    work()
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return Timed(name, tuple(seconds))


def _hour(place: Workspace, now: datetime, rounds: int) -> Timed:
    """From stored profiles of the last 7 days to p-values and firings of one hour, all scales."""
    baseline_from_file(
        place.engine, place.project_id, place.model, make_columns(50_000, seed=1),
        name="reference", by="benchmarks",
    )  # fmt: skip
    hours = (LEARNED_WEEKS + 1) * WEEK_HOURS
    first = now - hours * HOUR
    context = _context(place, now)
    with transaction(place.engine, place.project_id, Role.WORKER) as connection:
        binning = current_binning(connection, place.project_id, place.model.model_id)
        if binning is None:
            raise AssertionError("the baseline made a binning")
        _store(place, binning, first, hours)
    with transaction(place.engine, place.project_id, Role.WORKER) as connection:
        seen = load_hours(connection, context, binning, Window(first, now))
        chosen = [one.name for one in seen.columns[:COLUMNS]]
        learned = seen.part(0, LEARNED_WEEKS * WEEK_HOURS)
        columns = [one for one in learned.columns if one.name in chosen]
        baseline = fit_seasonal(columns, learned.hours)

        def judge() -> None:
            # an hour at which all four scales end
            week = load_hours(connection, context, binning, Window(now - WEEK_HOURS * HOUR, now))
            wanted = [one for one in week.columns if one.name in chosen]
            aligned = replace(week.hours, first=datetime(2026, 1, 5, tzinfo=UTC))
            watched = watch(baseline, wanted, aligned, since=WEEK_HOURS - 1)
            if not all(len(scores.ends) for scores in watched.scores):
                raise AssertionError("every scale has a window that ends with this hour")

        return _timed("one hour of a model", rounds, judge)


def _context(place: Workspace, now: datetime) -> JobContext:
    return JobContext(
        engine=place.engine,
        bulk=BulkConnections(place.url, Role.WORKER),
        project="benchmark",
        model=place.model,
        worker="benchmark",
        now=now,
        public_url="http://127.0.0.1",
    )


def _store(place: Workspace, binning: StoredBinning, first: datetime, hours: int) -> None:
    """Hourly profiles drawn from the baseline's own shares."""
    rng = np.random.default_rng(7)
    project, model = place.project_id, place.model.model_id
    with transaction(place.engine, project, Role.WORKER) as connection:
        (stored,) = current_baselines(connection, project, model)
        shares = {
            name: counts / counts.sum()
            for name, counts in stored.part.dense.items()
            if name.startswith(CELLS)
        }
        found = []
        for hour in range(hours):
            dense = {name: rng.multinomial(ROWS_AN_HOUR, p) for name, p in shares.items()}
            key = ProfileKey(place.deployment_id, LIVE_LEG, 0, binning.id, PartKind.COLUMNS,
                             Grain.HOUR, first + hour * HOUR)  # fmt: skip
            found.append(StoredProfile(key, 1, ROWS_AN_HOUR, Part(dense)))
        write_profiles(connection, project, model, found)


def _in_memory(rounds: int) -> list[Timed]:
    """A month judged in one batch, fit included; and a year of history learned anew."""
    year = _drawn(YEAR_WEEKS * WEEK_HOURS)
    first = datetime(2026, 1, 5, tzinfo=UTC)
    reference_hours = LEARNED_WEEKS * WEEK_HOURS
    hours = Hours(first, reference_hours + MONTH_HOURS)

    def cut(start: int, stop: int) -> list[ColumnHours]:
        return [replace(one, counts=one.counts[start:stop]) for one in year]

    def month() -> None:
        baseline = fit_seasonal(cut(0, reference_hours), hours.part(0, reference_hours))
        watch(baseline, cut(0, hours.n), hours, since=reference_hours)

    def whole_year() -> None:
        fit_seasonal(year, Hours(first, YEAR_WEEKS * WEEK_HOURS))

    return [
        _timed("a month in one batch", rounds, month),
        _timed("a year learned anew", max(1, rounds // 2), whole_year),
    ]


def _drawn(hours: int) -> list[ColumnHours]:
    """Twenty number columns of 26 cells with a daily season."""
    rng = np.random.default_rng(11)
    edges = tuple(float(edge) for edge in np.linspace(-3, 3, 25))
    cells = NumberCells(edges)
    base = np.exp(-0.5 * np.linspace(-3.1, 3.1, 26) ** 2)
    found = []
    for number in range(COLUMNS):
        wave = 0.3 * np.sin(2 * np.pi * (np.arange(hours) + number) / 24)
        shares = base[None, :] * np.exp(wave[:, None] * np.linspace(-1, 1, 26)[None, :])
        shares /= shares.sum(axis=1, keepdims=True)
        counts = np.zeros((hours, cells.n_cells), np.int64)
        counts[:, :-1] = rng.multinomial(ROWS_AN_HOUR, shares)
        found.append(ColumnHours(f"x{number}", cells, counts))
    return found


if __name__ == "__main__":
    main()
