"""The comparison with peers: every contestant on the same streams, as shipped and tuned."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.alarms import ours
from benchmarks.alarms.contest import (
    Contest,
    Entry,
    delay_of,
    false_rate,
    mean_open_hours,
    owed_delay_of,
)
from benchmarks.alarms.metrics import Rate, tuned_threshold
from benchmarks.alarms.our_stream import OurMonth, OurStream
from benchmarks.alarms.peers.cache import StreamFile, cost_of, judge
from benchmarks.alarms.peers.registry import PEER_CONTESTANTS, PeerContestant, PeerRun
from benchmarks.alarms.peers.verdicts import Verdicts, tune
from benchmarks.alarms.shifts import SHIFTS
from benchmarks.alarms.streams import Planted, Stream, compared, write_stream
from monitor.profiles.arrays import Floats

TUNE, JUDGE = "tune", "judge"
NULL, SHIFTED, WHOLE = "null", "shifts", "whole"
PROMISES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What is compared: seeds for tuning, seeds for judging, and peers with their Pythons."""

    tune_seeds: Sequence[int]
    judge_seeds: Sequence[int]
    pythons: Mapping[PeerRun, Path]
    seed: int = 1

    @property
    def contestants(self) -> list[PeerContestant]:
        """Peers that take part."""
        return [one for one in PEER_CONTESTANTS if set(one.runs) <= set(self.pythons)]


@dataclass
class _Heard:
    """What was collected on the way: clean months and delays, by contestant."""

    verdicts: dict[tuple[str, str, str, int], Verdicts] = field(default_factory=dict)
    costs: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    planted: dict[int, tuple[Planted, ...]] = field(default_factory=dict)
    our_tuning: list[dict[float, OurMonth]] = field(default_factory=list)
    our_months: list[dict[float, OurMonth]] = field(default_factory=list)


def compare(plan: Plan, tell: Tell) -> Contest:
    """Run everybody, tune on the tuning seeds, judge on the others."""
    heard = _Heard()
    for seed in plan.tune_seeds:
        stream = compared(seed, TUNE)
        _hear_peers(plan, stream, (NULL,), heard, tell)
        heard.our_tuning.append(_our_months(stream, with_shifts=False))
        tell(f"{TUNE} seed {seed}")
    for seed in plan.judge_seeds:
        stream = compared(seed, JUDGE)
        heard.planted[seed] = stream.planted
        _hear_peers(plan, stream, (NULL, SHIFTED), heard, tell)
        heard.our_months.append(_our_months(stream, with_shifts=True))
        tell(f"{JUDGE} seed {seed}")
    entries = [entry for one in plan.contestants for entry in _peer_entries(plan, one, heard)]
    ladder = [_our_entry(heard, False, promise) for promise in PROMISES]
    return Contest([*_our_entries(heard), *entries], ours.NAME, plan.seed, ladder)


def _hear_peers(
    plan: Plan, stream: Stream, kinds: Sequence[str], heard: _Heard, tell: Tell
) -> None:
    if not plan.pythons:
        return
    tables: dict[tuple[PeerRun, str], pa.Table] = {}
    with _files(stream, (*kinds, WHOLE) if SHIFTED in kinds else kinds) as files:
        for run, python in plan.pythons.items():
            mine = {kind: files[WHOLE if run.whole and kind == SHIFTED else kind] for kind in kinds}
            found = judge(run, python, list(mine.values()), tell)
            for kind, file in mine.items():
                tables[run, kind] = found[file.label]
                cost = float(cost_of(run, file)["cpu_seconds"])
                heard.costs.setdefault((run.name, kind), []).append(cost)
    for one in plan.contestants:
        for kind in kinds:
            key = (one.name, stream.purpose, kind, stream.seed)
            heard.verdicts[key] = Verdicts.of([tables[run, kind] for run in one.runs], one)


@contextmanager
def _files(stream: Stream, kinds: Sequence[str]) -> Iterator[dict[str, StreamFile]]:
    """The streams as files for as long as the block runs."""
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for kind in kinds:
            table = stream.clean if kind == NULL else stream.shift_table(whole=kind == WHOLE)
            world = stream.world.name.replace(" ", "-")
            label = f"{world}-{stream.purpose}-{kind}-{stream.seed}"
            files[kind] = StreamFile(label, Path(folder) / f"{label}.arrow")
            write_stream(table, files[kind].path)
        yield files


def _peer_entries(plan: Plan, one: PeerContestant, heard: _Heard) -> list[Entry]:
    tuning = [heard.verdicts[one.name, TUNE, NULL, seed] for seed in plan.tune_seeds]
    threshold = tune(tuning)
    forms = ((False, None, one.rule), (True, threshold, f"threshold {threshold:.4g}"))
    return [_peer_entry(plan, one, heard, *form) for form in forms]


def _peer_entry(
    plan: Plan,
    one: PeerContestant,
    heard: _Heard,
    tuned: bool,
    threshold: float | None,
    setting: str,
) -> Entry:
    months = [
        heard.verdicts[one.name, JUDGE, NULL, seed].alarms(threshold) for seed in plan.judge_seeds
    ]
    delays: dict[str, list[float]] = {name: [] for name in SHIFTS}
    owed: dict[str, list[float]] = {name: [] for name in SHIFTS}
    for seed, clean in zip(plan.judge_seeds, months, strict=True):
        alarms = heard.verdicts[one.name, JUDGE, SHIFTED, seed].alarms(threshold)
        for planted in heard.planted[seed]:
            delays[planted.shift.name].append(delay_of(planted, alarms))
            owed[planted.shift.name].append(owed_delay_of(planted, alarms, clean))
    cost = {
        kind: sum(float(np.mean(heard.costs[run.name, kind])) for run in one.runs)
        for kind in (NULL, SHIFTED)
    }
    return Entry(
        name=one.name,
        version=one.version,
        tuned=tuned,
        setting=setting,
        false_plain=false_rate(months),
        open_hours=mean_open_hours(months),
        delays=_arrays(delays),
        owed_delays=_arrays(owed),
        cost=cost,
    )


def _arrays(delays: Mapping[str, Sequence[float]]) -> dict[str, Floats]:
    return {name: np.array(hours, np.float64) for name, hours in delays.items()}


def _our_months(stream: Stream, *, with_shifts: bool) -> dict[float, OurMonth]:
    ours_here = OurStream(stream)
    return {promise: ours_here.month(promise, with_shifts=with_shifts) for promise in PROMISES}


def _our_entries(heard: _Heard) -> list[Entry]:
    def rate_at(strictness: float) -> float:
        return false_rate([month[-strictness].alarms for month in heard.our_tuning]).per_month

    tuned = -tuned_threshold([-promise for promise in PROMISES], rate_at)
    forms = [(False, 1.0)]
    if tuned in PROMISES:
        forms.append((True, tuned))
    return [_our_entry(heard, tuned_form, promise) for tuned_form, promise in forms]


def _our_entry(heard: _Heard, tuned: bool, promise: float) -> Entry:
    months = [month[promise] for month in heard.our_months]
    by_shift = [
        {name: [month.delays[name][kind] for month in months] for name in SHIFTS} for kind in (0, 1)
    ]
    return Entry(
        name=ours.NAME,
        version=version("inferwatch"),
        tuned=tuned,
        setting=f"promise {promise:g} a month",
        false_plain=false_rate([month.alarms for month in months]),
        open_hours=mean_open_hours([month.alarms for month in months]),
        delays=_arrays(by_shift[0]),
        owed_delays=_arrays(by_shift[1]),
        false_own=Rate(sum(month.incidents for month in months), len(months), promise),
    )
