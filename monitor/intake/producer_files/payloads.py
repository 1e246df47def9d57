"""Bodies of requests and answers, as logs keep them, into rows of inputs and outputs. Pure.

One logged exchange may hold many rows; row i of the request and row i of the answer are one
request. Shapes: V1 (`instances`, `predictions`), Databricks (`dataframe_records`,
`dataframe_split`), columns (`inputs`, `outputs`), V2 tensors, lists, and CSV lines.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from monitor.intake.text_cells import TextCell
from monitor.strictjson import StrictJsonError, loads

MOST_ROWS = 10_000
Row = Mapping[str, Any]
_ROW_KEYS = ("instances", "predictions", "dataframe_records", "data", "outputs", "inputs")


class PayloadFault(ValueError):
    """A body can't be read as rows; the message holds nothing of the body."""


@dataclass(frozen=True)
class Payload:
    """Rows of one body; `said` holds what it says of its model."""

    rows: tuple[Row, ...]
    said: Mapping[str, Any] = field(default_factory=dict)


def json_value(text: str | bytes) -> Any:
    """A JSON text; one that some library wrote as a JSON string is read a second time.

    A string that holds no object or list is a string. Raises PayloadFault.
    """
    try:
        value = loads(text if isinstance(text, bytes) else _bytes(text))
    except StrictJsonError as error:
        raise PayloadFault(f"the payload is no JSON that can be read: {error}") from None
    if not isinstance(value, str):
        return value
    try:
        inner = loads(_bytes(value))
    except StrictJsonError:
        return value
    return inner if isinstance(inner, (Mapping, list)) else value


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def rows_of_json(value: Any) -> Payload:
    """Rows of a decoded body; raises PayloadFault."""
    if isinstance(value, Mapping):
        return _of_object(value)
    if isinstance(value, list):
        return Payload(_bounded([row_of(each) for each in value]))
    return Payload((row_of(value),))


def rows_of_csv(text: str) -> Payload:
    """A row a line; cells by position, their types unknown. Raises PayloadFault."""
    try:
        lines = [cells for cells in csv.reader(io.StringIO(text), strict=True) if cells]
    except csv.Error as error:
        raise PayloadFault(f"the payload is no CSV: {error}") from None
    return Payload(
        _bounded([{str(i): TextCell(cell.strip()) for i, cell in enumerate(c)} for c in lines])
    )


def row_of(value: Any) -> Row:
    """One instance or prediction: names as they are; scalars in a list by position."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list) and value and not any(isinstance(v, (list, Mapping)) for v in value):
        return {str(place): each for place, each in enumerate(value)}
    return {"0": value}


def paired(request: Payload | None, response: Payload | None) -> list[tuple[Row, Row]]:
    """Row by row; raises PayloadFault when both have rows and their counts differ."""
    asked = request.rows if request is not None else ()
    told = response.rows if response is not None else ()
    if asked and told and len(asked) != len(told):
        raise PayloadFault(
            f"the request has {len(asked)} rows, its answer {len(told)}: they can't be paired"
        )
    return list(zip_longest(asked, told, fillvalue={})) or [({}, {})]


def _of_object(value: Mapping[str, Any]) -> Payload:
    tensors = value.get("outputs", value.get("inputs"))
    if _are_tensors(tensors):
        said = {k: value[k] for k in ("model_name", "model_version", "id") if value.get(k)}
        return Payload(_of_tensors(tensors), said)
    split = value.get("dataframe_split")
    if isinstance(split, Mapping):
        return _of_split(split)
    for key in _ROW_KEYS:
        held = value.get(key)
        if isinstance(held, list):
            return Payload(_bounded([row_of(each) for each in held]))
        if isinstance(held, Mapping) and key in ("inputs", "outputs"):
            return Payload(_of_columns(held))
    for key in ("predictions", "instances"):
        if key in value:
            return Payload((row_of(value[key]),))
    return Payload((value,))


def _of_split(split: Mapping[str, Any]) -> Payload:
    names, data = split.get("columns"), split.get("data")
    if not isinstance(names, list) or not isinstance(data, list):
        raise PayloadFault("dataframe_split has no lists columns and data")
    rows = []
    for cells in data:
        if not isinstance(cells, list) or len(cells) != len(names):
            raise PayloadFault("a row of dataframe_split has other cells than columns")
        rows.append({str(name): cell for name, cell in zip(names, cells, strict=True)})
    return Payload(_bounded(rows))


def _of_columns(columns: Mapping[str, Any]) -> tuple[Row, ...]:
    """Columns of equal length are rows; anything else is one row."""
    lengths = {len(v) if isinstance(v, list) else -1 for v in columns.values()}
    if len(lengths) != 1 or -1 in lengths:
        return (columns,)
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    return _bounded(rows)


def _are_tensors(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(t, Mapping) and {"name", "shape"} <= t.keys() for t in value)
    )


def _of_tensors(tensors: Sequence[Mapping[str, Any]]) -> tuple[Row, ...]:
    """Tensors of one first dimension: a row for each place in it."""
    split: dict[str, list[Any]] = {}
    for tensor in tensors:
        data = tensor.get("data")
        if not isinstance(data, list):
            raise PayloadFault("a tensor's data is not in the body (binary extension)")
        split[str(tensor["name"])] = tensor_rows(_flat(data), tensor.get("shape"))
    lengths = {len(rows) for rows in split.values()}
    if len(lengths) > 1:
        raise PayloadFault("tensors have different numbers of rows")
    return _bounded(
        [dict(zip(split, row, strict=True)) for row in zip(*split.values(), strict=True)]
    )


def tensor_rows(flat: Sequence[Any], shape: Any) -> list[Any]:
    """A tensor's values, one entry a row: a scalar, or a flat list of the row's values."""
    dims = [d for d in shape if isinstance(d, int) and d >= 0] if isinstance(shape, list) else []
    n = dims[0] if dims else 1
    if n == 0 or len(flat) % n:
        raise PayloadFault("a tensor's shape does not fit its data")
    width = len(flat) // n
    if width == 1:
        return list(flat)
    return [list(flat[i * width : (i + 1) * width]) for i in range(n)]


def _flat(data: list[Any]) -> list[Any]:
    while data and all(isinstance(each, list) for each in data):
        data = [value for each in data for value in each]
    return data


def _bounded(rows: Sequence[Row]) -> tuple[Row, ...]:
    if len(rows) > MOST_ROWS:
        raise PayloadFault(f"{len(rows)} rows in one payload; at most {MOST_ROWS} are read")
    return tuple(rows)
