"""A clock that all processes of a fault run share: the real time plus an offset in a file.

Hours pass when the file says so; nothing waits for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path


@dataclass(frozen=True)
class SharedClock:
    """Reads the offset at every look."""

    file: Path

    def __call__(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=float(self.file.read_text("utf-8")))

    def set_back(self) -> None:
        """Real time from now on."""
        self._write(0.0)

    def advance(self, by: timedelta) -> None:
        """Let time pass for every process."""
        self._write(float(self.file.read_text("utf-8")) + by.total_seconds())

    def _write(self, seconds: float) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(str(seconds), "utf-8")
        new.replace(self.file)
