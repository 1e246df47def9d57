"""Which profile each row belongs to: leg, deployment, window and segments. Pure but for numbers.

Segment numbers come in through a function, because only the store may give them out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.contract import ColumnType, Contract
from monitor.profiles.arrays import numbered
from monitor.profiles.binning import Binning
from monitor.profiles.cells import CategoryCells
from monitor.profiles.rows import RequestRows
from monitor.windows import Grain

WHOLE = 0
TOP_VALUES = 20
MAX_SEGMENTS = 500
OTHER, MISSING = "(other)", "(missing)"
Integers = np.ndarray[Any, np.dtype[np.int64]]
NumberOf = Callable[[dict[str, str]], int]


@dataclass(frozen=True)
class GroupKey:
    """One profile's rows: leg, deployment, window start and segment (0 = all requests)."""

    leg: str
    deployment_id: int
    window_start: datetime
    segment_id: int


@dataclass(frozen=True)
class Groups:
    """`membership` int64[n, k]: the group of each row and segment key; `keys` by group number."""

    keys: tuple[GroupKey, ...]
    membership: Integers


def group_rows(rows: RequestRows, legs: pa.Array, segments: Integers, grain: Grain) -> Groups:
    """Group rows by leg, deployment, window and each of their segments.

    `legs` text[n]; `segments` int64[n, k] segment numbers (negative: in no segment of that key).
    """
    leg_codes = pc.dictionary_encode(legs)
    leg_names = leg_codes.dictionary.to_pylist()
    deployments, deployment_places = numbered(rows.deployment_id)
    starts, start_places = numbered(rows.event_time // (int(grain) * 1_000_000))
    wide = np.column_stack([np.zeros(len(rows), np.int64), segments])
    shape = (len(leg_names), len(deployments), len(starts), int(wide.max(initial=0)) + 1)
    base = leg_codes.indices.to_numpy().astype(np.int64) * shape[1] + deployment_places
    base = (base * shape[2] + start_places) * shape[3]
    codes = np.where(wide >= 0, base[:, None] + wide, -1)
    distinct, membership = numbered(codes.ravel())
    membership = membership.reshape(codes.shape)
    if len(distinct) and distinct[0] < 0:
        distinct, membership = distinct[1:], membership - 1
    keys = []
    for leg, deployment, start, segment in zip(*np.unravel_index(distinct, shape), strict=True):
        moment = datetime.fromtimestamp(int(starts[start]) * int(grain), UTC)
        keys.append(GroupKey(leg_names[leg], int(deployments[deployment]), moment, int(segment)))
    return Groups(tuple(keys), membership)


def segment_numbers(
    rows: RequestRows, contract: Contract, binning: Binning | None, number_of: NumberOf
) -> Integers:
    """The segment of each row for each declared key, int64[n, k]; -1 beyond MAX_SEGMENTS.

    Values beyond the baseline's 20 most frequent ones and the first 20 that the contract declares
    share the segment "(other)", so that a new value can never make the number of profiles explode.
    Without a binning there are no segments.
    """
    keys = contract.segment_keys() if binning is not None else ()
    if binning is None or not keys:
        return np.zeros((len(rows), 0), np.int64)
    return np.column_stack([_numbers_of_key(rows, key, binning, number_of) for key in keys])


def _numbers_of_key(
    rows: RequestRows, key: Sequence[str], binning: Binning, number_of: NumberOf
) -> Integers:
    combined = np.zeros(len(rows), np.int64)
    names: list[list[str]] = []
    for column in key:
        values, codes = _value_codes(rows, column, binning)
        combined = combined * len(values) + codes
        names.append(values)
    distinct, place = np.unique(combined, return_inverse=True)
    numbers = [number_of(_definition(code, key, names)) for code in distinct.tolist()]
    return np.array(numbers, np.int64)[place]


def _value_codes(rows: RequestRows, column: str, binning: Binning) -> tuple[list[str], Integers]:
    slot = rows.layout.slot(column)
    if slot.type is ColumnType.BOOLEAN:
        found = rows.number_column(slot.number_start)
        codes = np.where(np.isnan(found), 2, found != 0).astype(np.int64)
        return ["false", "true", MISSING], codes
    cells = binning.views.get(column)
    top = list(cells.top[:TOP_VALUES]) if isinstance(cells, CategoryCells) else []
    top += [value for value in _declared(rows.contract, column) if value not in top]
    texts = rows.text_column(slot.text_start)
    found = pc.index_in(texts, value_set=pa.array(top, pa.string())).fill_null(len(top))
    missing = texts.is_null().to_numpy(zero_copy_only=False)
    codes = np.where(missing, len(top) + 1, found.to_numpy(zero_copy_only=False)).astype(np.int64)
    return [*top, OTHER, MISSING], codes


def _declared(contract: Contract, column: str) -> tuple[str, ...]:
    """Values that the contract names: a route that nobody took yet is a segment of its own."""
    cascade = contract.cascade
    if cascade is not None and cascade.route == column:
        return cascade.routes[:TOP_VALUES]
    return (contract.column(column).categories or ())[:TOP_VALUES]


def _definition(code: int, key: Sequence[str], names: Sequence[Sequence[str]]) -> dict[str, str]:
    definition = {}
    for column, values in zip(reversed(key), reversed(names), strict=True):
        code, place = divmod(code, len(values))
        definition[column] = values[place]
    return definition


def numbered_segments(
    known: Mapping[int, Mapping[str, str]], make: Callable[[dict[str, str]], int]
) -> NumberOf:
    """A `number_of` that remembers numbers and stops making new ones at MAX_SEGMENTS."""
    numbers = {json.dumps(text, sort_keys=True): number for number, text in known.items()}

    def number_of(definition: dict[str, str]) -> int:
        key = json.dumps(definition, sort_keys=True)
        if key not in numbers:
            numbers[key] = make(definition) if len(numbers) < MAX_SEGMENTS else -1
        return numbers[key]

    return number_of
