"""The webhook body of Alertmanager, version 4: what takes Alertmanager's webhooks takes ours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

import httpx

from alerts.alert_body import Json
from alerts.channels.base import Receipt
from alerts.channels.credentials import (
    NO_CREDENTIALS,
    Credentials,
    open_protected_address,
    read_protected_address,
)
from alerts.channels.facts import is_over, text_at
from alerts.channels.http_post import post
from alerts.channels.outbound import Outbound
from alerts.channels.prometheus_alert import (
    NOT_OVER,
    Alert,
    alerts_of,
    annotations_of,
    data_of,
    labels_of,
    mapping,
    message_annotations,
    message_labels,
    started,
)
from alerts.config import Receiver
from alerts.message_body import encode_body
from alerts.messages import Message
from alerts.text import moment_text
from alerts.yaml_source import Section

VERSION = "4"
FIRING, RESOLVED = "firing", "resolved"
_FINGERPRINT_DIGITS = 16


@dataclass(frozen=True)
class AlertmanagerWebhook:
    """A receiver that was made for Alertmanager's webhooks."""

    url: httpx.URL
    credentials: Credentials = NO_CREDENTIALS
    private_addresses_allowed: bool = False

    @staticmethod
    def read_options(receiver: Section) -> Mapping[str, str | bool]:
        """url, url_env or url_file; authorization_… and secret_…; private_addresses_allowed."""
        return read_protected_address(receiver)

    @classmethod
    def open(cls, receiver: Receiver, environment: Mapping[str, str]) -> Self:
        """Read address and secrets."""
        return cls(
            open_protected_address(receiver, environment),
            Credentials.open(receiver, environment),
            bool(receiver.options.get("private_addresses_allowed")),
        )

    def send(self, message: Message, *, delivery_id: str, now: datetime, http: Outbound) -> Receipt:
        """Post the group. Raises SendFailed."""
        body = encode_body(webhook_body(message, delivery_id, now))
        headers = {
            "content-type": "application/json",
            **self.credentials.headers(delivery_id, now, body),
        }
        return post(
            http, self.url, body, headers, now=now, private_allowed=self.private_addresses_allowed
        )


def webhook_body(message: Message, delivery_id: str, now: datetime) -> dict[str, Json]:
    """The group as Alertmanager would tell it. What was cut is counted in `truncatedAlerts`."""
    data = data_of(message)
    stamp = text_at(message.body, "timestamp") or moment_text(now)
    told = [_alert(each, stamp, drill=message.drill) for each in alerts_of(message)]
    if not told:
        told = [_of_message(message, delivery_id, stamp)]
    labels = [mapping(each, "labels") for each in told]
    firing = any(each["status"] == FIRING for each in told)
    hidden = mapping(data, "counts").get("not_shown")
    group_labels: dict[str, Json] = {
        name: value for name, value in mapping(data, "group_labels").items() if value
    }
    return {
        "version": VERSION,
        "groupKey": _group_key(data, group_labels, delivery_id, drill=message.drill),
        "truncatedAlerts": hidden if isinstance(hidden, int) else 0,
        "status": FIRING if firing else RESOLVED,
        "receiver": message.receiver,
        "groupLabels": group_labels,
        "commonLabels": _common(labels),
        "commonAnnotations": _common([mapping(each, "annotations") for each in told]),
        "externalURL": text_at(data, "links", "dashboard"),
        "alerts": list(told),
    }


def _alert(alert: Alert, stamp: str, *, drill: bool) -> dict[str, Json]:
    over = is_over(alert)
    return {
        "status": RESOLVED if over else FIRING,
        "labels": dict(labels_of(alert, drill=drill)),
        "annotations": dict(annotations_of(alert)),
        "startsAt": started(alert, stamp),
        "endsAt": (text_at(alert, "resolved_at") or stamp) if over else NOT_OVER,
        "generatorURL": text_at(alert, "links", "alert"),
        "fingerprint": text_at(alert, "fingerprint")[:_FINGERPRINT_DIGITS],
    }


def _of_message(message: Message, delivery_id: str, stamp: str) -> dict[str, Json]:
    labels = message_labels(message, delivery_id)
    return {
        "status": FIRING,
        "labels": dict(labels),
        "annotations": dict(message_annotations(message)),
        "startsAt": stamp,
        "endsAt": NOT_OVER,
        "generatorURL": text_at(data_of(message), "links", "dashboard"),
        "fingerprint": delivery_id[-_FINGERPRINT_DIGITS:],
    }


def _common(each: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """What all of them say alike."""
    first, *others = each
    return {
        name: value
        for name, value in first.items()
        if all(other.get(name) == value for other in others)
    }


def _group_key(
    data: Mapping[str, Json], labels: Mapping[str, Json], delivery_id: str, *, drill: bool
) -> str:
    """Opaque and stable, in Alertmanager's notation; a drill is a group of its own."""
    named = {"project": text_at(data, "project"), **labels, "drill": "true" if drill else ""}
    pairs = [f"{name}={json.dumps(str(value))}" for name, value in named.items() if value]
    if not labels:
        pairs.append(f"delivery={json.dumps(delivery_id)}")
    return "{}:{" + ", ".join(pairs) + "}"
