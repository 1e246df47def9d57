"""Which views of a contract's columns are profiled. Pure; knows no rows.

A view is a column as profiles see it: numbers and categories as they are, everything longer by
numbers or categories that stand for it. The views of one column share its weight in a budget of
alarms; `View.column` tells which they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from monitor.contract import Column, ColumnRole, ColumnType, Contract
from monitor.layout import Layout, TextNumber
from monitor.profiles.cells import NumberKind


class Derivation(StrEnum):
    """How a view comes from its column."""

    VALUE = "value"
    LENGTH = TextNumber.LENGTH.value
    WORDS = TextNumber.WORDS.value
    DIGITS = TextNumber.DIGITS.value
    UPPER_CASE = TextNumber.UPPER_CASE.value
    BEYOND_ASCII = TextNumber.BEYOND_ASCII.value
    PUNCTUATION = TextNumber.PUNCTUATION.value
    NORM = "norm"
    PROJECTION = "projection"
    CONFIDENCE = "confidence"
    CLASS = "class"
    FIRST = "first"
    FILLED = "filled"


N_PROJECTIONS = 8
TEXT_DERIVATIONS = {Derivation(number.value): place for place, number in enumerate(TextNumber)}
_IDENTIFIERS = frozenset({ColumnRole.ENTITY, ColumnRole.PARENT})
_CATEGORIES = frozenset({Derivation.CLASS, Derivation.FIRST})
_KINDS = {
    ColumnType.BOOLEAN: NumberKind.BOOLEAN,
    ColumnType.TIMESTAMP: NumberKind.TIMESTAMP,
}


@dataclass(frozen=True)
class View:
    """One profiled view: its name, its column, and how its values are made.

    `place` numbers the projections of a vector from 1; it is 0 for every other view.
    """

    name: str
    column: Column
    derivation: Derivation
    place: int = 0

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
        for derivation, place in _derivations(column):
            name = column.name
            if derivation is not Derivation.VALUE:
                name = f"{column.name}.{_suffix(derivation, place)}"
                name = f"{name} (derived)" if name in taken else name
            views.append(View(name, column, derivation, place))
    return tuple(views)


def is_stored(view: View, layout: Layout) -> bool:
    """Whether rows of the layout hold what the view is made from.

    Text columns of a layout from before their descriptors have their length alone.
    """
    needed = TEXT_DERIVATIONS.get(view.derivation, 0)
    return needed == 0 or needed < layout.slot(view.column.name).number_width


def _suffix(derivation: Derivation, place: int) -> str:
    if derivation is Derivation.FILLED:
        return Derivation.LENGTH.value
    return f"{derivation}{place or ''}"


def _derivations(column: Column) -> tuple[tuple[Derivation, int], ...]:
    if column.type is ColumnType.CATEGORY and column.role in _IDENTIFIERS:
        return ()
    match column.type:
        case ColumnType.TEXT:
            return tuple((derivation, 0) for derivation in TEXT_DERIVATIONS)
        case ColumnType.VECTOR:
            # further directions of a shorter vector would be mixtures of the first ones
            places = range(1, min(N_PROJECTIONS, column.size or 1) + 1)
            return (Derivation.NORM, 0), *((Derivation.PROJECTION, place) for place in places)
        case ColumnType.CLASS_SCORES:
            return (Derivation.CONFIDENCE, 0), (Derivation.CLASS, 0)
        case ColumnType.RANKED_LIST:
            return (Derivation.FIRST, 0), (Derivation.FILLED, 0)
        case _:
            return ((Derivation.VALUE, 0),)
