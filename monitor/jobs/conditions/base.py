"""What every condition is given and what it finds: a number, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy.engine import Connection

from alerts.config import AlertConfig
from alerts.model import Labels, Reading, ReadingState
from monitor.store.models import ModelContext
from monitor.windows import Window

CHECK = "condition"
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Look:
    """One look at a project: its models in use, the rules in force and the moment."""

    connection: Connection
    project_id: int
    project: str
    models: Sequence[ModelContext]
    config: AlertConfig
    now: datetime


@dataclass(frozen=True)
class Finding:
    """One subject of a condition. `labels` name it beside project, check and method.

    Without a value the state is no data, and `text` says why. `window` is what was looked at; by
    default the minute before the look.
    """

    labels: Mapping[str, str]
    value: float | None
    n: int = 0
    low: float | None = None
    high: float | None = None
    text: str = ""
    evidence: Mapping[str, str | float] = field(default_factory=dict)
    window: Window | None = None


@dataclass(frozen=True)
class Condition:
    """One question. Of a count, a subject that is not found any more stands at 0."""

    method: str
    unit: str
    find: Callable[[Look], Iterable[Finding]]
    is_count: bool = False


def labels_of(look: Look, condition: Condition, finding: Finding) -> Labels:
    """Project, check and method, and what the finding is about."""
    common = {"project": look.project, "check": CHECK, "method": condition.method}
    return Labels.from_mapping({**common, **finding.labels})


def reading_of(look: Look, condition: Condition, finding: Finding) -> Reading:
    """A finding as rules see it. Two looks within a minute give the same reading."""
    at = look.now.replace(second=0, microsecond=0)
    window = finding.window or Window(at - MINUTE, at)
    return Reading(
        labels=labels_of(look, condition, finding),
        at=window.end,
        window_start=window.start,
        state=ReadingState.NO_DATA if finding.value is None else ReadingState.MEASURED,
        value=finding.value,
        low=finding.low,
        high=finding.high,
        n=finding.n,
        unit=condition.unit,
        text=finding.text,
        evidence=finding.evidence,
    )
