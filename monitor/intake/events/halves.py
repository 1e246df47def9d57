"""Which half of an exchange an event is, and in which exchange it belongs. Pure.

KServe gives the request and the response of one exchange the same id, against the CloudEvents
specification: source and id name the exchange, the type says which half.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.intake.events.event import Event
from monitor.intake.parts import RequestPart

KIND = "exchange"
REQUEST, RESPONSE = "request", "response"
TYPES: Mapping[str, tuple[str, str]] = {
    "org.kubeflow.serving.inference.request": ("kserve", REQUEST),
    "org.kubeflow.serving.inference.response": ("kserve", RESPONSE),
    "io.seldon.serving.inference.request": ("seldon", REQUEST),
    "io.seldon.serving.inference.response": ("seldon", RESPONSE),
    "azureml.inference.model_inputs": ("azure", REQUEST),
    "azureml.inference.model_outputs": ("azure", RESPONSE),
    "azureml.inference.request": ("azure", REQUEST),
    "azureml.inference.response": ("azure", RESPONSE),
}
"""By event type: whose it is, and which half."""
PLACES = ("namespace", "inferenceservicename", "component", "endpoint")
SENDER_MODEL = "inferwatchmodel"
"""An extension put in when the sender named the model beside the event."""
MOST_KEY = 400


@dataclass(frozen=True)
class Half:
    """A half: its producer and side."""

    producer: str
    side: str


def half_of(event: Event) -> Half | None:
    """Which half an event is; None for events that are no request and no response."""
    found = TYPES.get(event.type)
    return None if found is None else Half(*found)


def part_of(event: Event, half: Half, now: datetime, wait: timedelta) -> RequestPart:
    """The event as a part of its exchange, which is due when waiting ends."""
    names = [half.producer, event.source, *(event.extensions.get(name, "") for name in PLACES)]
    key = "\n".join([*names, event.id])
    if len(key) > MOST_KEY:
        key = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return RequestPart(KIND, key, half.side, event.pack(), now, now + wait)
