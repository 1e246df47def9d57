"""Contract checks on a whole grid: finite, whole, range, categories, distributions. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.contract import ColumnType
from monitor.intake.grid import Bools, Grid, is_null
from monitor.intake.plan import ColumnPlan
from monitor.intake.times import FEW
from monitor.records import MAX_SAFE_INTEGER, ViolationReason

SHARE_TOLERANCE = 1e-6


def check_values(grid: Grid) -> None:
    """Empty and mark every cell whose value breaks the contract. Run once, after all columns."""
    if grid.n == 0:
        return
    _check_scalars(grid)
    for plan in grid.plan.columns:
        match plan.column.type:
            case ColumnType.CATEGORY:
                _check_category(grid, plan)
            case ColumnType.CLASS_SCORES:
                _check_vector(grid, plan)
                _check_distribution(grid, plan)
            case ColumnType.VECTOR:
                _check_vector(grid, plan)
            case _:
                pass


def mark_absent(
    grid: Grid, plan: ColumnPlan, rows: Any, reason: ViolationReason, served: Bools
) -> None:
    """MISSING or NULL for rows whose value is absent, unless the column may be absent there."""
    if plan.column.nullable or not len(rows):
        return
    if plan.excused_when_not_served:
        rows = rows[served[rows]]
    grid.violate(plan, rows, reason)


def _check_scalars(grid: Grid) -> None:
    plan = grid.plan
    if not plan.scalars:
        return
    values = grid.numbers[:, plan.scalar_slots]
    empty = grid.empty[:, plan.scalar_positions]
    for reason, found in (
        (ViolationReason.NOT_A_NUMBER, np.isnan(values)),
        (ViolationReason.INFINITE, np.isinf(values)),
        (ViolationReason.WRONG_TYPE, plan.whole & (values != np.floor(values))),
        (ViolationReason.INTEGER_TOO_LARGE, plan.whole & (np.abs(values) > MAX_SAFE_INTEGER)),
        (ViolationReason.OUT_OF_RANGE, (values < plan.low) | (values > plan.high)),
    ):
        bad = found & ~empty
        if bad.any():
            _reject_cells(grid, bad, reason, values)
            empty |= bad
    grid.empty[:, plan.scalar_positions] = empty


def _reject_cells(grid: Grid, bad: Bools, reason: ViolationReason, values: Any) -> None:
    for index in np.flatnonzero(bad.any(axis=0)):
        column = grid.plan.scalars[index]
        grid.violate(column, np.flatnonzero(bad[:, index]), reason, values[:, index])


def _check_category(grid: Grid, plan: ColumnPlan) -> None:
    texts = grid.texts[plan.slot.text_start]
    if plan.categories is None or texts is None:
        return
    bad = _unknown(plan, texts)
    if bad.any():
        grid.violate(plan, np.flatnonzero(bad), ViolationReason.UNKNOWN_CATEGORY, texts)
        grid.put_category(plan, pc.if_else(pa.array(bad), pa.scalar(None, pa.string()), texts))


def _unknown(plan: ColumnPlan, texts: pa.StringArray) -> Bools:
    if len(texts) <= FEW:
        known = plan.column.categories or ()
        return np.array([t is not None and t not in known for t in texts.to_pylist()], np.bool_)
    found: Bools = pc.is_in(texts, plan.categories).to_numpy(zero_copy_only=False)
    return ~found & ~is_null(texts)


def _check_vector(grid: Grid, plan: ColumnPlan) -> None:
    values = _block(grid, plan)
    empty = grid.empty[:, plan.position]
    for reason, found in (
        (ViolationReason.NOT_A_NUMBER, np.isnan(values)),
        (ViolationReason.INFINITE, np.isinf(values)),
    ):
        bad = found.any(axis=1) & ~empty
        if bad.any():
            grid.violate(plan, np.flatnonzero(bad), reason, values.tolist())
            empty |= bad
    grid.empty[:, plan.position] = empty


def _check_distribution(grid: Grid, plan: ColumnPlan) -> None:
    """Each share in [0, 1] and their sum 1, within SHARE_TOLERANCE a class; nothing is rescaled."""
    values = _block(grid, plan)
    empty = grid.empty[:, plan.position]
    safe = np.where(empty[:, None], 0.0, values)
    outside = ((safe < -SHARE_TOLERANCE) | (safe > 1 + SHARE_TOLERANCE)).any(axis=1)
    off = np.abs(safe.sum(axis=1) - 1) > SHARE_TOLERANCE * plan.slot.number_width
    bad = (outside | off) & ~empty
    if bad.any():
        rows = np.flatnonzero(bad)
        grid.violate(plan, rows, ViolationReason.NOT_A_DISTRIBUTION, values.tolist())
        grid.empty[:, plan.position] = empty | bad


def _block(grid: Grid, plan: ColumnPlan) -> Any:
    start, width = plan.slot.number_start, plan.slot.number_width
    return grid.numbers[:, start : start + width]
