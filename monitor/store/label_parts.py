"""Stored labels parts of chosen deployments, and when deployments began to serve a leg."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.profiles.part import Part, PartKind, merge
from monitor.store.profile_rows import read_window
from monitor.store.tables import profile
from monitor.windows import Window


def first_windows(
    connection: Connection, project_id: int, model_id: int
) -> dict[str, dict[int, datetime]]:
    """By leg and deployment the start of the first window with a labels part."""
    row = profile.c
    query = (
        sa.select(row.leg, row.deployment_id, sa.func.min(row.window_start))
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.part == int(PartKind.LABELS), row.segment_id == 0)
        .group_by(row.leg, row.deployment_id)
    )
    found: dict[str, dict[int, datetime]] = {}
    for leg, deployment_id, first in connection.execute(query):
        found.setdefault(leg, {})[deployment_id] = first
    return found


def labels_by_deployment(
    connection: Connection, project_id: int, model_id: int, window: Window, leg: str
) -> dict[int, Part]:
    """The merged labels part of each deployment of a leg in a window of whole hours."""
    stored = read_window(connection, project_id, model_id, PartKind.LABELS, window)
    pieces: dict[int, list[Part]] = {}
    for one in stored:
        if one.key.leg == leg:
            pieces.setdefault(one.key.deployment_id, []).append(one.part)
    return {number: merge(parts) for number, parts in pieces.items()}
