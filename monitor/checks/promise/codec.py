"""A seasonal baseline as bytes and back, to the last bit. Knows no database."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from monitor.checks.promise.baseline import (
    VERSION,
    Calibrations,
    ColumnClass,
    SeasonalBaseline,
    SeasonalColumn,
)
from monitor.checks.promise.column import CellOrder
from monitor.checks.promise.hours import Season

_TABLES = ("kind", "tau", "spread", "ratio", "degrees", "curves")


def baseline_to_bytes(baseline: SeasonalBaseline) -> bytes:
    """The stored form: numpy's zip of arrays, with a header of names and words."""
    arrays: dict[str, Any] = {name: getattr(baseline.calibrations, name) for name in _TABLES}
    for place, column in enumerate(baseline.columns):
        arrays[f"totals{place}"] = column.totals
        arrays[f"order{place}"] = column.layout.order
        arrays[f"scores{place}"] = column.layout.scores
        arrays[f"data{place}"] = column.layout.data
    header = {"version": VERSION, "columns": [_words(column) for column in baseline.columns]}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    sink = io.BytesIO()
    np.savez_compressed(sink, **arrays)
    return sink.getvalue()


def baseline_from_bytes(stored: bytes) -> SeasonalBaseline:
    """Read what `baseline_to_bytes` wrote."""
    with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
        header = json.loads(arrays["header"].tobytes())
        columns = tuple(
            _column(words, place, arrays) for place, words in enumerate(header["columns"])
        )
        return SeasonalBaseline(columns, Calibrations(*(arrays[name] for name in _TABLES)))


def _words(column: SeasonalColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "segment": column.segment,
        "weight": column.weight,
        "season": column.season.value,
        "strength": column.strength,
        "class": column.column_class.value,
        "weeks": list(column.weeks),
        "withheld": column.withheld,
    }


def _column(words: dict[str, Any], place: int, arrays: Any) -> SeasonalColumn:
    layout = CellOrder(arrays[f"order{place}"], arrays[f"scores{place}"], arrays[f"data{place}"])
    return SeasonalColumn(
        words["name"], words["segment"], words["weight"], Season(words["season"]), layout,
        words["strength"],
        arrays[f"totals{place}"], ColumnClass(words["class"]), tuple(words["weeks"]),
        words["withheld"],
    )  # fmt: skip
