"""Slots of columns: only ever appended, never moved, never shared."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.contract import Column, ColumnType, Contract, Task
from monitor.layout import Layout, extend, widths

NAMES = ("a", "b", "c", "d")


@st.composite
def columns(draw: st.DrawFn) -> Column:
    kind = draw(st.sampled_from(ColumnType))
    sized = kind in (ColumnType.VECTOR, ColumnType.RANKED_LIST)
    classes = tuple("xyz"[: draw(st.integers(1, 3))])
    return Column(
        name=draw(st.sampled_from(NAMES)),
        type=kind,
        size=draw(st.integers(1, 3)) if sized else None,
        categories=classes if kind is ColumnType.CLASS_SCORES else None,
    )


contracts = st.lists(columns(), min_size=1, max_size=4, unique_by=lambda c: c.name).map(
    lambda found: Contract(
        model="m", owner="o", purpose="p", task=Task.BINARY, columns=tuple(found)
    )
)


@settings(max_examples=150, deadline=None)
@given(st.lists(contracts, min_size=1, max_size=6))
def test_slots_are_only_appended(history: list[Contract]) -> None:
    layout: Layout | None = None
    for contract in history:
        grown = extend(layout, contract)
        if layout is not None:
            assert grown.slots[: len(layout.slots)] == layout.slots
            assert grown.number_width >= layout.number_width
            assert grown.text_width >= layout.text_width
        layout = grown
        assert extend(layout, contract) == layout
        _each_cell_has_one_owner(layout)
        for column, slot in zip(contract.columns, layout.active_slots(), strict=True):
            assert (slot.name, slot.type) == (column.name, column.type)
            assert (slot.number_width, slot.text_width) == widths(column)
            assert layout.slot(column.name) == slot
        assert Layout.from_json(json.loads(json.dumps(layout.to_json()))) == layout


def _each_cell_has_one_owner(layout: Layout) -> None:
    numbers = [
        i for s in layout.slots for i in range(s.number_start, s.number_start + s.number_width)
    ]
    texts = [i for s in layout.slots for i in range(s.text_start, s.text_start + s.text_width)]
    assert numbers == list(range(layout.number_width))
    assert texts == list(range(layout.text_width))
    assert [slot.ordinal for slot in layout.slots] == list(range(1, len(layout.slots) + 1))


def test_a_changed_type_is_a_new_slot_and_the_old_one_comes_back() -> None:
    number = _contract(ColumnType.NUMBER)
    first = extend(None, number)
    second = extend(first, _contract(ColumnType.CATEGORY))
    third = extend(second, number)

    assert second.slot("a").ordinal == 2
    assert third.slot("a") == first.slot("a")
    assert len(third.slots) == 2


def _contract(kind: ColumnType) -> Contract:
    column = Column(name="a", type=kind)
    return Contract(model="m", owner="o", purpose="p", task=Task.BINARY, columns=(column,))
