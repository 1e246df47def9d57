"""Files of tests, written and read as the command does it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from monitor.intake.producer_files.base import ReadOptions
from monitor.intake.producer_files.find import FoundFiles, find_files
from monitor.intake.producer_files.local_clock import LocalClock
from monitor.intake.producer_record import ProducerLabel, ProducerRecord
from monitor.records import Rejection

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


@dataclass
class All:
    """Everything that was read of a path."""

    found: FoundFiles
    records: list[ProducerRecord] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    labels: list[ProducerLabel] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    ignored: int = 0

    @property
    def names(self) -> list[str]:
        """Formats that were recognised."""
        return sorted(self.found.groups)

    def one(self) -> ProducerRecord:
        """The only record."""
        assert len(self.records) == 1, (self.records, self.rejections)
        return self.records[0]


def write_lines(path: Path, entries: Sequence[Mapping[str, Any]]) -> Path:
    """Newline-delimited JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in entries))
    return path


def read(
    path: Path,
    *,
    zone: str | None = None,
    clock_start: datetime | None = None,
    insisted: str | None = None,
) -> All:
    """All pieces of a file or folder."""
    clock = LocalClock.of(zone) if zone is not None else None
    options = ReadOptions(NOW, clock, clock_start)
    whole = All(find_files(path, insisted))
    for form, files in whole.found.formats():
        for piece in form.read(files, options):
            whole.records += piece.records
            whole.places += piece.record_places
            whole.labels += piece.labels
            whole.rejections += piece.rejections
            whole.notes += piece.notes
            whole.ignored += piece.ignored
    return whole
