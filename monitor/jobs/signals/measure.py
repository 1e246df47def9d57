"""Measures the signals of days: reads their records once and their predictions day by day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy.engine import Connection

from monitor.calendar import local_day
from monitor.checks.signals.by_age import Watched
from monitor.checks.signals.match import (
    EARLIEST,
    RequestDay,
    SignalMatcher,
    SignalRecords,
    request_day,
    sorted_records,
)
from monitor.checks.signals.outcomes import LOSS, TIE, WIN
from monitor.contract_quality import Signal
from monitor.jobs.base import JobContext, JobReport, run_claimed
from monitor.jobs.check_windows import save_measurements
from monitor.jobs.costs_of_signals import costs_of_signals
from monitor.jobs.names import SIGNALS
from monitor.jobs.signals.plan import days_of, longest_age, newest_end, plan_days
from monitor.jobs.signals.subjects import Owners, Tally, measurements_of
from monitor.keys import keyed_hash
from monitor.measurement import Measurement
from monitor.profiles.label_arrays import NO_TIME, source_ranks
from monitor.store.engine import Role, transaction
from monitor.store.job_windows import Claim, due_windows, finish
from monitor.store.profile_rows import read_blocks
from monitor.store.signals import reviewers, signal_records, was_ever_sent
from monitor.windows import Window

DAYS_AT_ONCE = 62
_PREFERENCES = {"win": WIN, "tie": TIE, "loss": LOSS}


def measure_due_signals(context: JobContext) -> JobReport:
    """Measure the signals of days that are due, oldest first; nothing without signals."""
    if not context.contract.signals:
        return JobReport()
    before = local_day(newest_end(context), context.contract.time_zone).start
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        plan_days(connection, context)
        starts = due_windows(
            connection, context.project_id, context.model_id, SIGNALS, before, DAYS_AT_ONCE
        )
    return run_claimed(context, SIGNALS, starts, _measure) if starts else JobReport()


def _measure(context: JobContext, held: Claim) -> None:
    zone = context.contract.time_zone
    windows = [local_day(start, zone) for start in held.starts]
    with transaction(context.engine, context.project_id, Role.WORKER, snapshot=True) as connection:
        found, rows = _measured(connection, context, windows)
        found += costs_of_signals(connection, context, found)
        save_measurements(connection, context, found)
        finish(connection, held, rows)


@dataclass(frozen=True, eq=False)
class _Read:
    """One signal with its records, and whether any was ever sent."""

    signal: Signal
    matcher: SignalMatcher
    untimed: bool
    ever: bool


def _measured(
    connection: Connection, context: JobContext, windows: Sequence[Window]
) -> tuple[list[Measurement], dict[datetime, int]]:
    owners = Owners()
    reads = [_read(connection, context, signal, windows, owners) for signal in _signals(context)]
    tallies = {}
    for number, window in enumerate(windows):
        day = _day(connection, context, window, owners)
        tallies[number] = Tally.of(day, owners)
        for read in reads:
            read.matcher.add(number, day)
    _add_neighbours(connection, context, windows, reads, owners)
    found = [
        one
        for number, window in enumerate(windows)
        for read in reads
        for one in measurements_of(
            context, read.signal, window, tallies[number], read.matcher.counted(number),
            Watched(context.now - window.end, read.signal.max_age), owners, ever=read.ever,
        )
    ]  # fmt: skip
    return found, {window.start: tallies[n].requests for n, window in enumerate(windows)}


def _signals(context: JobContext) -> tuple[Signal, ...]:
    return context.contract.signals


def _read(
    connection: Connection,
    context: JobContext,
    signal: Signal,
    windows: Sequence[Window],
    owners: Owners,
) -> _Read:
    project, model = context.project_id, context.model_id
    apart = reviewers(connection, project, model).get(signal.name, set())
    first, last = windows[0].start - EARLIEST, windows[-1].end + signal.max_age
    table = signal_records(
        context.bulk, project, model, signal.name, Window(first, last), without=apart
    )
    records = records_of(table, context, owners)
    ever = len(records) > 0 or was_ever_sent(connection, project, model, signal.name, apart)
    untimed = bool((records.event_time == NO_TIME).any())
    return _Read(signal, SignalMatcher(records, signal.max_age), untimed, ever)


def records_of(table: pa.Table, context: JobContext, owners: Owners) -> SignalRecords:
    """Stored records as arrays; the contract's order of sources says whom to trust."""
    label = context.contract.label
    trusted = label.sources if label is not None else ()
    one = {name: table.column(name).combine_chunks() for name in table.column_names}
    sources = pc.dictionary_encode(one["source"])
    ranks = source_ranks(sources.dictionary.to_pylist(), trusted).astype(np.int64)
    legs = pc.dictionary_encode(one["leg"])
    numbers = np.array([owners.leg(name) for name in legs.dictionary.to_pylist()], np.int64)
    return sorted_records(
        keys=keyed_hash(one["request_id"], context.model.hash_key),
        value=_values(one["value"], one["text"]),
        observed_at=_micros(one["observed_at"]),
        arrived_at=_micros(one["arrived_at"]),
        event_time=_micros(one["event_time"]),
        source_rank=ranks[np.asarray(sources.indices)],
        revision=np.asarray(one["revision"].to_numpy(zero_copy_only=False), np.int64),
        leg=numbers[np.asarray(legs.indices)],
    )


def _values(numbers: pa.Array, texts: pa.Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    found = np.array(numbers.to_numpy(zero_copy_only=False), np.float64)
    if texts.null_count < len(texts):
        words = pc.dictionary_encode(texts)
        known = [_PREFERENCES.get(word, np.nan) for word in words.dictionary.to_pylist()]
        there = np.asarray(texts.is_valid())
        found[there] = np.array(known)[np.asarray(words.indices.drop_null())]
    return found


def _micros(times: pa.Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    plain = times.cast(pa.timestamp("us", tz="UTC")).view(pa.int64()).fill_null(NO_TIME)
    return np.asarray(plain.to_numpy(zero_copy_only=False), np.int64)


def _day(connection: Connection, context: JobContext, window: Window, owners: Owners) -> RequestDay:
    blocks = read_blocks(connection, context.project_id, context.model_id, window)
    return request_day(
        [(owners.of(key.leg, key.deployment_id), owners.leg(key.leg), block)
         for key, block in blocks]
    )  # fmt: skip


def _add_neighbours(
    connection: Connection,
    context: JobContext,
    windows: Sequence[Window],
    reads: Sequence[_Read],
    owners: Owners,
) -> None:
    """Look also at days around: a record that names no time may stand for requests of two days."""
    untimed = [read for read in reads if read.untimed]
    if not untimed:
        return
    for place, window in enumerate(_around(connection, context, windows), 1):
        day = _day(connection, context, window, owners)
        for read in untimed:
            read.matcher.add(-place, day)


def _around(
    connection: Connection, context: JobContext, windows: Sequence[Window]
) -> Iterator[Window]:
    reach, mine = longest_age(context), {window.start for window in windows}
    near = Window(windows[0].start - reach, windows[-1].end + reach)
    for start in days_of(connection, context, near):
        if start not in mine:
            yield local_day(start.astimezone(UTC), context.contract.time_zone)
