"""`python -m benchmarks.labels`: a million labels a month late, received, joined and re-measured.

Receiving is compared with a raw COPY of the same labels, joining and re-measuring with reading the
requests of the touched windows. Exits with an error when any other window was touched.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

from benchmarks.collector import running_collector
from benchmarks.data import day_before
from benchmarks.database import Workspace, workspace
from benchmarks.label_material import (
    Month,
    corrections,
    labelled_contract,
    make_labels,
    make_requests,
)
from benchmarks.label_receipt import (
    ARROW,
    RAW,
    LabelMaterial,
    contenders_of,
    empty_labels,
    encode,
    send_labels,
    warm_up,
)
from benchmarks.label_rejoin import (
    READ,
    READ_BLOCKS,
    REJOIN,
    Snapshot,
    profile_and_measure,
    read_all_blocks,
    read_requests,
    rejoin,
    worker,
)
from benchmarks.label_verify import Changed, look, verify
from benchmarks.machine import describe_machine
from benchmarks.progress import Progress
from benchmarks.stored_rows import store_rows
from benchmarks.table import Bar, bars_json, loads_of, plain, show, show_bars, write_json, written
from benchmarks.timing import Results, Run, alternate
from monitor.deployment import Tags
from monitor.jobs.run import Runner
from monitor.store.engine import Role, transaction
from monitor.store.models import register_deployment

DAYS, DEPLOYMENTS, BODY_LABELS = 30, 3, 10_000
DAYS_AGO = 33 + DAYS
CORRECTED_SHARE, CORRECTED_DAY = 0.01, 9
STORED_AT_ONCE = 20_000
PACKAGES = ("inferwatch", "pyarrow", "numpy", "adbc-driver-postgresql", "psycopg", "msgspec")
INCLUDED = {
    RAW: "COPY of the stored form of the same labels through ADBC into the same partitioned table",
    ARROW: "POST /v1/labels, Arrow stream, answered after the commit (receipt_ratio)",
    REJOIN: "label job until no label waits, then the checks of all days and months that are due"
    " for it: all methods of all plans, alert rules and writing",
    READ: "select of the labelled days' raw requests through ADBC, batches dropped (rejoin_ratio)",
    READ_BLOCKS: "select of the labelled days' prediction blocks, unpacked",
}


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    month: Month
    body_labels: int
    rounds: int
    workers: int
    json: Path | None
    database_url: str | None


@dataclass(frozen=True)
class Outcome:
    """What one whole run measured."""

    receipt: Results
    rejoin: Results
    first: Changed
    corrected: Changed
    corrections: Run
    server: str


def parse(arguments: Sequence[str] | None = None, now: datetime | None = None) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labels", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="labels, one a request")
    parser.add_argument("--body-labels", type=int, default=BODY_LABELS, help="labels a body")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2, help="collector processes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument(
        "--database-url", help="a login that may create databases, instead of an embedded server"
    )
    parser.add_argument("--smoke", action="store_true", help="15,000 labels, one round: a try only")
    given = parser.parse_args(arguments)
    if given.smoke:
        given.rows, given.rounds, given.body_labels = 15_000, 1, 1_000
    for name in ("body_labels", "rounds", "workers"):
        if getattr(given, name) < 1:
            parser.error(f"--{name.replace('_', '-')} is at least 1")
    if given.rows < DAYS * 100:
        parser.error(f"--rows is at least {DAYS * 100}: a hundred requests a day")
    first = day_before(now or datetime.now(UTC), DAYS_AGO)
    month = Month(first, DAYS, given.rows // DAYS)
    return Options(
        month, given.body_labels, given.rounds, given.workers, given.json, given.database_url
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print the tables, write the JSON."""
    now = datetime.now(UTC)
    options, console = parse(arguments, now), Console()
    with (
        workspace(options.database_url, now, labelled_contract()) as place,
        Progress(console) as progress,
        worker(place) as runner,
    ):
        requests = store_month(options, place, runner, progress)
        labels = make_labels(requests, options.month)
        material = encode(place, labels, options.body_labels)
        with running_collector(place, options.workers) as (target, server):
            warm_up(place, target, server, material)
            receivers = contenders_of(place, target, server, material)
            receipt = _alternate(receivers, options.rounds, progress, "receiving")
            empty_labels(place)
            send_labels(target, server, material.arrow)
            joined, first = rejoin_rounds(options, place, runner, requests, progress)
            wrong = corrections(requests, options.month, CORRECTED_DAY, CORRECTED_SHARE)
            again = encode(place, wrong, options.body_labels)
            send_labels(target, server, again.arrow)
        corrected, run = correct(options, place, runner, requests, again)
        outcome = Outcome(receipt, joined, first, corrected, run, place.server)
    _report(console, options, outcome)


def store_month(options: Options, place: Workspace, runner: Runner, progress: Progress) -> pa.Table:
    """Store the requests as the collector does, profile and measure them; the requests as sent."""
    month = options.month
    requests = make_requests(month, _deployments(place))
    store_rows(place, requests, STORED_AT_ONCE, progress.bar("storing requests", month.stored))
    place.settle("request_log")
    hours = progress.bar("profiling hours", (month.days + 2) * 24)
    profile_and_measure(runner, hours)
    return requests


def rejoin_rounds(
    options: Options, place: Workspace, runner: Runner, requests: pa.Table, progress: Progress
) -> tuple[Results, Changed]:
    """Join and re-measure as often as there are rounds, each time from the state before."""
    month, before, snapshot = options.month, look(place), Snapshot(place)
    touched = requests["event_time"].slice(month.a_day, month.labelled)
    changed: list[Changed] = []

    def join() -> Run:
        snapshot.restore()
        run = rejoin(place, runner, month.labelled)
        changed.append(verify(place, before, touched))
        return run

    contenders = {
        REJOIN: join,
        READ: lambda: read_requests(place, month),
        READ_BLOCKS: lambda: read_all_blocks(place, month),
    }
    return _alternate(contenders, options.rounds, progress, "joining"), changed[-1]


def correct(
    options: Options, place: Workspace, runner: Runner, requests: pa.Table, again: LabelMaterial
) -> tuple[Changed, Run]:
    """Join corrected labels of a few days, which wait already."""
    month, before = options.month, look(place)
    run = rejoin(place, runner, again.arrow.rows)
    first = (CORRECTED_DAY + 1) * month.a_day
    touched = requests["event_time"].slice(first, again.arrow.rows)
    return verify(place, before, touched), run


def _deployments(place: Workspace) -> list[int]:
    numbers = [place.deployment_id]
    with transaction(place.engine, place.project_id, Role.OWNER) as connection:
        for version in range(2, DEPLOYMENTS + 1):
            tags = Tags.of({"model_version": str(version)})
            number, _ = register_deployment(
                connection, place.project_id, place.model.model_id, tags, None, datetime.now(UTC)
            )
            numbers.append(number)
    return numbers


def _alternate(
    contenders: dict[str, Callable[[], Run]], rounds: int, progress: Progress, what: str
) -> Results:
    counted = progress.bar(what, rounds * len(contenders))
    return alternate(contenders, rounds, lambda number, name: counted(1, f"{number}: {name}"))


def bars_of(outcome: Outcome) -> list[Bar]:
    """The promised ratios."""
    received = outcome.receipt.rate_ratio(ARROW, RAW)
    joined = outcome.rejoin.time_ratio(REJOIN, READ)
    return [
        Bar("receipt_ratio", f"{ARROW} ÷ {RAW} (labels/s)", received, 0.3),
        Bar("rejoin_ratio", f"{REJOIN} ÷ {READ} (seconds)", joined, 2, at_least=False),
    ]


def _report(console: Console, options: Options, outcome: Outcome) -> None:
    receipt, joined = outcome.receipt, outcome.rejoin
    headers = ("what", "labels/s", "÷ raw", "seconds")
    rows = [
        (name, plain(receipt.rate(name).median), written(receipt.rate_ratio(name, RAW)),
         plain(receipt.seconds(name).median))
        for name in receipt.runs
    ]  # fmt: skip
    show(console, f"Labels received, {options.body_labels:,} a transaction", headers, rows)
    headers = ("what", "seconds", "÷ read requests", "rows/s")
    rows = [
        (name, written(joined.seconds(name)), written(joined.time_ratio(name, READ)),
         plain(joined.rate(name).median))
        for name in joined.runs
    ]  # fmt: skip
    show(console, "Joined and measured again", headers, rows)
    _show_changes(console, outcome)
    bars = bars_of(outcome)
    show_bars(console, "Ratios, compared round by round", bars)
    console.print(f"load average: receiving {loads_of(receipt)}; joining {loads_of(joined)}")
    if options.json is not None:
        write_json(options.json, {**bars_json(bars), **_facts(options, outcome)})
        console.print(f"written to {options.json}")


def _show_changes(console: Console, outcome: Outcome) -> None:
    names = ("hours touched", "days", "windows measured again", "revisions written")
    rows = [
        (what, *(plain(n) for n in (one.hours, one.days, one.windows_measured, one.revisions)))
        for what, one in (("all labels", outcome.first), ("1 % corrected", outcome.corrected))
    ]
    show(console, "Touched: exactly the labels' own windows", ("labels", *names), rows)
    stages = ", ".join(
        f"{name.replace('_seconds', '')} {plain(outcome.rejoin.extra(REJOIN, name).median)} s"
        for name in ("join_seconds", "days_seconds", "months_seconds")
    )
    peak = plain(outcome.rejoin.extra(REJOIN, "peak_mb").median)
    console.print(f"{stages}; worker's memory high water {peak} MB above its start")
    console.print(f"1 % corrected: {plain(outcome.corrections.seconds)} s")
    cpu = [plain(outcome.rejoin.extra(name, "cpu_seconds").median) for name in (REJOIN, READ)]
    console.print(f"CPU seconds, Postgres included: {REJOIN} {cpu[0]}, {READ} {cpu[1]}")


def _facts(options: Options, outcome: Outcome) -> dict[str, Any]:
    joined, receipt = outcome.rejoin, outcome.receipt
    return {
        "labels": options.month.labelled,
        "requests": options.month.stored,
        "days": options.month.days,
        "deployments": DEPLOYMENTS,
        "body_labels": options.body_labels,
        "rounds": options.rounds,
        "workers": options.workers,
        "bar_format": "Arrow stream, one sender",
        "included": INCLUDED,
        "receipt_ratios": {n: receipt.rate_ratio(n, RAW).as_json() for n in receipt.runs},
        "read_blocks_ratio": joined.time_ratio(REJOIN, READ_BLOCKS).as_json(),
        "touched": {"all": asdict(outcome.first), "corrected": asdict(outcome.corrected)},
        "corrected_run": {"seconds": outcome.corrections.seconds, **outcome.corrections.extra},
        "receipt": receipt.as_json(),
        "rejoin": joined.as_json(),
        "machine": {**describe_machine(PACKAGES), "postgres": outcome.server},
    }


if __name__ == "__main__":
    main()
