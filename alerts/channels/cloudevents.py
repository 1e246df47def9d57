"""CloudEvents 1.0 over HTTP: structured (one JSON document) or binary (attributes as headers).

The data are those of the webhook. `id` stays the same over all attempts, so that source and id
together tell a repetition.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Self
from urllib.parse import quote

import httpx

from alerts.alert_body import Json
from alerts.channels.base import Receipt
from alerts.channels.credentials import (
    NO_CREDENTIALS,
    Credentials,
    open_protected_address,
    read_protected_address,
)
from alerts.channels.http_post import post
from alerts.channels.outbound import Outbound
from alerts.config import Receiver
from alerts.message_body import encode_body
from alerts.messages import Message
from alerts.text import moment_text
from alerts.yaml_source import Section

SPEC_VERSION = "1.0"
TYPE_PREFIX, TYPE_VERSION = "io.inferwatch", "v1"
_JSON, _STRUCTURED = "application/json", "application/cloudevents+json"
# Printable ASCII without the blank, the quotation mark and the percent sign: the rest is encoded.
_HEADER_SAFE = "!#$&'()*+,-./:;<=>?@[\\]^_`{|}~"


class Mode(StrEnum):
    """How an event travels in an HTTP message."""

    STRUCTURED = "structured"
    BINARY = "binary"


@dataclass(frozen=True)
class CloudEvents:
    """The CloudEvents endpoint of one receiver."""

    url: httpx.URL
    mode: Mode = Mode.STRUCTURED
    credentials: Credentials = NO_CREDENTIALS
    private_addresses_allowed: bool = False

    @staticmethod
    def read_options(receiver: Section) -> Mapping[str, str | bool]:
        """url, url_env or url_file; mode; authorization_… and secret_…; private addresses."""
        mode = receiver.word("mode", Mode)
        return {**read_protected_address(receiver), "mode": (mode or Mode.STRUCTURED).value}

    @classmethod
    def open(cls, receiver: Receiver, environment: Mapping[str, str]) -> Self:
        """Read address and secrets."""
        return cls(
            open_protected_address(receiver, environment),
            Mode(str(receiver.options.get("mode", Mode.STRUCTURED))),
            Credentials.open(receiver, environment),
            bool(receiver.options.get("private_addresses_allowed")),
        )

    def send(self, message: Message, *, delivery_id: str, now: datetime, http: Outbound) -> Receipt:
        """Post the event. Raises SendFailed."""
        attributes = attributes_of(message, delivery_id, now)
        data = message.body.get("data")
        if self.mode is Mode.STRUCTURED:
            body = encode_body({**attributes, "data": data})
            headers = {"content-type": f"{_STRUCTURED}; charset=utf-8"}
        else:
            body = json.dumps(data, ensure_ascii=False, sort_keys=True).encode("utf-8")
            headers = _as_headers(attributes)
        headers |= self.credentials.headers(delivery_id, now, body)
        return post(
            http, self.url, body, headers, now=now, private_allowed=self.private_addresses_allowed
        )


def attributes_of(message: Message, delivery_id: str, now: datetime) -> dict[str, Json]:
    """The context attributes: type `io.inferwatch.finding.opened.v1`, source the model's path.

    `subject` is the group, `time` when the message became owed. `severity` and `drill` are
    extensions, so that a broker can route by them.
    """
    data = message.body.get("data")
    known = data if isinstance(data, dict) else {}
    stamp = message.body.get("timestamp")
    attributes: dict[str, Json] = {
        "specversion": SPEC_VERSION,
        "id": delivery_id,
        "type": f"{TYPE_PREFIX}.{message.event}.{TYPE_VERSION}",
        "source": _source(known),
        "time": stamp if isinstance(stamp, str) else moment_text(now),
        "datacontenttype": _JSON,
        "severity": message.severity.value,
    }
    group = known.get("group")
    if group:
        attributes["subject"] = group
    if message.drill:
        attributes["drill"] = "true"
    return attributes


def _source(data: Mapping[str, Json]) -> str:
    """`/projects/pay/models/fraud`: a reference without a host, since there may be none."""
    parts = [("projects", data.get("project")), ("models", data.get("model"))]
    path = "".join(f"/{kind}/{quote(str(name), safe='')}" for kind, name in parts if name)
    return path or "/inferwatch"


def _as_headers(attributes: Mapping[str, Json]) -> dict[str, str]:
    """Binary mode: each attribute a `ce-` header, percent-encoded as the HTTP binding says."""
    headers = {
        f"ce-{name}": quote(str(value), safe=_HEADER_SAFE)
        for name, value in attributes.items()
        if name != "datacontenttype"
    }
    return {"content-type": _JSON, **headers}
