"""A part of a profile: named integer arrays that add up.

Merging is integer addition key by key, so any order and any grouping gives the same bytes. Knows
nothing of columns or checks: what a name means is the business of the module that wrote it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from monitor.profiles.arrays import Integers, add_tables
from monitor.profiles.packing import pack, unpack

_MAGIC = b"IWP1"
_LITTLE = np.dtype("<i8")


class PartKind(IntEnum):
    """Which part of a profile; the number is what is stored."""

    COLUMNS = 1
    PAIRS = 2
    SERVING = 3
    LABELS = 4


@dataclass(frozen=True, eq=False)
class Part:
    """Dense arrays int64[any length] and sparse tables (sorted unique keys int64[k], int64[k, m]).

    A name absent from a part counts as zero everywhere.
    """

    dense: Mapping[str, Integers] = field(default_factory=dict)
    sparse: Mapping[str, tuple[Integers, Integers]] = field(default_factory=dict)

    def canonical(self) -> bytes:
        """The one byte form of this content: names in order, little-endian int64."""
        header, arrays = self._header_and_arrays()
        body = b"".join(np.ascontiguousarray(array, _LITTLE).tobytes() for array in arrays)
        return _MAGIC + len(header).to_bytes(4, "little") + header + body

    def digest(self) -> str:
        """SHA-256 of the canonical form; independent of how it is compressed when stored."""
        return hashlib.sha256(self.canonical()).hexdigest()

    def to_bytes(self) -> bytes:
        """The stored form: the canonical content, its integers byte-shuffled, under zstd."""
        header, arrays = self._header_and_arrays()
        flat = np.concatenate([np.ravel(a) for a in arrays]) if arrays else np.zeros(0, np.int64)
        shuffled = flat.astype(_LITTLE).view(np.uint8).reshape(-1, 8).T.tobytes()
        whole = _MAGIC + len(header).to_bytes(4, "little") + header + shuffled
        return pack(whole)

    @classmethod
    def from_bytes(cls, stored: bytes) -> Part:
        """Read what `to_bytes` wrote; AssertionError when it is something else."""
        whole = unpack(stored)
        if whole[:4] != _MAGIC:
            raise AssertionError(
                "stored profile bytes begin otherwise; they are of another version"
            )
        start = 8 + int.from_bytes(whole[4:8], "little")
        header = json.loads(whole[8:start])
        shuffled = np.frombuffer(whole, np.uint8, offset=start).reshape(8, -1)
        flat = (
            np.ascontiguousarray(shuffled.T).view(_LITTLE).reshape(-1).astype(np.int64, copy=False)
        )
        return cls._from_flat(header, flat)

    @classmethod
    def _from_flat(cls, header: dict[str, list[list[int | str]]], flat: Integers) -> Part:
        dense, sparse, at = {}, {}, 0
        for name, length in header["dense"]:
            dense[str(name)] = flat[at : at + int(length)]
            at += int(length)
        for name, rows, width in header["sparse"]:
            keys = flat[at : at + int(rows)]
            at += int(rows)
            values = flat[at : at + int(rows) * int(width)].reshape(int(rows), int(width))
            at += int(rows) * int(width)
            sparse[str(name)] = (keys, values)
        return cls(dense, sparse)

    def _header_and_arrays(self) -> tuple[bytes, list[Integers]]:
        dense = sorted(self.dense)
        sparse = sorted(self.sparse)
        header = {
            "dense": [[name, len(self.dense[name])] for name in dense],
            "sparse": [[name, *self.sparse[name][1].shape] for name in sparse],
        }
        arrays = [self.dense[name] for name in dense]
        for name in sparse:
            arrays.extend(self.sparse[name])
        text = json.dumps(header, ensure_ascii=True, separators=(",", ":"))
        return text.encode(), arrays


def merge(parts: Iterable[Part]) -> Part:
    """Add parts up; the merge of none is the empty part."""
    every = list(parts)
    if len(every) == 1:
        return every[0]
    dense: dict[str, list[Integers]] = {}
    sparse: dict[str, list[tuple[Integers, Integers]]] = {}
    for part in every:
        for name, array in part.dense.items():
            dense.setdefault(name, []).append(array)
        for name, table in part.sparse.items():
            sparse.setdefault(name, []).append(table)
    return Part(
        {name: _added(name, arrays) for name, arrays in dense.items()},
        {name: add_tables(tables) for name, tables in sparse.items()},
    )


def _added(name: str, arrays: list[Integers]) -> Integers:
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        raise AssertionError(
            f"{name!r} has lengths {sorted(lengths)}; parts of different binnings never add up"
        )
    return arrays[0] if len(arrays) == 1 else np.sum(arrays, axis=0, dtype=np.int64)
