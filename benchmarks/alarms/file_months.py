"""Months of a world from a file. What fires elsewhere than its shift, or before it, is false."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.alarms import ours
from benchmarks.alarms.metrics import first_delay, merged, open_hours
from benchmarks.alarms.months import Month, month_of
from benchmarks.alarms.scene import Counted
from benchmarks.alarms.worlds.from_file import FileShift, load_world
from monitor.checks.promise.budget import Budget


def run_file_month(path: Path, seed: int, promise: float = 1.0) -> Month:
    """One month; the unit of work of the process pool."""
    started = time.process_time()
    world = load_world(path)
    first, counted = world.counted(seed)
    learned = ours.learn(counted, first=first)
    if world.shift is None:
        found = month_of(learned, counted, promise)
    else:
        found = _shifted_month(learned, counted, world.shift, promise)
    return replace(found, seconds=time.process_time() - started)


def _shifted_month(
    learned: ours.Learned, counted: Sequence[Counted], shift: FileShift, promise: float
) -> Month:
    """Incidents are false when they opened before the shift or none of its columns is in them."""
    watched = learned.watch(counted, Budget(promise=promise))
    ends = learned.ends(watched.firings)
    start = learned.first + shift.start_hour * ours.HOUR
    false = [
        one
        for one in ours.own_incidents(watched)
        if one.opened <= start or not set(one.columns) & set(shift.columns)
    ]
    until = len(counted[0].counts)
    plain = merged(
        end for name, end in ends if end <= shift.start_hour or name not in shift.columns
    )
    hits = [end for name, end in ends if name in shift.columns]
    before = {scale: (0,) * len(tests) for scale, tests in ours.exceedances(watched).items()}
    return Month(
        incidents=len(false),
        plain_incidents=len(plain),
        firings=len(watched.firings),
        open_hours=ours.own_open_hours(false, learned.first + until * ours.HOUR),
        plain_open_hours=open_hours(plain, until),
        share_available=learned.share_available,
        tests=before,
        seconds=0.0,
        shift_delay=first_delay(hits, shift.start_hour),
    )
