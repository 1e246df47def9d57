"""Cells of payloads that are text and whose type only the contract knows. Pure."""

from __future__ import annotations

from typing import Any

from monitor.contract import Column, ColumnType
from monitor.intake.csv_records import write_boolean, write_number
from monitor.intake.json_lenient import parse_one

_NUMBERS = frozenset({ColumnType.NUMBER, ColumnType.INTEGER})


class TextCell(str):
    """A cell of a CSV payload: `1` is a number in one column and a category in another."""

    __slots__ = ()


def typed_cell(cell: TextCell, column: Column | None) -> Any:
    """The cell as its column's type wants it; empty is None, other text stays as it is.

    Without a column: a number where the cell is one.
    """
    if not cell:
        return None
    if column is None or column.type in _NUMBERS:
        return _read(write_number(cell), cell)
    if column.type is ColumnType.BOOLEAN:
        return _read(write_boolean(cell), cell)
    return str(cell)


def label_cell(cell: TextCell, *, as_text: bool) -> Any:
    """A label's value: text where the contract's values are text, else a boolean or a number."""
    return str(cell) if as_text else _read(write_boolean(cell), cell)


def _read(token: str, cell: TextCell) -> Any:
    return str(cell) if token.startswith('"') else parse_one(token.encode())
