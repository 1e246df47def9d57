"""From counts since some start to what was added: a point sent twice is added once.

A state is kept for each (series, start). A server that starts again has another start, and its
earlier points, when they come late, meet their own state. Where no start is told, a count that
falls has begun again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from monitor.intake.server_metrics.points import Amount, Buckets, MetricPoint, PointKind

LONGEST_GAP = timedelta(minutes=10)
"""What was added over a longer time says nothing of a minute: it only sets where to count from."""


@dataclass(frozen=True)
class SeriesState:
    """What a series said last."""

    at: datetime
    amount: Amount


class Step(StrEnum):
    """What became of a point."""

    ADDED = "added"
    FIRST = "first"
    SENT_AGAIN = "sent_again"
    TOO_LONG_AGO = "too_long_ago"


@dataclass(frozen=True)
class Advance:
    """What a point adds, over how many seconds, and what is kept of the series after it.

    `began_again`: the count fell although no other start was told.
    """

    step: Step
    state: SeriesState
    added: Amount | None = None
    seconds: float = 0.0
    began_again: bool = False


def advance(state: SeriesState | None, point: MetricPoint) -> Advance:
    """What a point adds to a series whose last point of the same start was `state`."""
    if state is not None and point.at <= state.at:
        return Advance(Step.SENT_AGAIN, state)
    kept = SeriesState(point.at, point.amount)
    if point.kind is PointKind.LEVEL:
        return Advance(Step.ADDED, kept, point.amount)
    if point.kind is PointKind.DELTA:
        return _of_delta(state, point, kept)
    if state is None:
        return _of_first(point, kept)
    fell = _fell(state.amount, point.amount)
    added = point.amount if fell else _difference(state.amount, point.amount)
    seconds = (point.at - state.at).total_seconds()
    if seconds > LONGEST_GAP.total_seconds():
        return Advance(Step.TOO_LONG_AGO, kept, began_again=fell)
    return Advance(Step.ADDED, kept, added, seconds, fell)


def _of_first(point: MetricPoint, kept: SeriesState) -> Advance:
    if point.start is None or not timedelta(0) <= point.at - point.start <= LONGEST_GAP:
        return Advance(Step.FIRST, kept)
    return Advance(Step.ADDED, kept, point.amount, (point.at - point.start).total_seconds())


def _of_delta(state: SeriesState | None, point: MetricPoint, kept: SeriesState) -> Advance:
    start = point.start or (state.at if state is not None else point.at)
    if state is not None and start < state.at:
        # It overlaps what was added already: adding it would count some of it twice.
        return Advance(Step.SENT_AGAIN, state)
    return Advance(Step.ADDED, kept, point.amount, (point.at - start).total_seconds())


def _fell(before: Amount, after: Amount) -> bool:
    totals = (before.total or 0.0, after.total or 0.0)
    # The sum of a histogram may fall when it holds negative values; its count never does.
    return after.n < before.n if before.n or after.n else totals[1] < totals[0]


def _difference(before: Amount, after: Amount) -> Amount:
    total = None if before.total is None or after.total is None else after.total - before.total
    return Amount(after.n - before.n, total, _bucket_difference(before.buckets, after.buckets))


def _bucket_difference(before: Buckets | None, after: Buckets | None) -> Buckets | None:
    """None too when the edges changed: what lies between new edges is not known then."""
    if before is None or after is None or before.edges != after.edges:
        return None
    counts = tuple(now - then for then, now in zip(before.counts, after.counts, strict=True))
    return None if min(counts) < 0 else Buckets(after.edges, counts)
