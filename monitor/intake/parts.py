"""Requests that come in pieces, and how each kind of group becomes records. Pure.

A new kind is one file with an Assembling and one line in `assembling_registry`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from monitor.intake.producer_record import Read


@dataclass(frozen=True)
class RequestPart:
    """One piece: the kind and key of its group, its own key in it, and when waiting ends."""

    kind: str
    group_key: str
    part_key: str
    body: bytes
    received_at: datetime
    due_at: datetime


class Assembling(Protocol):
    """How parts of one kind become records."""

    @property
    def kind(self) -> str:
        """The kind of the parts."""
        ...

    @property
    def complete_at(self) -> int | None:
        """How many parts make a group complete before it is due; None: only time tells."""
        ...

    def assemble(self, parts: Sequence[RequestPart], now: datetime) -> Read:
        """The records of one group; a missing part is told in the record, never left out."""
        ...
