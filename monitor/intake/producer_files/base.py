"""What a format of producers' files is, and what reading one gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from monitor.intake.producer_record import ProducerLabel, ProducerRecord
from monitor.records import Rejection, RejectionReason

if TYPE_CHECKING:
    from monitor.intake.producer_files.local_clock import LocalClock
    from monitor.intake.producer_files.sources import Head, SourceFile

PIECE_RECORDS = 5_000
PAYLOAD_MISSING = "payload_missing"
"""Attribute of a record whose inputs or outputs the producer left out, with its reason."""


class BadRecord(Exception):
    """One entry of a file can't become a record: why, and whose it is."""

    def __init__(self, reason: RejectionReason, message: str, request_id: str | None = None):
        super().__init__(message)
        self.reason, self.message, self.request_id = reason, message, request_id


@dataclass(frozen=True)
class ReadOptions:
    """What the person who imports knows and the file does not say.

    `clock`: of local times without a zone. `clock_start`: when a file's own clock stood at zero.
    """

    now: datetime
    clock: LocalClock | None = None
    clock_start: datetime | None = None


@dataclass
class Piece:
    """Some of a file: records and labels, each with its place (line or entry, from 0).

    `notes` counts what befell many entries alike.
    """

    file: str
    done_share: float = 0.0
    records: list[ProducerRecord] = field(default_factory=list)
    record_places: list[int] = field(default_factory=list)
    labels: list[ProducerLabel] = field(default_factory=list)
    label_places: list[int] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    ignored: int = 0
    notes: Counter[str] = field(default_factory=Counter)


class Gathered:
    """What was read so far of one file, handed on piece by piece."""

    def __init__(self, file: str) -> None:
        self._piece = Piece(file)
        self.place = 0

    def add(self, record: ProducerRecord, place: int | None = None) -> None:
        """A request, at the place that is read now unless another is told."""
        self._piece.records.append(record)
        self._piece.record_places.append(self.place if place is None else place)

    def label(self, label: ProducerLabel) -> None:
        """A label, at the place that is read now."""
        self._piece.labels.append(label)
        self._piece.label_places.append(self.place)

    def refuse(self, bad: BadRecord, place: int | None = None) -> None:
        """An entry that can't become a record."""
        at = self.place if place is None else place
        self._piece.rejections.append(Rejection(at, bad.reason, bad.message, bad.request_id))

    def ignore(self, why: str | None = None) -> None:
        """An entry that is well formed and no request."""
        self._piece.ignored += 1
        if why is not None:
            self.note(why)

    def note(self, text: str) -> None:
        """Something that the person who imports should know; told once with its count."""
        self._piece.notes[text] += 1

    @property
    def full(self) -> bool:
        held = self._piece
        return len(held.records) + len(held.labels) + len(held.rejections) >= PIECE_RECORDS

    def take(self, done_share: float) -> Piece:
        """What was gathered; the next piece begins empty."""
        taken, self._piece = self._piece, Piece(self._piece.file)
        taken.done_share = done_share
        return taken


Read = Callable[["Sequence[SourceFile]", ReadOptions], Iterator[Piece]]
ReadOne = Callable[[Mapping[str, Any], "SourceFile", ReadOptions, Gathered], None]


@dataclass(frozen=True)
class FileFormat:
    """One format: how it is recognised by content, read, and what it can and can't tell.

    `share_unknown`: the producer samples by its settings and no entry says how much.
    """

    name: str
    producer: str
    gives: tuple[str, ...]
    lacks: tuple[str, ...]
    recognises: Callable[[Head], bool]
    read: Read
    share_unknown: bool = False


def each_entry(read_one: ReadOne) -> Read:
    """A reader of files whose entries stand alone."""

    def read(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[Piece]:
        for file in files:
            gathered = Gathered(file.name)
            for place, entry in file.entries():
                gathered.place = place
                read_entry(read_one, entry, file, options, gathered)
                if gathered.full:
                    yield gathered.take(0.0)
            yield gathered.take(1.0)

    return read


def read_entry(
    read_one: ReadOne,
    entry: Mapping[str, Any] | BadRecord,
    file: SourceFile,
    options: ReadOptions,
    gathered: Gathered,
) -> None:
    """One entry into what is gathered; what can't be read is refused with its place."""
    if isinstance(entry, BadRecord):
        gathered.refuse(entry)
        return
    try:
        read_one(entry, file, options, gathered)
    except BadRecord as bad:
        gathered.refuse(bad)
