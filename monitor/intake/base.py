"""What a format of request or label bodies is, and what it is told. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from monitor.contract import Contract
from monitor.layout import Layout
from monitor.origin import UNKNOWN, Origin
from monitor.records import LabelBatch, RequestBatch

MAX_INFLATED_BYTES = 64 << 20


@dataclass(frozen=True)
class IntakeContext:
    """Everything a body is read against: one model and leg, and the moment it arrived.

    Event times lie in `[earliest, latest)`. `hash_key` has 16 bytes and hides text columns.
    """

    project_id: int
    model_id: int
    contract: Contract
    contract_version: int
    layout: Layout
    leg: str
    hash_key: bytes
    deployment_ids: frozenset[int]
    earliest: datetime
    latest: datetime
    received_at: datetime
    max_records: int
    max_bytes: int = MAX_INFLATED_BYTES
    origin: Origin = UNKNOWN


class RequestFormat(Protocol):
    """Reads a body of requests. Raises RequestRefused when the whole body can't be read."""

    def parse(self, body: bytes, context: IntakeContext) -> RequestBatch:
        """Every record ends as a row of the table or as a rejection."""
        ...


class LabelFormat(Protocol):
    """Reads a body of labels. Raises RequestRefused when the whole body can't be read."""

    def parse(self, body: bytes, context: IntakeContext) -> LabelBatch:
        """Every record ends as a row of the table or as a rejection."""
        ...
