"""Arrow arrays of any producer's types, brought to the few types intake works with. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.errors import RequestRefused
from monitor.intake.grid import Bools, is_null
from monitor.intake.ipc import refuse_expansion
from monitor.intake.times import MICROSECOND, TimeFault, Times, parse_times

Rows = np.ndarray[Any, np.dtype[np.intp]]
_NONE: Rows = np.zeros(0, np.intp)


def is_text(kind: pa.DataType) -> bool:
    """Whether values of the type are text."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def is_number(kind: pa.DataType) -> bool:
    """Whether values of the type are numbers (booleans are not)."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def is_list(kind: pa.DataType) -> bool:
    """Whether values of the type are lists."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def is_readable(kind: pa.DataType) -> bool:
    """Whether values of the type exist in JSON too, so that they can be judged one by one."""
    if pa.types.is_dictionary(kind) or is_list(kind):
        return is_readable(kind.value_type)
    if pa.types.is_struct(kind):
        return all(is_readable(field.type) for field in kind)
    return (
        is_text(kind)
        or is_number(kind)
        or bool(pa.types.is_boolean(kind) or pa.types.is_null(kind))
    )


def plain(name: str, column: pa.ChunkedArray, max_bytes: int) -> tuple[pa.Array, Rows]:
    """One array without dictionaries and views, and the rows whose text is not UTF-8 (null there).

    Raises RequestRefused when the column is corrupt or unpacks to too much.
    """
    chunks, broken, start = [], [], 0
    for chunk in column.chunks:
        sound, bad = _sound(name, chunk)
        if not pa.types.is_primitive(column.type):
            refuse_expansion(sound, max_bytes)
            sound = _unpacked(sound)
        chunks.append(sound)
        broken.append(bad + start)
        start += len(chunk)
    if not chunks:
        return _unpacked(pa.array([], column.type)), _NONE
    whole = chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)
    return whole, np.concatenate(broken)


def to_doubles(array: pa.Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Numbers or booleans as doubles (the nearest one); anything may stand under nulls."""
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    if not pa.types.is_float64(array.type):
        array = array.cast(pa.float64(), safe=False)
    if len(array) == 0:
        return np.zeros(0)
    return np.frombuffer(array.buffers()[1], np.float64, len(array), array.offset * 8)


def read_times(array: pa.Array) -> Times | None:
    """Moments of timestamps, dates or texts; None for a type that holds no times.

    Nanoseconds are cut to microseconds. A timestamp without a zone is a fault, never a guess.
    """
    kind, n = array.type, len(array)
    if is_text(kind):
        return parse_times(array)
    if pa.types.is_null(kind):
        return Times(np.zeros(n, "i8"), np.zeros(n, "u1"))
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None):
        faults = np.where(is_null(array), TimeFault.NONE, TimeFault.WITHOUT_ZONE)
        return Times(np.zeros(n, "i8"), faults.astype("u1"))
    return _microseconds(array) if pa.types.is_timestamp(kind) else None


def rows_with_nul(texts: pa.StringArray) -> Rows:
    """Rows whose text holds U+0000."""
    if len(texts) == 0 or not _holds_zero_byte(texts):
        return _NONE
    found = pc.match_substring(texts, "\0").fill_null(False)
    return np.flatnonzero(found.to_numpy(zero_copy_only=False))


def _holds_zero_byte(texts: pa.StringArray) -> bool:
    """A quick look for a zero byte in the texts' buffer; True may be a byte that no row uses."""
    data = texts.buffers()[2]
    return data is not None and data.size > 0 and b"\0" in data.to_pybytes()


def rows_longer_than(texts: pa.StringArray, limit: int) -> Rows:
    """Rows of more than `limit` characters. Bytes are looked at first: there are never fewer."""
    if len(texts) == 0 or byte_lengths(texts).max() <= limit:
        return _NONE
    lengths = pc.utf8_length(texts).fill_null(0).to_numpy(zero_copy_only=False)
    return np.flatnonzero(lengths > limit)


def byte_lengths(texts: pa.StringArray) -> np.ndarray[Any, np.dtype[np.int32]]:
    """UTF-8 bytes of each text; anything may stand under nulls."""
    count = len(texts) + 1
    offsets = np.frombuffer(texts.buffers()[1], np.int32, count, texts.offset * 4)
    return np.diff(offsets)


def without(texts: pa.StringArray, rows: Rows) -> pa.StringArray:
    """The texts with null in these rows."""
    if not len(rows):
        return texts
    bad: Bools = np.zeros(len(texts), np.bool_)
    bad[rows] = True
    return pc.if_else(pa.array(bad), pa.scalar(None, pa.string()), texts)


def _sound(name: str, chunk: pa.Array) -> tuple[pa.Array, Rows]:
    try:
        chunk.validate(full=True)
    except pa.ArrowInvalid:
        return _repaired(name, chunk)
    return chunk, _NONE


def _repaired(name: str, chunk: pa.Array) -> tuple[pa.Array, Rows]:
    """Text that is not UTF-8 costs its own rows only; any other damage costs the body."""
    refusal = RequestRefused(400, "unreadable", f"column {name[:100]!r} of the stream is corrupt")
    if not (pa.types.is_string(chunk.type) or pa.types.is_large_string(chunk.type)):
        raise refusal
    raw = chunk.cast(pa.large_binary())
    try:
        raw.validate(full=True)
    except pa.ArrowInvalid:
        raise refusal from None
    texts, bad = [], []
    for row, value in enumerate(raw.to_pylist()):
        try:
            texts.append(None if value is None else value.decode("utf-8"))
        except UnicodeDecodeError:
            texts.append(None)
            bad.append(row)
    return pa.array(texts, pa.string()), np.array(bad, np.intp)


def _unpacked(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if is_text(array.type):
        return array.cast(pa.string())
    return array


def _microseconds(array: pa.Array) -> Times:
    if len(array) == 0:
        return Times(np.zeros(0, "i8"), np.zeros(0, "u1"))
    cut = array.type.unit == "ns"
    try:
        whole = array.cast(MICROSECOND, safe=not cut)
    except pa.ArrowInvalid:  # seconds beyond what microseconds can hold
        faults = np.where(is_null(array), TimeFault.NONE, TimeFault.BAD)
        return Times(np.zeros(len(array), "i8"), faults.astype("u1"))
    micros = np.frombuffer(whole.buffers()[1], np.int64, len(whole), whole.offset * 8)
    if whole.null_count:
        micros = np.where(is_null(whole), 0, micros)
    return Times(micros, np.zeros(len(array), "u1"))
