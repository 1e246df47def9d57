"""The deployment system of the demo: it carries out signed orders to move traffic.

An order is a `response.requested` message of a defined response (docs/responses.md). It is answered
at once with what became of it, and with what is needed to restore the state before. The same order
again gets the same answer and changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from monitor.demo.deployments import DEPLOYMENTS
from monitor.demo.signed_server import Answer, SignedServer
from monitor.demo.traffic import Traffic

NAMES = tuple(deployment.name for deployment in DEPLOYMENTS)


class _Refused(Exception):
    """Why an order is not carried out."""


class TrafficControl(SignedServer):
    """Holds the split of the requests. `now` is the replayed moment; whoever replays sets it."""

    path = "/actions"

    def __init__(
        self, secret: str, traffic: Traffic, now: datetime, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(secret, clock)
        self._traffic, self._now = traffic, now
        self._answers: dict[str, Answer] = {}
        self._moments: list[datetime] = []

    @property
    def moments(self) -> tuple[datetime, ...]:
        """When the split changed or is to change back, as far as orders tell."""
        with self.lock:
            return tuple(self._moments)

    @property
    def verified(self) -> int:
        """How many orders came, each counted once."""
        with self.lock:
            return len(self._answers)

    @property
    def traffic(self) -> Traffic:
        """The split as it is now, with its changes so far."""
        with self.lock:
            return self._traffic

    def stand_at(self, now: datetime) -> None:
        """Set the replayed clock."""
        with self.lock:
            self._now = now

    def accept(self, delivery_id: str, content: Mapping[str, Any]) -> Answer:
        """Carry an order out, or say why not."""
        if delivery_id not in self._answers:
            try:
                told = self._obey(content)
            except _Refused as refused:
                told = {"outcome": "refused", "detail": str(refused)}
            except (KeyError, TypeError, ValueError) as error:
                told = {"outcome": "refused", "detail": f"the order can't be read: {error!r}"}
            self._answers[delivery_id] = Answer(200, told)
        return self._answers[delivery_id]

    def _obey(self, content: Mapping[str, Any]) -> dict[str, Any]:
        order = content.get("data")
        if content.get("type") != "response.requested" or not isinstance(order, dict):
            raise _Refused("this is no order of a response")
        if datetime.fromisoformat(str(order["answer_by"])) < self._now:
            raise _Refused(f"the order came after {order['answer_by']}")
        wanted = _wanted_shares(order, self._traffic)
        told = ", ".join(f"{name} {percent:.1f} %" for name, percent in wanted.items())
        if order["dry_run"] or order["drill"]:
            return {"outcome": "done", "detail": f"would give {told} of the requests"}
        former = {name: self._traffic.share_of(name) for name in wanted}
        shares = {name: self._traffic.share_of(name) for name in NAMES} | wanted
        self._traffic = self._traffic.changed(self._now, shares)
        self._moments.append(self._now)
        if order["expires_at"] is not None:
            self._moments.append(datetime.fromisoformat(str(order["expires_at"])))
        return {
            "outcome": "done",
            "detail": f"{told} of the requests from {self._now:%Y-%m-%d %H:%M} UTC on",
            "former": {"percent": former},
        }


def _wanted_shares(order: Mapping[str, Any], traffic: Traffic) -> dict[str, float]:
    """The share that each deployment named in the order is to have."""
    if order["action"] != "reduce_traffic":
        raise _Refused(f"this router can only reduce traffic, not {order['action']}")
    names = [str(each["name"]) for each in order["deployments"]]
    if not names or not set(names) <= set(NAMES):
        raise _Refused(f"it serves {', '.join(NAMES)}, not {', '.join(names) or 'nothing'}")
    if order["returns"] is not None:
        former = (order["former"] or {}).get("percent")
        if not isinstance(former, dict) or set(former) != set(names):
            raise _Refused("the former state of these deployments is not in the order")
        return {name: float(former[name]) for name in names}
    each = float(order["parameters"]["to_percent"]) / len(names)
    if len(names) == len(NAMES):
        raise _Refused("somebody has to answer: not all deployments can have less")
    if any(each > traffic.share_of(name) for name in names):
        raise _Refused(f"{each:.1f} % is more than it has now")
    return dict.fromkeys(names, each)
