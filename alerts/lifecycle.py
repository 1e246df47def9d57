"""The life of an alert: ok → pending → firing → resolved, and round again.

Pure: alerts and readings in, changed alerts and transitions out. It must not know where either is
kept, nor who is told.

Promises:
- The same reading twice changes nothing, nor does one older than the newest judged window. How a
  time-ordered run of readings is cut into calls makes no difference.
- A window that could not be judged ends nothing and opens nothing; it only sets `data_state`. When
  such a window is measured later (late labels), it still counts, unless a newer one was judged.
- An alert that was resolved and breaches again opens a new episode.
- Subjects that never breached have no alert: silence about a subject is read from measurements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from alerts.config import AlertConfig
from alerts.errors import AlertNotOpen
from alerts.model import (
    Alert,
    AlertState,
    Reading,
    ResolvedReason,
    Transition,
    TransitionReason,
    require_utc,
)
from alerts.rules import Rule, Verdict, data_state_of, judge


@dataclass(frozen=True)
class StepResult:
    """The alerts that changed, by fingerprint, and the transitions in the order they happened."""

    alerts: Mapping[str, Alert]
    transitions: tuple[Transition, ...]


def step(
    config: AlertConfig, alerts: Mapping[str, Alert], readings: Iterable[Reading], now: datetime
) -> StepResult:
    """Judge readings by every rule that matches them, oldest window first.

    `alerts` holds the known alerts of the subjects concerned, by fingerprint, resolved ones
    included; `now` is only written into the transitions.
    """
    now = require_utc("now", now)
    changed: dict[str, Alert] = {}
    transitions: list[Transition] = []
    for reading in sorted(readings, key=lambda each: each.at):
        for rule in config.rules:
            if not rule.matches(reading.labels):
                continue
            fingerprint = reading.labels.fingerprint(rule.name)
            before = changed.get(fingerprint) or alerts.get(fingerprint)
            after = _take_in(rule, before, reading, fingerprint)
            if after is None or after is before:
                continue
            changed[fingerprint] = after
            transitions.extend(_transition_between(before, after, reading, now))
    return StepResult(changed, tuple(transitions))


def _take_in(rule: Rule, alert: Alert | None, reading: Reading, fingerprint: str) -> Alert | None:
    """The alert after this reading; the same object, or None, when nothing changed."""
    firing = alert is not None and alert.state is AlertState.FIRING
    verdict = judge(rule, reading, currently_firing=firing)
    if alert is None:
        if verdict is not Verdict.BREACH:
            return None
        alert = Alert(fingerprint=fingerprint, rule=rule.name, labels=reading.labels)
    if not _is_news(alert, reading, verdict):
        return alert
    if verdict is not Verdict.UNKNOWN:
        alert = _after_verdict(rule, alert, reading, verdict)
    if alert.last_reading is None or reading.at >= alert.last_reading.at:
        alert = replace(alert, last_reading=reading, data_state=data_state_of(rule, reading))
    return replace(alert, version=alert.version + 1)


def _is_news(alert: Alert, reading: Reading, verdict: Verdict) -> bool:
    """A judged window must be newer than the last judged one, another newer than any."""
    newest = alert.last_reading if verdict is Verdict.UNKNOWN else alert.last_judged
    return newest is None or reading.at > newest.at


def _after_verdict(rule: Rule, alert: Alert, reading: Reading, verdict: Verdict) -> Alert:
    alert = replace(alert, last_judged=reading)
    if verdict is Verdict.BREACH:
        return _after_breach(rule, alert, reading.at)
    return _after_clear(rule, alert, reading.at)


def _after_breach(rule: Rule, alert: Alert, at: datetime) -> Alert:
    if not alert.is_open:
        alert = _new_episode(alert, at)
    alert = replace(alert, breaches=alert.breaches + 1, clears=0)
    if alert.state is AlertState.PENDING and alert.breaches >= rule.hold:
        return replace(alert, state=AlertState.FIRING, since=at, fired_at=at)
    return alert


def _new_episode(alert: Alert, at: datetime) -> Alert:
    """Pending, with everything that belonged to the last episode forgotten."""
    return Alert(
        fingerprint=alert.fingerprint,
        rule=alert.rule,
        labels=alert.labels,
        state=AlertState.PENDING,
        data_state=alert.data_state,
        episode=alert.episode + 1,
        since=at,
        pending_since=at,
        last_reading=alert.last_reading,
        last_judged=alert.last_judged,
        version=alert.version,
    )


def _after_clear(rule: Rule, alert: Alert, at: datetime) -> Alert:
    alert = replace(alert, breaches=0, clears=alert.clears + 1)
    if alert.state is AlertState.PENDING:
        return replace(alert, state=AlertState.OK, since=at, pending_since=None)
    if alert.state is AlertState.FIRING and alert.clears >= rule.keep_firing_for:
        return _resolved(alert, ResolvedReason.RECOVERED, at)
    return alert


def _resolved(alert: Alert, reason: ResolvedReason, at: datetime) -> Alert:
    return replace(
        alert, state=AlertState.RESOLVED, since=at, resolved_at=at, resolved_reason=reason
    )


def _transition_between(
    before: Alert | None, after: Alert, reading: Reading, now: datetime
) -> tuple[Transition, ...]:
    """One transition when the state changed or an episode opened, none otherwise."""
    from_state = before.state if before is not None else AlertState.OK
    if from_state is after.state:
        return ()
    since = after.pending_since or (before.pending_since if before is not None else None)
    return (
        Transition(
            fingerprint=after.fingerprint,
            rule=after.rule,
            episode=after.episode,
            from_state=from_state,
            to_state=after.state,
            reason=_reason(after),
            at=reading.at,
            recorded_at=now,
            since=since,
            reading=reading,
        ),
    )


def _reason(after: Alert) -> TransitionReason | ResolvedReason:
    if after.state is AlertState.PENDING:
        return TransitionReason.BREACH_BEGAN
    if after.state is AlertState.FIRING:
        return TransitionReason.BREACH_HELD
    if after.state is AlertState.OK:
        return TransitionReason.BREACH_PASSED
    if after.resolved_reason is None:
        raise AssertionError("a resolved alert has a reason: _resolved is the only way there")
    return after.resolved_reason


def acknowledge(alert: Alert, by: str, at: datetime, comment: str = "") -> Alert:
    """Somebody took the alert on. It stays open; the acknowledgement ends with the episode.

    Raises AlertNotOpen unless the alert is pending or firing.
    """
    _require_open(alert, "acknowledged")
    at = require_utc("at", at)
    return replace(
        alert,
        acknowledged_by=by,
        acknowledged_at=at,
        comment=comment or None,
        version=alert.version + 1,
    )


def close(
    alert: Alert, reason: ResolvedReason, at: datetime, *, by: str | None = None, comment: str = ""
) -> tuple[Alert, Transition]:
    """End the episode for a reason other than a measurement: by hand, superseded, ….

    The next breaching window opens a new one. Raises AlertNotOpen unless the alert is pending or
    firing.
    """
    _require_open(alert, "closed")
    at = require_utc("at", at)
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
        recorded_at=at,
        since=alert.pending_since,
        reading=alert.last_judged,
    )
    return after, transition


def close_without_rule(
    config: AlertConfig, alerts: Mapping[str, Alert], now: datetime
) -> StepResult:
    """Close, as no longer evaluated, the open alerts whose rule the configuration lost."""
    known = {rule.name for rule in config.rules}
    closed: dict[str, Alert] = {}
    transitions: list[Transition] = []
    for fingerprint, alert in alerts.items():
        if alert.is_open and alert.rule not in known:
            after, transition = close(alert, ResolvedReason.NO_LONGER_EVALUATED, now)
            closed[fingerprint] = after
            transitions.append(transition)
    return StepResult(closed, tuple(transitions))


def _require_open(alert: Alert, verb: str) -> None:
    if not alert.is_open:
        raise AlertNotOpen(
            f"alert {alert.key.finding_id} of rule {alert.rule} is {alert.state}; "
            f"only a pending or firing alert can be {verb}"
        )
