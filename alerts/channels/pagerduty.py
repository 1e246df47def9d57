"""PagerDuty, by its Events API v2: one incident a group of alerts.

The group's name is the key of the incident, so that repetitions update it and only the end of the
last open alert resolves it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

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
from alerts.channels.shown import (
    Shown,
    ends_incident,
    incident_key,
    longest_that_fits,
    plain_text,
    shown,
    shown_title,
)
from alerts.config import Receiver
from alerts.groups import ASKS_NOTHING
from alerts.message_body import encode_body
from alerts.messages import Message
from alerts.model import Severity
from alerts.text import clean
from alerts.yaml_source import Section

USUAL_URL = "https://events.pagerduty.com/v2/enqueue"
MAXIMUM_BYTES = 512_000
SUMMARY_LIMIT = 1024
_FIELD_LIMIT = 255
_LARGEST_LINKS = 20
_ROUTING_KEY = re.compile(r"[A-Za-z0-9]{32}")
_SEVERITIES = {Severity.PAGE: "critical", Severity.TICKET: "warning", Severity.NOTICE: "info"}
_SECRET_REMEDY = "secrets never stand in this file; put it into routing_key_env or routing_key_file"  # noqa: S105


@dataclass(frozen=True)
class PagerDuty:
    """One service of PagerDuty, named by the key of its Events v2 integration."""

    url: httpx.URL
    routing_key: str = field(repr=False)
    private_addresses_allowed: bool = False

    @staticmethod
    def read_options(receiver: Section) -> Mapping[str, str | bool]:
        """routing_key_env or routing_key_file; url where it is not the usual one."""
        receiver.refuse("routing_key", _SECRET_REMEDY)
        names, given = ("routing_key_env", "routing_key_file"), "routing_key" in receiver.nodes
        return {**read_service_address(receiver), **one_of(receiver, names, refused=given)}

    @classmethod
    def open(cls, receiver: Receiver, environment: Mapping[str, str]) -> Self:
        """Read the key."""
        key = read_secret(receiver, "routing_key", environment)
        if not _ROUTING_KEY.fullmatch(key):
            raise not_configured(receiver, "its routing key must be 32 letters and digits")
        url = open_secret_address(receiver, environment, usual=USUAL_URL)
        return cls(url, key, bool(receiver.options.get("private_addresses_allowed")))

    def send(self, message: Message, *, delivery_id: str, now: datetime, http: Outbound) -> Receipt:
        """Post the event; a test is resolved at once. Raises SendFailed."""
        events = events_of(message, incident_key(message, delivery_id), now)
        bodies = [encode_body({**event, "routing_key": self.routing_key}) for event in events]
        return post_in_turn(
            http,
            [(self.url, body) for body in bodies],
            {"content-type": "application/json"},
            now=now,
            private_allowed=self.private_addresses_allowed,
        )


def events_of(message: Message, key: str, now: datetime) -> tuple[dict[str, Any], ...]:
    """What is sent, in turn, without the routing key."""
    if ends_incident(message):
        return (resolve_event(key),)
    begun = trigger_event(message, key, now)
    return (begun, resolve_event(key)) if message.event in ASKS_NOTHING else (begun,)


def resolve_event(key: str) -> dict[str, Any]:
    """The end of an incident, without the routing key."""
    return {"event_action": "resolve", "dedup_key": key}


def trigger_event(message: Message, key: str, now: datetime) -> dict[str, Any]:
    """The beginning of an incident or news about it, without the routing key."""
    told = shown(message)
    return longest_that_fits(
        len(told.alerts),
        lambda listed: _event(message, told, key, now, listed),
        lambda event: len(encode_body(event)) <= MAXIMUM_BYTES - 100,  # the routing key is to come
    )


def _event(message: Message, told: Shown, key: str, now: datetime, listed: int) -> dict[str, Any]:
    named = mapping(message.body.get("data"))
    model = clean(str(named.get("model") or "inferwatch"), _FIELD_LIMIT)
    payload = {
        "summary": clean(shown_title(message), SUMMARY_LIMIT),
        "source": model,
        "severity": _SEVERITIES[message.severity],
        "timestamp": now.isoformat(timespec="milliseconds"),
        "component": model,
        "group": clean(str(named.get("project") or ""), _FIELD_LIMIT),
        "class": message.event.value,
        "custom_details": _details(told, listed),
    }
    event = {
        "event_action": "trigger",
        "dedup_key": key,
        "client": "Inferwatch",
        "payload": payload,
        "links": _links(told, listed),
    }
    return event if told.dashboard is None else {**event, "client_url": told.dashboard}


def _details(told: Shown, listed: int) -> dict[str, Any]:
    details: dict[str, Any] = {"note": told.note, "not listed": told.hidden(listed)}
    if told.alerts:
        details["alerts"] = [
            {"alert": alert.heading, **dict(alert.facts)} for alert in told.alerts[:listed]
        ]
    else:
        details["text"] = plain_text(told, 5_000)
    return {name: value for name, value in details.items() if value}


def _links(told: Shown, listed: int) -> list[dict[str, str]]:
    several = len(told.alerts[:listed]) > 1
    links = [
        {"href": address, "text": f"{name} {number}" if several else name}
        for number, alert in enumerate(told.alerts[:listed], start=1)
        for name, address in alert.links
    ]
    return links[:_LARGEST_LINKS]
