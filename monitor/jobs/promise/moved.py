"""How a column moved, in its own units: cells, distance, and the effect a person can feel."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np

from monitor.checks.drift.wasserstein import transport_distance
from monitor.checks.moved import moved_cells
from monitor.checks.promise.baseline import SeasonalBaseline
from monitor.checks.promise.expect import Cut, windows_of
from monitor.checks.promise.hours import HOUR
from monitor.checks.promise.indicators import with_indicators
from monitor.jobs.promise.series import ModelHours
from monitor.profiles.arrays import Floats
from monitor.profiles.cells import NumberCells

HOURS = 24


def moved_column(
    baseline: SeasonalBaseline, seen: ModelHours, column: str, end: datetime
) -> dict[str, Any] | None:
    """A column's last 24 hours against what its baseline expects of them; None without rows."""
    place = baseline.place.get(("", column))
    mine = {one.key: one for one in with_indicators(seen.columns, baseline.place)}
    stop = (end - seen.hours.first) // HOUR
    if place is None or ("", column) not in mine or stop < HOURS:
        return None
    known, source = baseline.columns[place], mine["", column]
    order = known.layout.order
    part = seen.hours.part(stop - HOURS, stop)
    counts = source.counts[stop - HOURS : stop][:, order].astype(np.float64)
    cut = Cut(HOURS, np.array([HOURS]))
    windows = windows_of(counts, known.totals, part, known.season, cut)
    observed, expected = np.zeros(len(order)), np.zeros(len(order))
    observed[order], expected[order] = windows.observed[0], windows.expected[0]
    if not observed.sum():
        return None
    cells = moved_cells(source.cells.labels(), expected, observed)
    distance = _distance(source.cells, expected, observed)
    return {
        "column": column,
        "cells": cells,
        "distance_sd": distance,
        "n": int(observed.sum()),
        "sentence": _sentence(column, cells, distance, int(observed.sum())),
    }


def _distance(cells: Any, expected: Floats, observed: Floats) -> float | None:
    """Wasserstein distance in baseline standard deviations, rows beyond the edges lying on them."""
    if not isinstance(cells, NumberCells) or not cells.reference_sd > 0:
        return None
    then, now = expected[:-1], observed[:-1]
    if not (then.sum() and now.sum()):
        return None
    edges = (np.asarray(cells.edges) - cells.centre) / cells.reference_sd
    return float(transport_distance(edges, then, now))


def _sentence(column: str, cells: list[dict[str, Any]], distance: float | None, n: int) -> str:
    if not cells:
        return f"{column}: no cell moved in the last 24 hours (n = {n:,})."
    parts = [
        f"{one['label']} {one['share_then']:.1%} expected, {one['share_now']:.1%} seen"
        for one in cells
    ]
    far = "" if distance is None else f" Distance {distance:.2f} baseline standard deviations."
    return f"{column}: {'; '.join(parts)} (last 24 hours, n = {n:,}).{far}"
