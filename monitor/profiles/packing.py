"""zstd as profiles and blocks are stored. Making a compressor costs more than packing a small part,
so each thread keeps one; they may not be shared between threads. Pure.
"""

from __future__ import annotations

import threading

import zstandard

_LEVEL = 3


class _Held(threading.local):
    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_held = _Held()


def pack(content: bytes) -> bytes:
    """The content as one zstd frame that tells its size."""
    return _held.compressor.compress(content)


def unpack(stored: bytes) -> bytes:
    """What `pack` was given; raises zstandard.ZstdError when this is no such frame."""
    return _held.decompressor.decompress(stored)
