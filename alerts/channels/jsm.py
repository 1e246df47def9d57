"""Jira Service Management (and Opsgenie, by another url): one alert there for a group of ours.

The name of the group is the alias: a second creation counts up instead of opening a second alert,
and only the end of the last open alert closes it. Creating again changes no text there, so news
about an alert that may be open is added as a note.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self
from urllib.parse import quote

import httpx

from alerts.channels.base import Receipt, not_configured, read_secret
from alerts.channels.facts import mapping
from alerts.channels.http_post import (
    one_of,
    open_secret_address,
    post_in_turn,
    read_service_address,
)
from alerts.channels.outbound import Outbound
from alerts.channels.shown import ends_incident, incident_key, plain_text, shown
from alerts.config import Receiver
from alerts.groups import ASKS_NOTHING, EventType
from alerts.message_body import encode_body
from alerts.messages import Message
from alerts.model import Severity
from alerts.text import clean
from alerts.yaml_source import Section

USUAL_URL = "https://api.atlassian.com/jsm/ops/integration/v2/alerts"
MESSAGE_LIMIT = 130
DESCRIPTION_LIMIT = 15_000
NOTE_LIMIT = 25_000
TAG_LIMIT = 50
_SOURCE = "Inferwatch"
_API_KEY = re.compile(r"[!-~]{16,200}")
_PRIORITIES = {Severity.PAGE: "P1", Severity.TICKET: "P3", Severity.NOTICE: "P5"}
_SECRET_REMEDY = "secrets never stand in this file; put it into api_key_env or api_key_file"  # noqa: S105
# The description may be shown as HTML.
_HARMLESS = str.maketrans({"<": "‹", ">": "›"})


@dataclass(frozen=True)
class JiraServiceManagement:
    """One API integration, named by its key."""

    url: httpx.URL
    api_key: str = field(repr=False)
    private_addresses_allowed: bool = False

    @staticmethod
    def read_options(receiver: Section) -> Mapping[str, str | bool]:
        """api_key_env or api_key_file; url where it is not the usual one (Opsgenie)."""
        receiver.refuse("api_key", _SECRET_REMEDY)
        names, given = ("api_key_env", "api_key_file"), "api_key" in receiver.nodes
        return {**read_service_address(receiver), **one_of(receiver, names, refused=given)}

    @classmethod
    def open(cls, receiver: Receiver, environment: Mapping[str, str]) -> Self:
        """Read the key."""
        key = read_secret(receiver, "api_key", environment)
        if not _API_KEY.fullmatch(key):
            raise not_configured(receiver, "its API key must be 16 to 200 characters, no blanks")
        url = open_secret_address(receiver, environment, usual=USUAL_URL)
        return cls(url, key, bool(receiver.options.get("private_addresses_allowed")))

    def send(self, message: Message, *, delivery_id: str, now: datetime, http: Outbound) -> Receipt:
        """Create, add a note or close; a test is closed at once. Raises SendFailed."""
        alias = incident_key(message, delivery_id)
        bodies = (
            (self._address(path, alias), encode_body(body))
            for path, body in requests_of(message, alias)
        )
        headers = {
            "content-type": "application/json",
            "authorization": f"GenieKey {self.api_key}",
        }
        allowed = self.private_addresses_allowed
        return post_in_turn(http, tuple(bodies), headers, now=now, private_allowed=allowed)

    def _address(self, deed: str, alias: str) -> httpx.URL:
        """The address of a deed on the alert with this alias; without a deed, of all alerts."""
        if not deed:
            return self.url
        path = f"{self.url.path.rstrip('/')}/{quote(alias, safe='')}/{deed}"
        return self.url.copy_with(path=path).copy_merge_params({"identifierType": "alias"})


def requests_of(message: Message, alias: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """What is asked for, in turn: a deed on the alert (none: creating it) and its body."""
    if ends_incident(message):
        return (("close", note_body(message)),)
    created = ("", creation_body(message, alias))
    if message.event in ASKS_NOTHING:
        return (created, ("close", note_body(message)))
    return (created, ("notes", note_body(message))) if is_news(message) else (created,)


def is_news(message: Message) -> bool:
    """Whether the group may be known already, so that creating its alert tells nothing."""
    if message.event in (EventType.UPDATED, EventType.RESOLVED, EventType.STORM):
        return True
    counts = mapping(mapping(message.body.get("data")).get("counts"))
    return counts.get("new") != counts.get("in_group")


def creation_body(message: Message, alias: str) -> dict[str, Any]:
    """The alert to create."""
    told = shown(message)
    named = mapping(message.body.get("data"))
    names = ("project", "model", "response", "owner")
    details = {name: clean(str(named[name]), 200) for name in names if named.get(name)}
    tags = [*(["drill"] if message.drill else []), message.severity.value, *details.values()]
    return {
        "message": _harmless(clean(told.title, MESSAGE_LIMIT)),
        "alias": alias,
        "description": _harmless(plain_text(told, DESCRIPTION_LIMIT)),
        "priority": _PRIORITIES[message.severity],
        "entity": details.get("model", "inferwatch"),
        "source": _SOURCE,
        "tags": [clean(tag, TAG_LIMIT) for tag in tags],
        "details": details,
    }


def note_body(message: Message) -> dict[str, Any]:
    """A note about an alert that is open there, or the last one about it."""
    told = shown(message)
    text = f"{told.title}\n\n{plain_text(told, NOTE_LIMIT - len(told.title) - 2)}"
    return {"source": _SOURCE, "note": _harmless(text)}


def _harmless(text: str) -> str:
    return text.translate(_HARMLESS)
