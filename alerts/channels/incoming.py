"""Incoming webhooks of chat programs: the address is the secret, a message is one JSON body."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

import httpx

from alerts.channels.base import Receipt
from alerts.channels.http_post import open_secret_address, post, read_secret_address
from alerts.channels.outbound import Outbound
from alerts.config import Receiver
from alerts.message_body import encode_body
from alerts.messages import Message
from alerts.yaml_source import Section


@dataclass(frozen=True)
class IncomingWebhook(ABC):
    """The channel behind one such address; a program gives the form of its bodies."""

    url: httpx.URL = field(repr=False)
    private_addresses_allowed: bool = False

    @staticmethod
    @abstractmethod
    def body_of(message: Message) -> dict[str, Any]:
        """The message in the program's form, within its limits."""

    @staticmethod
    def read_options(receiver: Section) -> Mapping[str, str | bool]:
        """url_env or url_file, and private_addresses_allowed."""
        return read_secret_address(receiver)

    @classmethod
    def open(cls, receiver: Receiver, environment: Mapping[str, str]) -> Self:
        """Read the address."""
        url = open_secret_address(receiver, environment)
        return cls(url, bool(receiver.options.get("private_addresses_allowed")))

    def send(self, message: Message, *, delivery_id: str, now: datetime, http: Outbound) -> Receipt:
        """Post the body. Raises SendFailed."""
        body = encode_body(self.body_of(message))
        headers = {
            "content-type": "application/json; charset=utf-8",
            "x-inferwatch-delivery": delivery_id,
        }
        allowed = self.private_addresses_allowed
        return post(http, self.url, body, headers, now=now, private_allowed=allowed)
