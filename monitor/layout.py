"""Where a contract's columns sit inside a stored request row. Pure.

A row holds one float8[] and one text[]; slots are only ever appended, so that rows of every
contract version stay readable. A column whose type or size changes becomes a new column.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from monitor.contract import Column, ColumnType, Contract


class TextNumber(StrEnum):
    """The numbers kept of a text, in the order of their slots (`intake.text_numbers` counts)."""

    LENGTH = "length"
    WORDS = "words"
    DIGITS = "digits"
    UPPER_CASE = "upper_case"
    BEYOND_ASCII = "beyond_ascii"
    PUNCTUATION = "punctuation"


@dataclass(frozen=True)
class Slot:
    """One column's places: `ordinal` numbers it from 1, starts index the two arrays."""

    name: str
    type: ColumnType
    ordinal: int
    number_start: int
    number_width: int
    text_start: int
    text_width: int


@dataclass(frozen=True)
class Layout:
    """All slots a model ever had; `active` names those of the current contract, in its order."""

    slots: tuple[Slot, ...]
    active: tuple[int, ...]
    number_width: int
    text_width: int

    def slot(self, name: str) -> Slot:
        """The active slot of a column; KeyError when the contract has no such column."""
        for ordinal in self.active:
            if self.slots[ordinal - 1].name == name:
                return self.slots[ordinal - 1]
        raise KeyError(name)

    def active_slots(self) -> tuple[Slot, ...]:
        """Slots of the current contract's columns, in contract order."""
        return tuple(self.slots[ordinal - 1] for ordinal in self.active)

    def to_json(self) -> dict[str, Any]:
        """A JSON value that `from_json` reads back."""
        return {"slots": [asdict(slot) for slot in self.slots], "active": list(self.active)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Layout:
        """Read what `to_json` wrote."""
        slots = tuple(Slot(**{**slot, "type": ColumnType(slot["type"])}) for slot in value["slots"])
        return _layout(slots, tuple(value["active"]))


def widths(column: Column) -> tuple[int, int]:
    """How many float and text slots a column takes.

    Text keeps its TextNumbers and, as text, its keyed hash (or, with keep_text, itself). Slots say
    their own widths: a text slot from before the descriptors (its length alone) stays as it is, and
    the next contract appends a wider one.
    """
    match column.type:
        case ColumnType.CATEGORY:
            return 0, 1
        case ColumnType.TEXT:
            return len(TextNumber), 1
        case ColumnType.VECTOR:
            return column.size or 1, 0
        case ColumnType.CLASS_SCORES:
            return len(column.categories or ()), 0
        case ColumnType.RANKED_LIST:
            return 0, column.size or 1
        case _:
            return 1, 0


def extend(previous: Layout | None, contract: Contract) -> Layout:
    """The layout after applying a contract: known columns keep their slots."""
    slots = list(previous.slots) if previous else []
    active = []
    for column in contract.columns:
        number_width, text_width = widths(column)
        shape = (column.name, column.type, number_width, text_width)
        known = [s for s in slots if (s.name, s.type, s.number_width, s.text_width) == shape]
        if known:
            active.append(known[-1].ordinal)
            continue
        number_start = sum(slot.number_width for slot in slots)
        text_start = sum(slot.text_width for slot in slots)
        slots.append(
            Slot(
                column.name,
                column.type,
                len(slots) + 1,
                number_start,
                number_width,
                text_start,
                text_width,
            )
        )
        active.append(len(slots))
    return _layout(tuple(slots), tuple(active))


def _layout(slots: tuple[Slot, ...], active: tuple[int, ...]) -> Layout:
    return Layout(
        slots=slots,
        active=active,
        number_width=sum(slot.number_width for slot in slots),
        text_width=sum(slot.text_width for slot in slots),
    )
