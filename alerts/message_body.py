"""The JSON body of a message: what programs read, under 20 kB.

Alerts at the end of a group's list are left out and counted when the body would grow too large.
Every text that came with the data is cleaned and capped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from alerts.groups import Change, Entry, Group
from alerts.model import Reading, Severity
from alerts.rules import Bounds, Rule
from alerts.summaries import WORDING, alert_link, reading_of, summary_of
from alerts.text import clean, moment_text

MAXIMUM_BODY_BYTES = 20_000
MAXIMUM_LISTED = 50
_ADDRESS_LIMIT = 500

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True)
class Limits:
    """How much of each alert is told: characters of a text, labels and pieces of evidence."""

    text: int
    labels: int
    evidence: int


_GENEROUS = Limits(text=300, labels=20, evidence=20)
_TIGHT = Limits(text=60, labels=12, evidence=0)


@dataclass(frozen=True)
class Cover:
    """What stands over the list of alerts."""

    group: Group
    severity: Severity
    title: str
    dashboard_url: str
    now: datetime


def encode_body(body: Mapping[str, Json]) -> bytes:
    """The body as bytes: compact JSON in UTF-8, the keys sorted, so that equal bodies are equal."""
    text = json.dumps(
        body, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )
    return text.encode("utf-8")


def fitting_body(cover: Cover) -> dict[str, Json]:
    """As many alerts as fit, the newest kept longest; at the least one, told tightly."""
    shown = min(len(cover.group.entries), MAXIMUM_LISTED)
    while shown > 1:
        body = _body(cover, shown, _GENEROUS)
        if len(encode_body(body)) < MAXIMUM_BODY_BYTES:
            return body
        shown = shown * 3 // 4
    for limits in (_GENEROUS, _TIGHT):
        body = _body(cover, 1, limits)
        if len(encode_body(body)) < MAXIMUM_BODY_BYTES:
            return body
    raise AssertionError("one alert told tightly fits: every text in it is capped")


def _body(cover: Cover, shown: int, limits: Limits) -> dict[str, Json]:
    group, key = cover.group, cover.group.key
    return {
        "type": group.event.value,
        "timestamp": moment_text(cover.now),
        "data": {
            "title": cover.title,
            "group": clean(key.text, limits.text),
            "project": clean(key.project, limits.text),
            "model": clean(key.get("model"), limits.text),
            "owner": clean(_joined(entry.rule.owner for entry in group.entries), limits.text),
            "receiver": clean(key.receiver, limits.text),
            "severity": cover.severity.value,
            "response": _joined(entry.rule.response.value for entry in group.entries),
            "counts": {
                "in_group": len(group.entries),
                "new": len(group.new),
                "shown": shown,
                "not_shown": len(group.entries) - shown,
            },
            "links": {"dashboard": clean(cover.dashboard_url, _ADDRESS_LIMIT)},
            "alerts": [
                _alert_body(entry, cover.dashboard_url, limits) for entry in group.entries[:shown]
            ],
        },
    }


def _alert_body(entry: Entry, dashboard_url: str, limits: Limits) -> Json:
    alert, rule = entry.alert, entry.rule
    reading = reading_of(entry)
    ended = entry.change is Change.ENDED
    link = alert_link(dashboard_url, alert.fingerprint)
    about = rule.about
    return {
        "finding_id": entry.key.finding_id,
        "fingerprint": alert.fingerprint,
        "episode": entry.key.episode,
        "state": "resolved" if ended else "firing",
        "new": entry.change is not Change.NONE,
        "change": entry.change.value,
        "reason": alert.resolved_reason.value if ended and alert.resolved_reason else None,
        "rule": clean(rule.name, limits.text),
        "severity": rule.severity.value,
        "summary": clean(summary_of(rule, alert.labels, reading), limits.text),
        "labels": {
            name: clean(value, limits.text) for name, value in alert.labels.pairs[: limits.labels]
        },
        "about": {"subject": about.value, "meaning": WORDING[about]} if about else None,
        "threshold": _threshold_body(rule),
        "measurement": _reading_body(reading, limits) if reading is not None else None,
        "since": moment_text(alert.pending_since) if alert.pending_since is not None else None,
        "owner": clean(rule.owner, limits.text),
        "response": _response_body(rule, limits),
        "acknowledged_by": _clean_or_none(alert.acknowledged_by, limits),
        "links": {"alert": clean(link, _ADDRESS_LIMIT)},
    }


def _response_body(rule: Rule, limits: Limits) -> Json:
    return {
        "action": rule.response.value,
        "runbook": _clean_or_none(rule.runbook, limits),
        "impact": _clean_or_none(rule.impact, limits),
        "precondition": _clean_or_none(rule.precondition, limits),
        "limit": _clean_or_none(rule.limit, limits),
    }


def _threshold_body(rule: Rule) -> Json:
    condition = rule.condition
    if not isinstance(condition, Bounds):
        return {"text": condition.describe(), "compared": "state"}
    return {
        "text": condition.describe(),
        "compared": rule.value.value,
        "below": condition.lower,
        "above": condition.upper,
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


def _clean_or_none(text: str | None, limits: Limits) -> str | None:
    return None if text is None else clean(text, limits.text)


def _joined(names: Iterable[str]) -> str:
    return " or ".join(sorted(set(names)))
