"""What a person may choose about a run of the demo."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from monitor.demo.plant import FIRST_DAY, LAST_DAY, Plant
from monitor.errors import ConfigurationError, Problem


def replayable(day: date) -> date:
    """The day, when flights of it can be replayed; ConfigurationError otherwise."""
    if FIRST_DAY <= day <= LAST_DAY:
        return day
    wanted = f"choose a day from {FIRST_DAY} to {LAST_DAY}"
    raise ConfigurationError("--first-day", [Problem(str(day), wanted)])


@dataclass(frozen=True)
class DemoOptions:
    """`home` holds the demo's own database and files; `limit_days` makes a shorter replay."""

    plant: Plant | None
    seed: int
    home: Path
    dashboard: bool = True
    summary: Path | None = None
    keep: bool = False
    first_day: date = FIRST_DAY
    limit_days: int | None = None

    @property
    def last_day(self) -> date:
        """The last New York day that is replayed."""
        if self.limit_days is None:
            return LAST_DAY
        return min(LAST_DAY, self.first_day + timedelta(days=self.limit_days - 1))
