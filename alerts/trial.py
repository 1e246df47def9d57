"""What rules would have done: readings of the past through lifecycle and plan. Pure.

Nothing is stored and nobody is told. It begins as if no alert had ever been open, and knows neither
silences nor what people did then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from alerts.config import AlertConfig
from alerts.groups import Change, Group
from alerts.history import NO_HISTORY, Seen
from alerts.judging import reading_for
from alerts.lifecycle import step
from alerts.model import Alert, Reading, Transition
from alerts.notify.plan import Known, plan
from alerts.rules import Verdict, judge
from alerts.summaries import summary_of

MOST_PLANS = 5_000
"""Reminders of an alert that stays open for months are not worth more work than this."""


@dataclass(frozen=True)
class Batch:
    """Readings that become known together, when, and by which rules alone they are judged."""

    at: datetime
    readings: tuple[Reading, ...]
    judging: frozenset[str] | None = None


@dataclass(frozen=True)
class TrialMessage:
    """A message that would have been owed: when, to whom, and what is new in it."""

    at: datetime
    receiver: str
    event: str
    sentences: tuple[str, ...]


@dataclass
class Trial:
    """What happened. `verdicts` counts the readings of the rules tried; `is_cut` says that
    messages were counted no further.
    """

    transitions: list[Transition] = field(default_factory=list)
    messages: list[TrialMessage] = field(default_factory=list)
    alerts: dict[str, Alert] = field(default_factory=dict)
    verdicts: dict[Verdict, int] = field(default_factory=lambda: dict.fromkeys(Verdict, 0))
    is_cut: bool = False


def try_rules(
    config: AlertConfig,
    batches: Iterable[Batch],
    until: datetime,
    past: Iterable[Reading] = (),
) -> Trial:
    """Judge the batches in order and plan what would be owed up to `until`.

    `config` holds the rules to try. `past` are readings before the first batch, for burn rates.
    """
    work = _Work(config, past)
    for batch in batches:
        work.take(batch)
    work.plan_until(until)
    return work.found


class _Work:
    """The alerts as they become, and what receivers would know of them."""

    def __init__(self, config: AlertConfig, past: Iterable[Reading]) -> None:
        self.found = Trial()
        self._config = config
        self._rules = {rule.name: rule for rule in config.rules}
        self._seen = Seen(NO_HISTORY)
        self._settled: set[str] = set()
        self._next: datetime | None = None
        self._plans = 0
        for reading in past:
            self._seen.add(reading)

    def take(self, batch: Batch) -> None:
        """Judge what became known, then plan."""
        self.plan_until(batch.at)
        for reading in batch.readings:
            self._count(reading, batch.judging)
        found = self.found
        result = step(
            self._config, found.alerts, batch.readings, batch.at,
            history=self._seen, judging=batch.judging,
        )  # fmt: skip
        found.alerts |= result.alerts
        found.transitions += result.transitions
        self._settled -= result.alerts.keys()
        for reading in batch.readings:
            self._seen.add(reading)
        if result.alerts:
            self._plan(batch.at)

    def _count(self, reading: Reading, judging: frozenset[str] | None) -> None:
        for rule in self._config.rules:
            if rule.matches(reading.labels) and (judging is None or rule.name in judging):
                judged = reading_for(rule, reading, self._seen)
                self.found.verdicts[judge(rule, judged, currently_firing=False)] += 1

    def plan_until(self, moment: datetime) -> None:
        """Do the plans that are due by then: messages that waited, reminders, next steps."""
        while self._next is not None and self._next <= moment:
            self._plan(self._next)

    def _plan(self, now: datetime) -> None:
        if self._plans >= MOST_PLANS:
            self.found.is_cut, self._next = True, None
            return
        self._plans += 1
        alerts = self.found.alerts
        unsettled = [
            Known(alert, self._rules[alert.rule])
            for fingerprint, alert in alerts.items()
            if fingerprint not in self._settled and not alert.is_settled
        ]
        made = plan(self._config, unsettled, (), now)
        for fingerprint, told in made.told.items():
            alerts[fingerprint] = replace(alerts[fingerprint], told=told)
        self._settled |= made.settled
        self.found.messages += [_message(each, now) for each in made.groups]
        self._next = made.next_at


def _message(group: Group, now: datetime) -> TrialMessage:
    sentences = (
        summary_of(each.rule, each.alert.labels, each.alert.last_judged)
        for each in group.entries
        if each.change is not Change.NONE
    )
    return TrialMessage(now, group.key.receiver, group.event.value, tuple(sentences))
