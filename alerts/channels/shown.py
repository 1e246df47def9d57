"""A message as people read it: per alert a heading, facts with a name, and links.

Read from the structured body, whose order (new and changed alerts first) is kept. Nothing here
knows the format of a channel; each channel escapes for itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from alerts.channels.facts import FACT_LIMIT, Fact, facts_of, heading_of, is_over, mapping, text_at
from alerts.groups import EventType
from alerts.message_lines import DRILL_LINE
from alerts.messages import DRILL, Message
from alerts.text import clean

_LINK_LIMIT = 1_000  # a longer one is left out: half an address leads nowhere
_BRIEF = 120
_KEY_LIMIT = 255  # the shortest of the services' limits
_FOR_ALL = (("Alert", ("links", "alert")), ("Evidence", ("links", "evidence")))
_WHILE_OPEN = (
    ("Take it on", ("links", "acknowledge")),
    ("Silence", ("links", "silence")),
    ("Runbook", ("response", "runbook")),
)
_OF_ALERTS = (EventType.OPENED, EventType.UPDATED, EventType.RESOLVED, EventType.STORM)

Made = TypeVar("Made")


@dataclass(frozen=True)
class ShownAlert:
    """One alert. `facts` and `links` are pairs of a name and a text or an address."""

    heading: str
    facts: tuple[Fact, ...]
    links: tuple[Fact, ...]


@dataclass(frozen=True)
class Shown:
    """A whole message.

    `lines` are told when there are no alerts in it. `in_group` counts all alerts of the group, so
    that those that are not shown are counted too.
    """

    title: str
    note: str
    alerts: tuple[ShownAlert, ...]
    lines: tuple[str, ...]
    in_group: int
    dashboard: str | None

    def hidden(self, listed: int) -> str:
        """What to say of the alerts that are not listed; empty when all are."""
        missing = self.in_group - listed
        if missing <= 0 or not self.alerts:
            return ""
        verb = "alert is" if missing == 1 else "alerts are"
        return f"{missing:,} more {verb} not listed here; the dashboard shows all."


def shown(message: Message) -> Shown:
    """The message for people; a drill says so in its title and its note."""
    data = mapping(message.body.get("data"))
    listed = _alerts(data)
    in_group = mapping(data.get("counts")).get("in_group")
    note = f"{DRILL_LINE} {text_at(data, 'note')}" if message.drill else text_at(data, "note")
    return Shown(
        title=shown_title(message),
        note=clean(note, FACT_LIMIT),
        alerts=tuple(_shown_alert(each) for each in listed),
        lines=message.lines,
        in_group=in_group if isinstance(in_group, int) else len(listed),
        dashboard=web_address(text_at(data, "links", "dashboard")),
    )


def shown_title(message: Message) -> str:
    """The title; that of a drill holds the word, at its beginning as a rule."""
    if message.drill and DRILL not in message.title[:20]:
        return f"{DRILL} {message.title}"
    return message.title


def ends_incident(message: Message) -> bool:
    """Whether the message tells that nothing of its group is open any more."""
    if message.event is not EventType.RESOLVED:
        return False
    data = mapping(message.body.get("data"))
    still_open = mapping(data.get("counts")).get("still_open")
    if isinstance(still_open, int):
        return still_open == 0
    return all(is_over(each) for each in _alerts(data))


def incident_key(message: Message, delivery_id: str) -> str:
    """What services that keep incidents know the group by, at most 255 characters.

    Drills, tests and undelivered messages have incidents of their own: their end must not close
    that of a real alert.
    """
    if not message.group or message.event not in _OF_ALERTS:
        key = f"inferwatch:{message.event}:{delivery_id}"
    else:
        key = f"inferwatch:{'drill:' if message.drill else ''}{message.group}"
    if len(key) > _KEY_LIMIT or not (key.isascii() and key.isprintable()):
        return f"inferwatch:{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()}"
    return key


def longest_that_fits(
    count: int, make: Callable[[int], Made], fits: Callable[[Made], bool]
) -> Made:
    """What is made of the first n of `count` alerts, with n as large as fits; else of none."""
    for listed in range(count, 0, -1):
        made = make(listed)
        if fits(made):
            return made
    return make(0)


def briefly(told: Shown) -> Shown:
    """The same with every fact cut short, for when not even one alert would fit."""
    alerts = (
        ShownAlert(
            clean(alert.heading, _BRIEF),
            tuple((name, clean(text, _BRIEF)) for name, text in alert.facts),
            alert.links,
        )
        for alert in told.alerts
    )
    return replace(told, note=clean(told.note, _BRIEF), alerts=tuple(alerts))


def plain_text(told: Shown, limit: int) -> str:
    """The message without its title as lines of text, whole alerts only, at most `limit` long."""

    def make(listed: int) -> str:
        parts = [told.note, *(_plain_alert(each) for each in told.alerts[:listed])]
        if not told.alerts:
            parts.append("\n".join(told.lines))
        parts += [told.hidden(listed), told.dashboard or ""]
        return "\n\n".join(part for part in parts if part)

    text = longest_that_fits(len(told.alerts), make, lambda made: len(made) <= limit)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def web_address(text: str) -> str | None:
    """The text when it is an http(s) address that can be linked to, else None."""
    plain = text.isprintable() and not any(each.isspace() or each in "<>\"'" for each in text)
    fits = plain and len(text) <= _LINK_LIMIT
    return text if fits and text.startswith(("https://", "http://")) else None


def _plain_alert(alert: ShownAlert) -> str:
    lines = (f"  {name}: {text}" for name, text in (*alert.facts, *alert.links))
    return "\n".join([alert.heading, *lines])


def _shown_alert(body: Mapping[str, object]) -> ShownAlert:
    named = _FOR_ALL if is_over(body) else (*_WHILE_OPEN, *_FOR_ALL)
    links = ((name, web_address(text_at(body, *path))) for name, path in named)
    return ShownAlert(
        heading=heading_of(body),
        facts=tuple(fact for fact in facts_of(body) if web_address(fact[1]) is None),
        links=tuple((name, address) for name, address in links if address is not None),
    )


def _alerts(data: Mapping[str, object]) -> list[Mapping[str, object]]:
    found = data.get("alerts")
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
