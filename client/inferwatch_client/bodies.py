"""Bodies: lines packed for one call of the collector, and split when they are too large for it."""

from __future__ import annotations

import gzip
from dataclasses import dataclass

from inferwatch_client.items import Lane

MAX_PLAIN_BYTES = 1 << 20
"""The collector unpacks this much whatever the ratio; bodies that unpack further it may refuse."""
MAX_RATIO = 90
BODY_BYTES = 400
GZIP_LEVEL = 3
REGISTRATIONS = "deployments"


@dataclass(slots=True, eq=False)
class Body:
    """Packed records of one lane, in memory or in a file of the spool."""

    lane: Lane
    records: int
    payload: bytes | None
    packed: bool
    path: str | None = None
    attempts: int = 0

    @property
    def memory(self) -> int:
        """Bytes that it takes in memory."""
        return BODY_BYTES + (len(self.payload) if self.payload is not None else 0)


def pack(lane: Lane, lines: list[bytes]) -> Body:
    """One body of these lines; its records are the lines, but for a registration, which is none."""
    plain = b"\n".join(lines)
    payload = gzip.compress(plain, GZIP_LEVEL, mtime=0)
    records = 0 if lane.route == REGISTRATIONS else len(lines)
    if len(plain) > MAX_PLAIN_BYTES and len(plain) > len(payload) * MAX_RATIO:
        return Body(lane, records, plain, packed=False)
    return Body(lane, records, payload, packed=True)


def halves(body: Body, payload: bytes) -> list[Body]:
    """Two bodies with half of the lines each; none when there is one line only."""
    lines = (gzip.decompress(payload) if body.packed else payload).split(b"\n")
    if len(lines) < 2:
        return []
    middle = len(lines) // 2
    return [pack(body.lane, lines[:middle]), pack(body.lane, lines[middle:])]
