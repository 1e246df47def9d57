"""What contestants did with the same streams. Pure values and the rules that all share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.alarms.metrics import (
    Delays,
    Difference,
    Rate,
    first_delay,
    merged,
    open_hours,
    paired_difference,
    worse_classes,
)
from benchmarks.alarms.scene import REFERENCE_DAYS, TEST_DAYS
from benchmarks.alarms.streams import Planted
from monitor.profiles.arrays import Floats

UNTIL = (REFERENCE_DAYS + TEST_DAYS) * 24.0
EVERY = "*"  # the name of all columns together
Alarm = tuple[str, float]


@dataclass(frozen=True)
class Entry:
    """One contestant in one form: as shipped, or tuned to one false incident a month.

    `delays` by shift, float64[seeds], `owed_delays` without alarms that the unshifted column raises
    at the same moment; `false_plain` counts by the 24 h merge that all share,
    `false_own` by the contestant's own rule of incidents if it has one.
    """

    name: str
    version: str
    tuned: bool
    setting: str
    false_plain: Rate
    open_hours: float
    delays: Mapping[str, Floats]
    owed_delays: Mapping[str, Floats]
    false_own: Rate | None = None
    cost: Mapping[str, float] = field(default_factory=dict)

    @property
    def false(self) -> Rate:
        """False incidents by its own rule, otherwise by the shared one."""
        return self.false_own or self.false_plain

    @property
    def all_delays(self) -> Delays:
        """Every shift and seed, in the order of the catalogue."""
        return Delays(np.concatenate(list(self.delays.values())))

    @property
    def all_owed_delays(self) -> Delays:
        """The same, owed to the shift."""
        return Delays(np.concatenate(list(self.owed_delays.values())))


@dataclass(frozen=True)
class Contest:
    """All entries, and how the best peer compares with ours; `ladder`: ours at other promises."""

    entries: Sequence[Entry]
    our_name: str
    seed: int
    ladder: Sequence[Entry] = ()

    @property
    def ours(self) -> Entry:
        """Ours as shipped: its promise is its setting."""
        return next(one for one in self.entries if one.name == self.our_name and not one.tuned)

    @property
    def best_peer(self) -> Entry | None:
        """The tuned peer with the smallest mean restricted delay."""
        peers = [one for one in self.entries if one.name != self.our_name and one.tuned]
        return min(peers, key=lambda one: one.all_delays.mean, default=None)

    @property
    def difference(self) -> Difference | None:
        """Best peer minus ours."""
        if self.best_peer is None:
            return None
        other, ours = self.best_peer.all_delays, self.ours.all_delays
        return paired_difference(other.restricted, ours.restricted, self.seed)

    @property
    def worse_than_a_peer(self) -> dict[str, list[str]]:
        """By tuned peer, the shifts that it finds more than 24 h sooner than ours."""
        ours = _restricted(self.ours)
        found = {
            one.name: worse_classes(_restricted(one), ours)
            for one in self.entries
            if one.name != self.our_name and one.tuned
        }
        return {name: shifts for name, shifts in found.items() if shifts}


def _restricted(entry: Entry) -> dict[str, Floats]:
    return {name: Delays(hours).restricted for name, hours in entry.delays.items()}


def false_rate(months: Sequence[Iterable[Alarm]]) -> Rate:
    """Incidents of clean months, alarms of all columns merged over 24 h."""
    return Rate(sum(len(merged(end for _, end in alarms)) for alarms in months), len(months))


def mean_open_hours(months: Sequence[Iterable[Alarm]]) -> float:
    """Hours with an open incident in a clean month."""
    opened = [open_hours(merged(end for _, end in alarms), UNTIL) for alarms in months]
    return float(np.mean(opened))


def delay_of(planted: Planted, alarms: Iterable[Alarm]) -> float:
    """Hours until the shifted column alarms; alarms carry the column's name in its stream."""
    return first_delay((end for name, end in alarms if name == planted.name), planted.onset)


def owed_delay_of(planted: Planted, alarms: Iterable[Alarm], clean: Iterable[Alarm]) -> float:
    """The same without alarms that the column raises at that moment when it is not shifted either:
    those are luck."""
    anyway = {end for name, end in clean if name in (planted.column, EVERY)}
    return delay_of(planted, [(name, end) for name, end in alarms if end not in anyway])
