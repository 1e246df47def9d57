"""Half-open UTC windows `[start, end)` and their alignment. Knows no clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import IntEnum


class Grain(IntEnum):
    """Length of a stored profile's window, in seconds."""

    FIVE_MINUTES = 300
    HOUR = 3600
    DAY = 86_400

    @property
    def length(self) -> timedelta:
        return timedelta(seconds=int(self))


def require_utc(moment: datetime) -> datetime:
    """Return the moment in UTC; a moment without zone is a programming error, never a guess."""
    if moment.tzinfo is None:
        raise AssertionError(
            f"{moment.isoformat()} has no time zone; moments are aware inside Inferwatch"
        )
    return moment.astimezone(UTC)


@dataclass(frozen=True, order=True)
class Window:
    """A half-open UTC interval `[start, end)`."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", require_utc(self.start))
        object.__setattr__(self, "end", require_utc(self.end))
        if not self.start < self.end:
            raise AssertionError(f"a window starts before it ends, not {self.start} to {self.end}")

    @classmethod
    def holding(cls, moment: datetime, grain: Grain) -> Window:
        """The aligned window of this grain that holds the moment."""
        seconds = int(require_utc(moment).timestamp() // int(grain)) * int(grain)
        start = datetime.fromtimestamp(seconds, UTC)
        return cls(start, start + grain.length)

    @classmethod
    def of_day(cls, day: date) -> Window:
        """The UTC day."""
        start = datetime(day.year, day.month, day.day, tzinfo=UTC)
        return cls(start, start + timedelta(days=1))

    def closed(self, lateness: timedelta, now: datetime) -> bool:
        """True once the end plus the contract's lateness has passed."""
        return self.end + lateness <= require_utc(now)

    def split(self, grain: Grain) -> Iterator[Window]:
        """The aligned windows of a grain inside this one, in time order."""
        start = Window.holding(self.start, grain).start
        while start < self.end:
            yield Window(start, start + grain.length)
            start += grain.length

    def __contains__(self, moment: object) -> bool:
        return isinstance(moment, datetime) and self.start <= moment < self.end

    def __str__(self) -> str:
        return f"{self.start:%Y-%m-%dT%H:%MZ} to {self.end:%Y-%m-%dT%H:%MZ}"
