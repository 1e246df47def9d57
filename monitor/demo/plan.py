"""The order of the replay: requests by event time, labels once they are known. Pure.

A body holds records of one New York day, so that a step that ends at a midnight leaves nothing of
the days before to a later one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.calendar import local_day, local_month
from monitor.demo.dataset import NEW_YORK
from monitor.demo.flights import Flights

BODY_ROWS = 1_000
CLOSE_DAYS = 3
DAY = timedelta(days=1)


class BodyKind(StrEnum):
    """What a body holds; also the last part of its path at the collector."""

    REQUESTS = "requests"
    LABELS = "labels"


@dataclass(frozen=True)
class PlannedBody:
    """One body to send: row numbers of the flights in it, and the replayed moment it is due."""

    kind: BodyKind
    number: int
    rows: NDArray[np.int64]
    due: np.datetime64

    @property
    def moment(self) -> datetime:
        """When it is due."""
        due: datetime = self.due.astype("datetime64[us]").astype(datetime)
        return due.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Step:
    """What is sent before the replayed clock stands at `end`."""

    end: datetime
    bodies: tuple[PlannedBody, ...]

    @property
    def ends(self) -> tuple[PlannedBody, PlannedBody]:
        """Its first and its last body."""
        return self.bodies[0], self.bodies[-1]

    @property
    def rows(self) -> int:
        """Records in all bodies of the step."""
        return sum(len(body.rows) for body in self.bodies)


def plan_bodies(flights: Flights) -> list[PlannedBody]:
    """Every flight in exactly one request body, every label in exactly one label body, in order.

    A request body is due at its last event time. A label body is due when its last label has been
    observed, and never before the request body of any flight in it.
    """
    order = np.argsort(flights.event_time, kind="stable")
    requests = _bodies(BodyKind.REQUESTS, order, flights.event_time)
    request_due = np.empty(len(flights), dtype=flights.event_time.dtype)
    for body in requests:
        request_due[body.rows] = body.due
    observed = np.flatnonzero(flights.labelled)
    known = np.maximum(flights.observed_at, request_due)
    labels = _bodies(BodyKind.LABELS, observed[np.argsort(known[observed], kind="stable")], known)
    return sorted([*requests, *labels], key=lambda body: body.due)


def in_steps(
    bodies: Sequence[PlannedBody], zone: str, looked_at: Callable[[], Iterable[datetime]]
) -> Iterator[Step]:
    """The bodies in steps that end at midnights of the zone: months, where nothing happens.

    From the day on of each moment that `looked_at` names, CLOSE_DAYS are replayed day by day; it
    is asked again before each step. Bodies come in order of `due`; what is due before a midnight
    belongs to the step that ends then.
    """
    sent = 0
    while sent < len(bodies):
        end = step_end(bodies[sent].moment, zone, looked_at())
        later = (place for place in range(sent, len(bodies)) if bodies[place].moment >= end)
        upto = next(later, len(bodies))
        yield Step(end, tuple(bodies[sent:upto]))
        sent = upto


def step_end(moment: datetime, zone: str, looked_at: Iterable[datetime]) -> datetime:
    """The end of the step that begins with a moment."""
    month_end, day_end = local_month(moment, zone).end, local_day(moment, zone).end
    starts = [local_day(each, zone).start for each in looked_at]
    if any(start <= moment < start + CLOSE_DAYS * DAY for start in starts):
        return day_end
    return min((start for start in starts if moment < start < month_end), default=month_end)


def _bodies(
    kind: BodyKind, order: NDArray[Any], moments: NDArray[np.datetime64]
) -> list[PlannedBody]:
    days = _local_days(moments[order])
    cuts = np.flatnonzero(days[1:] != days[:-1]) + 1
    parts = [
        day[start : start + BODY_ROWS]
        for day in np.split(order, cuts)
        for start in range(0, len(day), BODY_ROWS)
    ]
    return [
        PlannedBody(kind, number, rows, moments[rows].max()) for number, rows in enumerate(parts)
    ]


def _local_days(moments: NDArray[np.datetime64]) -> NDArray[np.datetime64]:
    """The New York day of each moment."""
    local = pd.DatetimeIndex(moments).tz_localize("UTC").tz_convert(NEW_YORK).tz_localize(None)
    return local.to_numpy().astype("datetime64[D]")
