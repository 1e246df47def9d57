"""The values of alerting: labels, readings, alerts, transitions.

All are frozen. They hold words, numbers and times; what a model, a table or a request is, they must
not know. Times are aware and in UTC.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType

LABEL_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


class AlertState(StrEnum):
    """Where a rule stands on one subject."""

    OK = "ok"
    PENDING = "pending"  # breaching, not yet for as long as the rule asks
    FIRING = "firing"
    RECOVERING = "recovering"  # clear again, not yet for as long as the rule asks
    RESOLVED = "resolved"


class DataState(StrEnum):
    """Whether the newest window could be judged; apart from the alert's state on purpose."""

    OK = "ok"
    NO_DATA = "no_data"
    TOO_FEW = "too_few"
    FAILED = "failed"
    LATE = "late"  # the next window should have been there by now


class Standing(StrEnum):
    """How an open alert stands among those that people know."""

    NEW = "new"
    ONGOING = "ongoing"  # somebody took it on
    ESCALATING = "escalating"  # much worse than when it was last told
    REGRESSED = "regressed"  # open again soon after it was resolved
    ARCHIVED = "archived"  # a person wants to hear of it only when it gets much worse


class ReadingState(StrEnum):
    """How the measurement of one window ended."""

    MEASURED = "measured"
    TOO_FEW = "too_few"
    FAILED = "failed"
    NO_DATA = "no_data"


class ResolvedReason(StrEnum):
    """Why an alert is over. Missing data is never a reason."""

    RECOVERED = "recovered"
    CLOSED_BY_HAND = "closed_by_hand"
    FALSE_ALARM = "false_alarm"
    SUPERSEDED = "superseded"
    MODEL_RETIRED = "model_retired"
    NO_LONGER_EVALUATED = "no_longer_evaluated"


class TransitionReason(StrEnum):
    """Why an alert changed its state, endings apart (those are `ResolvedReason`)."""

    BREACH_BEGAN = "breach_began"  # first breaching window, the rule asks for more
    BREACH_HELD = "breach_held"  # breaching for as long as the rule asks
    BREACH_PASSED = "breach_passed"  # a clear window before the alert fired
    CLEAR_BEGAN = "clear_began"  # first clear window, the rule asks for more
    BREACH_RETURNED = "breach_returned"  # a breaching window before the alert was resolved
    # The state stays as it is; what changed is beside it.
    GOT_WORSE = "got_worse"
    REGRESSED = "regressed"
    ACKNOWLEDGED = "acknowledged"
    SNOOZED = "snoozed"
    ARCHIVED = "archived"
    UNARCHIVED = "unarchived"
    RESPONSE_EXPIRED = "response_expired"  # what was done about it is undone, and it still fires
    NO_DATA = "no_data"
    TOO_FEW = "too_few"
    FAILED = "failed"
    LATE = "late"
    DATA_RETURNED = "data_returned"


class Severity(StrEnum):
    """How soon a person must act: now, in working hours, when there is time."""

    PAGE = "page"
    TICKET = "ticket"
    NOTICE = "notice"

    @property
    def rank(self) -> int:
        """0 for the most urgent."""
        return tuple(Severity).index(self)


class ResponseAction(StrEnum):
    """The defined reactions to an alert."""

    ROLL_BACK = "roll_back"
    REDUCE_TRAFFIC = "reduce_traffic"
    FALL_BACK = "fall_back"
    REVIEW_THRESHOLD = "review_threshold"
    RETRAIN = "retrain"
    INVESTIGATE = "investigate"


def require_utc(name: str, moment: datetime) -> datetime:
    """The moment in UTC; ValueError when it carries no zone."""
    if moment.tzinfo is None:
        raise ValueError(f"{name} must carry a time zone, got {moment.isoformat()}")
    return moment.astimezone(UTC)


@dataclass(frozen=True)
class Labels(Mapping[str, str]):
    """What a reading is about: an immutable mapping, sorted by name.

    An empty value is the same as an absent label and is dropped. Names are lower-case identifiers.
    Values, times and probabilities never belong here: they would change the identity of the alert.
    """

    pairs: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name, value in self.pairs:
            if not LABEL_NAME.fullmatch(name):
                raise ValueError(f"label name {name!r} is no lower-case identifier")
            if not isinstance(value, str):
                raise TypeError(f"label {name} must be text, got {value!r}")
        kept = tuple(sorted((name, value) for name, value in self.pairs if value))
        if len({name for name, _ in kept}) != len(kept):
            raise ValueError(f"a label is given twice: {kept}")
        object.__setattr__(self, "pairs", kept)

    @classmethod
    def of(cls, **labels: str) -> Labels:
        """Labels(project="p", model="m", …) without the tuples."""
        return cls(tuple(labels.items()))

    @classmethod
    def from_mapping(cls, labels: Mapping[str, str]) -> Labels:
        """The same from a mapping."""
        return cls(tuple(labels.items()))

    def __getitem__(self, name: str) -> str:
        for known, value in self.pairs:
            if known == name:
                return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def fingerprint(self, rule_name: str) -> str:
        """The identity of this rule on this subject: SHA-256, 64 hexadecimal digits."""
        canonical = json.dumps([rule_name, self.pairs], ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


@dataclass(frozen=True)
class Reading:
    """A measurement as alerting sees it: labels, a window `[window_start, at)` and numbers.

    `at` is the end of the window. `low` and `high` bound the interval of `value`. `value` is
    present exactly when the state is measured. `text` is a short reason for the other states.
    `evidence` carries what else is known, names to text or numbers.
    """

    labels: Labels
    at: datetime
    window_start: datetime
    state: ReadingState
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    unit: str = ""
    text: str = ""
    evidence: Mapping[str, str | float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", require_utc("Reading.at", self.at))
        object.__setattr__(self, "window_start", require_utc("window_start", self.window_start))
        object.__setattr__(self, "evidence", MappingProxyType(dict(self.evidence)))
        if self.window_start >= self.at:
            raise ValueError(f"window [{self.window_start}, {self.at}) is empty")
        if (self.value is not None) != (self.state is ReadingState.MEASURED):
            raise ValueError(f"a reading that is {self.state} can't have the value {self.value}")
        for name in ("value", "low", "high"):
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise ValueError(f"Reading.{name} must be finite, got {number}")
        for name, known in self.evidence.items():
            if not isinstance(known, str) and not math.isfinite(known):
                raise ValueError(f"evidence {name} must be finite, got {known}; leave it out")
        if self.n < 0:
            raise ValueError(f"Reading.n must not be negative, got {self.n}")


@dataclass(frozen=True)
class FindingKey:
    """One episode of one alert: what a receiver is told about once, and told the end of once."""

    fingerprint: str
    episode: int

    @property
    def finding_id(self) -> str:
        """Short, stable, without a dot: fits the key fields of on-call services."""
        return f"{self.fingerprint[:24]}-{self.episode}"


class ToldEvent(StrEnum):
    """What a receiver was last told of an alert."""

    OPENED = "opened"
    GOT_WORSE = "got_worse"
    ENDED = "ended"


@dataclass(frozen=True)
class Told:
    """What one receiver was last told of an alert, when, and how often in this episode.

    `excess` is how bad it was then (see `alerts.rules.excess_of`), `first_at` when it was first
    told of the episode: escalation steps count from there. `group` are the labels of the group that
    it was told in, where its end belongs too. An episode that ended untold, and is not to be told
    of any more, is ended with 0 times.
    """

    episode: int
    event: ToldEvent
    at: datetime
    times: int = 1
    excess: float | None = None
    first_at: datetime | None = None
    group: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True)
class End:
    """How an earlier episode ended, kept while a receiver that was told of it has to hear so."""

    reason: ResolvedReason
    at: datetime


@dataclass(frozen=True)
class Archive:
    """A person's wish to hear of an alert only when it is much worse than `excess`."""

    by: str
    at: datetime
    excess: float | None


@dataclass(frozen=True)
class Alert:
    """The state of one rule on one subject.

    `episode` counts the times it opened. `breaches` and `clears` count windows in a row. `version`
    grows with every change, for optimistic locking. `last_reading` is the newest window of any
    kind, `last_judged` the newest one that was a breach or clear; `data_state` follows the former.
    `since` is when the present state began, `pending_since` the end of the episode's first
    breaching window and `clear_since` that of the first clear one since: times of the data.
    `noticed_at` is when it was found to fire, by the clock: group waits count from there. `excess`
    is how far beyond its threshold it was when it fired or last got much worse. `told` gives what
    each receiver was last told, by the receiver's name; who was told before `remind_at` is told
    again then.
    """

    fingerprint: str
    rule: str
    labels: Labels
    state: AlertState = AlertState.OK
    data_state: DataState = DataState.OK
    episode: int = 0
    since: datetime | None = None
    pending_since: datetime | None = None
    clear_since: datetime | None = None
    fired_at: datetime | None = None
    noticed_at: datetime | None = None
    resolved_at: datetime | None = None
    resolved_reason: ResolvedReason | None = None
    last_reading: Reading | None = None
    last_judged: Reading | None = None
    breaches: int = 0
    clears: int = 0
    version: int = 0
    acknowledged_by: str | None = None
    acknowledged_at: datetime | None = None
    resolved_by: str | None = None
    comment: str | None = None
    standing: Standing = Standing.NEW
    excess: float | None = None
    archive: Archive | None = None
    snoozed_until: datetime | None = None
    remind_at: datetime | None = None
    told: Mapping[str, Told] = field(default_factory=dict, hash=False)
    ends: Mapping[int, End] = field(default_factory=dict, hash=False)

    @property
    def is_open(self) -> bool:
        """Pending, firing or recovering."""
        return self.state is AlertState.PENDING or self.is_firing

    @property
    def is_firing(self) -> bool:
        """Firing, or recovering and not yet resolved: somebody should know of it."""
        return self.state in (AlertState.FIRING, AlertState.RECOVERING)

    @property
    def is_settled(self) -> bool:
        """Nobody is owed a word about it: it does not fire, and who knew of it knows its end."""
        if self.is_firing or any(each.event is not ToldEvent.ENDED for each in self.told.values()):
            return False
        if self.state is not AlertState.RESOLVED or self.fired_at is None:
            return True
        return any(each.episode == self.episode for each in self.told.values())

    @property
    def key(self) -> FindingKey:
        """The present episode."""
        return FindingKey(self.fingerprint, self.episode)


@dataclass(frozen=True)
class Transition:
    """A recorded change of an alert's state.

    `at` is a time of the data (the end of the window that caused it) or the moment a person acted;
    `recorded_at` is when it was noticed; `since` is the end of the first breaching window. Where
    only something beside the state changed, `from_state` and `to_state` are the same.
    """

    fingerprint: str
    rule: str
    episode: int
    from_state: AlertState
    to_state: AlertState
    reason: TransitionReason | ResolvedReason
    at: datetime
    recorded_at: datetime
    since: datetime | None
    reading: Reading | None
    by: str | None = None
    comment: str | None = None

    @property
    def key(self) -> FindingKey:
        """The episode this belongs to."""
        return FindingKey(self.fingerprint, self.episode)
