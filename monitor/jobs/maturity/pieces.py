"""Stored labels parts as pieces: hours where they are young, days before that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from sqlalchemy.engine import Connection

from monitor.jobs.base import JobContext
from monitor.jobs.grouping import WHOLE
from monitor.jobs.maturity.known import Piece
from monitor.profiles.label_delays import delays_by_class
from monitor.profiles.part import PartKind
from monitor.store.profile_rows import StoredProfile, read_profiles
from monitor.windows import Grain, Window

YOUNG = timedelta(hours=48)
"""So long before the newest label a day is too coarse for the ages of its requests."""

Subject = tuple[str, int, int]
"""Leg, segment, deployment."""


def whole_pieces(
    connection: Connection, context: JobContext, span: Window, newest: datetime
) -> dict[Subject, list[Piece]]:
    """Pieces of all requests of each leg and deployment, in time order."""
    found: dict[Subject, list[Piece]] = defaultdict(list)
    for grain, window in _grains(span, newest):
        for subject, piece in _read(connection, context, grain, window, segments=False):
            found[subject].append(piece)
    return dict(found)


def segment_pieces(
    connection: Connection, context: JobContext, span: Window
) -> dict[Subject, list[Piece]]:
    """Pieces of every segment by day, read a day at a time: there may be hundreds of segments."""
    found: dict[Subject, list[Piece]] = defaultdict(list)
    for day in span.split(Grain.DAY):
        for subject, piece in _read(connection, context, Grain.DAY, day, segments=True):
            found[subject].append(piece)
    return dict(found)


def by_leg_and_segment(
    pieces: Mapping[Subject, list[Piece]],
) -> dict[tuple[str, int], list[Piece]]:
    """The pieces of all deployments together."""
    found: dict[tuple[str, int], list[Piece]] = defaultdict(list)
    for (leg, segment, _), mine in pieces.items():
        found[(leg, segment)] += mine
    return dict(found)


def piece_of(stored: StoredProfile) -> Piece:
    """A stored labels part as a piece."""
    start = stored.key.window_start
    window = Window(start, start + stored.key.grain.length)
    return Piece(window, delays_by_class(stored.part))


def _grains(span: Window, newest: datetime) -> Iterator[tuple[Grain, Window]]:
    young = Window.holding(max(span.start, newest - YOUNG), Grain.DAY).start
    if span.start < young:
        yield Grain.DAY, Window(span.start, young)
    if young < span.end:
        yield Grain.HOUR, Window(max(young, span.start), span.end)


def _read(
    connection: Connection, context: JobContext, grain: Grain, window: Window, *, segments: bool
) -> Iterator[tuple[Subject, Piece]]:
    stored = read_profiles(
        connection, context.project_id, context.model_id, PartKind.LABELS, grain, window,
        segment_ids=None if segments else (WHOLE,),
    )  # fmt: skip
    for one in stored:
        if not segments or one.key.segment_id != WHOLE:
            yield (one.key.leg, one.key.segment_id, one.key.deployment_id), piece_of(one)
