"""Firings become incidents: one thing for a person to look at. Pure.

All firings of one model within 24 hours of an incident's opening belong to it, whatever column,
segment, scale or view. A column's part of an incident stays open for the longer of 24 hours and
three times the scale after its last fresh firing, and the same column firing again within 14 days
goes on where it left off. A firing is fresh unless its window holds hours in which a shorter scale
fired: a day that still remembers this morning's fault says nothing new about this evening. Another
column joins only within the first 24 hours; later it opens an incident of its own, so that a long
one can't swallow what is new. What sets a deployment
apart joins the open incident that names this deployment already, whenever it comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from monitor.checks.promise.firing import Firing

JOIN = timedelta(hours=24)
STAYS_OPEN = timedelta(hours=24)
SCALES_OPEN = 3
RETURNS = timedelta(days=14)


@dataclass(frozen=True)
class Gap:
    """A time in which a column's part was closed: its last firing before, until when it had stayed
    open, and the firing with which it came back."""

    last: datetime
    until: datetime
    again: datetime


@dataclass(frozen=True)
class Span:
    """A time in which a column's part was open, with its last firing."""

    start: datetime
    last: datetime
    until: datetime


@dataclass(frozen=True)
class ColumnEpisode:
    """One column's part: first and last firing, until when it stays open, how many firings, and the
    strongest of them (smallest p-value over its level). `fresh_scale` and `fresh_end` are those of
    the newest fresh firing."""

    first: datetime
    last: datetime
    until: datetime
    firings: int
    strongest: Firing
    fresh_scale: int = 0
    fresh_end: datetime | None = None
    deployments: tuple[int, ...] = ()
    segments: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def spans(self) -> tuple[Span, ...]:
        """The times in which it was open: once, or again after each gap."""
        starts = [self.first, *(gap.again for gap in self.gaps)]
        ends = [(gap.last, gap.until) for gap in self.gaps] + [(self.last, self.until)]
        return tuple(
            Span(start, last, max(last, until))
            for start, (last, until) in zip(starts, ends, strict=True)
        )


@dataclass(frozen=True)
class Incident:
    """What a person looks at: `columns` by name. Numbered by whoever stores it."""

    opened: datetime
    columns: Mapping[str, ColumnEpisode] = field(default_factory=dict)
    number: int | None = None

    @property
    def last(self) -> datetime:
        """The newest firing."""
        return max(one.last for one in self.columns.values())

    @property
    def until(self) -> datetime:
        """Open up to this moment if nothing fires any more."""
        return max(one.until for one in self.columns.values())

    @property
    def leading(self) -> str:
        """The column with the strongest firing."""
        return min(self.columns, key=lambda name: _strength(self.columns[name].strongest))

    @property
    def deployments(self) -> tuple[int, ...]:
        """Deployments that contrasts name."""
        return tuple(sorted({d for one in self.columns.values() for d in one.deployments}))


def _strength(firing: Firing) -> float:
    return firing.p_value / firing.level if firing.level > 0 else float("inf")


def incidents_of(
    firings: Iterable[Firing], before: Iterable[Incident] = ()
) -> tuple[Incident, ...]:
    """Incidents after these firings, those of `before` included, in order of opening.

    Shorter windows of the same end come first: a longer one is fresh only beside them.
    """
    book = list(before)
    for firing in sorted(firings, key=lambda one: (one.end, one.scale, one.column, one.segment)):
        place = _belongs_to(book, firing)
        if place is None:
            book.append(_with(Incident(firing.end), firing))
        else:
            book[place] = _with(book[place], firing)
    return tuple(sorted(book, key=lambda one: one.opened))


def _belongs_to(book: list[Incident], firing: Firing) -> int | None:
    """The incident that goes on with this column, else the newest one it may join."""
    for place in reversed(range(len(book))):
        mine = book[place].columns.get(firing.column)
        if mine is not None and mine.first <= firing.end <= mine.until + RETURNS:
            return place
    for place in reversed(range(len(book))):
        if _names(book[place], firing) and firing.end <= book[place].until:
            return place
    for place in reversed(range(len(book))):
        if timedelta(0) <= firing.end - book[place].opened <= JOIN:
            return place
    return None


def _names(incident: Incident, firing: Firing) -> bool:
    """Whether an incident is about the deployment that a contrast names."""
    return firing.deployment is not None and firing.deployment in incident.deployments


def _with(incident: Incident, firing: Firing) -> Incident:
    until = firing.end + max(STAYS_OPEN, SCALES_OPEN * timedelta(hours=firing.scale))
    mine = incident.columns.get(firing.column)
    named = () if firing.deployment is None else (firing.deployment,)
    segments = (firing.segment,) if firing.segment else ()
    if mine is None:
        mine = ColumnEpisode(
            firing.end, firing.end, until, 1, firing, firing.scale, firing.end, named, segments
        )
        return replace(incident, columns={**incident.columns, firing.column: mine})
    if firing.end < mine.last:
        return incident  # an hour judged again, when late requests came: already counted
    shortest = firing.scale <= mine.fresh_scale
    fresh = shortest or _is_fresh(mine, firing)
    stronger = _strength(firing) < _strength(mine.strongest)
    back = fresh and firing.end > mine.until
    gap = (Gap(mine.last, mine.until, firing.end),) if back else ()
    mine = replace(
        mine,
        gaps=(*mine.gaps, *gap),
        last=firing.end,
        until=max(mine.until, until) if fresh else mine.until,
        firings=mine.firings + 1,
        strongest=firing if stronger else mine.strongest,
        fresh_scale=firing.scale if fresh else mine.fresh_scale,
        fresh_end=firing.end if fresh else mine.fresh_end,
        deployments=tuple(sorted({*mine.deployments, *named})),
        segments=tuple(sorted({*mine.segments, *segments})),
    )
    return replace(incident, columns={**incident.columns, firing.column: mine})


def _is_fresh(mine: ColumnEpisode, firing: Firing) -> bool:
    """Whether a longer window lies wholly after what a shorter one showed."""
    begin = firing.end - timedelta(hours=firing.scale)
    return mine.fresh_end is None or begin >= mine.fresh_end


def open_hours(incidents: Iterable[Incident], until: datetime) -> float:
    """Hours with at least one open incident, up to a moment."""
    spans = sorted(
        (span.start, span.until)
        for one in incidents
        for part in one.columns.values()
        for span in part.spans
    )
    total, covered = timedelta(0), None
    for first, last in spans:
        start = first if covered is None else max(first, covered)
        end = min(last, until)
        if end > start:
            total += end - start
            covered = end
    return total / timedelta(hours=1)
