"""Values that already have their column's type, put into a grid. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.contract import ColumnType
from monitor.intake.grid import Bools, Grid
from monitor.intake.plan import SCALARS, ColumnPlan

TEXTS = frozenset({ColumnType.CATEGORY, ColumnType.TEXT, ColumnType.TIMESTAMP})


def put_typed(grid: Grid, plan: ColumnPlan, values: Sequence[Any], hash_key: bytes) -> None:
    """One column as `columns.coerce` gives it, None where empty."""
    if plan.column.type in SCALARS:
        numbers = np.array(values, np.float64)
        grid.put_numbers(plan, numbers, np.isnan(numbers))
    elif plan.column.type in TEXTS:
        put_text(grid, plan, pa.array(values, pa.string()), hash_key)
    else:
        put_lists(grid, plan, values)


def put_text(grid: Grid, plan: ColumnPlan, texts: pa.StringArray, hash_key: bytes) -> None:
    """Texts of a category, text or timestamp column, null where empty."""
    match plan.column.type:
        case ColumnType.TIMESTAMP:
            grid.put_timestamps(plan, texts)
        case ColumnType.TEXT:
            grid.put_free_text(plan, texts, hash_key)
        case _:
            grid.put_category(plan, texts)


def put_lists(grid: Grid, plan: ColumnPlan, values: Sequence[Any]) -> None:
    """Lists of a vector, class_scores or ranked_list column, None where empty."""
    empty: Bools = np.array([value is None for value in values], np.bool_)
    if plan.column.type is not ColumnType.RANKED_LIST:
        width = plan.slot.number_width
        nothing = [0.0] * width
        block = np.array([nothing if v is None else v for v in values], np.float64)
        grid.put_numbers(plan, block.reshape(-1, width), empty)
        return
    for slot in range(plan.slot.text_width):
        items = [v[slot] if v is not None and slot < len(v) else None for v in values]
        grid.put_texts(plan, slot, pa.array(items, pa.string()))
    grid.empty[:, plan.position] = empty
