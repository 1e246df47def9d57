"""Protocol buffers without descriptors: fields of a message by number. Pure.

Enough for messages whose numbers are known and whose packages are too heavy to install.
Reference: Protocol Buffers, "Encoding".
"""

from __future__ import annotations

import struct
from collections import defaultdict
from typing import Any

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MOST_FIELDS = 1_000_000
_MOST_VARINT_BYTES = 10


class WireError(ValueError):
    """The bytes are no message."""


class Message:
    """Fields of one message, in order, by number."""

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[tuple[int, Any]]] = defaultdict(list)
        place = count = 0
        while place < len(data):
            key, place = _varint(data, place)
            value, place = _value(data, place, key & 7)
            self._fields[key >> 3].append((key & 7, value))
            count += 1
            if count > MOST_FIELDS:
                raise WireError("too many fields in one message")

    def numbers(self) -> frozenset[int]:
        """Which fields are there."""
        return frozenset(self._fields)

    def blob(self, number: int) -> bytes | None:
        """The last value of a field of bytes, text or a message."""
        found = [value for kind, value in self._fields.get(number, ()) if kind == BYTES]
        return found[-1] if found else None

    def every(self, number: int) -> list[bytes]:
        """All values of a repeated field of bytes, texts or messages."""
        return [value for kind, value in self._fields.get(number, ()) if kind == BYTES]

    def message(self, number: int) -> Message:
        """A message inside; empty where it is absent."""
        return Message(self.blob(number) or b"")

    def messages(self, number: int) -> list[Message]:
        """All messages of a repeated field."""
        return [Message(value) for value in self.every(number)]

    def text(self, number: int) -> str:
        """Text; empty where it is absent."""
        return (self.blob(number) or b"").decode("utf-8", "replace")

    def integer(self, number: int, default: int = 0) -> int:
        """A signed integer of 64 bits."""
        found = [value for kind, value in self._fields.get(number, ()) if kind == VARINT]
        return signed(found[-1]) if found else default

    def double(self, number: int) -> float | None:
        """A double."""
        found = [value for kind, value in self._fields.get(number, ()) if kind == FIXED64]
        return float(struct.unpack("<d", found[-1])[0]) if found else None

    def repeated(self, number: int, form: str) -> list[Any]:
        """Numbers, packed or one by one: `f` and `d` of a fixed width, `i` as signed varints."""
        found: list[Any] = []
        for kind, value in self._fields.get(number, ()):
            if kind == VARINT:
                found.append(signed(value))
            elif form == "i":
                found += _varints(value)
            else:
                width = 4 if form == "f" else 8
                if len(value) % width:
                    raise WireError("packed numbers of a broken length")
                found += struct.unpack(f"<{len(value) // width}{form}", value)
        return found


def signed(value: int) -> int:
    """A varint of 64 bits as a signed integer."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _varints(data: bytes) -> list[int]:
    found, place = [], 0
    while place < len(data):
        value, place = _varint(data, place)
        found.append(signed(value))
    return found


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for step in range(_MOST_VARINT_BYTES):
        if place + step >= len(data):
            raise WireError("a number is cut off")
        byte = data[place + step]
        value |= (byte & 0x7F) << (7 * step)
        if byte < 0x80:
            return value & ((1 << 64) - 1), place + step + 1
    raise WireError("a number of more than ten bytes")


def _value(data: bytes, place: int, kind: int) -> tuple[Any, int]:
    if kind == VARINT:
        return _varint(data, place)
    if kind == BYTES:
        length, place = _varint(data, place)
    elif kind in (FIXED64, FIXED32):
        length = 8 if kind == FIXED64 else 4
    else:
        raise WireError(f"fields of wire type {kind} are not known")
    if place + length > len(data):
        raise WireError("a field is cut off")
    return data[place : place + length], place + length
