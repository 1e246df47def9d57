"""How a column moved, in its own units: cells, distance, and the effect a person can feel."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from monitor.checks.drift.wasserstein import transport_distance
from monitor.checks.moved import TOP
from monitor.checks.promise.baseline import SeasonalBaseline
from monitor.checks.promise.expect import Cut, windows_of
from monitor.checks.promise.hours import HOUR
from monitor.checks.promise.indicators import with_indicators
from monitor.jobs.promise.series import ModelHours
from monitor.profiles.arrays import Floats
from monitor.profiles.cells import NumberCells

SHOWN_CHANGE = 0.0005


def moved_column(
    baseline: SeasonalBaseline, seen: ModelHours, column: str, end: datetime, scale: int
) -> dict[str, Any] | None:
    """A column's last `scale` hours against what its baseline expects; None without rows."""
    place = baseline.place.get(("", column))
    mine = {one.key: one for one in with_indicators(seen.columns, baseline.place)}
    stop = (end - seen.hours.first) // HOUR
    if place is None or ("", column) not in mine or stop < scale:
        return None
    known, source = baseline.columns[place], mine["", column]
    order = known.layout.order
    part = seen.hours.part(stop - scale, stop)
    counts = source.counts[stop - scale : stop][:, order].astype(np.float64)
    cut = Cut(scale, np.array([scale]))
    windows = windows_of(counts, known.shares, known.totals, part, known.season, cut)
    observed, expected = np.zeros(len(order)), np.zeros(len(order))
    observed[order], expected[order] = windows.observed[0], windows.expected[0]
    if not observed.sum():
        return None
    cells = surprising_cells(source.cells.labels(), expected, observed)
    distance = _distance(source.cells, expected, observed)
    return {
        "column": column,
        "cells": cells,
        "distance_sd": distance,
        "n": int(observed.sum()),
        "sentence": _sentence(column, cells, distance, int(observed.sum()), scale),
    }


def surprising_cells(
    labels: Sequence[str], expected: Floats, observed: Floats
) -> list[dict[str, Any]]:
    """The three cells with the largest (observed - expected)²/expected, float64[k] counts each.

    By evidence, not by share: thirty rows in a cell that never had one say more than thirty rows
    too many in the largest.
    """
    weight = (observed - expected) ** 2 / np.maximum(expected, 1.0)
    order = np.argsort(-weight, kind="stable")[:TOP]
    then, now = expected / expected.sum(), observed / observed.sum()
    return [
        {"label": labels[cell], "share_then": float(then[cell]), "share_now": float(now[cell])}
        for cell in order.tolist()
        if abs(now[cell] - then[cell]) >= SHOWN_CHANGE
    ]


def _distance(cells: Any, expected: Floats, observed: Floats) -> float | None:
    """Wasserstein distance in baseline standard deviations, rows beyond the edges lying on them."""
    if not isinstance(cells, NumberCells) or not cells.reference_sd > 0:
        return None
    then, now = expected[:-1], observed[:-1]
    if not (then.sum() and now.sum()):
        return None
    edges = (np.asarray(cells.edges) - cells.centre) / cells.reference_sd
    return float(transport_distance(edges, then, now))


def _sentence(
    column: str, cells: list[dict[str, Any]], distance: float | None, n: int, scale: int
) -> str:
    span = "last hour" if scale == 1 else f"last {scale} hours"
    if not cells:
        return f"{column}: no cell moved in the {span} (n = {n:,})."
    parts = [
        f"{one['label']} {one['share_then']:.1%} expected, {one['share_now']:.1%} seen"
        for one in cells
    ]
    far = "" if distance is None else f" Distance {distance:.2f} baseline standard deviations."
    return f"{column}: {'; '.join(parts)} ({span}, n = {n:,}).{far}"
