"""What a contract means for reading rows, worked out once per contract version. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.contract import Column, ColumnRole, ColumnType, Contract
from monitor.layout import Layout, Slot
from monitor.records import RequestOutcome

Floats = np.ndarray[Any, np.dtype[np.float64]]
Places = np.ndarray[Any, np.dtype[np.intp]]

SCALARS = frozenset({ColumnType.NUMBER, ColumnType.INTEGER, ColumnType.BOOLEAN})
SERVED = frozenset({RequestOutcome.ANSWERED, RequestOutcome.FELL_BACK, RequestOutcome.CACHED})
_OUTPUT_ROLES = frozenset({ColumnRole.PREDICTION, ColumnRole.SCORE})
MAX_PLANS = 64


@dataclass(frozen=True)
class ColumnPlan:
    """One active column: `position` in the contract, its slot, and what may be missing."""

    position: int
    column: Column
    slot: Slot
    categories: pa.StringArray | None

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def excused_when_not_served(self) -> bool:
        """Prediction and score can't be there when the model gave no answer."""
        return self.column.role in _OUTPUT_ROLES


@dataclass(frozen=True, eq=False)
class RowPlan:
    """All active columns of one contract version on one layout."""

    columns: tuple[ColumnPlan, ...]
    layout: Layout

    @cached_property
    def by_name(self) -> dict[str, ColumnPlan]:
        return {plan.name: plan for plan in self.columns}

    @cached_property
    def scalars(self) -> tuple[ColumnPlan, ...]:
        """Columns of one number a row, which are checked all at once."""
        return tuple(plan for plan in self.columns if plan.column.type in SCALARS)

    @cached_property
    def scalar_slots(self) -> Places:
        return np.array([plan.slot.number_start for plan in self.scalars], np.intp)

    @cached_property
    def scalar_positions(self) -> Places:
        return np.array([plan.position for plan in self.scalars], np.intp)

    @cached_property
    def whole(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which of the scalars hold whole numbers only."""
        return np.array([plan.column.type is ColumnType.INTEGER for plan in self.scalars], np.bool_)

    @cached_property
    def low(self) -> Floats:
        """Lower ends of the scalars' ranges, -inf where there is none."""
        return self._ends(0, -np.inf)

    @cached_property
    def high(self) -> Floats:
        """Upper ends of the scalars' ranges, +inf where there is none."""
        return self._ends(1, np.inf)

    @cached_property
    def ordinals(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Stored number of each column, in contract order."""
        return np.array([plan.slot.ordinal for plan in self.columns], np.int32)

    def _ends(self, which: int, open_end: float) -> Floats:
        ranges = [plan.column.range or (None, None) for plan in self.scalars]
        return np.array([open_end if r[which] is None else r[which] for r in ranges], np.float64)


_by_identity: dict[tuple[int, int], tuple[Contract, Layout, RowPlan]] = {}


def plan_for(contract: Contract, layout: Layout) -> RowPlan:
    """The plan of a contract on its layout; made once, then found without hashing the contract."""
    key = (id(contract), id(layout))
    held = _by_identity.get(key)
    if held is not None:
        return held[2]  # the held references keep both ids from being used again
    plan = _make(contract, layout)
    if len(_by_identity) >= MAX_PLANS:
        _by_identity.clear()
    _by_identity[key] = (contract, layout, plan)
    return plan


@lru_cache(maxsize=MAX_PLANS)
def _make(contract: Contract, layout: Layout) -> RowPlan:
    slots = layout.active_slots()
    columns = tuple(
        ColumnPlan(position, column, slot, _categories(column))
        for position, (column, slot) in enumerate(zip(contract.columns, slots, strict=True))
    )
    return RowPlan(columns, layout)


def _categories(column: Column) -> pa.StringArray | None:
    if column.categories is None or column.type is not ColumnType.CATEGORY:
        return None
    return pa.array(column.categories, pa.string())
