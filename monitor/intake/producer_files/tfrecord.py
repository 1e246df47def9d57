"""TFRecord framing: length, its checksum, data, its checksum. Pure.

Reference: TensorFlow, `tensorflow/core/lib/io/record_writer.h`. Checksums are CRC-32C
(Castagnoli) masked by a rotation and an addition, so that a checksum of checksums stays useful.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

LARGEST_RECORD = 64 << 20
_HEADER = 12
_POLYNOMIAL = 0x82F63B78
_MASK = 0xA282EAD8
_WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Broken:
    """Where a file stops being readable; what came before is whole."""

    place: int
    message: str
    cut_off: bool


def looks_like_tfrecord(start: bytes) -> bool:
    """Whether the first length carries its own checksum."""
    return len(start) >= _HEADER and _sum_of(start[:8]) == int.from_bytes(start[8:12], "little")


def read_tfrecords(file: BinaryIO) -> Iterator[bytes | Broken]:
    """Records in order; the last thing is a Broken where a sum is wrong or the file is cut off.

    After a wrong length nothing says where the next record begins, so reading ends there.
    """
    place = 0
    while header := file.read(_HEADER):
        if len(header) < _HEADER:
            yield Broken(place, "the file ends inside a record", cut_off=True)
            return
        length = int.from_bytes(header[:8], "little")
        if _sum_of(header[:8]) != int.from_bytes(header[8:], "little"):
            yield Broken(place, "the checksum of a length is wrong: the rest is not read", False)
            return
        if length > LARGEST_RECORD:
            yield Broken(place, f"a record of {length} bytes: the rest is not read", False)
            return
        body = file.read(length + 4)
        if len(body) < length + 4:
            yield Broken(place, "the file ends inside a record", cut_off=True)
            return
        data, told = body[:length], int.from_bytes(body[length:], "little")
        if _sum_of(data) == told:
            yield data
        else:
            yield Broken(place, "the checksum of a record is wrong", False)
        place += 1


def framed(data: bytes) -> bytes:
    """A record as it stands in a file."""
    length = struct.pack("<Q", len(data))
    return b"".join(
        (length, struct.pack("<I", _sum_of(length)), data, struct.pack("<I", _sum_of(data)))
    )


def _sum_of(data: bytes) -> int:
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + _MASK) & _WORD


def crc32c(data: bytes) -> int:
    """CRC-32C (RFC 3720, appendix B.4) by a table of 256 words."""
    crc = _WORD
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ _WORD


def _entry(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
    return value


_TABLE = tuple(_entry(value) for value in range(256))
