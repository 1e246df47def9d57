"""Counts of a day by who served it, turned into measurements of each deployment and of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self

import numpy as np

from monitor.checks.registry import CheckName, entry
from monitor.checks.signals.by_age import Maturity, Watched, age_point, told_ages
from monitor.checks.signals.match import Counted, RequestDay
from monitor.checks.signals.outcomes import METHODS, UNITS, signal_outcome
from monitor.checks.signals.spread import GroupedScores, grouped
from monitor.contract import ColumnRole
from monitor.contract_quality import Signal, SignalKind
from monitor.jobs.base import JobContext
from monitor.measurement import Direction, Measurement, Outcome, Subject, TooFew
from monitor.profiles.arrays import Flags, Integers
from monitor.windows import Window

GROUPS = 20
_HOUR = timedelta(hours=1)


@dataclass
class Owners:
    """Numbers for (leg, deployment) and for legs, given as they are met."""

    numbers: dict[tuple[str, int], int] = field(default_factory=dict)
    legs: dict[str, int] = field(default_factory=dict)

    def of(self, leg: str, deployment_id: int) -> int:
        """The number of one deployment on one leg."""
        return self.numbers.setdefault((leg, deployment_id), len(self.numbers))

    def leg(self, name: str) -> int:
        """The number of a leg."""
        return self.legs.setdefault(name, len(self.legs))


@dataclass(frozen=True, eq=False)
class Tally:
    """Requests of a day by owner and entity group, int64[owners, groups]."""

    counts: Integers

    @classmethod
    def of(cls, day: RequestDay, owners: Owners) -> Self:
        """Count a day."""
        place = day.owner * GROUPS + np.clip(day.group, 0, GROUPS - 1)
        cells = max(len(owners.numbers), 1)
        counts = np.bincount(place, minlength=cells * GROUPS).reshape(-1, GROUPS)
        return cls(counts.astype(np.int64))

    @property
    def requests(self) -> int:
        """Requests of the day, whoever served them."""
        return int(self.counts.sum())

    def groups(self, owners: list[int]) -> Integers:
        """Requests by entity group of some owners."""
        return np.asarray(self.counts[owners].sum(0), np.int64)

    def served(self) -> list[int]:
        """Owners with a request."""
        return [int(one) for one in np.flatnonzero(self.counts.sum(1))]


def measurements_of(
    context: JobContext,
    signal: Signal,
    window: Window,
    tally: Tally,
    counted: Counted,
    watched: Watched,
    owners: Owners,
    *,
    ever: bool,
) -> Iterator[Measurement]:
    """One measurement for each deployment and, where a leg has several, for all of them."""
    known = entry(CheckName.SIGNAL, METHODS[signal.kind])
    clustered = context.contract.single(ColumnRole.ENTITY) is not None
    for (leg, deployments), mine in _subjects(tally, owners).items():
        outcome = _outcome(signal, tally, counted, watched, mine, clustered=clustered, ever=ever)
        yield Measurement(
            check=known.check.value,
            method=known.method,
            method_version=known.version,
            subject=Subject(deployments, leg, 0, signal.name),
            window=window,
            outcome=outcome,
            unit=UNITS[signal.kind],
            direction=Direction(signal.direction.value),
            known_at=context.now,
        )


def _subjects(tally: Tally, owners: Owners) -> dict[tuple[str, tuple[int, ...]], list[int]]:
    names = {number: key for key, number in owners.numbers.items()}
    by_leg: dict[str, list[int]] = {}
    for number in tally.served():
        by_leg.setdefault(names[number][0], []).append(number)
    found: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for leg, numbers in sorted(by_leg.items()):
        for number in numbers:
            found[(leg, (names[number][1],))] = [number]
        if len(numbers) > 1:
            found[(leg, tuple(sorted(names[number][1] for number in numbers)))] = numbers
    return found


def _outcome(
    signal: Signal,
    tally: Tally,
    counted: Counted,
    watched: Watched,
    owners: list[int],
    *,
    clustered: bool,
    ever: bool,
) -> Outcome:
    requests = tally.groups(owners)
    mine = np.isin(counted.owner, owners)
    in_time = mine & (counted.delay <= watched.told_age / timedelta(microseconds=1))
    detail = _detail(signal, watched, int(requests.sum()), int(in_time.sum()))
    if not ever:
        return TooFew(0, 1, f"records of {signal.name!r} were ever received", detail)
    if signal.kind is not SignalKind.EVENT:
        scores = grouped(
            counted.value[in_time], counted.group[in_time], GROUPS, clustered=clustered
        )
        return signal_outcome(signal.kind, scores, signal.scale, detail)
    happened = in_time & (counted.value == 1)
    events = np.bincount(counted.group[happened], minlength=GROUPS).astype(np.float64)
    scores = GroupedScores(requests, events, events, clustered)
    detail |= {
        "events": int(events.sum()),
        "by_age": _curve(watched, counted, mine, int(requests.sum())),
    }
    return signal_outcome(signal.kind, scores, None, detail)


def _detail(signal: Signal, watched: Watched, requests: int, told_rows: int) -> dict[str, Any]:
    told: dict[str, Any] = {
        "kind": signal.kind.value,
        "maturity": watched.state.value,
        "max_age_hours": watched.max_age / _HOUR,
        "requests": requests,
        "coverage": told_rows / requests if requests else 0.0,
    }
    if watched.state is not Maturity.FINAL:  # a final day is told without age: it has stopped
        told |= {"watched_share": watched.share, "age_hours": max(0.0, watched.age / _HOUR)}
    return told


def _curve(watched: Watched, counted: Counted, mine: Flags, n: int) -> list[dict[str, Any]]:
    """Events by age; no request is younger than the last of these ages."""
    delays = np.sort(counted.delay[mine & (counted.value == 1)])
    points = []
    for age in told_ages(watched) if n else ():
        events = int(np.searchsorted(delays, age / timedelta(microseconds=1), "right"))
        point = age_point(age, events, n)
        points.append(
            {"hours": point.hours, "events": events, "n": n, "low": point.low, "high": point.high}
        )
    return points
