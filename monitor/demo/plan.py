"""The order of the replay: requests by event time, labels once they are known. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def _bodies(
    kind: BodyKind, order: NDArray[Any], moments: NDArray[np.datetime64]
) -> list[PlannedBody]:
    starts = range(0, len(order), BODY_ROWS)
    parts = [order[start : start + BODY_ROWS] for start in starts]
    return [
        PlannedBody(kind, number, rows, moments[rows].max()) for number, rows in enumerate(parts)
    ]
