"""Groups of alerts as messages: a title, lines for people and a JSON body for programs.

No channel's format is known here. What programs read is built by `alerts.message_body`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from alerts.groups import Change, Entry, EventType, Group
from alerts.message_body import MAXIMUM_LISTED, Cover, Json, fitting_body
from alerts.model import FindingKey, Reading, Severity, require_utc
from alerts.summaries import WORDING, alert_link, reading_of, summary_of
from alerts.text import clean, moment_text, words

_TITLE_LIMIT = 200
_LINE_LIMIT = 500


@dataclass(frozen=True)
class Message:
    """What one receiver is told. `new` are the findings of which it tells something new.

    `group` names the group: its messages follow each other, an end never overtakes its beginning.
    """

    event: EventType
    receiver: str
    severity: Severity
    title: str
    lines: tuple[str, ...]
    body: Mapping[str, Json]
    new: tuple[FindingKey, ...]
    group: str = ""
    drill: bool = False


def render(group: Group, dashboard_url: str, now: datetime) -> Message:
    """The message of a group. `dashboard_url` is the address that links begin with."""
    address = dashboard_url.rstrip("/")
    severity = min((entry.rule.severity for entry in group.entries), key=lambda each: each.rank)
    title = _title(group, severity)
    cover = Cover(group, severity, title, address, require_utc("now", now))
    return Message(
        event=group.event,
        receiver=group.key.receiver,
        severity=severity,
        title=title,
        lines=_lines(group, address),
        body=fitting_body(cover),
        new=group.new,
        group=group.key.text,
        drill=group.drill,
    )


def _title(group: Group, severity: Severity) -> str:
    told = [entry for entry in group.entries if entry.change is not Change.NONE]
    what = told[0].rule.name if len(told) == 1 else f"{len(told)} alerts"
    model = group.key.get("model") or group.key.project or "inferwatch"
    if group.event is EventType.RESOLVED:
        return clean(f"[{severity}] {model}: {what} resolved", _TITLE_LIMIT)
    due = words(" or ".join(sorted({entry.rule.response for entry in group.entries})))
    return clean(f"[{severity}] {model}: {what} opened; response: {due}", _TITLE_LIMIT)


def _lines(group: Group, dashboard_url: str) -> tuple[str, ...]:
    lines: list[str] = []
    for entry in group.entries[:MAXIMUM_LISTED]:
        lines.extend(_lines_of(entry, dashboard_url))
    hidden = len(group.entries) - MAXIMUM_LISTED
    if hidden > 0:
        lines.append(f"{hidden} more alerts of this group are not listed: {dashboard_url}")
    return tuple(clean(line, _LINE_LIMIT) for line in lines)


def _lines_of(entry: Entry, dashboard_url: str) -> list[str]:
    rule, reading = entry.rule, reading_of(entry)
    lines = [f"{_standing(entry)}: {summary_of(rule, entry.alert.labels, reading)}"]
    if reading is not None:
        lines.append(_numbers_line(reading))
    if rule.about is not None:
        lines.append(WORDING[rule.about])
    lines.append(f"Response: {words(rule.response)}, owner {rule.owner}")
    named = (
        ("Runbook", rule.runbook),
        ("Impact", rule.impact),
        ("Only if", rule.precondition),
        ("Limit", rule.limit),
    )
    lines.extend(f"{name}: {text}" for name, text in named if text)
    lines.append(alert_link(dashboard_url, entry.alert.fingerprint))
    return lines


def _numbers_line(reading: Reading) -> str:
    start, end = moment_text(reading.window_start), moment_text(reading.at)
    window = f"window {start} to {end}, n {reading.n:,}"
    if reading.low is None or reading.high is None:
        return window
    return f"{window}, interval {reading.low:.4g} to {reading.high:.4g}"


def _standing(entry: Entry) -> str:
    if entry.change is Change.ENDED:
        return f"resolved ({words(entry.alert.resolved_reason or 'recovered')})"
    return words(entry.change)
