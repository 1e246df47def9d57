"""A breach when the whole interval of a reading lies outside an allowed range. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from alerts.model import Reading, ReadingState


@dataclass(frozen=True)
class AllowedRange:
    """Values from `lower` to `upper` are fine; what an interval leaves open is no breach.

    A reading without an interval says nothing. A side on which the data sets no limit (p99 of few
    rows has none above) reaches to infinity.
    """

    lower: float
    upper: float

    def describe(self) -> str:
        """For people: `interval wholly outside 0.1 to 0.3`."""
        return f"interval wholly outside {self.lower:g} to {self.upper:g}"

    def excess(self, reading: Reading) -> float | None:
        """How far the interval lies outside, 0 when it overlaps; None without an interval."""
        if reading.state is not ReadingState.MEASURED:
            return None
        low, high = reading.low, reading.high
        if low is None and high is None:
            return None
        above = low - self.upper if low is not None else 0.0
        below = self.lower - high if high is not None else 0.0
        return max(above, below, 0.0)
