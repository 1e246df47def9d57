"""Between which values quality of all requests lies, whatever the labels that are not there say.

Nothing is assumed about who gets a label (Manski 1989); the bounds are therefore wide.
"""

from __future__ import annotations

from dataclasses import dataclass

from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import wilson_limits
from monitor.measurement import Outcome

MIN_LABELS, MIN_EVENTS = 50, 5


@dataclass(frozen=True)
class Worst:
    """`low_events` of `low_rows` is the lowest value of a share, the other two the highest."""

    low_events: int
    low_rows: int
    high_events: int
    high_rows: int

    @property
    def low(self) -> float | None:
        """The lowest value; None when the ratio is 0/0."""
        return self.low_events / self.low_rows if self.low_rows else None

    @property
    def high(self) -> float | None:
        """The highest value; None when the ratio is 0/0."""
        return self.high_events / self.high_rows if self.high_rows else None


def accuracy_bounds(right: int, wrong: int, unlabelled: int) -> Worst:
    """All unlabelled wrong, all unlabelled right."""
    n = right + wrong + unlabelled
    return Worst(right, n, right + unlabelled, n)


def precision_bounds(tp: int, fp: int, unlabelled_positive: int) -> Worst:
    """Among predicted positives: their unlabelled all negative, all positive."""
    n = tp + fp + unlabelled_positive
    return Worst(tp, n, tp + unlabelled_positive, n)


def recall_bounds(tp: int, fn: int, unlabelled_positive: int, unlabelled_negative: int) -> Worst:
    """Lowest: unlabelled predicted negatives are all positive, the others not; highest: reverse."""
    found = tp + unlabelled_positive
    return Worst(tp, tp + fn + unlabelled_negative, found, found + fn)


def bound_outcomes(name: str, worst: Worst, labelled: int) -> dict[str, Outcome]:
    """`NAME_lowest` and `NAME_highest` with Wilson limits.

    Named conservative: both are shares of all requests, and the true value lies between them.
    """
    return {
        f"{name}_lowest": _outcome(worst.low_events, worst.low_rows, labelled),
        f"{name}_highest": _outcome(worst.high_events, worst.high_rows, labelled),
    }


def _outcome(events: int, rows: int, labelled: int) -> Outcome:
    floors = (
        Floor(labelled, MIN_LABELS, "labelled rows"),
        Floor(rows, MIN_EVENTS, "rows in the ratio"),
    )
    value = events / rows if rows else None
    limits = wilson_limits(events, rows) if rows else None
    return measured_above(floors, value, labelled, limits, {"denominator": rows})
