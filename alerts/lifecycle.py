"""The life of an alert: ok → pending → firing → recovering → resolved, and round again.

Pure: alerts and readings in, changed alerts and transitions out. It must not know where either is
kept, nor who is told. What people do to alerts is in `alerts.deeds`.

Promises:
- The same reading twice changes nothing, nor does one older than the newest judged window. How a
  time-ordered run of readings is cut into calls makes no difference, composites apart: these are
  judged after the readings of one call that end together.
- A window that could not be judged ends nothing and opens nothing; it only sets `data_state`. When
  such a window is measured later (late labels), it still counts, unless a newer one was judged.
- An alert that was resolved and breaches again opens a new episode.
- Subjects that never breached have no alert: silence about a subject is read from measurements.
- Every change of the state of an open alert, of its data or of its standing is a transition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby

from alerts.conditions.composite import Composite
from alerts.config import AlertConfig
from alerts.history import NO_HISTORY, History, Seen
from alerts.judging import composite_readings, reading_for, redated
from alerts.model import (
    Alert,
    AlertState,
    DataState,
    End,
    Reading,
    ResolvedReason,
    Standing,
    ToldEvent,
    Transition,
    TransitionReason,
    require_utc,
)
from alerts.rules import Rule, Verdict, data_state_of, excess_of, judge
from alerts.supersession import Neighbours
from alerts.transitions import transitions_between

REGRESSED_WITHIN = timedelta(days=14)
"""An alert that fires again so soon after it was resolved is one that came back."""

LATE_WINDOWS, LATE_AT_LEAST = 3, timedelta(hours=1)
"""Without a rule's own word, data is late when so many windows' time passed without a new one."""


@dataclass(frozen=True)
class StepResult:
    """The alerts that changed, by fingerprint, and the transitions in the order they happened."""

    alerts: Mapping[str, Alert]
    transitions: tuple[Transition, ...]


def step(
    config: AlertConfig,
    alerts: Mapping[str, Alert],
    readings: Iterable[Reading],
    now: datetime,
    *,
    history: History = NO_HISTORY,
    judging: Collection[str] | None = None,
) -> StepResult:
    """Judge readings by every rule that matches them, oldest window first.

    `alerts` holds the known alerts of the subjects concerned, by fingerprint, resolved ones
    included; `now` is only written into the transitions and as `noticed_at`. `history` knows the
    readings before these, for burn rates. `judging` names the rules that look at these readings,
    all by default; composites are judged after the windows that end together.
    """
    work = _Step(config, alerts, require_utc("now", now), Seen(history))
    rules = [each for each in config.rules if judging is None or each.name in judging]
    # Rules that supersede others first: what they take over does not open for a moment.
    rules.sort(key=lambda rule: not rule.supersedes)
    ordered = sorted(readings, key=lambda each: each.at)
    for _, together in groupby(ordered, key=lambda each: each.at):
        work.judge_together(rules, list(together))
    return StepResult(work.changed, tuple(work.transitions))


class _Step:
    """The work of one `step`: the alerts as they were and as they became."""

    def __init__(
        self, config: AlertConfig, alerts: Mapping[str, Alert], now: datetime, seen: Seen
    ) -> None:
        self.changed: dict[str, Alert] = {}
        self.transitions: list[Transition] = []
        self._alerts, self._now, self._seen = alerts, now, seen
        self._composites = [each for each in config.rules if isinstance(each.condition, Composite)]
        self._neighbours = Neighbours(config, alerts)

    def judge_together(self, rules: Sequence[Rule], readings: Sequence[Reading]) -> None:
        """Judge readings of one end of window, then the composites they are parts of."""
        matched: dict[str, list[Reading]] = {}
        for reading in readings:
            self._seen.add(reading)
            for rule in rules:
                if rule.matches(reading.labels):
                    matched.setdefault(rule.name, []).append(reading)
                    self._take(rule, reading_for(rule, reading, self._seen))
        for rule in self._composites:
            for reading in composite_readings(rule, matched, self._neighbours):
                self._take(rule, reading)

    def _take(self, rule: Rule, reading: Reading) -> None:
        fingerprint = reading.labels.fingerprint(rule.name)
        before = self.changed.get(fingerprint) or self._alerts.get(fingerprint)
        if isinstance(rule.condition, Composite):
            reading = redated(before, reading)
        after = _take_in(rule, before, reading, fingerprint, self._neighbours)
        if after is None or after is before:
            return
        if after.is_firing and not (before is not None and before.is_firing):
            after = replace(after, noticed_at=self._now)
        self._put(after)
        self.transitions.extend(transitions_between(before, after, reading, self._now))
        for other in self._neighbours.below(rule, after):
            ended, closing = end(
                other, ResolvedReason.SUPERSEDED, reading.at, recorded_at=self._now
            )
            self._put(ended)
            self.transitions.append(closing)

    def _put(self, alert: Alert) -> None:
        self.changed[alert.fingerprint] = alert
        self._neighbours.note(alert)


def _take_in(
    rule: Rule, alert: Alert | None, reading: Reading, fingerprint: str, neighbours: Neighbours
) -> Alert | None:
    """The alert after this reading; the same object, or None, when nothing changed."""
    firing = alert is not None and alert.is_firing
    verdict = judge(rule, reading, currently_firing=firing)
    opens = verdict is Verdict.BREACH and not (alert is not None and alert.is_open)
    if opens and neighbours.overtaken(rule, reading.labels):
        return alert
    if alert is None:
        if verdict is not Verdict.BREACH:
            return None
        alert = Alert(fingerprint=fingerprint, rule=rule.name, labels=reading.labels)
    if not _is_news(rule, alert, reading, verdict):
        return alert
    if verdict is not Verdict.UNKNOWN:
        alert = _after_verdict(rule, alert, reading, verdict)
    if alert.last_reading is None or reading.at >= alert.last_reading.at:
        alert = replace(alert, last_reading=reading, data_state=data_state_of(rule, reading))
    return replace(alert, version=alert.version + 1)


def _is_news(rule: Rule, alert: Alert, reading: Reading, verdict: Verdict) -> bool:
    """A judged window must be newer than the last judged one, another newer than any.

    A composite may change its mind about a moment: not all of its parts are judged at once.
    """
    newest = alert.last_reading if verdict is Verdict.UNKNOWN else alert.last_judged
    if newest is None or reading.at > newest.at:
        return True
    if not isinstance(rule.condition, Composite):
        return False
    return reading.at == newest.at and reading.value != newest.value


def _after_verdict(rule: Rule, alert: Alert, reading: Reading, verdict: Verdict) -> Alert:
    alert = replace(alert, last_judged=reading)
    if verdict is Verdict.BREACH:
        return _after_breach(rule, alert, reading)
    return _after_clear(rule, alert, reading.at)


def _after_breach(rule: Rule, alert: Alert, reading: Reading) -> Alert:
    at = reading.at
    if not alert.is_open:
        alert = _new_episode(alert, at)
    alert = replace(alert, breaches=alert.breaches + 1, clears=0, clear_since=None)
    if alert.state is AlertState.PENDING:
        held = at - (alert.pending_since or at) >= rule.hold_time
        return _fired(rule, alert, reading) if held and alert.breaches >= rule.hold else alert
    if alert.state is AlertState.RECOVERING:
        alert = replace(alert, state=AlertState.FIRING, since=at)
    return _maybe_worse(rule, alert, reading)


def _new_episode(alert: Alert, at: datetime) -> Alert:
    """Pending, with everything that belonged to the last episode forgotten.

    Kept are its end (an alert that comes back soon has regressed), what receivers were told, and
    the wish not to hear of it.
    """
    return Alert(
        fingerprint=alert.fingerprint,
        rule=alert.rule,
        labels=alert.labels,
        state=AlertState.PENDING,
        data_state=alert.data_state,
        episode=alert.episode + 1,
        since=at,
        pending_since=at,
        resolved_at=alert.resolved_at,
        last_reading=alert.last_reading,
        last_judged=alert.last_judged,
        version=alert.version,
        archive=alert.archive,
        told=alert.told,
        ends=_untold_ends(alert),
    )


def _untold_ends(alert: Alert) -> dict[int, End]:
    """The ends of episodes that a receiver knows of as open."""
    ends = dict(alert.ends)
    if alert.state is AlertState.RESOLVED and alert.resolved_reason and alert.resolved_at:
        ends[alert.episode] = End(alert.resolved_reason, alert.resolved_at)
    known = {each.episode for each in alert.told.values() if each.event is not ToldEvent.ENDED}
    return {episode: each for episode, each in ends.items() if episode in known}


def _fired(rule: Rule, alert: Alert, reading: Reading) -> Alert:
    ended = alert.resolved_at
    soon = ended is not None and reading.at - ended <= REGRESSED_WITHIN
    fired = replace(
        alert,
        state=AlertState.FIRING,
        since=reading.at,
        fired_at=reading.at,
        resolved_at=None,
        excess=excess_of(rule, reading),
        standing=Standing.REGRESSED if soon else Standing.NEW,
    )
    if fired.archive is None:
        return fired
    return _maybe_worse(rule, replace(fired, standing=Standing.ARCHIVED), reading)


def _maybe_worse(rule: Rule, alert: Alert, reading: Reading) -> Alert:
    """Escalating, and archived no more, when it is much worse than what people know of."""
    excess = excess_of(rule, reading)
    known = alert.archive.excess if alert.archive is not None else alert.excess
    if excess is None or known is None or known <= 0 or excess < rule.worse_factor * known:
        return alert
    return replace(alert, standing=Standing.ESCALATING, excess=excess, archive=None)


def _after_clear(rule: Rule, alert: Alert, at: datetime) -> Alert:
    since = alert.clear_since or at
    alert = replace(alert, breaches=0, clears=alert.clears + 1, clear_since=since)
    if alert.state is AlertState.PENDING:
        return replace(alert, state=AlertState.OK, since=at, pending_since=None)
    if not alert.is_firing:
        return alert
    if alert.clears >= rule.keep_firing_for and at - since >= rule.keep_firing_time:
        return _resolved(alert, ResolvedReason.RECOVERED, at)
    if alert.state is AlertState.FIRING:
        return replace(alert, state=AlertState.RECOVERING, since=at)
    return alert


def _resolved(alert: Alert, reason: ResolvedReason, at: datetime) -> Alert:
    return replace(
        alert,
        state=AlertState.RESOLVED,
        since=at,
        resolved_at=at,
        resolved_reason=reason,
        snoozed_until=None,
    )


def mark_late(config: AlertConfig, alerts: Mapping[str, Alert], now: datetime) -> StepResult:
    """Say of open alerts that their next window is overdue. It ends nothing."""
    now = require_utc("now", now)
    changed: dict[str, Alert] = {}
    transitions: list[Transition] = []
    for fingerprint, alert in alerts.items():
        rule = config.rule(alert.rule)
        if rule is None or not alert.is_open or alert.data_state is DataState.LATE:
            continue
        last = alert.last_reading
        if last is None or now - last.at <= late_after(rule, last):
            continue
        after = replace(alert, data_state=DataState.LATE, version=alert.version + 1)
        changed[fingerprint] = after
        transitions.append(beside(after, TransitionReason.LATE, now))
    return StepResult(changed, tuple(transitions))


def late_after(rule: Rule, last: Reading) -> timedelta:
    """How long after the end of its newest window an alert waits for the next one."""
    if rule.late_after is not None:
        return rule.late_after
    return max(LATE_WINDOWS * (last.at - last.window_start), LATE_AT_LEAST)


def beside(
    alert: Alert, reason: TransitionReason, now: datetime, *, by: str | None = None,
    comment: str | None = None,
) -> Transition:  # fmt: skip
    """A transition that leaves the state as it is."""
    return Transition(
        fingerprint=alert.fingerprint,
        rule=alert.rule,
        episode=alert.episode,
        from_state=alert.state,
        to_state=alert.state,
        reason=reason,
        at=now,
        recorded_at=now,
        since=alert.pending_since,
        reading=None,
        by=by,
        comment=comment,
    )


def end(
    alert: Alert,
    reason: ResolvedReason,
    at: datetime,
    *,
    recorded_at: datetime,
    by: str | None = None,
    comment: str = "",
) -> tuple[Alert, Transition]:
    """End an open episode; the next breaching window opens a new one."""
    after = replace(
        _resolved(alert, reason, at),
        resolved_by=by,
        comment=comment or alert.comment,
        version=alert.version + 1,
    )
    transition = Transition(
        fingerprint=alert.fingerprint,
        rule=alert.rule,
        episode=alert.episode,
        from_state=alert.state,
        to_state=AlertState.RESOLVED,
        reason=reason,
        at=at,
        recorded_at=recorded_at,
        since=alert.pending_since,
        reading=alert.last_judged,
        by=by,
        comment=comment or None,
    )
    return after, transition


def close_without_rule(
    config: AlertConfig, alerts: Mapping[str, Alert], now: datetime
) -> StepResult:
    """Close, as no longer evaluated, the open alerts whose rule the configuration lost."""
    known = {rule.name for rule in config.rules}
    lost = {each.fingerprint: each for each in alerts.values() if each.rule not in known}
    return close_all(lost, ResolvedReason.NO_LONGER_EVALUATED, now)


def close_all(
    alerts: Mapping[str, Alert],
    reason: ResolvedReason,
    now: datetime,
    *,
    by: str | None = None,
    comment: str = "",
) -> StepResult:
    """End all open ones of these alerts for one reason, such as a model that was retired."""
    now = require_utc("now", now)
    ended = [
        end(each, reason, now, recorded_at=now, by=by, comment=comment)
        for each in alerts.values()
        if each.is_open
    ]
    return StepResult({one.fingerprint: one for one, _ in ended}, tuple(t for _, t in ended))
