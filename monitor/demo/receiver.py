"""A small webhook receiver, as an on-call service would run one: it counts what is verified."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from monitor.demo.signed_server import Answer, SignedServer


@dataclass(frozen=True)
class Received:
    """One delivery that was verified: its id, how often it came, and the body of the first time."""

    delivery_id: str
    times: int
    body: Mapping[str, Any]


class WebhookReceiver(SignedServer):
    """Keeps every verified delivery; a repeated id counts once."""

    path = "/alerts"

    def __init__(self, secret: str, clock: Callable[[], float] = time.time) -> None:
        super().__init__(secret, clock)
        self._received: dict[str, Received] = {}

    def received(self) -> tuple[Received, ...]:
        """Verified deliveries in order of first arrival."""
        with self.lock:
            return tuple(self._received.values())

    def accept(self, delivery_id: str, content: Mapping[str, Any]) -> Answer:
        """Keep it; 204 tells that it was taken."""
        known = self._received.get(delivery_id)
        times, body = (1, content) if known is None else (known.times + 1, known.body)
        self._received[delivery_id] = Received(delivery_id, times, body)
        return Answer(204)
