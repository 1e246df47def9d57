"""The JSON body of a message: what programs read, under 20 kB.

The first alerts are told in full, the others briefly; alerts at the end of the list are left out
and counted when the body would grow too large. What is new or changed stands first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from alerts.alert_body import (
    ADDRESS_LIMIT,
    BRIEF,
    GENEROUS,
    LABEL_LIMIT,
    NAME_LIMIT,
    TIGHT,
    Json,
    Limits,
    alert_body,
)
from alerts.groups import Change, Group
from alerts.model import Severity
from alerts.text import clean, moment_text

MAXIMUM_BODY_BYTES = 20_000
MAXIMUM_LISTED = 50
TOLD_IN_FULL = 5
_NOTE_LIMIT = 200
_MAXIMUM_COMMON = 6


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
    """As many alerts as fit, the newest kept longest; at the least one, told tightly.

    The group's entries must stand in order of their news.
    """
    shown = min(len(cover.group.entries), MAXIMUM_LISTED)
    told = _told(cover, shown)
    while shown > 1:
        body = _body(cover, told[:shown])
        if len(encode_body(body)) < MAXIMUM_BODY_BYTES:
            return body
        shown = min(shown - 1, shown * 7 // 8)
    for limits in (GENEROUS, BRIEF, TIGHT):
        body = _body(cover, _told(cover, 1, limits))
        if len(encode_body(body)) < MAXIMUM_BODY_BYTES:
            return body
    raise AssertionError("one alert told tightly fits: every text in it is capped")


def _told(cover: Cover, shown: int, limits: Limits | None = None) -> list[Json]:
    return [
        alert_body(
            entry, cover.dashboard_url, limits or (GENEROUS if place < TOLD_IN_FULL else BRIEF)
        )
        for place, entry in enumerate(cover.group.entries[:shown])
    ]


def _body(cover: Cover, told: list[Json]) -> dict[str, Json]:
    group, key = cover.group, cover.group.key
    return {
        "type": group.event.value,
        "timestamp": moment_text(cover.now),
        "data": {
            "title": cover.title,
            "note": clean(group.note, _NOTE_LIMIT),
            "drill": group.drill,
            "group": clean(key.text, 2 * NAME_LIMIT),
            "group_labels": {
                name: clean(value, LABEL_LIMIT) for name, value in key.labels[:_MAXIMUM_COMMON]
            },
            "project": clean(key.project, NAME_LIMIT),
            "model": clean(key.get("model"), NAME_LIMIT),
            "owner": clean(_joined(entry.rule.owner for entry in group.entries), NAME_LIMIT),
            "receiver": clean(key.receiver, NAME_LIMIT),
            "severity": cover.severity.value,
            "response": _joined(entry.rule.response.value for entry in group.entries),
            "counts": {
                "in_group": len(group.entries),
                "new": len(group.new),
                "still_open": sum(each.change is not Change.ENDED for each in group.entries),
                "shown": len(told),
                "not_shown": len(group.entries) - len(told),
            },
            "links": {"dashboard": clean(cover.dashboard_url, ADDRESS_LIMIT)},
            "alerts": told,
        },
    }


def _joined(names: Iterable[str]) -> str:
    return " or ".join(sorted(set(names)))
