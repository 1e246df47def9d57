"""One CloudEvent, 1.0 or 0.3, out of an HTTP message: binary, structured, or in a batch. Pure.

Reference: CloudEvents 1.0.2, HTTP protocol binding. Seldon and MLServer still send 0.3. The Azure
data collector sends headers of its own that look alike (`azure_headers`).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import msgspec

from monitor.strictjson import MAX_PLAIN_DIGITS, StrictJsonError, loads, storable

STRUCTURED, BATCHED = "application/cloudevents+json", "application/cloudevents-batch+json"
PREFIX = "ce-"
VERSIONS = ("1.0", "0.3")
MOST_EVENTS, MOST_ATTRIBUTES, MOST_LENGTH = 1_000, 100, 16_384
_CORE = frozenset({"specversion", "id", "source", "type", "time", "datacontenttype"})


class UnreadableEvent(ValueError):
    """The message is no CloudEvent; the text says what is missing and holds no value of it."""


@dataclass(frozen=True)
class Event:
    """An event: `extensions` by lower-case name, `data` as bytes (a JSON value as its text)."""

    id: str
    source: str
    type: str
    time: str | None = None
    content_type: str = ""
    extensions: Mapping[str, str] = field(default_factory=dict)
    data: bytes = b""

    def pack(self) -> bytes:
        """The event as bytes, to be kept."""
        return _PACK.encode(
            (self.id, self.source, self.type, self.time, self.content_type,
             dict(self.extensions), self.data)
        )  # fmt: skip

    @classmethod
    def unpack(cls, packed: bytes) -> Event:
        """The event that `pack` wrote."""
        return cls(*_UNPACK.decode(packed))


_PACK = msgspec.msgpack.Encoder()
_UNPACK = msgspec.msgpack.Decoder(tuple[str, str, str, str | None, str, dict[str, str], bytes])


def read_message(headers: Mapping[str, str], body: bytes) -> list[Event]:
    """Events of one HTTP message; `headers` by lower-case name. Raises UnreadableEvent."""
    content_type = headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    if kind == BATCHED:
        return _batch(body)
    if kind == STRUCTURED:
        return [_structured(_json(body))]
    return [_binary(headers, content_type, body)]


def _binary(headers: Mapping[str, str], content_type: str, body: bytes) -> Event:
    said = {
        name.removeprefix(PREFIX): _header_text(value)
        for name, value in headers.items()
        if name.startswith(PREFIX)
    }
    if not said:
        raise UnreadableEvent(
            "no CloudEvent: send ce- headers, or Content-Type application/cloudevents+json"
        )
    return _made(said, content_type, body)


def _header_text(value: str) -> str:
    """A header's text: percent-encoded where it is not plain ASCII."""
    return unquote(value) if "%" in value else value


def _batch(body: bytes) -> list[Event]:
    held = _json(body)
    if not isinstance(held, list):
        raise UnreadableEvent("a batch is a JSON array of events")
    if len(held) > MOST_EVENTS:
        raise UnreadableEvent(f"a batch of {len(held)} events; send at most {MOST_EVENTS}")
    return [_structured(each) for each in held]


def _structured(value: Any) -> Event:
    if not isinstance(value, Mapping):
        raise UnreadableEvent("a structured event is a JSON object")
    said = {
        str(name).lower(): each if isinstance(each, str) else _text(each)
        for name, each in value.items()
        if name not in ("data", "data_base64") and each is not None
    }
    return _made(said, said.get("datacontenttype", "application/json"), _data(value))


def _data(value: Mapping[str, Any]) -> bytes:
    encoded = value.get("data_base64")
    data = value.get("data")
    if encoded is None and value.get("datacontentencoding") == "base64":  # as 0.3 has it
        encoded = data
    if encoded is not None:
        try:
            return base64.b64decode(str(encoded), validate=True)
        except (binascii.Error, ValueError):  # ValueError: characters beyond ASCII
            raise UnreadableEvent("data_base64 is no base64") from None
    if data is None:
        return b""
    return _text(data).encode("utf-8", "surrogatepass")


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_refuse)


def _refuse(_: Any) -> Any:
    """Of all that `loads` gives, only a HugeInteger can't be written again as it was."""
    raise UnreadableEvent(
        f"the event holds an integer of more than {MAX_PLAIN_DIGITS} digits; send it as a text"
    )


def _made(said: Mapping[str, str], content_type: str, data: bytes) -> Event:
    version = said.get("specversion", "")
    missing = [name for name in ("id", "source", "type") if not said.get(name, "").strip()]
    if missing or version not in VERSIONS:
        wrong = [f"{name} is missing" for name in missing]
        if version not in VERSIONS:
            wrong.append(f"specversion is {' or '.join(VERSIONS)}, not {version[:20]!r}")
        raise UnreadableEvent(f"no CloudEvent that can be read: {'; '.join(wrong)}")
    _bounded(said)
    return Event(
        id=said["id"], source=said["source"], type=said["type"], time=said.get("time"),
        content_type=content_type[:200], extensions=_extensions(said), data=data,
    )  # fmt: skip


def _extensions(said: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in said.items() if name not in _CORE}


def _bounded(said: Mapping[str, str]) -> None:
    """Refuse what can't be kept: the database would refuse it for all that share its commit."""
    texts = [*said, *said.values()]
    if len(said) > MOST_ATTRIBUTES or any(len(text) > MOST_LENGTH for text in texts):
        raise UnreadableEvent(
            f"an event has at most {MOST_ATTRIBUTES} attributes of {MOST_LENGTH} characters"
        )
    if not all(map(storable, texts)):
        raise UnreadableEvent(
            "an attribute of the event holds U+0000 or half of a surrogate pair; send plain text"
        )


def _json(body: bytes) -> Any:
    try:
        return loads(body)
    except StrictJsonError as error:
        raise UnreadableEvent(f"the event is no JSON that can be read: {error}") from None


def azure_event(headers: Mapping[str, str], body: bytes) -> Event:
    """What the Azure data collector client posts: no id, source or version, a time in seconds.

    Raises UnreadableEvent.
    """
    said = {
        name.removeprefix(PREFIX): value
        for name, value in headers.items()
        if name.startswith(PREFIX)
    }
    wrong = [
        f"ce-{name} is missing" for name in ("type", "x-request-id", "time") if not said.get(name)
    ]
    if wrong:
        raise UnreadableEvent(f"no entry of the Azure data collector: {'; '.join(wrong)}")
    _bounded(said)
    return Event(
        id=said["x-request-id"], source="azureml", type=said["type"], time=said["time"],
        content_type="application/json", extensions=_extensions(said), data=body,
    )  # fmt: skip
