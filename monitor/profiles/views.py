"""Which views of a contract's columns are profiled. Pure; knows no rows.

A view is a column as profiles see it: numbers and categories as they are, everything longer by a
number or a category that stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from monitor.contract import Column, ColumnRole, ColumnType, Contract
from monitor.profiles.cells import NumberKind


class Derivation(StrEnum):
    """How a view comes from its column."""

    VALUE = "value"
    LENGTH = "length"
    NORM = "norm"
    CONFIDENCE = "confidence"
    CLASS = "class"
    FIRST = "first"
    FILLED = "filled"


_NUMBERS = frozenset(
    {ColumnType.NUMBER, ColumnType.INTEGER, ColumnType.BOOLEAN, ColumnType.TIMESTAMP}
)
_IDENTIFIERS = frozenset({ColumnRole.ENTITY, ColumnRole.PARENT})
_CATEGORIES = frozenset({Derivation.CLASS, Derivation.FIRST})
_KINDS = {
    ColumnType.BOOLEAN: NumberKind.BOOLEAN,
    ColumnType.TIMESTAMP: NumberKind.TIMESTAMP,
}


@dataclass(frozen=True)
class View:
    """One profiled view: its name, its column, and how its values are made."""

    name: str
    column: Column
    derivation: Derivation

    @property
    def is_category(self) -> bool:
        """True when its values are texts."""
        return self.derivation in _CATEGORIES or self.column.type is ColumnType.CATEGORY

    @property
    def number_kind(self) -> NumberKind:
        """How the labels of its number cells are written."""
        return _KINDS.get(self.column.type, NumberKind.NUMBER)


def views_of(contract: Contract) -> tuple[View, ...]:
    """The profiled views, in contract order.

    Category columns with the role entity or parent are identifiers and have no view. A made-up
    name that a declared column already has gets ` (derived)` behind it.
    """
    taken = {column.name for column in contract.columns}
    views = []
    for column in contract.columns:
        for derivation in _derivations(column):
            name = column.name
            if derivation is not Derivation.VALUE:
                suffix = "length" if derivation is Derivation.FILLED else str(derivation)
                name = f"{column.name}.{suffix}"
                name = f"{name} (derived)" if name in taken else name
            views.append(View(name, column, derivation))
    return tuple(views)


def _derivations(column: Column) -> tuple[Derivation, ...]:
    if column.type is ColumnType.CATEGORY and column.role in _IDENTIFIERS:
        return ()
    match column.type:
        case ColumnType.TEXT:
            return (Derivation.LENGTH,)
        case ColumnType.VECTOR:
            return (Derivation.NORM,)
        case ColumnType.CLASS_SCORES:
            return Derivation.CONFIDENCE, Derivation.CLASS
        case ColumnType.RANKED_LIST:
            return Derivation.FIRST, Derivation.FILLED
        case _:
            return (Derivation.VALUE,)
