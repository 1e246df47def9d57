"""The envelope columns of an Arrow table, judged by the rules of `envelope`. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.intake.arrow_values import (
    Rows,
    byte_lengths,
    is_readable,
    is_text,
    read_times,
    rows_longer_than,
    rows_with_nul,
)
from monitor.intake.envelope import (
    OUTCOMES,
    Refusal,
    id_refusal,
    outcome_refusal,
    time_refusal,
)
from monitor.intake.grid import is_null
from monitor.intake.json_lenient import outcome_reason_violation, parse_one
from monitor.intake.times import Times
from monitor.records import MAX_ID_LENGTH, RejectionReason, RequestOutcome, ViolationReason

Getter = Callable[[str], tuple[pa.Array, Rows]]


@dataclass(frozen=True)
class ArrowEnvelope:
    """Envelope columns of n rows; `refusals` names rows that fail before times are looked at."""

    request_ids: pa.StringArray
    times: Times
    deployments: list[Any]
    tags: list[Any]
    outcomes: np.ndarray[Any, np.dtype[np.int16]]
    outcome_reasons: pa.StringArray
    bad_outcome_reasons: list[tuple[int, ViolationReason, Any]]
    refusals: dict[int, Refusal]


def read_envelope(get: Getter, n: int) -> ArrowEnvelope:
    """Envelope of a table; `get(name)` gives a column (null when absent) and its broken rows."""
    refusals: dict[int, Refusal] = {}
    outcomes = _outcomes(get, refusals)
    times = _times(get, refusals, n)
    ids = _ids(get, refusals)
    reasons, bad_reasons = _outcome_reasons(get)
    return ArrowEnvelope(
        request_ids=ids,
        times=times,
        deployments=python_values(get("deployment")[0]),
        tags=read_tags(get("tags")[0]),
        outcomes=outcomes,
        outcome_reasons=reasons,
        bad_outcome_reasons=bad_reasons,
        refusals=refusals,
    )


def read_ids(
    name: str, array: pa.Array, broken: Rows, refusals: dict[int, Refusal]
) -> pa.StringArray:
    """Ids of one column; rows without a usable id are put into `refusals`."""
    if not is_text(array.type):
        for row, value in enumerate(python_values(array)):
            refusals[row] = id_refusal(value) or _NOT_TEXT
        return pa.nulls(len(array), pa.string())
    missing = np.flatnonzero((byte_lengths(array) == 0) | is_null(array))
    suspects = (missing, rows_longer_than(array, MAX_ID_LENGTH), rows_with_nul(array))
    for row in {int(row) for rows in suspects for row in rows}:
        refusal = id_refusal(array[row].as_py())
        if refusal is not None:
            refusals[row] = refusal
    for row in broken.tolist():
        refusals[row] = Refusal(RejectionReason.BAD_ID, f"{name} is not UTF-8 text")
    return array


def read_tags(array: pa.Array) -> list[Any]:
    """Tags of each row: JSON texts are read once for each spelling, equal ones are one object."""
    if array.null_count == len(array):
        return [None] * len(array)
    if not is_text(array.type):
        return python_values(array)
    encoded = array.dictionary_encode()
    read = [parse_one(text.encode()) for text in encoded.dictionary.to_pylist()]
    objects = [_Unreadable() if isinstance(value, Refusal) else value for value in read]
    return [None if index is None else objects[index] for index in encoded.indices.to_pylist()]


class _Unreadable:
    """Stands for tags that are no JSON; no object, so it is refused as such."""


_NOT_TEXT = Refusal(RejectionReason.BAD_ID, "request_id is text; send a string column")


def _ids(get: Getter, refusals: dict[int, Refusal]) -> pa.StringArray:
    array, broken = get("request_id")
    return read_ids("request_id", array, broken, refusals)


def _times(get: Getter, refusals: dict[int, Refusal], n: int) -> Times:
    array, broken = get("event_time")
    times = read_times(array)
    missing = is_null(array)
    if times is None:
        refusals |= _refuse(np.flatnonzero(~missing), time_refusal(0))
        times = Times(np.zeros(n, "i8"), np.zeros(n, "u1"))
    refusals |= _refuse(np.flatnonzero(missing), time_refusal(None))
    refusals |= _refuse(broken, time_refusal(0))
    return times


def _outcomes(get: Getter, refusals: dict[int, Refusal]) -> np.ndarray[Any, np.dtype[np.int16]]:
    array, broken = get("outcome")
    if array.null_count == len(array) and not len(broken):
        return np.full(len(array), int(RequestOutcome.ANSWERED), np.int16)
    numbers = []
    for row, value in enumerate(python_values(array)):
        refusal = outcome_refusal(value)
        if refusal is not None:
            refusals[row] = refusal
        known = OUTCOMES.get(value) if isinstance(value, str) else None
        numbers.append(known or int(RequestOutcome.ANSWERED))
    refusals |= _refuse(broken, outcome_refusal(0))
    return np.array(numbers, np.int16)


def _outcome_reasons(
    get: Getter,
) -> tuple[pa.StringArray, list[tuple[int, ViolationReason, Any]]]:
    array, broken = get("outcome_reason")
    bad = [(row, ViolationReason.UNSTORABLE_TEXT, None) for row in broken.tolist()]
    if array.null_count == len(array):
        return pa.nulls(len(array), pa.string()), bad
    kept = []
    for row, value in enumerate(python_values(array)):
        reason = None if value is None else outcome_reason_violation(value)
        if reason is not None:
            bad.append((row, reason, value))
        kept.append(value if reason is None else None)
    return pa.array(kept, pa.string()), bad


def _refuse(rows: Rows, refusal: Refusal | None) -> dict[int, Refusal]:
    return {} if refusal is None else dict.fromkeys(rows.tolist(), refusal)


def python_values(array: pa.Array) -> list[Any]:
    """Python values; a type that JSON does not have gives an object that every rule refuses."""
    if is_readable(array.type):
        return list(array.to_pylist())
    return [None if missing else _Unreadable() for missing in is_null(array).tolist()]
