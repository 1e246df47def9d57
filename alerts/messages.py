"""Groups of alerts as messages: a title, lines for people and a JSON body for programs.

No channel's format is known here. What programs read is built by `alerts.message_body`, what people
read by `alerts.message_lines`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from alerts.alert_body import Json
from alerts.groups import Change, EventType, Group
from alerts.message_body import Cover, fitting_body
from alerts.message_lines import lines_of
from alerts.model import FindingKey, Severity, require_utc
from alerts.text import clean, words

_TITLE_LIMIT = 200
DRILL = "DRILL"


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
    group = in_order_of_news(group)
    address = dashboard_url.rstrip("/")
    severity = min((entry.rule.severity for entry in group.entries), key=lambda each: each.rank)
    title = _title(group, severity)
    cover = Cover(group, severity, title, address, require_utc("now", now))
    return Message(
        event=group.event,
        receiver=group.key.receiver,
        severity=severity,
        title=title,
        lines=lines_of(group, address),
        body=fitting_body(cover),
        new=group.new,
        group=group.key.text,
        drill=group.drill,
    )


def in_order_of_news(group: Group) -> Group:
    """What is new or changed first: it is kept when a message is cut. The rest in its order."""
    entries = sorted(group.entries, key=lambda entry: entry.change is Change.NONE)
    return replace(group, entries=tuple(entries))


def _title(group: Group, severity: Severity) -> str:
    model = group.key.get("model") or group.key.project or "inferwatch"
    start = f"{DRILL} [{severity}]" if group.drill else f"[{severity}]"
    return clean(f"{start} {model}: {_news(group)}{_due(group)}", _TITLE_LIMIT)


def _news(group: Group) -> str:
    told = [entry for entry in group.entries if entry.change is not Change.NONE]
    about = told or list(group.entries)
    what = about[0].rule.name if len(about) == 1 else f"{len(about):,} alerts"
    if group.event is EventType.STORM:
        return f"{what} told as one"
    if not told:
        return f"{what} still open"
    changes = {entry.change for entry in told}
    if changes == {Change.ENDED}:
        return f"{what} resolved"
    return f"{what} got worse" if changes == {Change.GOT_WORSE} else f"{what} opened"


def _due(group: Group) -> str:
    """The responses that are due; nothing is due when all is over."""
    open_now = [entry for entry in group.entries if entry.change is not Change.ENDED]
    if not open_now or group.event is EventType.RESOLVED:
        return ""
    return "; response: " + words(" or ".join(sorted({each.rule.response for each in open_now})))
