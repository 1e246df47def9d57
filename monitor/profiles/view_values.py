"""The values of a view, made from the slots of stored rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from monitor.contract import ColumnType
from monitor.profiles.arrays import Flags, Floats, Integers
from monitor.profiles.projections import lengths_and_cosines
from monitor.profiles.rows import NumberTile, RequestRows
from monitor.profiles.views import N_PROJECTIONS, TEXT_DERIVATIONS, Derivation, View


def number_values(rows: RequestRows, view: View, tile: NumberTile, start: int, stop: int) -> Floats:
    """A number view's values in rows [start, stop), float64[n]; NaN is missing."""
    if view.derivation is Derivation.FILLED:
        return filled_lengths(rows, view, start, stop)
    slot = rows.layout.slot(view.column.name)
    return derive(view, tile.slots(slot.number_start, slot.number_start + slot.number_width))


def derive(view: View, slots: Floats) -> Floats:
    """A number view's values from its column's number slots, float64[width, n] -> float64[n].

    A norm, projection or confidence with a missing component is missing, and so is a descriptor
    that the rows of an older layout do not hold.
    """
    return derive_all((view,), slots)[0]


def derive_all(views: Sequence[View], slots: Floats) -> list[Floats]:
    """The same for several views of one column; what they have in common is worked out once."""
    if views[0].column.type is ColumnType.VECTOR:
        return _of_vector(views, slots)
    return [_derived(view, slots) for view in views]


def _of_vector(views: Sequence[View], slots: Floats) -> list[Floats]:
    places = tuple(view.place for view in views if view.derivation is Derivation.PROJECTION)
    norms, cosines = lengths_and_cosines(slots, places, min(N_PROJECTIONS, len(slots)))
    projected = iter(cosines)
    return [norms if view.derivation is Derivation.NORM else next(projected) for view in views]


def _derived(view: View, slots: Floats) -> Floats:
    if view.derivation is Derivation.CONFIDENCE:
        return np.asarray(np.max(slots, axis=0))
    place = TEXT_DERIVATIONS.get(view.derivation, 0)
    return np.asarray(slots[place]) if place < len(slots) else np.full(slots.shape[1], np.nan)


def filled_lengths(rows: RequestRows, view: View, start: int, stop: int) -> Floats:
    """How many places of a ranked list are filled, float64[n]; an empty list is missing."""
    slot = rows.layout.slot(view.column.name)
    filled = np.zeros(stop - start)
    for place in range(slot.text_start, slot.text_start + slot.text_width):
        column = rows.text_column(place, start, stop)
        filled += column.is_valid().to_numpy(zero_copy_only=False)
    return np.asarray(np.where(filled > 0, filled, np.nan))


def category_values(rows: RequestRows, view: View, start: int, stop: int) -> pa.Array:
    """A category view's values in rows [start, stop), text[n] with nulls."""
    slot = rows.layout.slot(view.column.name)
    if view.derivation is not Derivation.CLASS:
        return rows.text_column(slot.text_start, start, stop)
    tile = rows.number_tile(start, stop)
    slots = tile.slots(slot.number_start, slot.number_start + slot.number_width)
    return class_names(view, slots)


def class_names(view: View, slots: Floats) -> pa.Array:
    """The class with the largest score by name, float64[k, n] -> text[n] with nulls."""
    best, present = best_class(slots)
    names = pa.array(list(view.column.categories or ()), pa.string())
    return names.take(pa.array(best, mask=~present))


def best_class(slots: Floats) -> tuple[Integers, Flags]:
    """Index of the largest class score, float64[k, n] -> (int64[n], present bool[n]).

    The first of equal ones wins; a row with a missing score has no class.
    """
    present = np.asarray(~np.isnan(slots).any(axis=0))
    best = np.argmax(np.where(present, slots, 0.0), axis=0)
    return np.asarray(best, np.int64), present
