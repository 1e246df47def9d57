"""What waits in memory: requests, rows of a batch, labels and registrations, as given."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


class Kind(Enum):
    """What an item becomes."""

    REQUEST = "request"
    ROWS = "rows"
    LABEL = "label"
    REGISTRATION = "registration"


class Lane(NamedTuple):
    """Bodies of one lane go to the same place, in order."""

    route: str
    model: str
    leg: str


class Item(NamedTuple):
    """One thing logged: its lane, fields of its own, columns, how many records, bytes of memory."""

    kind: Kind
    lane: Lane
    envelope: dict[str, Any]
    columns: dict[str, Any]
    records: int
    size: int
