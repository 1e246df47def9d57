"""Digests that name a model by what it is: of its files, and of a fitted object in memory."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

CHUNK_BYTES = 1 << 20
MAX_DEPTH = 200


class NotDigestible(TypeError):
    """An object whose state can't be read; the message names its type."""


def file_digest(path: str | Path, *more: str | Path) -> str:
    """`sha256:…` of a file, or of several in the order given, such as weights kept apart.

    Raises OSError when one can't be read.
    """
    digest = hashlib.sha256()
    for each in (path, *more):
        with Path(each).open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
    return f"sha256:{digest.hexdigest()}"


def state_digest(model: Any) -> str:
    """`sha256:…` of an object's fitted state: classes, parameters and arrays, exact to the bit.

    Equal for two loads of the same model, whatever the memory layout, which a digest of a pickle is
    not. Another version of the library may keep other state, and then it differs. Raises
    NotDigestible.
    """
    walk = _Walk()
    walk.feed(model, 0)
    return f"sha256:{walk.digest.hexdigest()}"


def float_kinds(model: Any) -> list[str]:
    """Kinds of floating-point numbers in the arrays of an object's state, such as float64."""
    walk = _Walk()
    walk.feed(model, 0)
    return sorted(walk.kinds)


class _Walk:
    """Feeds an object to a digest, each part with its kind and length, so that none can pass for
    another."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.kinds: set[str] = set()
        self._inside: list[int] = []

    def feed(self, value: Any, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise NotDigestible(f"{type(value).__name__} is nested deeper than {MAX_DEPTH} levels")
        if value is None or isinstance(value, (bool, int, str)):
            self._write(type(value).__name__, str(value).encode("utf-8", "surrogatepass"))
        elif type(value) is float:
            self._write("float", struct.pack("<d", value))
        elif isinstance(value, (bytes, bytearray)):
            self._write("bytes", bytes(value))
        elif isinstance(value, (type, type(len), type(file_digest))):
            self._write("name", f"{value.__module__}.{value.__qualname__}".encode())
        elif type(value).__module__ == "numpy" and hasattr(value, "dtype"):
            self._feed_array(value, depth)
        else:
            self._feed_parts(value, depth)

    def _feed_array(self, value: Any, depth: int) -> None:
        kind = value.dtype
        self._write("array", f"{kind.str} {kind.descr} {value.shape}".encode())
        if kind.hasobject:
            self.feed(value.tolist(), depth + 1)
            return
        self.kinds.update(_floats_of(kind))
        for name in kind.names or ():  # field by field: the bytes between fields are anything
            self.feed(value[name], depth + 1)
        if not kind.names:
            self._write("data", value.tobytes())

    def _feed_parts(self, value: Any, depth: int) -> None:
        if id(value) in self._inside:
            self._write("again", str(self._inside.index(id(value))).encode())
            return
        self._inside.append(id(value))
        try:
            if isinstance(value, Mapping):
                self._feed_all("mapping", value.items(), depth)
            elif isinstance(value, (list, tuple)):
                self._feed_all(type(value).__name__, value, depth)
            elif isinstance(value, (set, frozenset)):
                self._feed_all("set", sorted(state_digest(each) for each in value), depth)
            else:
                self._feed_object(value, depth)
        finally:
            self._inside.pop()

    def _feed_object(self, value: Any, depth: int) -> None:
        try:
            reduced = value.__reduce_ex__(4)
        except Exception as error:
            raise NotDigestible(f"the state of {type(value).__name__} can't be read") from error
        if isinstance(reduced, str):
            self._write("global", reduced.encode())
            return
        parts = [list(part) if _is_iterator(part) else part for part in reduced]
        self._feed_all("object", parts, depth)

    def _feed_all(self, kind: str, parts: Iterable[Any], depth: int) -> None:
        held = list(parts)
        self._write(kind, str(len(held)).encode())
        for part in held:
            self.feed(part, depth + 1)

    def _write(self, kind: str, content: bytes) -> None:
        self.digest.update(f"{kind} {len(content)}\n".encode())
        self.digest.update(content)


def _is_iterator(value: Any) -> bool:
    return hasattr(value, "__next__")


def _floats_of(kind: Any) -> set[str]:
    if kind.fields:
        return {name for inner in kind.fields.values() for name in _floats_of(inner[0].base)}
    return {kind.name} if kind.kind in "fc" else set()
