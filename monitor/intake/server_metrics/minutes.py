"""Points of metrics become readings a minute: what was added, and states looked at.

A reading of a minute holds sums, so that more of it can be added in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from monitor.deployment import PLACEHOLDERS
from monitor.intake.server_metrics.base import Half, Server, Taken
from monitor.intake.server_metrics.deltas import Advance, SeriesState, Step, advance
from monitor.intake.server_metrics.points import (
    RESOURCE_MODEL,
    Amount,
    Buckets,
    MetricPoint,
    PointKind,
)
from monitor.intake.server_metrics.registry import BY_NAME
from monitor.server_readings import SERVER_READINGS, Across, ReadingKind

RESTARTS = "restarts"
NO_VERSION = PLACEHOLDERS | {"default", "none", "not available"}
"""Words that servers write for a version they were not asked for: unknown, never equal."""
States = Mapping[tuple[str, str], SeriesState]


@dataclass(frozen=True)
class MinuteKey:
    """What a reading is about. Without names of models it is about the whole server."""

    models: tuple[str, ...]
    version: str
    reading: str
    minute: datetime


@dataclass(frozen=True)
class MinuteReading:
    """Sums of one minute, in the reading's unit.

    A level: `n` samples, their sum, lowest and highest. Events: `total` of them. Times: `n` of
    them, their sum, and buckets where all of them had the same. A ratio: `total` of `n`. `seconds`
    is the time in which things were counted.
    """

    n: float = 0.0
    total: float = 0.0
    low: float | None = None
    high: float | None = None
    seconds: float = 0.0
    buckets: Buckets | None = None

    def plus(self, other: MinuteReading) -> MinuteReading:
        """Both together."""
        return MinuteReading(
            self.n + other.n,
            self.total + other.total,
            _either(min, self.low, other.low),
            _either(max, self.high, other.high),
            self.seconds + other.seconds,
            _merged(self, other),
        )


@dataclass
class Minutes:
    """Readings of a body or a page, the states to keep, and what became of its points."""

    readings: dict[MinuteKey, MinuteReading] = field(default_factory=dict)
    states: dict[tuple[str, str], SeriesState] = field(default_factory=dict)
    steps: Counter[Step] = field(default_factory=Counter)
    unused: Counter[str] = field(default_factory=Counter)
    restarted_at: datetime | None = None


def value_of(kind: ReadingKind, sums: MinuteReading) -> float | None:
    """The one number of sums: a mean, or the number of events; None when nothing was counted."""
    if kind is ReadingKind.EVENTS:
        return sums.total
    return sums.total / sums.n if sums.n > 0 else None


def models_of(point: MetricPoint, server: Server) -> tuple[str, ...]:
    """The names that a point has for its model, the surest first."""
    return point.told((*server.model_labels, RESOURCE_MODEL))


def start_key(point: MetricPoint) -> str:
    """The start under which the state of a point's series is kept; empty where none is told."""
    if point.kind is not PointKind.CUMULATIVE or point.start is None:
        return ""
    return point.start.isoformat()


def to_minutes(points: Iterable[MetricPoint], known: States) -> Minutes:
    """Readings of points; `known` are the states of their series by (series, start).

    Points are taken in the order of their times. A series of several starts that is known already
    tells of a restart, once for all series of one body.
    """
    made = Minutes()
    newest = _newest_starts(known)
    together: dict[tuple[MinuteKey, datetime], MinuteReading] = {}
    for point in sorted(points, key=lambda each: each.at):
        server = BY_NAME.get(point.name)
        if server is None:
            made.unused[f"{point.name} is no metric that becomes a reading"] += 1
            continue
        key = point.series, start_key(point)
        done = advance(made.states.get(key, known.get(key)), point)
        made.states[key] = done.state
        made.steps[done.step] += 1
        if done.began_again or _is_new_start(key, newest, done):
            made.restarted_at = max(point.at, made.restarted_at or point.at)
        if done.added is not None:
            _take(made, together, server, point, done)
    for (minute_key, _), reading in together.items():
        _add(made, minute_key, reading)
    if made.restarted_at is not None:
        minute = MinuteKey((), "", RESTARTS, _minute(made.restarted_at))
        _add(made, minute, MinuteReading(total=1.0))
    return made


def _take(
    made: Minutes,
    together: dict[tuple[MinuteKey, datetime], MinuteReading],
    server: Server,
    point: MetricPoint,
    done: Advance,
) -> None:
    """Put what a point added where it belongs: several series of one moment make one reading."""
    labels = dict(point.labels)
    for taken in server.taken[point.name]:
        if not taken.fits(labels):
            continue
        reading = SERVER_READINGS[taken.reading]
        if (reading.kind is ReadingKind.LEVEL) != (point.kind is PointKind.LEVEL):
            made.unused[f"{point.name} is of another kind than {taken.reading} needs"] += 1
            continue
        key = MinuteKey(
            models_of(point, server),
            _version(point, server),
            taken.reading,
            _minute(point.at),
        )  # fmt: skip
        part = _part(taken, reading.kind, done)
        place = key, point.at
        before = together.get(place)
        together[place] = part if before is None else _beside(reading.across, before, part)


def _part(taken: Taken, kind: ReadingKind, done: Advance) -> MinuteReading:
    added = done.added or Amount(0, 0.0)
    value = (added.total or 0.0) * taken.factor
    if kind is ReadingKind.LEVEL:
        return MinuteReading(1, value, value, value)
    if kind is ReadingKind.EVENTS or taken.half is Half.TOTAL:
        return MinuteReading(total=value, seconds=done.seconds)
    if taken.half is Half.COUNT:
        return MinuteReading(n=value, seconds=done.seconds)
    buckets = added.buckets
    if buckets is not None:
        edges = tuple(edge * taken.factor for edge in buckets.edges)
        buckets = Buckets(edges, buckets.counts)
    return MinuteReading(added.n, value, seconds=done.seconds, buckets=buckets)


def _beside(across: Across, one: MinuteReading, other: MinuteReading) -> MinuteReading:
    """Two series of the same moment: one sample of a level, one span of time for counts."""
    if one.low is None:
        return replace(one.plus(other), seconds=max(one.seconds, other.seconds))
    level = one.total + other.total if across is Across.SUM else max(one.total, other.total)
    return MinuteReading(1, level, level, level)


def _add(made: Minutes, key: MinuteKey, reading: MinuteReading) -> None:
    before = made.readings.get(key)
    made.readings[key] = reading if before is None else before.plus(reading)


def _merged(one: MinuteReading, other: MinuteReading) -> Buckets | None:
    """Buckets of both; None when some of the values are in no bucket or in other ones."""
    left, right = one.buckets, other.buckets
    if left is None or right is None:
        lone = (left, other) if right is None else (right, one)
        return lone[0] if lone[1].n == 0 else None
    if left.edges != right.edges:
        return None
    counts = tuple(a + b for a, b in zip(left.counts, right.counts, strict=True))
    return Buckets(left.edges, counts)


def _either(
    choose: Callable[[list[float]], float], one: float | None, other: float | None
) -> float | None:
    there = [each for each in (one, other) if each is not None]
    return choose(there) if there else None


def _minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def _version(point: MetricPoint, server: Server) -> str:
    told = point.told(server.version_labels)
    return next((text for text in told if text.strip().lower() not in NO_VERSION), "")


def _newest_starts(known: States) -> dict[str, str]:
    found: dict[str, str] = {}
    for series, start in known:
        found[series] = max(start, found.get(series, ""))
    return found


def _is_new_start(key: tuple[str, str], newest: Mapping[str, str], done: Advance) -> bool:
    """Whether the series counts from a later start than any known one."""
    series, start = key
    first = done.step in (Step.FIRST, Step.ADDED)
    return bool(start) and first and bool(newest.get(series)) and start > newest[series]
