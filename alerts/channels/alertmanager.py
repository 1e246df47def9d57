"""Push to a real Alertmanager, API v2: it groups, silences and tells further by its own rules.

Alertmanager keeps no alert over a restart and drops those that are not repeated. Therefore every
alert that fires is stated again each minute, and its end for a while after it: see `restate`. Each
statement holds for an hour, so that a worker that is away for less ends no alert there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Self

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
    Alert,
    alerts_of,
    annotations_of,
    data_of,
    labels_of,
    message_annotations,
    message_labels,
    started,
)
from alerts.config import Receiver
from alerts.messages import Message
from alerts.model import require_utc
from alerts.text import moment_text
from alerts.yaml_source import Section

PATH = "/api/v2/alerts"
HOLDS, DRILL_HOLDS = timedelta(hours=1), timedelta(minutes=5)
AT_ONCE = 500
_ENDS_ARE_TOLD = (
    "an Alertmanager has to hear of ends; remove this, and say send_resolved: false there"
)


@dataclass(frozen=True)
class Stated:
    """An alert as a receiver knows it: the facts, and when it was last told something new."""

    alert: Alert
    told_at: datetime


@dataclass(frozen=True)
class Alertmanager:
    """One Alertmanager. `url` is its address without the path of the API."""

    url: httpx.URL
    credentials: Credentials = NO_CREDENTIALS
    private_addresses_allowed: bool = False
    restates: ClassVar[timedelta] = timedelta(minutes=1)
    """How often all that is open must be stated again."""

    @staticmethod
    def read_options(receiver: Section) -> Mapping[str, str | bool]:
        """url, url_env or url_file; authorization_… and secret_…; private_addresses_allowed."""
        if receiver.raw_text("send_resolved") == "false":
            receiver.complain("send_resolved", _ENDS_ARE_TOLD)
        return read_protected_address(receiver)

    @classmethod
    def open(cls, receiver: Receiver, environment: Mapping[str, str]) -> Self:
        """Read address and secrets."""
        url = open_protected_address(receiver, environment)
        return cls(
            url.copy_with(path=url.path.rstrip("/").removesuffix(PATH) + PATH),
            Credentials.open(receiver, environment),
            bool(receiver.options.get("private_addresses_allowed")),
        )

    def send(self, message: Message, *, delivery_id: str, now: datetime, http: Outbound) -> Receipt:
        """Push the alerts of a message. Raises SendFailed."""
        stamp = _moment(text_at(message.body, "timestamp")) or now
        told = [
            _postable(Stated(each, stamp), now, drill=message.drill) for each in alerts_of(message)
        ]
        if not told:
            told = [_of_message(message, delivery_id, now)]
        return self._push(told, delivery_id, now, http)

    def restate(self, stated: Sequence[Stated], *, now: datetime, http: Outbound) -> int:
        """Push all of these again, 500 at once; how many. Raises SendFailed at the first failure.

        The same alert stated twice is one alert there, and told once.
        """
        for begin in range(0, len(stated), AT_ONCE):
            part = [_postable(each, now, drill=False) for each in stated[begin : begin + AT_ONCE]]
            self._push(part, f"restated-{int(now.timestamp())}-{begin}", now, http)
        return len(stated)

    def _push(
        self, alerts: Sequence[Mapping[str, Json]], delivery_id: str, now: datetime, http: Outbound
    ) -> Receipt:
        body = json.dumps(alerts, ensure_ascii=False, allow_nan=False).encode("utf-8")
        headers = {
            "content-type": "application/json",
            **self.credentials.headers(delivery_id, now, body),
        }
        return post(
            http, self.url, body, headers, now=now, private_allowed=self.private_addresses_allowed
        )


def _postable(stated: Stated, now: datetime, *, drill: bool) -> dict[str, Json]:
    """An alert for the API. Its end is by the clock: the time of the data may be long ago.

    A drill is not stated again, and may have no end of its own: it soon ends by itself.
    """
    alert = stated.alert
    end = stated.told_at if is_over(alert) else now + (DRILL_HOLDS if drill else HOLDS)
    begin = _moment(started(alert, "")) or stated.told_at
    return {
        "labels": dict(labels_of(alert, drill=drill)),
        "annotations": dict(annotations_of(alert)),
        "startsAt": moment_text(min(begin, end)),
        "endsAt": moment_text(end),
        "generatorURL": text_at(alert, "links", "alert"),
    }


def _of_message(message: Message, delivery_id: str, now: datetime) -> dict[str, Json]:
    """A message that is not about alerts stands for an hour and has no end of its own."""
    return {
        "labels": dict(message_labels(message, delivery_id)),
        "annotations": dict(message_annotations(message)),
        "startsAt": moment_text(now),
        "endsAt": moment_text(now + HOLDS),
        "generatorURL": text_at(data_of(message), "links", "dashboard"),
    }


def _moment(stamp: str) -> datetime | None:
    return require_utc("timestamp", datetime.fromisoformat(stamp)) if stamp else None
