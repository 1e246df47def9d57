"""The columns of stored samples as numbers that trees can split. Pure.

A view means the same here as in profiles; only categories and times need another form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.contract import ColumnType
from monitor.profiles.arrays import Floats
from monitor.profiles.binning import Binning
from monitor.profiles.cells import CategoryCells
from monitor.profiles.sample import EVENT_TIME
from monitor.profiles.view_values import class_names, derive
from monitor.profiles.views import TEXT_DERIVATIONS, Derivation, View

_LISTS = frozenset({ColumnType.VECTOR, ColumnType.CLASS_SCORES, ColumnType.RANKED_LIST})


def usable_views(views: Sequence[View], binning: Binning, *samples: pa.Table) -> tuple[View, ...]:
    """The views that every sample has a column for and that some sample has a value of.

    Categories need the binning's cells.
    """
    return tuple(
        view
        for view in views
        if all(_has(sample, view) for sample in samples)
        and any(sample[_stored_name(view)].null_count < len(sample) for sample in samples)
        and (not view.is_category or isinstance(binning.views.get(view.name), CategoryCells))
    )


def feature_matrix(sample: pa.Table, views: Sequence[View], binning: Binning) -> Floats:
    """One column a view, float64[n, views], NaN where missing.

    Numbers are as they are. A timestamp is how many seconds it lies before its request, for a date
    by itself would tell any two days apart. A category is the place of its value among the
    binning's top values, the most frequent first; all others share one number, because a rare value
    that only one sample happens to hold would tell the samples apart without any change (`new`
    values have a cell of their own in profiles).
    """
    matrix = np.empty((len(sample), len(views)))
    for place, view in enumerate(views):
        matrix[:, place] = _feature(sample, view, binning)
    return matrix


def _feature(sample: pa.Table, view: View, binning: Binning) -> Floats:
    values = sample[_stored_name(view)].combine_chunks()
    if view.is_category:
        return _category(_texts(values, view), binning, view)
    if view.derivation is Derivation.FILLED:
        filled = _filled(values)
        return np.asarray(np.where(filled > 0, filled, np.nan))
    if view.column.type in _LISTS:
        return derive(view, _slots(values, view))
    if view.column.type is ColumnType.TIMESTAMP:
        return _seconds_before(values, sample[EVENT_TIME].combine_chunks())
    return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def _stored_name(view: View) -> str:
    described = view.derivation in TEXT_DERIVATIONS
    return f"{view.column.name}.{view.derivation}" if described else view.column.name


def _has(sample: pa.Table, view: View) -> bool:
    """Whether the sample has the view's column with the type of today's contract."""
    name = _stored_name(view)
    if name not in sample.column_names:
        return False
    kind = sample.schema.field(name).type
    if view.column.type in _LISTS:
        texts = view.column.type is ColumnType.RANKED_LIST
        return bool(pa.types.is_list(kind)) and pa.types.is_string(kind.value_type) is texts
    if view.column.type is ColumnType.CATEGORY:
        return bool(pa.types.is_string(kind))
    if view.column.type is ColumnType.TIMESTAMP:
        return bool(pa.types.is_timestamp(kind))
    return bool(pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _category(values: pa.Array, binning: Binning, view: View) -> Floats:
    cells = binning.views[view.name]
    if not isinstance(cells, CategoryCells):
        raise AssertionError(f"{view.name} has no category cells; usable_views leaves it out")
    assigned = cells.assign(values)
    codes = np.minimum(assigned, cells.other).astype(np.float64)
    return np.asarray(np.where(assigned == cells.missing, np.nan, codes))


def _texts(values: pa.Array, view: View) -> pa.Array:
    if view.derivation is Derivation.CLASS:
        return class_names(view, _slots(values, view))
    if view.derivation is Derivation.FIRST:
        long_enough = pc.if_else(pc.greater(pc.list_value_length(values), 0), values, None)
        return pc.list_element(long_enough, 0)
    return values


def _filled(values: pa.Array) -> Floats:
    """How many items of each list are there, float64[n]."""
    parents = pc.list_parent_indices(values).to_numpy(zero_copy_only=False)
    present = values.flatten().is_valid().to_numpy(zero_copy_only=False)
    return np.bincount(parents[present], minlength=len(values)).astype(np.float64)


def _slots(values: pa.Array, view: View) -> Floats:
    """Lists as the number slots of their column, float64[width, n]; NaN for other lengths."""
    width = view.column.size or len(view.column.categories or ())
    slots = np.full((len(values), width), np.nan)
    whole = pc.equal(pc.list_value_length(values), width).fill_null(False)
    items = values.filter(whole).flatten().to_numpy(zero_copy_only=False)
    slots[whole.to_numpy(zero_copy_only=False)] = items.reshape(-1, width)
    return np.ascontiguousarray(slots.T)


def _seconds_before(values: pa.Array, event_time: pa.Array) -> Floats:
    """From each timestamp to its request in seconds, float64[n]."""
    micros = pc.subtract(event_time.cast(pa.int64()), values.cast(pa.int64()))
    return np.asarray(micros.to_numpy(zero_copy_only=False), np.float64) / 1e6
