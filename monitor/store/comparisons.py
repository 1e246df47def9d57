"""Stored comparisons of deployments, and the parts of profiles that comparisons read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.profiles.part import Part, PartKind
from monitor.store.measurements import finite
from monitor.store.tables import comparison, profile
from monitor.windows import Grain, Window

HOURLY_UNTIL = timedelta(days=31)
"""Windows up to this long are compared hour by hour, longer ones day by day."""
WHOLE = 0
_ROWS_AT_ONCE = 500


@dataclass(frozen=True)
class StoredComparison:
    """One comparison as it was made: of b with a, over a window, by whom and when."""

    id: int
    leg: str
    a: tuple[int, ...]
    b: tuple[int, ...]
    window: Window
    verdict: str
    body: Mapping[str, Any]
    made_by: str
    known_at: datetime


@dataclass(frozen=True)
class FoundPart:
    """A stored part of one deployment in one slot of time, of one segment."""

    deployment_id: int
    slot: Window
    segment_id: int
    kind: PartKind
    n: int
    body: bytes

    def part(self) -> Part:
        """The part itself."""
        return Part.from_bytes(self.body)


@dataclass(frozen=True)
class Traffic:
    """Whose parts: deployments of one leg in a window."""

    project_id: int
    model_id: int
    leg: str
    deployment_ids: tuple[int, ...]
    window: Window


def write_comparison(
    connection: Connection, project_id: int, model_id: int, made: StoredComparison
) -> StoredComparison:
    """Store a comparison; the same with the number it got."""
    body = json.loads(json.dumps(finite(made.body), allow_nan=False))
    statement = sa.insert(comparison).values(
        project_id=project_id,
        model_id=model_id,
        leg=made.leg,
        deployments_a=list(made.a),
        deployments_b=list(made.b),
        window_start=made.window.start,
        window_end=made.window.end,
        verdict=made.verdict,
        body=body,
        made_by=made.made_by,
        known_at=made.known_at,
    )
    row = connection.execute(statement.returning(comparison)).one()
    return _stored(row)


def read_comparisons(
    connection: Connection,
    project_id: int,
    model_id: int,
    *,
    sides: tuple[Sequence[int], Sequence[int]] | None = None,
    known_by: datetime | None = None,
    limit: int = 50,
) -> list[StoredComparison]:
    """Comparisons of a model, newest first; `sides`: of exactly these deployments a and b."""
    row = comparison.c
    query = (
        sa.select(comparison)
        .where(row.project_id == project_id, row.model_id == model_id)
        .order_by(row.known_at.desc(), row.id.desc())
        .limit(limit)
    )
    if known_by is not None:
        query = query.where(row.known_at <= known_by)
    if sides is not None:
        a, b = (sorted(side) for side in sides)
        query = query.where(row.deployments_a == a, row.deployments_b == b)
    return [_stored(found) for found in connection.execute(query)]


def traffic_by_segment(connection: Connection, traffic: Traffic) -> dict[tuple[int, int], int]:
    """Requests by (deployment, segment) in the window; segment 0 is all of them."""
    row = profile.c
    found: dict[tuple[int, int], int] = {}
    for grain, piece in _pieces(traffic.window):
        query = (
            sa.select(row.deployment_id, row.segment_id, sa.func.sum(row.n).label("n"))
            .where(*_of(traffic, grain, piece, (PartKind.SERVING,)))
            .group_by(row.deployment_id, row.segment_id)
        )
        for one in connection.execute(query):
            key = (one.deployment_id, one.segment_id)
            found[key] = found.get(key, 0) + int(one.n)
    return found


def served_days(connection: Connection, traffic: Traffic) -> dict[int, set[datetime]]:
    """The UTC days on which each deployment served, within the window."""
    row = profile.c
    query = sa.select(row.deployment_id, row.window_start).where(
        *_of(traffic, Grain.DAY, traffic.window, (PartKind.SERVING,)), row.segment_id == WHOLE
    )
    found: dict[int, set[datetime]] = {number: set() for number in traffic.deployment_ids}
    for one in connection.execute(query):
        found[one.deployment_id].add(one.window_start)
    return found


def parts_of(
    connection: Connection, traffic: Traffic, segment_ids: Collection[int]
) -> Iterator[FoundPart]:
    """Serving and labels parts, all of one deployment, slot and kind together, in time order."""
    row = profile.c
    wanted = (PartKind.SERVING, PartKind.LABELS)
    for grain, piece in _pieces(traffic.window):
        query = (
            sa.select(
                row.deployment_id, row.window_start, row.segment_id, row.part, row.n, row.body
            )
            .where(*_of(traffic, grain, piece, wanted))
            .where(row.segment_id.in_([WHOLE, *segment_ids]))
            .order_by(row.window_start, row.deployment_id, row.part, row.segment_id)
            .execution_options(yield_per=_ROWS_AT_ONCE)
        )
        for one in connection.execute(query):
            slot = Window(one.window_start, one.window_start + grain.length)
            kind = PartKind(one.part)
            yield FoundPart(one.deployment_id, slot, one.segment_id, kind, one.n, bytes(one.body))


def _of(
    traffic: Traffic, grain: Grain, piece: Window, kinds: Sequence[PartKind]
) -> tuple[sa.ColumnElement[bool], ...]:
    row = profile.c
    return (
        row.project_id == traffic.project_id,
        row.model_id == traffic.model_id,
        row.leg == traffic.leg,
        row.deployment_id.in_(traffic.deployment_ids),
        row.part.in_([int(kind) for kind in kinds]),
        row.grain == int(grain),
        row.window_start >= piece.start,
        row.window_start < piece.end,
    )


def _pieces(window: Window) -> list[tuple[Grain, Window]]:
    """Hours, or whole UTC days with hours at both ends where the window is long."""
    if window.end - window.start <= HOURLY_UNTIL:
        return [(Grain.HOUR, window)]
    first = Window.holding(window.start, Grain.DAY)
    start = window.start if first.start == window.start else first.end
    end = Window.holding(window.end, Grain.DAY).start
    pieces = [(Grain.DAY, Window(start, end))]
    if window.start < start:
        pieces.insert(0, (Grain.HOUR, Window(window.start, start)))
    if end < window.end:
        pieces.append((Grain.HOUR, Window(end, window.end)))
    return pieces


def _stored(row: sa.Row[Any]) -> StoredComparison:
    return StoredComparison(
        id=row.id,
        leg=row.leg,
        a=tuple(row.deployments_a),
        b=tuple(row.deployments_b),
        window=Window(row.window_start, row.window_end),
        verdict=row.verdict,
        body=row.body,
        made_by=row.made_by,
        known_at=row.known_at,
    )
