"""A whole file through intake and store, chunk by chunk, as if it had come over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from monitor.collector.intake import Batch, Limits, intake_context, store_one
from monitor.collector.ports import Store
from monitor.intake.base import IntakeContext
from monitor.intake.batches import with_default_deployment
from monitor.intake.files import CHUNK_BYTES, CHUNK_ROWS, read_chunks
from monitor.origin import Origin
from monitor.records import Rejection, RequestBatch
from monitor.store.models import ModelContext

MAX_KEPT_REJECTIONS = 20
MAX_TABLE_BYTES = 1 << 30
Progress = Callable[[float, int], None]


@dataclass
class ImportResult:
    """What became of the records: accepted + duplicate + conflict + rejected = sent."""

    accepted: int = 0
    duplicate: int = 0
    conflict: int = 0
    rejected: int = 0
    violations: int = 0
    rejections: list[Rejection] = field(default_factory=list)

    @property
    def sent(self) -> int:
        return self.accepted + self.duplicate + self.conflict + self.rejected

    def add(self, other: ImportResult) -> None:
        """Count another file's records too; the first rejections are kept."""
        for name in ("accepted", "duplicate", "conflict", "rejected", "violations"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        room = max(0, MAX_KEPT_REJECTIONS - len(self.rejections))
        self.rejections.extend(other.rejections[:room])


def import_file(
    store: Store,
    model: ModelContext,
    path: Path,
    *,
    labels: bool,
    leg: str,
    deployment: int | None,
    now: datetime,
    progress: Progress,
) -> ImportResult:
    """Store a file's records; raises RequestRefused when the file can't be read.

    Chunks before an unreadable place stay stored: importing the file again is safe, what is there
    is a duplicate. Event times may be any in the past.
    """
    limits = Limits(CHUNK_ROWS, max(CHUNK_BYTES, MAX_TABLE_BYTES))
    context = intake_context(
        model, leg, now, limits, anytime=True, origin=Origin(None, f"file {path.name}")
    )
    result = ImportResult()
    for chunk in read_chunks(path, model.contract, labels=labels):
        batch = chunk.parse(context)
        if deployment is not None and isinstance(batch, RequestBatch):
            batch = with_default_deployment(batch, deployment)
        _add(result, store, _at_file_places(batch, chunk.first_place), context)
        progress(chunk.done_share, result.sent)
    return result


def _at_file_places(batch: Batch, first: int) -> Batch:
    if not first or not batch.rejections:
        return batch
    moved = tuple(replace(one, place=one.place + first) for one in batch.rejections)
    return replace(batch, rejections=moved)


def _add(result: ImportResult, store: Store, batch: Batch, context: IntakeContext) -> None:
    answer = store_one(store, batch, context).answer
    result.accepted += answer.accepted
    result.duplicate += answer.duplicate
    result.conflict += answer.conflict
    result.rejected += answer.rejected
    result.violations += answer.violations
    room = MAX_KEPT_REJECTIONS - len(result.rejections)
    result.rejections.extend(answer.rejections[: max(0, room)])
