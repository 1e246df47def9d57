"""One alert as programs read it: every fact of its message under a fixed name.

The same keys are always there; what is not known is null. Texts that came with the data are cleaned
and capped. Labels and names are capped alike in every message, so that whoever identifies an alert
by them meets the same alert again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from alerts.context import AlertContext, TrafficShare
from alerts.groups import Change, Entry
from alerts.model import Alert, Reading
from alerts.rules import Bounds, Rule
from alerts.summaries import WORDING, alert_link, reading_of, summary_of
from alerts.text import clean, moment_text

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]

NAME_LIMIT = 100
LABEL_LIMIT = 80
ADDRESS_LIMIT = 500
MAXIMUM_LABELS = 16


@dataclass(frozen=True)
class Limits:
    """How much of an alert is told: characters of a text, pieces of evidence, changed tags."""

    text: int
    evidence: int
    changed: int


GENEROUS = Limits(text=300, evidence=20, changed=10)
BRIEF = Limits(text=120, evidence=3, changed=3)
TIGHT = Limits(text=60, evidence=0, changed=0)


def alert_body(entry: Entry, dashboard_url: str, limits: Limits) -> dict[str, Json]:
    """The facts of one alert; times in ISO 8601 with Z, numbers as they were measured."""
    alert, rule, known = entry.alert, entry.rule, entry.context
    reading = reading_of(entry)
    ended = entry.change is Change.ENDED
    return {
        "finding_id": entry.key.finding_id,
        "fingerprint": alert.fingerprint,
        "episode": entry.key.episode,
        "state": "resolved" if ended else "firing",
        "new": entry.change is not Change.NONE,
        "change": entry.change.value,
        "reason": alert.resolved_reason.value if ended and alert.resolved_reason else None,
        "standing": alert.standing.value,
        "data_state": alert.data_state.value,
        "rule": clean(rule.name, NAME_LIMIT),
        "severity": rule.severity.value,
        "owner": clean(rule.owner, NAME_LIMIT),
        "summary": clean(summary_of(rule, alert.labels, reading), limits.text),
        "labels": capped_labels(alert.labels),
        "about": _about_body(rule),
        "threshold": _threshold_body(rule, limits),
        "measurement": _reading_body(reading, limits) if reading is not None else None,
        "response": _response_body(rule, known, limits),
        "acknowledged_by": _text(alert.acknowledged_by, limits),
        **_times(alert, known, ended=ended),
        **_context_body(known, limits),
        "links": {
            "alert": _address(alert_link(dashboard_url, alert.fingerprint)),
            "acknowledge": _address(known.acknowledge_link),
            "silence": _address(known.silence_link),
            "evidence": _address(known.evidence_link),
            "expires": _moment(known.links_until),
        },
    }


def capped_labels(labels: Mapping[str, str]) -> dict[str, Json]:
    """The first labels by name, in every message the same."""
    shown = sorted(labels.items())[:MAXIMUM_LABELS]
    return {name: clean(value, LABEL_LIMIT) for name, value in shown}


def _about_body(rule: Rule) -> Json:
    return {"subject": rule.about.value, "meaning": WORDING[rule.about]} if rule.about else None


def _times(alert: Alert, known: AlertContext, *, ended: bool) -> dict[str, Json]:
    return {
        "since": _moment(alert.pending_since),
        "fired_at": _moment(alert.fired_at),
        "noticed_at": _moment(alert.noticed_at),
        "resolved_at": _moment(alert.resolved_at) if ended else None,
        "data_until": _moment(known.data_until),
    }


def _context_body(known: AlertContext, limits: Limits) -> dict[str, Json]:
    return {
        "baseline": _text(known.baseline, limits),
        "fired_30_days": known.fired,
        "changed": [
            {
                "tag": clean(each.tag, limits.text),
                "before": _text(each.before, limits),
                "after": _text(each.after, limits),
                "deployment": clean(each.deployment, limits.text),
                "at": moment_text(each.at),
            }
            for each in known.changed[: limits.changed]
        ],
        "traffic": _traffic_body(known.traffic),
        "quality": _text(known.quality, limits),
        "automatic": _text(known.action, limits),
        "server": [clean(each, limits.text) for each in known.server[: limits.changed]],
        "look_at": [clean(each, limits.text) for each in known.look_at[: limits.changed]],
    }


def _traffic_body(traffic: TrafficShare | None) -> Json:
    if traffic is None:
        return None
    share = round(traffic.share, 4)
    return {"share": share, "requests": traffic.requests, "of": traffic.total}


def _response_body(rule: Rule, known: AlertContext, limits: Limits) -> Json:
    return {
        "action": rule.response.value,
        "name": _text(rule.response_name, limits),
        "command": _text(known.command or rule.command, limits),
        "runbook": _text(rule.runbook, limits),
        "impact": _text(rule.impact, limits),
        "precondition": _text(rule.precondition, limits),
        "limit": _text(rule.limit, limits),
    }


def _threshold_body(rule: Rule, limits: Limits) -> Json:
    condition = rule.condition
    bounds = condition if isinstance(condition, Bounds) else None
    return {
        "text": clean(condition.describe(), limits.text),
        "compared": rule.value.value if bounds is not None else None,
        "below": bounds.lower if bounds is not None else None,
        "above": bounds.upper if bounds is not None else None,
        "windows": rule.hold,
    }


def _reading_body(reading: Reading, limits: Limits) -> Json:
    evidence: dict[str, Json] = {}
    for name, value in list(reading.evidence.items())[: limits.evidence]:
        evidence[clean(name, limits.text)] = (
            clean(value, limits.text) if isinstance(value, str) else value
        )
    return {
        "state": reading.state.value,
        "value": reading.value,
        "low": reading.low,
        "high": reading.high,
        "unit": clean(reading.unit, limits.text),
        "n": reading.n,
        "text": clean(reading.text, limits.text),
        "window": {"start": moment_text(reading.window_start), "end": moment_text(reading.at)},
        "evidence": evidence,
    }


def _text(text: str | None, limits: Limits) -> str | None:
    return None if text is None else clean(text, limits.text)


def _address(address: str | None) -> str | None:
    """A link as it is, or none: half a link leads nowhere."""
    if address is None or len(address) > ADDRESS_LIMIT:
        return None
    return clean(address, ADDRESS_LIMIT)


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment_text(moment)
