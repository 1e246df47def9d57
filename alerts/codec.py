"""Readings and messages as JSON values and back, for whoever keeps them.

A message is kept as it was rendered, so that every attempt sends the same bytes. Reading back
trusts what this module wrote; anything else raises KeyError, ValueError or TypeError.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from alerts.alert_body import Json
from alerts.groups import EventType
from alerts.messages import Message
from alerts.model import FindingKey, Labels, Reading, ReadingState, Severity


def reading_to_json(reading: Reading) -> dict[str, Json]:
    """All fields; times in ISO 8601."""
    evidence: dict[str, Json] = dict(reading.evidence)
    labels: dict[str, Json] = dict(reading.labels)
    return {
        "labels": labels,
        "at": reading.at.isoformat(),
        "window_start": reading.window_start.isoformat(),
        "state": reading.state.value,
        "value": reading.value,
        "low": reading.low,
        "high": reading.high,
        "n": reading.n,
        "unit": reading.unit,
        "text": reading.text,
        "evidence": evidence,
    }


def reading_from_json(kept: Mapping[str, Any]) -> Reading:
    """The reading that `reading_to_json` wrote."""
    return Reading(
        labels=Labels.from_mapping(kept["labels"]),
        at=datetime.fromisoformat(kept["at"]),
        window_start=datetime.fromisoformat(kept["window_start"]),
        state=ReadingState(kept["state"]),
        value=kept["value"],
        low=kept["low"],
        high=kept["high"],
        n=kept["n"],
        unit=kept["unit"],
        text=kept["text"],
        evidence=kept["evidence"],
    )


def message_to_json(message: Message) -> dict[str, Json]:
    """All fields."""
    return {
        "event": message.event.value,
        "receiver": message.receiver,
        "severity": message.severity.value,
        "title": message.title,
        "lines": list(message.lines),
        "body": dict(message.body),
        "new": [{"fingerprint": key.fingerprint, "episode": key.episode} for key in message.new],
        "group": message.group,
        "drill": message.drill,
    }


def message_from_json(kept: Mapping[str, Any]) -> Message:
    """The message that `message_to_json` wrote."""
    return Message(
        event=EventType(kept["event"]),
        receiver=kept["receiver"],
        severity=Severity(kept["severity"]),
        title=kept["title"],
        lines=tuple(kept["lines"]),
        body=kept["body"],
        new=tuple(FindingKey(each["fingerprint"], each["episode"]) for each in kept["new"]),
        group=kept.get("group", ""),
        drill=kept.get("drill", False),
    )
