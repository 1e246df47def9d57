"""Stored profiles, prediction blocks and samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.profiles.block import PredictionBlock
from monitor.profiles.part import Part, PartKind
from monitor.records import LIVE_LEG
from monitor.store.arrays import insert_rows
from monitor.store.tables import prediction_block, profile, sample, segment
from monitor.windows import Grain, Window

WHOLE = 0
"""The segment number of all requests."""


@dataclass(frozen=True)
class ProfileKey:
    """Whose profile it is, of which binning, window and part."""

    deployment_id: int
    leg: str
    segment_id: int
    binning_id: int
    kind: PartKind
    grain: Grain
    window_start: datetime


@dataclass(frozen=True)
class StoredProfile:
    """One stored part with its number of requests."""

    key: ProfileKey
    contract_version: int
    n: int
    part: Part


_COLUMNS = (
    *("project_id", "model_id", "deployment_id", "leg", "segment_id", "binning_id", "part"),
    *("grain", "window_start", "contract_version", "n", "body"),
)


def write_profiles(
    connection: Connection, project_id: int, model_id: int, found: Iterable[StoredProfile]
) -> None:
    """Store parts, replacing those of the same key."""
    rows = [
        (
            *(
                project_id,
                model_id,
                stored.key.deployment_id,
                stored.key.leg,
                stored.key.segment_id,
            ),
            *(stored.key.binning_id, int(stored.key.kind), int(stored.key.grain)),
            *(stored.key.window_start, stored.contract_version, stored.n, stored.part.to_bytes()),
        )
        for stored in found
    ]
    insert_rows(connection, profile, _COLUMNS, rows, replace=True)


def read_profiles(
    connection: Connection,
    project_id: int,
    model_id: int,
    kind: PartKind,
    grain: Grain,
    window: Window,
    *,
    segment_ids: Sequence[int] | None = (WHOLE,),
    binning_ids: Sequence[int] | None = None,
    without: Sequence[datetime] = (),
) -> list[StoredProfile]:
    """Stored parts whose window starts inside this one (but for `without`), in time order."""
    row = profile.c
    query = (
        sa.select(profile)
        .where(row.project_id == project_id, row.model_id == model_id, row.part == int(kind))
        .where(row.grain == int(grain))
        .where(row.window_start >= window.start, row.window_start < window.end)
        .order_by(row.window_start, row.deployment_id, row.segment_id)
    )
    if without:
        query = query.where(row.window_start.not_in(without))
    if segment_ids is not None:
        query = query.where(row.segment_id.in_(segment_ids))
    if binning_ids is not None:
        query = query.where(row.binning_id.in_(binning_ids))
    return [_stored(found) for found in connection.execute(query)]


def read_window(
    connection: Connection,
    project_id: int,
    model_id: int,
    kind: PartKind,
    window: Window,
    *,
    segment_ids: Sequence[int] | None = (WHOLE,),
    binning_ids: Sequence[int] | None = None,
) -> list[StoredProfile]:
    """Stored parts that together cover a window of whole hours: days where they fit, else hours."""
    found: list[StoredProfile] = []
    for grain, piece in _pieces(window):
        found += read_profiles(
            connection, project_id, model_id, kind, grain, piece,
            segment_ids=segment_ids, binning_ids=binning_ids,
        )  # fmt: skip
    return found


def last_served(connection: Connection, project_id: int, model_id: int) -> datetime | None:
    """Start of the newest day with a request on the live leg."""
    found: datetime | None = connection.scalar(
        sa.select(sa.func.max(profile.c.window_start)).where(*_served_days(project_id, model_id))
    )
    return found


def served_deployments(
    connection: Connection, project_id: int, model_id: int, window: Window
) -> tuple[int, ...]:
    """Deployments with a request on the live leg in the UTC days that start in a window."""
    row = profile.c
    query = (
        sa.select(row.deployment_id)
        .distinct()
        .where(*_served_days(project_id, model_id))
        .where(row.window_start >= window.start, row.window_start < window.end)
    )
    return tuple(sorted(connection.scalars(query)))


def _served_days(project_id: int, model_id: int) -> tuple[sa.ColumnElement[bool], ...]:
    row = profile.c
    return (
        row.project_id == project_id,
        row.model_id == model_id,
        row.part == int(PartKind.SERVING),
        row.grain == int(Grain.DAY),
        row.segment_id == WHOLE,
        row.binning_id == 0,
        row.leg == LIVE_LEG,
    )


def segment_number(
    connection: Connection, project_id: int, model_id: int, definition: dict[str, str]
) -> int:
    """The number of a segment, given by column values; made when it is new."""
    key = (segment.c.project_id == project_id, segment.c.model_id == model_id)
    found = connection.scalar(
        sa.select(segment.c.id)
        .where(*key)
        .where(segment.c.definition == sa.cast(definition, segment.c.definition.type))
    )
    if found is not None:
        return int(found)
    statement = sa.insert(segment).values(
        project_id=project_id, model_id=model_id, definition=definition
    )
    return int(connection.scalar(statement.returning(segment.c.id)))


def segments(connection: Connection, project_id: int, model_id: int) -> dict[int, dict[str, str]]:
    """All segments of a model: number to definition."""
    query = sa.select(segment.c.id, segment.c.definition).where(
        segment.c.project_id == project_id, segment.c.model_id == model_id
    )
    return {row.id: row.definition for row in connection.execute(query)}


@dataclass(frozen=True)
class BlockKey:
    """Whose predictions a block holds."""

    window_start: datetime
    deployment_id: int
    leg: str


def write_blocks(
    connection: Connection,
    project_id: int,
    model_id: int,
    blocks: Iterable[tuple[BlockKey, PredictionBlock]],
) -> None:
    """Store blocks, replacing those of the same key."""
    columns = (
        *("project_id", "model_id", "window_start", "deployment_id", "leg", "n", "labelled"),
        "body",
    )
    rows = [
        (
            *(project_id, model_id, key.window_start, key.deployment_id, key.leg),
            *(len(block), int(block.labelled.sum()), block.to_bytes()),
        )
        for key, block in blocks
    ]
    insert_rows(connection, prediction_block, columns, rows, replace=True)


def read_blocks(
    connection: Connection, project_id: int, model_id: int, window: Window
) -> list[tuple[BlockKey, PredictionBlock]]:
    """Blocks of the hours that start inside a window, in time order."""
    row = prediction_block.c
    query = (
        sa.select(prediction_block)
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.window_start >= window.start, row.window_start < window.end)
        .order_by(row.window_start, row.deployment_id, row.leg)
    )
    return [
        (
            BlockKey(found.window_start, found.deployment_id, found.leg),
            PredictionBlock.from_bytes(bytes(found.body)),
        )
        for found in connection.execute(query)
    ]


def write_sample(
    connection: Connection,
    project_id: int,
    model_id: int,
    day: datetime,
    deployment_id: int,
    leg: str,
    n: int,
    body: bytes,
) -> None:
    """Store the sample of a deployment's day, replacing the one before."""
    columns = ("project_id", "model_id", "day", "deployment_id", "leg", "n", "body")
    row = (project_id, model_id, day, deployment_id, leg, n, body)
    insert_rows(connection, sample, columns, [row], replace=True)


def read_samples(
    connection: Connection, project_id: int, model_id: int, window: Window
) -> list[tuple[datetime, int, str, bytes]]:
    """Samples of the days that start inside a window: day, deployment, leg, stored bytes."""
    row = sample.c
    query = (
        sa.select(row.day, row.deployment_id, row.leg, row.body)
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.day >= window.start, row.day < window.end)
        .order_by(row.day, row.deployment_id, row.leg)
    )
    return [(r.day, r.deployment_id, r.leg, bytes(r.body)) for r in connection.execute(query)]


def _pieces(window: Window) -> list[tuple[Grain, Window]]:
    first = Window.holding(window.start, Grain.DAY)
    day_start = window.start if first.start == window.start else first.end
    day_end = Window.holding(window.end, Grain.DAY).start
    if day_start >= day_end:
        return [(Grain.HOUR, window)]
    pieces = [(Grain.DAY, Window(day_start, day_end))]
    if window.start < day_start:
        pieces.insert(0, (Grain.HOUR, Window(window.start, day_start)))
    if day_end < window.end:
        pieces.append((Grain.HOUR, Window(day_end, window.end)))
    return pieces


def _stored(found: sa.Row[tuple[object, ...]]) -> StoredProfile:
    key = ProfileKey(
        deployment_id=found.deployment_id,
        leg=found.leg,
        segment_id=found.segment_id,
        binning_id=found.binning_id,
        kind=PartKind(found.part),
        grain=Grain(found.grain),
        window_start=found.window_start,
    )
    return StoredProfile(key, found.contract_version, found.n, Part.from_bytes(bytes(found.body)))
