"""The order of the replay: requests by event time, labels once they are known. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.calendar import local_month
from monitor.demo.flights import Flights

BODY_ROWS = 1_000


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


@dataclass(frozen=True)
class Step:
    """What is sent before the replayed clock stands at `end`."""

    end: datetime
    bodies: tuple[PlannedBody, ...]

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


def by_month(bodies: Sequence[PlannedBody], zone: str) -> Iterator[Step]:
    """The bodies in steps that end at midnight of the zone on the first of the next month.

    Bodies come in order of `due`; what is due in a month belongs to its step.
    """
    for end, members in groupby(bodies, key=lambda body: _month_end(body, zone)):
        yield Step(end, tuple(members))


def _month_end(body: PlannedBody, zone: str) -> datetime:
    due = body.due.astype("datetime64[us]").astype(datetime).replace(tzinfo=UTC)
    return local_month(due, zone).end


def _bodies(
    kind: BodyKind, order: NDArray[Any], moments: NDArray[np.datetime64]
) -> list[PlannedBody]:
    starts = range(0, len(order), BODY_ROWS)
    parts = [order[start : start + BODY_ROWS] for start in starts]
    return [
        PlannedBody(kind, number, rows, moments[rows].max()) for number, rows in enumerate(parts)
    ]
