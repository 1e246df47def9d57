"""What the values of one reference column look like: a likely type and a few facts. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from monitor.contract import ColumnType

MAX_CATEGORIES = 1_000
MAX_DISTINCT_SHARE = 0.5
MAX_CATEGORY_LENGTH = 512
MAX_LIST_SIZE = 4_096
MAX_SHOWN = 12
MAX_SAFE_INTEGER = 2**53
_NUMERIC = frozenset({ColumnType.NUMBER, ColumnType.INTEGER})


@dataclass(frozen=True)
class Seen:
    """Facts of one column. `type` is None when no column type fits; `note` says why, or what a
    person should look at. `low` and `high` are finite; `distinct` and `values` are of texts.
    """

    rows: int
    missing: int
    type: ColumnType | None = None
    low: float | None = None
    high: float | None = None
    distinct: int | None = None
    values: tuple[str, ...] = ()
    size: int | None = None
    note: str = ""

    @property
    def is_numeric(self) -> bool:
        """Number or integer."""
        return self.type in _NUMERIC

    def lies_within(self, low: float, high: float) -> bool:
        """Whether every value seen is in [low, high]; False without values."""
        if self.low is None or self.high is None:
            return False
        return low <= self.low and self.high <= high

    def sentence(self) -> str:
        """What was seen, on one line."""
        parts = []
        if self.low is not None and self.high is not None and self.is_numeric:
            parts.append(f"{self.low:.6g} to {self.high:.6g}")
        if self.distinct is not None:
            parts.append(f"{self.distinct:,} different values")
        if self.size is not None:
            parts.append(f"lists of up to {self.size} items")
        parts.append(
            f"{100 * self.missing / self.rows:.3g} % missing" if self.missing else "none missing"
        )
        return f"Seen: {', '.join(parts)}."


def look_at(values: pa.ChunkedArray) -> Seen:
    """The facts of a column of at least one row."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return look_at(values.cast(kind.value_type))
    seen = Seen(rows=len(values), missing=values.null_count)
    if seen.missing == seen.rows:
        note = "no value was seen; say what type it has"
        return replace(seen, type=ColumnType.CATEGORY, note=note)
    for fits, look in _LOOKS:
        if fits(kind):
            return look(seen, values)
    return replace(seen, note=f"no column type holds values of type {kind}")


def _boolean(seen: Seen, _: pa.ChunkedArray) -> Seen:
    return replace(seen, type=ColumnType.BOOLEAN)


def _integer(seen: Seen, values: pa.ChunkedArray) -> Seen:
    ends = pc.min_max(values).as_py()
    large = max(abs(ends["min"]), abs(ends["max"])) > MAX_SAFE_INTEGER
    note = "values beyond 2^53 are violations; send such identifiers as text" if large else ""
    return replace(
        seen, type=ColumnType.INTEGER, low=float(ends["min"]), high=float(ends["max"]), note=note
    )


def _number(seen: Seen, values: pa.ChunkedArray) -> Seen:
    numbers = values.cast(pa.float64(), safe=False).drop_null()
    finite = numbers.filter(pc.is_finite(numbers))
    bad = len(numbers) - len(finite)
    note = f"{bad:,} values are NaN or infinite; they count as violations" if bad else ""
    if len(finite) == 0:
        return replace(seen, type=ColumnType.NUMBER, note=note)
    ends = pc.min_max(finite).as_py()
    return replace(seen, type=ColumnType.NUMBER, low=ends["min"], high=ends["max"], note=note)


def _moment(seen: Seen, values: pa.ChunkedArray) -> Seen:
    zoned = pa.types.is_timestamp(values.type) and values.type.tz is not None
    note = "" if zoned else "these times carry no zone; each would be a violation"
    return replace(seen, type=ColumnType.TIMESTAMP, note=note)


def _text(seen: Seen, values: pa.ChunkedArray) -> Seen:
    present = seen.rows - seen.missing
    counted = pc.value_counts(values.drop_null().combine_chunks())
    distinct = len(counted)
    longest = pc.max(pc.utf8_length(counted.field("values"))).as_py()
    few = distinct <= MAX_CATEGORIES and distinct < MAX_DISTINCT_SHARE * present
    if not few or longest > MAX_CATEGORY_LENGTH:
        return replace(seen, type=ColumnType.TEXT, distinct=distinct)
    shown = sorted(counted.field("values").to_pylist()) if distinct <= MAX_SHOWN else []
    return replace(seen, type=ColumnType.CATEGORY, distinct=distinct, values=tuple(shown))


def _list(seen: Seen, values: pa.ChunkedArray) -> Seen:
    lengths = pc.min_max(pc.list_value_length(values.combine_chunks())).as_py()
    low, high, item = lengths["min"], lengths["max"], values.type.value_type
    if not 1 <= high <= MAX_LIST_SIZE:
        return replace(seen, note=f"lists of {high} items; 1 to {MAX_LIST_SIZE} can be declared")
    if _is_text(item):
        return replace(seen, type=ColumnType.RANKED_LIST, size=high)
    if not _is_number(item) and not pa.types.is_integer(item):
        return replace(seen, note=f"no column type holds lists of {item}")
    if low != high:
        return replace(seen, note=f"lists of {low} to {high} numbers; a vector has one size")
    return replace(seen, type=ColumnType.VECTOR, size=high)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_moment(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


_LOOKS: tuple[tuple[Callable[[Any], bool], Callable[[Seen, pa.ChunkedArray], Seen]], ...] = (
    (pa.types.is_boolean, _boolean),
    (pa.types.is_integer, _integer),
    (_is_number, _number),
    (_is_moment, _moment),
    (_is_text, _text),
    (_is_list, _list),
)
