"""What people do to alerts: take on, snooze, archive until worse, close.

Pure. Each gives the alert as it is afterwards and the transition that records the deed. A deed on
an alert that is over raises AlertNotOpen.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from alerts.errors import AlertNotOpen
from alerts.lifecycle import beside, end
from alerts.model import (
    Alert,
    Archive,
    ResolvedReason,
    Standing,
    Transition,
    TransitionReason,
    require_utc,
)

Deed = tuple[Alert, Transition]


def acknowledge(alert: Alert, by: str, at: datetime, comment: str = "") -> Deed:
    """Somebody took the alert on. It stays open; escalation stops until the episode ends."""
    _require_open(alert, "acknowledged")
    at = require_utc("at", at)
    known = alert.standing if alert.standing is Standing.ARCHIVED else Standing.ONGOING
    after = replace(
        alert,
        acknowledged_by=by,
        acknowledged_at=at,
        comment=comment or alert.comment,
        standing=known,
        version=alert.version + 1,
    )
    return after, beside(after, TransitionReason.ACKNOWLEDGED, at, by=by, comment=comment or None)


def snooze(alert: Alert, until: datetime, by: str, at: datetime, comment: str = "") -> Deed:
    """Nothing is told of the alert until then, except its end; what is due is told afterwards.

    Raises ValueError unless `until` lies after `at`.
    """
    _require_open(alert, "snoozed")
    at, until = require_utc("at", at), require_utc("until", until)
    if until <= at:
        raise ValueError(f"a snooze must end after it begins, got {until.isoformat()}")
    after = replace(alert, snoozed_until=until, version=alert.version + 1)
    said = f"until {until.isoformat()}" + (f": {comment}" if comment else "")
    return after, beside(after, TransitionReason.SNOOZED, at, by=by, comment=said)


def archive(alert: Alert, by: str, at: datetime, comment: str = "") -> Deed:
    """Nothing is told of the alert, nor of its next episodes, until it is much worse than now."""
    _require_open(alert, "archived")
    at = require_utc("at", at)
    after = replace(
        alert,
        archive=Archive(by, at, alert.excess),
        standing=Standing.ARCHIVED,
        version=alert.version + 1,
    )
    return after, beside(after, TransitionReason.ARCHIVED, at, by=by, comment=comment or None)


def unarchive(alert: Alert, by: str, at: datetime, comment: str = "") -> Deed:
    """The alert is told of again. It may be over: its next episode is meant then."""
    at = require_utc("at", at)
    if alert.archive is None:
        raise AlertNotOpen(f"alert {alert.key.finding_id} is not archived")
    standing = Standing.ONGOING if alert.acknowledged_by else Standing.NEW
    after = replace(alert, archive=None, standing=standing, version=alert.version + 1)
    return after, beside(after, TransitionReason.UNARCHIVED, at, by=by, comment=comment or None)


def response_expired(alert: Alert, at: datetime) -> Deed:
    """An automatic action has run out while the alert still fires: who knows of it is told so."""
    _require_open(alert, "reminded of")
    at = require_utc("at", at)
    after = replace(alert, remind_at=at, version=alert.version + 1)
    return after, beside(after, TransitionReason.RESPONSE_EXPIRED, at)


def close(
    alert: Alert, reason: ResolvedReason, at: datetime, *, by: str | None = None, comment: str = ""
) -> Deed:
    """End the episode for a reason other than a measurement: by hand, a false alarm, ….

    The next breaching window opens a new one.
    """
    _require_open(alert, "closed")
    at = require_utc("at", at)
    return end(alert, reason, at, recorded_at=at, by=by, comment=comment)


def _require_open(alert: Alert, verb: str) -> None:
    if not alert.is_open:
        raise AlertNotOpen(
            f"alert {alert.key.finding_id} of rule {alert.rule} is {alert.state}; "
            f"only a pending, firing or recovering alert can be {verb}"
        )
