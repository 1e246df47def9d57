"""One column by segment: where in the traffic its values moved since the days before.

A segment is held against itself in the equally long window before, as segments differ by nature
and a baseline is of all requests.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.profiles.columns import ColumnCounts, column_counts
from monitor.profiles.part import Part, PartKind, merge
from monitor.records import LIVE_LEG
from monitor.reports.column import read_binning
from monitor.reports.database import reading
from monitor.reports.profile_cover import ALL_REQUESTS, covering
from monitor.store.tables import baseline, profile, segment
from monitor.windows import Window

FEWEST_ROWS = 30
MOST_SEGMENTS = 50


@dataclass(frozen=True)
class SegmentLine:
    """One segment now and before. `moved` is the share of its rows that lie in other cells than
    before, None with fewer than FEWEST_ROWS on either side."""

    name: str
    n: int
    n_before: int
    missing: float
    missing_before: float
    mean: float | None
    mean_before: float | None
    moved: float | None


def column_segments(
    engine: Engine,
    project_id: int,
    model_id: int,
    view: str,
    window: Window,
    baseline_id: int,
    deployment_id: int | None = None,
) -> tuple[SegmentLine, ...]:
    """The segments with profiles in the window, those that moved most rows first.

    The cells are those of a baseline.
    """
    before = Window(window.start - (window.end - window.start), window.start)
    with reading(engine, project_id) as connection:
        of = sa.select(baseline.c.binning_id).where(
            baseline.c.project_id == project_id, baseline.c.id == baseline_id
        )
        binning_id = connection.execute(of).scalar_one()
        cells = read_binning(connection, project_id, binning_id)
        names = segment_names(connection, project_id, model_id)
        place = (project_id, model_id, binning_id, deployment_id)
        now, then = (_parts(connection, *place, each) for each in (window, before))
    found = [
        _line(names.get(number, f"segment {number}"), column_counts(part, cells, view),
              column_counts(then.get(number, Part()), cells, view))
        for number, part in now.items()
    ]  # fmt: skip
    found.sort(key=lambda line: (-(line.moved or 0.0) * line.n, -line.n, line.name))
    return tuple(found[:MOST_SEGMENTS])


def segments_of(engine: Engine, project_id: int, model_id: int) -> dict[int, str]:
    """Definitions of a model's segments by number, in the order of their names."""
    with reading(engine, project_id) as connection:
        names = segment_names(connection, project_id, model_id)
    return dict(sorted(names.items(), key=lambda each: each[1]))


def segment_names(connection: Connection, project_id: int, model_id: int) -> dict[int, str]:
    """Definitions of a model's segments by number: `country=DE, sex=f`."""
    query = sa.select(segment.c.id, segment.c.definition).where(
        segment.c.project_id == project_id, segment.c.model_id == model_id
    )
    return {
        one.id: ", ".join(f"{name}={value}" for name, value in sorted(one.definition.items()))
        for one in connection.execute(query)
    }


def _parts(
    connection: Connection,
    project_id: int,
    model_id: int,
    binning_id: int,
    deployment_id: int | None,
    window: Window,
) -> dict[int, Part]:
    query = sa.select(profile.c.segment_id, profile.c.body).where(
        profile.c.project_id == project_id,
        profile.c.model_id == model_id,
        profile.c.part == int(PartKind.COLUMNS),
        profile.c.binning_id == binning_id,
        profile.c.leg == LIVE_LEG,
        profile.c.segment_id != ALL_REQUESTS,
        covering(window),
    )
    if deployment_id is not None:
        query = query.where(profile.c.deployment_id == deployment_id)
    pieces: defaultdict[int, list[Part]] = defaultdict(list)
    for row in connection.execute(query):
        pieces[row.segment_id].append(Part.from_bytes(row.body))
    return {number: merge(found) for number, found in pieces.items()}


def _line(name: str, now: ColumnCounts, then: ColumnCounts) -> SegmentLine:
    moved = None
    if min(now.n, then.n) >= FEWEST_ROWS:
        moved = float(np.abs(now.counts / now.n - then.counts / then.n).sum() / 2)
    return SegmentLine(
        name, now.n, then.n, now.n_missing / max(now.n, 1), then.n_missing / max(then.n, 1),
        now.mean, then.mean, moved,
    )  # fmt: skip
