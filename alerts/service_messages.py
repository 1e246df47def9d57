"""Messages about the delivery itself: dead letters told on another receiver, and the test message.

They tell of no alert of their own: `data.alerts` is empty, what was not delivered stands in
`data.deliveries`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from alerts.alert_body import Json
from alerts.groups import EventType
from alerts.message_body import MAXIMUM_BODY_BYTES, encode_body
from alerts.messages import Message
from alerts.model import Severity
from alerts.text import clean, moment_text

_SHOWN = 10
_LINES_OF_EACH = 4
_TITLE, _LINE = 200, 500


@dataclass(frozen=True)
class DeadLetter:
    """A message that was given up: what it said, how often it was tried, what went wrong last."""

    key: str
    message: Message
    attempts: int
    reason: str
    owed_at: datetime


def dead_letter_key(fallback: str, letters: Sequence[DeadLetter], now: datetime) -> str:
    """The webhook-id of the message that tells of these."""
    told = (fallback, *sorted(letter.key for letter in letters), moment_text(now))
    return "msg_" + hashlib.sha256("\n".join(told).encode()).hexdigest()[:40]


def tell_dead_letters(
    receiver: str, letters: Sequence[DeadLetter], fallback: str, project: str, url: str,
    now: datetime,
) -> Message:  # fmt: skip
    """What `fallback` is told of messages that did not reach `receiver`, the most severe first."""
    ordered = sorted(letters, key=lambda each: (each.message.severity.rank, each.owed_at))
    severity = ordered[0].message.severity
    count = f"{len(letters)} message{'s' if len(letters) != 1 else ''}"
    title = clean(f"[{severity}] {count} did not reach {receiver}", _TITLE)
    reasons = sorted({each.reason for each in ordered})
    lines = [f"{count} did not reach {receiver}: {'; '.join(reasons[:3])}"]
    for each in ordered[:_SHOWN]:
        lines += [each.message.title, *each.message.lines[:_LINES_OF_EACH]]
    if len(ordered) > _SHOWN:
        lines.append(f"{len(ordered) - _SHOWN} more: `inferwatch deliveries list --state dead`")
    lines.append("When the receiver is mended: `inferwatch deliveries resend`")
    common = common_keys(title, fallback, severity, project, url)
    common["not_reached"] = clean(receiver, _TITLE)
    for shown in range(min(len(ordered), _SHOWN), -1, -1):
        data = {**common, "deliveries": [_letter_body(each) for each in ordered[:shown]],
                "counts": _counts(len(ordered), shown)}  # fmt: skip
        told = own_message(
            EventType.DEAD_LETTERED, fallback, severity, title, lines, data, receiver, now
        )
        if len(encode_body(told.body)) < MAXIMUM_BODY_BYTES:
            return told
    raise AssertionError("a count of messages fits: every text beside it is capped")


def _counts(total: int, shown: int) -> Json:
    return {"in_group": total, "new": total, "shown": shown, "not_shown": total - shown}


def ping_message(receiver: str, project: str, url: str, now: datetime) -> Message:
    """The test message: it asks nothing of anybody."""
    title = f"Test message of Inferwatch to {receiver}"
    lines = [title, f"Sent at {moment_text(now)}. Nobody need do anything."]
    data = common_keys(title, receiver, Severity.NOTICE, project, url)
    data["counts"] = _counts(0, 0)
    return own_message(
        EventType.PING, receiver, Severity.NOTICE, title, lines, data, "test message", now
    )


def _letter_body(letter: DeadLetter) -> Json:
    message = letter.message
    return {
        "delivery_id": letter.key,
        "event": message.event.value,
        "severity": message.severity.value,
        "title": clean(message.title, _TITLE),
        "lines": [clean(line, _TITLE) for line in message.lines[:_LINES_OF_EACH]],
        "findings": [key.finding_id for key in message.new[:_SHOWN]],
        "attempts": letter.attempts,
        "reason": clean(letter.reason, _TITLE),
        "owed_at": moment_text(letter.owed_at),
    }


def common_keys(
    title: str, receiver: str, severity: Severity, project: str, url: str
) -> dict[str, Json]:
    """The keys that every message has."""
    return {
        "title": title,
        "group": clean(project, _TITLE),
        "project": clean(project, _TITLE),
        "model": "",
        "owner": "",
        "receiver": clean(receiver, _TITLE),
        "severity": severity.value,
        "response": "",
        "links": {"dashboard": clean(url, _LINE)},
        "alerts": [],
    }


def own_message(
    event: EventType, receiver: str, severity: Severity, title: str, lines: Sequence[str],
    data: dict[str, Json], about: str, now: datetime,
) -> Message:  # fmt: skip
    group = f"{event.value}/{about}"
    data["group"] = clean(group, _TITLE)
    return Message(
        event=event,
        receiver=receiver,
        severity=severity,
        title=title,
        lines=tuple(clean(line, _LINE) for line in lines),
        body={"type": event.value, "timestamp": moment_text(now), "data": data},
        new=(),
        group=group,
    )
