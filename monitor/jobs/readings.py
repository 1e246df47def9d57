"""Measurements as alerting sees them: labels in words that rules match, and readings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.engine import Connection

from alerts.config import AlertConfig
from alerts.model import Labels, Reading, ReadingState
from monitor.checks.maturity.cohort import MaturityState
from monitor.checks.registry import CheckName
from monitor.deployment import Tags
from monitor.jobs.base import JobContext
from monitor.measurement import Failed, Measured, Measurement, TooFew
from monitor.store.baselines import baseline_names
from monitor.store.models import deployment_names, deployment_tags
from monitor.store.profile_rows import segments
from monitor.windows import Window

MAX_EVIDENCE_TEXT = 400
ALL_DEPLOYMENTS = "all deployments"
IMMATURE = frozenset(state.value for state in MaturityState if not state.is_judgeable)
RUN_SCALE, REPLAY = "run", "replay"
NO_ROWS = frozenset({"rows", "no requests"})
"""Reasons of a measurement that found too few: with none of these, the window held nothing."""


@dataclass(frozen=True)
class Words:
    """What numbers stand for, and which deployments served a leg's window together."""

    segments: Mapping[int, Mapping[str, str]]
    deployments: Mapping[int, str]
    baselines: Mapping[int, str]
    together: Mapping[tuple[str, Window], frozenset[int]]

    def is_whole(self, one: Measurement) -> bool:
        """Whether a measurement is about everything that served its leg in its window."""
        if one.check == CheckName.INCIDENT:
            return not one.outcome.detail.get("named")
        if one.check in (CheckName.GOLDEN, CheckName.SHADOW):
            return False  # a verdict on these deployments, whoever else answered
        served = self.together[(one.subject.leg, one.window)]
        return served == frozenset(one.subject.deployment_ids)


def served_together(
    measurements: Sequence[Measurement],
) -> dict[tuple[str, Window], frozenset[int]]:
    found: dict[tuple[str, Window], set[int]] = defaultdict(set)
    for one in measurements:
        found[(one.subject.leg, one.window)].update(one.subject.deployment_ids)
    return {key: frozenset(numbers) for key, numbers in found.items()}


def readings_of(
    connection: Connection,
    context: JobContext,
    config: AlertConfig,
    measurements: Sequence[Measurement],
) -> list[Reading]:
    """Measurements that any rule is about, as readings."""
    if not measurements:
        return []
    read = Reader(connection, context, config, served_together(measurements))
    return [reading for one in measurements if (reading := read(one)) is not None]


class Reader:
    """Makes readings of measurements; `together` says which deployments served a leg's window."""

    def __init__(
        self,
        connection: Connection,
        context: JobContext,
        config: AlertConfig,
        together: Mapping[tuple[str, Window], frozenset[int]],
    ) -> None:
        project, model = context.project_id, context.model_id
        words = Words(
            segments(connection, project, model),
            deployment_names(connection, project, model),
            baseline_names(connection, project, model),
            together,
        )
        self._tags = deployment_tags(connection, project, model)
        self._matching = _Matching(config, context, words)

    def __call__(self, one: Measurement) -> Reading | None:
        """The measurement as a reading; None when no rule is about it."""
        labels = self._matching(one)
        return None if labels is None else reading_of(one, labels, self._tags)


class _Matching:
    """The labels of measurements that any rule is about; remembered, as subjects recur."""

    def __init__(self, config: AlertConfig, context: JobContext, words: Words) -> None:
        self._rules, self._context, self._words = config.rules, context, words
        self._known: dict[tuple[object, ...], Labels | None] = {}

    def __call__(self, one: Measurement) -> Labels | None:
        golden = one.check == CheckName.GOLDEN
        scale = RUN_SCALE if golden else scale_text(one.window.end, one.window.start)
        whole = self._words.is_whole(one)
        key = (
            *(one.check, one.method, one.subject, one.baseline_id, scale, whole),
            incident_of(one),
        )
        if key not in self._known:
            labels = labels_of(one, scale, self._context, self._words)
            wanted = any(rule.matches(labels) for rule in self._rules)
            self._known[key] = labels if wanted else None
        return self._known[key]


def labels_of(one: Measurement, scale: str, context: JobContext, words: Words) -> Labels:
    """What a measurement is about, in words that rules match.

    A measurement of everything that served names no deployment: the alert on it stays the same one
    while deployments come and go.
    """
    subject, whole = one.subject, words.is_whole(one)
    numbers = () if whole else subject.deployment_ids
    names = [words.deployments.get(number, str(number)) for number in numbers]
    return Labels.from_mapping(
        {
            "project": context.project,
            "model": context.contract.model,
            "check": one.check,
            "method": one.method,
            "column": subject.column,
            "leg": leg_text(one),
            "scope": "all" if whole else "one",
            "deployment": "+".join(str(number) for number in numbers),
            "deployment_name": ALL_DEPLOYMENTS if whole else "+".join(names),
            "segment": segment_text(words.segments.get(subject.segment_id, {})),
            "baseline": words.baselines.get(one.baseline_id, "") if one.baseline_id else "",
            "scale": scale,
            "incident": incident_of(one),
        }
    )


def reading_of(one: Measurement, labels: Labels, tags: Mapping[int, Tags]) -> Reading:
    """A measurement as alerting sees it."""
    outcome, immature = one.outcome, immature_reason(one)
    measured = outcome if isinstance(outcome, Measured) and not immature else None
    return Reading(
        labels=labels,
        at=one.window.end,
        window_start=one.window.start,
        state=ReadingState.TOO_FEW if immature else state_of(outcome),
        value=measured.value if measured else None,
        low=measured.low if measured else None,
        high=measured.high if measured else None,
        n=0 if isinstance(outcome, Failed) else outcome.n,
        unit=one.unit,
        text=immature or _reason(outcome),
        evidence=_evidence(one, tags),
    )


def immature_reason(one: Measurement) -> str:
    """Why a measured number that tells its `maturity` can't be judged yet; empty when it can.

    A cohort whose labels are mostly still to come neither opens an alert nor ends one. How many
    labels there are (coverage) and whether they come (the feed) is judged all the same.
    """
    state = one.outcome.detail.get("maturity")
    if state not in IMMATURE or not isinstance(one.outcome, Measured):
        return ""
    if one.method == "label_coverage":
        return ""
    return f"the cohort is immature ({str(state).replace('_', ' ')}): {_how_far(one)}"


def _how_far(one: Measurement) -> str:
    detail = one.outcome.detail
    watched, share, coverage = (
        detail.get(name) for name in ("watched_share", "expected_share", "coverage")
    )
    if watched is not None:
        return f"{watched:.0%} of the time in which {one.subject.column!r} may come has passed"
    if not isinstance(share, float):
        return "how soon its labels come is not known yet"
    told = f"{share:.0%} of its labels are expected by now"
    return told if coverage is None else f"{told}, {coverage:.0%} of its requests have one"


def state_of(outcome: Measured | TooFew | Failed) -> ReadingState:
    """How a measurement ended; one of no row at all is no data."""
    if isinstance(outcome, Measured):
        return ReadingState.MEASURED
    if isinstance(outcome, Failed):
        return ReadingState.FAILED
    empty = outcome.n == 0 and outcome.reason in NO_ROWS
    return ReadingState.NO_DATA if empty else ReadingState.TOO_FEW


def leg_text(one: Measurement) -> str:
    """The leg; `replay` for golden sets: every run is a leg, and the next must end the alert."""
    return REPLAY if one.check == CheckName.GOLDEN else one.subject.leg


def incident_of(one: Measurement) -> str:
    """The number of the incident that a measurement tells of: each has an alert of its own."""
    told = one.check == CheckName.INCIDENT
    return str(one.outcome.detail.get("incident", "")) if told else ""


def segment_text(definition: Mapping[str, str]) -> str:
    """A segment on one line; empty for all requests."""
    return ", ".join(f"{name}={value}" for name, value in sorted(definition.items()))


def scale_text(end: datetime, start: datetime) -> str:
    """How long a window is, in words that rules can match: 5m, 1h, 6h, 24h, day, month."""
    seconds = (end - start).total_seconds()
    if seconds < 3600:
        return f"{round(seconds / 60)}m"
    hours = round(seconds / 3600)
    if hours > 24 * 27:
        return "month"
    return "day" if hours in (23, 24, 25) else f"{hours}h"


def _reason(outcome: Measured | TooFew | Failed) -> str:
    if isinstance(outcome, TooFew):
        return f"{outcome.n} {outcome.reason}, {outcome.needed} needed"
    return outcome.reason[:MAX_EVIDENCE_TEXT] if isinstance(outcome, Failed) else ""


def _evidence(one: Measurement, tags: Mapping[int, Tags]) -> dict[str, str | float]:
    found: dict[str, str | float] = {}
    for number in one.subject.deployment_ids[:3]:
        found[f"deployment_{number}"] = tags.get(number, Tags(())).summary()[:MAX_EVIDENCE_TEXT]
    for name, value in one.outcome.detail.items():
        if isinstance(value, str):
            found[name] = value[:MAX_EVIDENCE_TEXT]
        elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
            found[name] = float(value)
    return found
