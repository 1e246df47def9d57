"""Parts of a contract about what turns out later: labels, signals, groups, the objective. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from monitor.contract_base import MAX_NAME_LENGTH, Duration, Frozen


class Feedback(StrEnum):
    """How labels come about.

    FULL: every request gets one in time. POSITIVE_ONLY: only positives are ever reported (fraud,
    default, complaint); silence after the longest delay is a negative. SELECTIVE: only some
    requests can ever get one (loans that were granted), so quality of all is known within bounds.
    """

    FULL = "full"
    POSITIVE_ONLY = "positive_only"
    SELECTIVE = "selective"


class Label(Frozen):
    """What turns out to be true for a request, and how long that may take."""

    name: str = Field(min_length=1, max_length=MAX_NAME_LENGTH)
    positive: str | bool | None = None
    max_age: Duration = timedelta(days=30)
    correction_time: Duration = timedelta(days=14)
    sources: tuple[str, ...] = ()
    feedback: Feedback = Feedback.FULL


class SignalKind(StrEnum):
    """What a signal says of a request.

    EVENT: something happened to the person concerned (accepted, overridden, appealed, complained,
    gave up) or it did not. RATING: a number on a declared scale. PREFERENCE: win, loss or tie
    against another answer to the same input. RUBRIC: one point of a checklist, passed or not.
    """

    EVENT = "event"
    RATING = "rating"
    PREFERENCE = "preference"
    RUBRIC = "rubric"


class SignalDirection(StrEnum):
    """Which way is bad."""

    HIGHER_IS_WORSE = "higher_is_worse"
    LOWER_IS_WORSE = "lower_is_worse"


class Signal(Frozen):
    """Something else that becomes known after a request; it arrives as a label of this name."""

    name: str = Field(min_length=1, max_length=MAX_NAME_LENGTH)
    kind: SignalKind
    direction: SignalDirection
    scale: tuple[float, float] | None = None
    max_age: Duration = timedelta(days=30)
    description: str | None = None

    @model_validator(mode="after")
    def _scale_fits_the_kind(self) -> Self:
        if (self.kind is SignalKind.RATING) != (self.scale is not None):
            raise ValueError("a rating has a scale such as [1, 5], and nothing else has one")
        if self.scale is not None and not self.scale[0] < self.scale[1]:
            raise ValueError(f"scale {list(self.scale)} is empty; write the lower end first")
        return self


class Favourable(StrEnum):
    """Which answer of the model is good for the person concerned."""

    POSITIVE = "positive"
    NEGATIVE = "negative"


class Fairness(Frozen):
    """Segment columns whose groups are compared, and from which ratio on they are fair enough."""

    columns: tuple[str, ...] = Field(min_length=1)
    favourable: Favourable = Favourable.POSITIVE
    least_ratio: float = Field(default=0.8, gt=0, le=1, allow_inf_nan=False)


class ServiceObjective(Frozen):
    """What a good answer is: answered, and this timing column at most this long."""

    column: str
    at_most: float = Field(gt=0, allow_inf_nan=False)


def signal_problems(signals: Sequence[Signal], label: Label | None) -> list[str]:
    """What is wrong with the names of signals."""
    names = [signal.name for signal in signals]
    problems = [
        f"signal {name!r} is declared {names.count(name)} times"
        for name in sorted({*names})
        if names.count(name) > 1
    ]
    if label is not None and label.name in names:
        problems.append(f"{label.name!r} is the label already; name the signal otherwise")
    return problems


def fairness_problems(
    fairness: Fairness | None, segments: Collection[str], *, judged: bool
) -> list[str]:
    """What is wrong with the groups; `segments`: columns that are segments by themselves."""
    if fairness is None:
        return []
    if not judged:
        return ["fairness is for binary models: it compares shares of favourable answers"]
    return [
        f"fairness column {name!r} is not a segment; list it in segments"
        for name in fairness.columns
        if name not in segments
    ]


def objective_problems(objective: ServiceObjective | None, timings: Collection[str]) -> list[str]:
    """What is wrong with the objective; `timings`: columns of the role timing."""
    if objective is None or objective.column in timings:
        return []
    return [f"objective.column {objective.column!r} is not a column with the role timing"]
