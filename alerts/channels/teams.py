"""Microsoft Teams, by a workflow ("When a Teams webhook request is received"): an adaptive card.

All text stands in text runs, which Teams shows as they are; text blocks and facts would read
Markdown in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alerts.channels.facts import COMMAND
from alerts.channels.incoming import IncomingWebhook
from alerts.channels.shown import Shown, ShownAlert, briefly, longest_that_fits, shown
from alerts.groups import EventType
from alerts.message_body import encode_body
from alerts.messages import Message
from alerts.model import Severity

# Teams takes 28 kB and counts two bytes a character whatever the encoding of the request.
MAXIMUM_BYTES = 28_000
_MAXIMUM_ACTIONS = 6
_LINKLESS = str.maketrans(
    "[]<>!", "(){} "
)  # old programs read Markdown in the text beside the card
_STYLES = {Severity.PAGE: "attention", Severity.TICKET: "warning", Severity.NOTICE: "accent"}


@dataclass(frozen=True)
class Teams(IncomingWebhook):
    """The channel behind one workflow of Teams: a channel or a chat."""

    @staticmethod
    def body_of(message: Message) -> dict[str, Any]:
        """See `teams_body`."""
        return teams_body(message)


def teams_body(message: Message) -> dict[str, Any]:
    """The message as a card: as many whole alerts as fit, what is new first."""
    told, style = shown(message), _style(message)
    if not _fits(_body(told, style, min(1, len(told.alerts)))):
        told = briefly(told)
    return longest_that_fits(len(told.alerts), lambda listed: _body(told, style, listed), _fits)


def counted_bytes(body: Mapping[str, Any]) -> int:
    """The size of a message as Teams counts it."""
    return len(encode_body(body).decode("utf-8").encode("utf-16-le"))


def _fits(body: dict[str, Any]) -> bool:
    return counted_bytes(body) <= MAXIMUM_BYTES


def _style(message: Message) -> str:
    if message.event is EventType.RESOLVED:
        return "good"
    return "emphasis" if message.drill else _STYLES[message.severity]


def _body(told: Shown, style: str, listed: int) -> dict[str, Any]:
    title = _block([_run(told.title, weight="bolder", size="large")])
    card: list[dict[str, Any]] = [{"type": "Container", "style": style, "items": [title]}]
    if told.note:
        card.append(_block([_run(told.note, italic=True)]))
    for alert in told.alerts[:listed]:
        card.append({"type": "Container", "separator": True, "items": _items(alert)})
    if not told.alerts:
        card.extend(_block([_run(line)]) for line in told.lines[:20])
    hidden = told.hidden(listed)
    if hidden:
        card.append(_block([_run(hidden, weight="bolder")]))
    content = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "fallbackText": told.title.translate(_LINKLESS),
        "msteams": {"width": "Full"},
        "body": card,
        "actions": _actions(told, listed),
    }
    kind = "application/vnd.microsoft.card.adaptive"
    attachment = {"contentType": kind, "contentUrl": None, "content": content}
    return {"type": "message", "attachments": [attachment]}


def _items(alert: ShownAlert) -> list[dict[str, Any]]:
    items = [_block([_run(alert.heading, weight="bolder")])]
    for name, text in alert.facts:
        value = _run(text, fontType="monospace") if name == COMMAND else _run(text)
        items.append(_block([_run(f"{name}: ", isSubtle=True), value]))
    return items


def _actions(told: Shown, listed: int) -> list[dict[str, Any]]:
    """The buttons of the card: all links of a single alert, else one to the page of each."""
    shown_alerts = told.alerts[:listed]
    if len(shown_alerts) == 1:
        links = list(shown_alerts[0].links)
    else:
        pages = [dict(alert.links).get("Alert") for alert in shown_alerts]
        links = [(f"Alert {i}", page) for i, page in enumerate(pages, start=1) if page is not None]
    if told.dashboard is not None:
        links = [*links[: _MAXIMUM_ACTIONS - 1], ("Dashboard", told.dashboard)]
    return [
        {"type": "Action.OpenUrl", "title": name, "url": address}
        for name, address in links[:_MAXIMUM_ACTIONS]
    ]


def _block(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": runs}


def _run(text: str, **style: str | bool) -> dict[str, Any]:
    return {"type": "TextRun", "text": text, **style}
