"""What intake hands to the store: batches of requests and labels, rejections and violations.

A Batch is an Arrow table in one frozen schema; the store asserts it before every bulk write,
because the bulk driver encodes by the Arrow type and would write wrong bits without an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

import pyarrow as pa

from monitor.deployment import Tags
from monitor.origin import UNKNOWN, Origin

LIVE_LEG = "live"
MAX_ID_LENGTH = 200
MAX_SAFE_INTEGER = 2**53
VIOLATION_BASE = 64


class RequestOutcome(IntEnum):
    """How a request ended. The number is what is stored."""

    ANSWERED = 1
    ABSTAINED = 2
    REFUSED = 3
    FAILED = 4
    TIMED_OUT = 5
    CANCELLED = 6
    FELL_BACK = 7
    CACHED = 8


class RejectionReason(StrEnum):
    """Why a record can't be stored at all. A closed list; counted and kept with its place."""

    UNREADABLE = "unreadable"
    NOT_AN_OBJECT = "not_an_object"
    TOO_DEEP = "too_deep"
    TOO_LONG = "too_long"
    MISSING_ID = "missing_id"
    BAD_ID = "bad_id"
    MISSING_TIME = "missing_time"
    BAD_TIME = "bad_time"
    TIME_WITHOUT_ZONE = "time_without_zone"
    TIME_OUT_OF_RANGE = "time_out_of_range"
    UNKNOWN_DEPLOYMENT = "unknown_deployment"
    UNKNOWN_MODEL = "unknown_model"
    BAD_TAGS = "bad_tags"
    BAD_OUTCOME = "bad_outcome"
    MISSING_LABEL = "missing_label"
    BAD_LABEL = "bad_label"
    UNKNOWN_LABEL = "unknown_label"


class ViolationReason(IntEnum):
    """How a stored record's column breaks the contract. The number is what is stored (< 64)."""

    WRONG_TYPE = 1
    MISSING = 2
    NULL = 3
    NOT_A_NUMBER = 4
    INFINITE = 5
    OUT_OF_RANGE = 6
    UNKNOWN_CATEGORY = 7
    INTEGER_TOO_LARGE = 8
    TOO_LONG = 9
    UNSTORABLE_TEXT = 10
    WRONG_LENGTH = 11
    NOT_A_DISTRIBUTION = 12
    TIME_WITHOUT_ZONE = 13
    UNKNOWN_COLUMN = 14


def violation_code(ordinal: int, reason: ViolationReason) -> int:
    """One stored violation: the column's ordinal (0 for a column the contract does not know)."""
    return ordinal * VIOLATION_BASE + int(reason)


def read_violation_code(code: int) -> tuple[int, ViolationReason]:
    """The ordinal and reason of a stored violation."""
    return code // VIOLATION_BASE, ViolationReason(code % VIOLATION_BASE)


@dataclass(frozen=True)
class Rejection:
    """A record that was not stored: its place in the body (0-based), why, and who sent it."""

    place: int
    reason: RejectionReason
    message: str
    request_id: str | None = None
    excerpt: str = ""
    origin: Origin = UNKNOWN


@dataclass(frozen=True)
class ViolationExample:
    """One masked example of a violation; `column` is the name as sent."""

    column: str
    reason: ViolationReason
    example: str


TIMESTAMP = pa.timestamp("us", tz="UTC")

REQUEST_SCHEMA = pa.schema(
    [
        ("project_id", pa.int32()),
        ("model_id", pa.int32()),
        ("leg", pa.string()),
        ("event_time", TIMESTAMP),
        ("request_id", pa.string()),
        ("deployment_id", pa.int32()),
        ("contract_version", pa.int32()),
        ("outcome", pa.int16()),
        ("outcome_reason", pa.string()),
        ("received_at", TIMESTAMP),
        ("violations", pa.list_(pa.int32())),
        ("numbers", pa.list_(pa.float64())),
        ("texts", pa.list_(pa.string())),
    ]
)

LABEL_SCHEMA = pa.schema(
    [
        ("project_id", pa.int32()),
        ("model_id", pa.int32()),
        ("label_name", pa.string()),
        ("request_id", pa.string()),
        ("source", pa.string()),
        ("observed_at", TIMESTAMP),
        ("arrived_at", TIMESTAMP),
        ("event_time", TIMESTAMP),
        ("leg", pa.string()),
        ("value", pa.float64()),
        ("text", pa.string()),
    ]
)


@dataclass(frozen=True)
class RequestBatch:
    """Requests of one model and leg, ready to store.

    `table` has REQUEST_SCHEMA; `places` gives each row's place in the body it came from.
    A deployment_id of -(i + 1) stands for `tags[i]`, which the store turns into the real number.
    `examples` hold at most a few per column and reason.
    """

    table: pa.Table
    places: tuple[int, ...] | range
    tags: tuple[Tags, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    examples: tuple[ViolationExample, ...] = ()


@dataclass(frozen=True)
class LabelBatch:
    """Labels of one model, ready to store; `table` has LABEL_SCHEMA."""

    table: pa.Table
    places: tuple[int, ...] | range
    rejections: tuple[Rejection, ...] = ()


@dataclass(frozen=True)
class IntakeAnswer:
    """What a sender is told after the commit; the four counts add up to what was sent."""

    accepted: int
    duplicate: int = 0
    conflict: int = 0
    rejections: tuple[Rejection, ...] = field(default=())
    violations: int = 0

    @property
    def rejected(self) -> int:
        return len(self.rejections)
