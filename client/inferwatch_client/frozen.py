"""Copies what a caller logs, in the caller's thread: it may change its arrays afterwards.

Quick for plain values. Nothing is converted to JSON here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

ITEM_BYTES = 400
COLUMN_BYTES = 90
NUMBER_BYTES = 32
MAX_DEPTH = 8
_PLAIN = frozenset({float, int, bool, type(None)})
_UNCHANGING = (datetime, date, Decimal)


class NotLoggable(TypeError):
    """A value that can't be logged; the message names its type, never the value."""


def frozen(values: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """A copy that later changes don't reach, and about how many bytes of memory it takes.

    Raises NotLoggable.
    """
    copied = dict(values)
    size = ITEM_BYTES + COLUMN_BYTES * len(copied)
    for value in copied.values():
        kind = type(value)
        if kind is float:  # nearly all of them; each look costs
            continue
        if kind is str:
            size += sys.getsizeof(value)
        elif kind not in _PLAIN:
            return _copied(copied, size)
    return copied, size


def _copied(copied: dict[str, Any], size: int) -> tuple[dict[str, Any], int]:
    for name, value in copied.items():
        copied[name], more = frozen_value(value)
        size += more
    return copied, size


def frozen_value(value: Any, depth: int = 0) -> tuple[Any, int]:
    """One value copied, and its size in bytes. Raises NotLoggable."""
    if type(value) in _PLAIN or isinstance(value, (int, float)):
        return value, NUMBER_BYTES
    if isinstance(value, Enum):
        return frozen_value(value.value, depth)
    if isinstance(value, str):
        return value, sys.getsizeof(value)
    if isinstance(value, (list, tuple)):
        return _frozen_list(value, depth)
    if isinstance(value, _UNCHANGING):
        return value, NUMBER_BYTES
    if isinstance(value, UUID):
        return str(value), 2 * NUMBER_BYTES
    if isinstance(value, Mapping):
        return _frozen_mapping(value, depth)
    return _frozen_array(value)


def _frozen_list(value: list[Any] | tuple[Any, ...], depth: int) -> tuple[Any, int]:
    _refuse_depth(depth)
    if all(type(item) in _PLAIN for item in value):
        return list(value), NUMBER_BYTES * (len(value) + 2)
    parts = [frozen_value(item, depth + 1) for item in value]
    return [part for part, _ in parts], NUMBER_BYTES * 2 + sum(size for _, size in parts)


def _frozen_mapping(value: Mapping[Any, Any], depth: int) -> tuple[Any, int]:
    _refuse_depth(depth)
    parts = {str(key): frozen_value(item, depth + 1) for key, item in value.items()}
    size = ITEM_BYTES + sum(COLUMN_BYTES + more for _, more in parts.values())
    return {key: part for key, (part, _) in parts.items()}, size


def _frozen_array(value: Any) -> tuple[Any, int]:
    """numpy arrays are copied as they are; tensors of other libraries become lists at once."""
    if type(value).__module__ == "numpy" and type(value).__name__ == "ndarray":
        if value.dtype.hasobject:
            return frozen_value(value.tolist())
        return value.copy(), int(value.nbytes) + ITEM_BYTES
    to_list = getattr(value, "tolist", None)
    if to_list is None:
        raise NotLoggable(f"a value of type {type(value).__name__} can't be logged")
    plain = to_list()
    if type(plain) is type(value):
        raise NotLoggable(f"a value of type {type(value).__name__} can't be logged")
    return frozen_value(plain)


def _refuse_depth(depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise NotLoggable(f"values nested deeper than {MAX_DEPTH} levels can't be logged")
