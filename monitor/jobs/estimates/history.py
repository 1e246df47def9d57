"""Labelled UTC days before a week, and which of them are final: what calibrators are fitted on.

Everything is as it stood at the beginning of the week: a replay of a year fits what would have been
fitted week by week.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
from sqlalchemy.engine import Connection

from monitor.contract import Task
from monitor.jobs.base import JobContext
from monitor.jobs.labels_of_blocks import label_reach
from monitor.profiles.arrays import Integers
from monitor.profiles.delays import DELAY_BUCKETS, DELAY_EDGES
from monitor.profiles.labels import binary_counts
from monitor.profiles.labels_multiclass import confusion_counts
from monitor.profiles.part import Part, PartKind
from monitor.profiles.predictions import classes_of
from monitor.store.profile_rows import read_profiles
from monitor.windows import Grain, Window

DAY = timedelta(days=1)
REFERENCE_DAYS, NEWEST_DAYS = 28, 7
FINAL_COVERAGE = 0.98
MOST_LOOK_BACK = timedelta(days=400)


@dataclass
class LabelHistory:
    """Labels parts by UTC day, leg and deployment, read once a run."""

    connection: Connection
    context: JobContext
    _days: dict[datetime, dict[str, dict[int, Part]]] = field(default_factory=dict)

    def reference_window(self, leg: str, week: datetime) -> Window:
        """The newest 28 days whose labels were final when the week began.

        Final: label.max_age + correction_time have passed, or 98 % of the requests had a label by
        then. Days without requests are final.
        """
        start = Window.holding(week, Grain.DAY).start
        reach = min(label_reach(self.context), MOST_LOOK_BACK)
        last = Window.holding(week - reach, Grain.DAY).start
        self._load(Window(last - REFERENCE_DAYS * DAY, max(start, last)))
        while last < start and self._covered(leg, last, week):
            last += DAY
        return Window(last - REFERENCE_DAYS * DAY, last)

    def parts(self, leg: str, window: Window) -> dict[datetime, dict[int, Part]]:
        """Labels parts of a window of whole UTC days, by day and deployment."""
        self._load(window)
        return {day: self._days[day].get(leg, {}) for day in _days(window)}

    def _load(self, window: Window) -> None:
        missing = [day for day in _days(window) if day not in self._days]
        if not missing:
            return
        found: dict[datetime, dict[str, dict[int, Part]]] = {
            day: defaultdict(dict) for day in missing
        }
        for one in read_profiles(
            self.connection, self.context.project_id, self.context.model_id, PartKind.LABELS,
            Grain.DAY, Window(missing[0], missing[-1] + DAY),
        ):  # fmt: skip
            if one.key.window_start in found:
                by_leg = found[one.key.window_start]
                by_leg[one.key.leg][one.key.deployment_id] = one.part
        self._days |= found

    def _covered(self, leg: str, day: datetime, at: datetime) -> bool:
        """Whether 98 % of a day's requests had a label at a moment after it, as observed."""
        n, labelled = 0, 0
        for part in self._days[day].get(leg, {}).values():
            rows, delays = _rows_and_delays(self.context, part)
            n += rows
            labelled += int(delays[_buckets_within(at - day - DAY)].sum())
        return labelled >= FINAL_COVERAGE * n


def _days(window: Window) -> list[datetime]:
    return [window.start + place * DAY for place in range((window.end - window.start) // DAY)]


def _buckets_within(age: timedelta) -> slice:
    """Delay buckets that lie wholly within an age."""
    whole = np.searchsorted(np.asarray(DELAY_EDGES), age // timedelta(microseconds=1), "right")
    return slice(0, int(whole))


def _rows_and_delays(context: JobContext, part: Part) -> tuple[int, Integers]:
    match context.contract.task:
        case Task.BINARY:
            binary = binary_counts(part)
            return binary.n, binary.delay_counts
        case Task.MULTICLASS:
            confusion = confusion_counts(part, len(classes_of(context.contract)))
            return confusion.n, confusion.delay_counts
        case _:  # only age makes others final: their delays are counted with the residuals
            return 1, np.zeros(DELAY_BUCKETS, np.int64)
