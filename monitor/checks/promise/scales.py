"""The lengths of windows that are watched, and how often each is looked at. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.checks.promise.hours import WEEK_HOURS
from monitor.profiles.arrays import Integers

MONTH_HOURS = 720
MONDAY = 96
"""1970 began on a Thursday."""


@dataclass(frozen=True)
class Scale:
    """Windows of `length` hours, a new one every `stride` hours; `share` of the error budget.

    Overlapping windows cost nothing but their number: the budget is a sum, valid under any
    dependence, and a change is seen up to length - stride hours sooner.
    """

    length: int
    stride: int
    share: float

    @property
    def windows_a_month(self) -> float:
        """Windows that end in 30 days."""
        return MONTH_HOURS / self.stride

    @property
    def word(self) -> str:
        """As people read it."""
        return f"{self.length} h" if self.length < WEEK_HOURS else "7 d"

    def ends_within(
        self, first_epoch_hour: int, start: int, stop: int, origin: int = MONDAY
    ) -> Integers:
        """Ends (hours from the first, exclusive) in (start, stop] on the stride's grid.

        The grid is counted from `origin`, an hour since 1970: Monday 1970-01-05 00:00 UTC, so that
        a window is the same one whichever run looks at it. Windows that began before the first
        hour are left out.
        """
        ends = np.arange(max(start + 1, self.length), stop + 1)
        return np.asarray(ends[(ends + first_epoch_hour - origin) % self.stride == 0])


SCALES = (Scale(1, 1, 0.5), Scale(6, 3, 0.2), Scale(24, 6, 0.2), Scale(168, 24, 0.1))
HOURLY, SIX_HOURS, DAILY, WEEKLY = range(4)
N_SCALES = len(SCALES)
SEGMENT_SCALES = (DAILY, WEEKLY)
"""Segments are thin: they are judged by the day and the week."""
