"""What is known of a model's label delays at a moment, and how mature that makes a cohort."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy.engine import Connection

from monitor.checks.maturity.cohort import Maturity, Stratum, cohort_maturity
from monitor.checks.maturity.delay_curve import DelayCurve
from monitor.contract import Contract
from monitor.contract_quality import Feedback
from monitor.jobs.base import JobContext
from monitor.jobs.grouping import WHOLE
from monitor.profiles.label_delays import ALL_CLASSES, ClassDelays
from monitor.store.delay_curves import CurveKey, read_curves
from monitor.store.label_feed import newest_label
from monitor.windows import Window

HOUR = timedelta(hours=1)
MIN_ROWS = 50
"""A curve of fewer requests is not used: the one of all classes, or of all requests, is."""


@dataclass(frozen=True)
class LabelDelays:
    """The newest label that was observed, and the curves in use.

    Ages count to the newest label, not to the clock: of a feed that is loaded once a week nothing
    can be known since the last load, and its requests of this week are not late.
    """

    newest: datetime | None = None
    curves: Mapping[CurveKey, DelayCurve] = field(default_factory=dict)

    def age_hours(self, moment: datetime) -> float:
        """Hours from a moment to the newest label; 0 after it, and where there is none."""
        return max(0.0, (self.newest - moment) / HOUR) if self.newest is not None else 0.0

    def curve(self, leg: str, segment_id: int, predicted: int) -> DelayCurve | None:
        """The curve of a predicted class in a segment, else the nearest wider one that there is."""
        for segment in dict.fromkeys((segment_id, WHOLE)):
            for number in dict.fromkeys((predicted, ALL_CLASSES)):
                found = self.curves.get(CurveKey(leg, segment, number))
                if found is not None and found.n >= MIN_ROWS:
                    return found
        return None


@dataclass(frozen=True, eq=False)
class Piece:
    """A stored hour or day of one subject: its window and the delays by predicted class."""

    window: Window
    by_class: Mapping[int, ClassDelays]

    @property
    def middle(self) -> datetime:
        """The moment that its requests are taken to be of."""
        return self.window.start + (self.window.end - self.window.start) / 2


def known_delays(connection: Connection, context: JobContext) -> LabelDelays:
    """The newest label known now and the newest curves."""
    label = context.contract.label
    if label is None:
        return LabelDelays()
    project, model = context.project_id, context.model_id
    newest = newest_label(connection, project, model, label.name, context.now)
    stored = read_curves(connection, project, model, context.now)
    return LabelDelays(newest, {key: one.curve for key, one in stored.items()})


def strata_of(
    pieces: Iterable[Piece], delays: LabelDelays, leg: str, segment_id: int
) -> list[Stratum]:
    """Strata of a cohort: predicted class by piece; -1 holds the rows without a class."""
    found = []
    for piece in pieces:
        age = delays.age_hours(piece.middle)
        for number, one in by_single_class(piece.by_class).items():
            if one.n:
                curve = delays.curve(leg, segment_id, number)
                found.append(Stratum(number, age, one.n, int(one.labelled.sum()), curve))
    return found


def by_single_class(by_class: Mapping[int, ClassDelays]) -> dict[int, ClassDelays]:
    """The same with -1 for what belongs to no class, so that nothing is counted twice."""
    whole = by_class[ALL_CLASSES]
    classes = {number: one for number, one in by_class.items() if number != ALL_CLASSES}
    labelled, unlabelled = whole.labelled.copy(), whole.unlabelled
    for one in classes.values():
        labelled -= one.labelled
        unlabelled -= one.unlabelled
    return {**classes, ALL_CLASSES: ClassDelays(labelled, unlabelled)}


def maturity_of(
    strata: Sequence[Stratum],
    window: Window,
    delays: LabelDelays,
    contract: Contract,
    now: datetime,
) -> Maturity:
    """Maturity of the cohort of a window; closed once no label or correction is taken any more."""
    closed = is_closed(window, contract, now)
    label = contract.label
    every = label is None or label.feedback is Feedback.FULL
    age = delays.age_hours(window.end)
    return cohort_maturity(strata, age, closed=closed, all_get_one=every)


def is_closed(window: Window, contract: Contract, now: datetime) -> bool:
    """Whether max_age plus correction_time have passed since the window's last request."""
    label = contract.label
    reach = label.max_age + label.correction_time if label is not None else timedelta(0)
    return window.end + reach <= now
