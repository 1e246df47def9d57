"""Slack, by an incoming webhook: blocks of rich text, in which nothing from outside is markup.

Rich text elements are shown as they are, so that a text can't mention a channel, hide a link or
format itself. Only the line for notifications is markup, and escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alerts.channels.facts import COMMAND
from alerts.channels.incoming import IncomingWebhook
from alerts.channels.shown import Shown, ShownAlert, briefly, longest_that_fits, shown
from alerts.message_body import encode_body
from alerts.messages import Message
from alerts.text import clean

MAXIMUM_BLOCKS = 50
# Slack refuses blocks of about 13,200 characters in all. It documents neither the limit nor what
# counts; 11,300 characters of text alone were refused, so everything is counted here.
MAXIMUM_CHARACTERS = 12_000
_HEADER_LIMIT = 150
_LINES_LIMIT = 5_000
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True)
class Slack(IncomingWebhook):
    """The channel behind one incoming webhook of Slack."""

    @staticmethod
    def body_of(message: Message) -> dict[str, Any]:
        """See `slack_body`."""
        return slack_body(message)


def slack_body(message: Message) -> dict[str, Any]:
    """The message in Slack's form: as many whole alerts as fit, what is new first."""
    told = shown(message)
    if not _fits(_body(told, min(1, len(told.alerts)))):
        told = briefly(told)
    return longest_that_fits(len(told.alerts), lambda listed: _body(told, listed), _fits)


def counted_characters(body: Mapping[str, Any]) -> int:
    """The size of the blocks, everything that is no text included."""
    return len(encode_body({"blocks": body["blocks"]}).decode("utf-8"))


def _fits(body: dict[str, Any]) -> bool:
    return len(body["blocks"]) <= MAXIMUM_BLOCKS and counted_characters(body) <= MAXIMUM_CHARACTERS


def _body(told: Shown, listed: int) -> dict[str, Any]:
    title = clean(told.title, _HEADER_LIMIT)
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}}
    ]
    if told.note:
        blocks.append(_rich([_run(told.note, italic=True)]))
    for alert in told.alerts[:listed]:
        blocks.append(_rich(_alert_runs(alert)))
    if not told.alerts and told.lines:
        blocks.append(_rich([_run("\n".join(told.lines)[:_LINES_LIMIT])]))
    hidden = told.hidden(listed)
    if hidden or told.dashboard:
        blocks.append(_rich(_end_runs(hidden, told.dashboard)))
    return {
        "text": told.title.translate(_MARKUP),
        "blocks": blocks,
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _alert_runs(alert: ShownAlert) -> list[dict[str, Any]]:
    runs = [_run(alert.heading, bold=True)]
    for name, text in alert.facts:
        runs.append(_run(f"\n{name}: "))
        runs.append(_run(text, code=True) if name == COMMAND else _run(text))
    for number, (name, address) in enumerate(alert.links):
        runs.append(_run("\n" if number == 0 else " · "))
        runs.append({"type": "link", "url": address, "text": name})
    return runs


def _end_runs(hidden: str, dashboard: str | None) -> list[dict[str, Any]]:
    runs = [_run(f"{hidden} ")] if hidden else []
    if dashboard is not None:
        runs.append({"type": "link", "url": dashboard, "text": "Dashboard"})
    return runs


def _rich(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": runs}]}


def _run(text: str, **style: bool) -> dict[str, Any]:
    run: dict[str, Any] = {"type": "text", "text": text}
    return run | {"style": style} if style else run
