"""What places a record: id, time, deployment, outcome. What can't be placed is rejected.

Both JSON and Arrow bring their envelopes here as `Parts`, so both are judged by the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.deployment import Tags
from monitor.intake.base import IntakeContext
from monitor.intake.pack import Envelope
from monitor.intake.times import TimeFault, Times, micros_of
from monitor.records import MAX_ID_LENGTH, Rejection, RejectionReason, RequestOutcome
from monitor.strictjson import storable

ENVELOPE_FIELDS = (
    "request_id",
    "event_time",
    "deployment",
    "tags",
    "outcome",
    "outcome_reason",
)
OUTCOMES: Mapping[str, int] = {outcome.name.lower(): int(outcome) for outcome in RequestOutcome}
MAX_OUTCOME_REASON_LENGTH = 512

Reading = Callable[[int], tuple[str | None, str]]


@dataclass(frozen=True)
class Refusal:
    """Why one record can't be placed."""

    reason: RejectionReason
    message: str


@dataclass(frozen=True)
class Parts:
    """Envelopes of n records: ids and times are valid or null, the rest still as sent.

    `describe(row)` gives a record's readable id and a masked excerpt, for those refused.
    """

    request_ids: pa.StringArray
    times: Times
    deployments: Sequence[Any]
    tags: Sequence[Any]
    outcomes: np.ndarray[Any, np.dtype[np.int16]]
    outcome_reasons: pa.StringArray
    places: Sequence[int]
    describe: Reading


class DeploymentBook:
    """Turns deployment numbers and tags into stored numbers; -(i + 1) stands for `tags[i]`."""

    def __init__(self, known: frozenset[int]) -> None:
        self._known = known
        self._numbers: dict[int, int | Refusal] = {}
        self.tags: list[Tags] = []

    def number(self, deployment: Any, tags: Any) -> int | Refusal:
        """The number for what a record says; unknown values count as not said."""
        if deployment is not None:
            if tags is not None:
                return Refusal(RejectionReason.BAD_TAGS, "send deployment or tags, not both")
            return self._of_number(deployment)
        key = id(tags)  # readers give equal tags as one object, and hold it while this book is used
        if key not in self._numbers:
            self._numbers[key] = self._of_tags(tags)
        return self._numbers[key]

    def _of_number(self, deployment: Any) -> int | Refusal:
        if isinstance(deployment, float) and deployment.is_integer():
            deployment = int(deployment)
        if type(deployment) is int and deployment in self._known:
            return deployment
        return Refusal(
            RejectionReason.UNKNOWN_DEPLOYMENT,
            "no such deployment of this model; send the number that POST /v1/deployments answered",
        )

    def _of_tags(self, tags: Any) -> int | Refusal:
        if tags is None:
            tags = {}
        if not isinstance(tags, Mapping):
            return Refusal(RejectionReason.BAD_TAGS, "tags is an object of tag names and texts")
        try:
            wanted = Tags.of(tags)
        except ValueError as error:
            return Refusal(RejectionReason.BAD_TAGS, str(error)[:500])
        if wanted not in self.tags:
            self.tags.append(wanted)
        return -(self.tags.index(wanted) + 1)


@dataclass(frozen=True)
class Placed:
    """The rows that can be stored (`kept`, ascending), their envelope, and the refused ones."""

    kept: np.ndarray[Any, np.dtype[np.intp]]
    envelope: Envelope
    tags: tuple[Tags, ...]
    rejections: tuple[Rejection, ...]


def place(parts: Parts, context: IntakeContext) -> Placed:
    """Judge n envelopes; the first reason in the order id, time, deployment is the one told."""
    n = len(parts.request_ids)
    book = DeploymentBook(context.deployment_ids)
    numbers, refusals = _deployments(parts, book)
    refusals |= _time_refusals(parts.times, context)
    keep = np.ones(n, np.bool_)
    keep[list(refusals)] = False
    kept = np.flatnonzero(keep)
    chosen = slice(None) if len(kept) == n else kept
    mask = None if len(kept) == n else pa.array(keep)
    envelope = Envelope(
        request_ids=_kept(parts.request_ids, mask),
        micros=parts.times.micros[chosen],
        deployments=numbers[chosen],
        outcomes=parts.outcomes[chosen],
        outcome_reasons=_kept(parts.outcome_reasons, mask),
    )
    rejections = tuple(_rejection(parts, row, refusals[row]) for row in sorted(refusals))
    return Placed(kept, envelope, tuple(book.tags), rejections)


def id_refusal(value: Any) -> Refusal | None:
    """Why this is no request id, None when it is one."""
    if value is None or value == "":
        return Refusal(RejectionReason.MISSING_ID, "request_id is missing; every record needs one")
    if not isinstance(value, str):
        return Refusal(RejectionReason.BAD_ID, "request_id is text; put it in quotes")
    if len(value) > MAX_ID_LENGTH:
        return Refusal(RejectionReason.BAD_ID, f"request_id has over {MAX_ID_LENGTH} characters")
    if not storable(value):
        return Refusal(
            RejectionReason.BAD_ID,
            "request_id holds U+0000 or a lone surrogate, which can't be stored",
        )
    return None


def time_refusal(value: Any, field: str = "event_time") -> Refusal | None:
    """Why this can't be a time at all, None when its text is worth reading."""
    if value is None:
        return Refusal(RejectionReason.MISSING_TIME, f"{field} is missing")
    if not isinstance(value, str) or not storable(value):
        return Refusal(RejectionReason.BAD_TIME, f"{field} {TIME_REMEDY}")
    return None


def outcome_refusal(value: Any) -> Refusal | None:
    """Why this is no outcome, None when it is one or not given."""
    if value is None or (isinstance(value, str) and value in OUTCOMES):
        return None
    return Refusal(RejectionReason.BAD_OUTCOME, f"outcome is one of {', '.join(OUTCOMES)}")


TIME_REMEDY = "is RFC 3339 text with a zone, for example 2026-03-01T09:30:00Z"
_TIME_FAULTS = {
    TimeFault.BAD: Refusal(RejectionReason.BAD_TIME, f"event_time {TIME_REMEDY}"),
    TimeFault.WITHOUT_ZONE: Refusal(
        RejectionReason.TIME_WITHOUT_ZONE, f"event_time has no zone; it {TIME_REMEDY}"
    ),
}


def time_fault(fault: int) -> Refusal:
    """The refusal of an event time with this fault."""
    return _TIME_FAULTS[TimeFault(fault)]


def out_of_range(field: str, context: IntakeContext) -> Refusal:
    """The refusal of a time outside what the context allows."""
    return Refusal(
        RejectionReason.TIME_OUT_OF_RANGE,
        f"{field} is not within {context.earliest:%Y-%m-%dT%H:%MZ} to"
        f" {context.latest:%Y-%m-%dT%H:%MZ}; older ones need a key with the scope backfill",
    )


def _time_refusals(times: Times, context: IntakeContext) -> dict[int, Refusal]:
    low, high = micros_of(context.earliest), micros_of(context.latest)
    bad = times.faults != TimeFault.NONE
    outside = ~bad & ((times.micros < low) | (times.micros >= high))
    found: dict[int, Refusal] = {}
    if outside.any():
        far = out_of_range("event_time", context)
        found = dict.fromkeys(np.flatnonzero(outside).tolist(), far)
    for row in np.flatnonzero(bad).tolist():
        found[row] = time_fault(int(times.faults[row]))
    return found


def _deployments(
    parts: Parts, book: DeploymentBook
) -> tuple[np.ndarray[Any, np.dtype[np.int32]], dict[int, Refusal]]:
    n = len(parts.deployments)
    first = parts.deployments[0] if n else None
    if first is not None and parts.tags.count(None) == n and parts.deployments.count(first) == n:
        only = book.number(first, None)  # the usual body: one deployment throughout
        if not isinstance(only, Refusal):
            return np.full(n, only, np.int32), {}
    refusals = {}
    numbers = []
    for row, (deployment, tags) in enumerate(zip(parts.deployments, parts.tags, strict=True)):
        number = book.number(deployment, tags)
        if isinstance(number, Refusal):
            refusals[row] = number
            number = 0
        numbers.append(number)
    return np.array(numbers, np.int32), refusals


def _kept(values: pa.StringArray, mask: pa.BooleanArray | None) -> pa.StringArray:
    return values if mask is None else values.filter(mask)


def _rejection(parts: Parts, row: int, refusal: Refusal) -> Rejection:
    request_id, excerpt = parts.describe(row)
    return Rejection(parts.places[row], refusal.reason, refusal.message, request_id, excerpt)
