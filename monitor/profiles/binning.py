"""A binning: the cells of every profiled column (view) of a model. Pure.

Baselines are counts on a binning and change without it; current data never moves it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from monitor.contract import Contract
from monitor.profiles.cells import CategoryCells, NumberCells, ViewCells
from monitor.profiles.fitting import fit_category_cells, fit_number_cells
from monitor.profiles.rows import NumberTile, RequestRows
from monitor.profiles.view_values import category_values, number_values
from monitor.profiles.views import View, is_stored, views_of

_FORMAT = 1


@dataclass(frozen=True)
class Binning:
    """Cells by view, in contract order.

    `columns` names the column of each view that is not its column's own name (`NOTE.length`).
    """

    views: Mapping[str, ViewCells]
    columns: Mapping[str, str] = field(default_factory=dict)

    def column_of(self, view: str) -> str:
        """The column a view is made from."""
        return self.columns.get(view, view)

    def number_views(self) -> tuple[str, ...]:
        """Views with number cells, in the binning's order: the order of the pairs part."""
        return tuple(name for name, cells in self.views.items() if isinstance(cells, NumberCells))

    def to_json(self) -> dict[str, Any]:
        """A JSON value that `from_json` reads back exactly, the order of the views included."""
        views = [
            {"view": name, "column": self.column_of(name), **_written(cells)}
            for name, cells in self.views.items()
        ]
        return {"format": _FORMAT, "views": views}

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | str) -> Binning:
        """Read what `to_json` wrote (a parsed value or its text)."""
        read = json.loads(value) if isinstance(value, str) else value
        if read["format"] != _FORMAT:
            raise AssertionError(f"binning format {read['format']} is not {_FORMAT}")
        entries = read["views"]
        columns = {e["view"]: e["column"] for e in entries if e["view"] != e["column"]}
        return cls({entry["view"]: _read_cells(entry) for entry in entries}, columns)


def fit_binning(rows: RequestRows, contract: Contract) -> Binning:
    """The binning that reference rows decide: cells for every view whose values they hold."""
    views = [view for view in views_of(contract) if is_stored(view, rows.layout)]
    tile = rows.number_tile(0, len(rows))
    cells = {view.name: _fitted(rows, tile, view) for view in views}
    derived = {view.name: view.column.name for view in views if view.name != view.column.name}
    return Binning(cells, derived)


def _fitted(rows: RequestRows, tile: NumberTile, view: View) -> ViewCells:
    if view.is_category:
        return fit_category_cells(category_values(rows, view, 0, len(rows)))
    return fit_number_cells(number_values(rows, view, tile, 0, len(rows)), view.number_kind)


def _written(cells: ViewCells) -> dict[str, Any]:
    kind = "number" if isinstance(cells, NumberCells) else "category"
    return {"cells": kind, **cells.to_json()}


def _read_cells(entry: Mapping[str, Any]) -> ViewCells:
    if entry["cells"] == "number":
        return NumberCells.from_json(entry)
    return CategoryCells.from_json(entry)
