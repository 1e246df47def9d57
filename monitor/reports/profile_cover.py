"""Which stored profiles cover a window once: whole UTC days from roll-ups, the edges from hours.

Counting both would count twice, counting hours only would read 24 times the rows. A window that
starts or ends inside an hour takes the hours that start in it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from monitor.records import LIVE_LEG
from monitor.store.tables import profile
from monitor.windows import Grain, Window

COLUMNS_PART = 1
SERVING_PART = 3
COUNTED_PARTS = (COLUMNS_PART, SERVING_PART)  # each counts every request of its window
ALL_REQUESTS = 0


def live_all(leg: str = LIVE_LEG) -> tuple[sa.ColumnElement[bool], ...]:
    """All requests of a leg, no segment."""
    return profile.c.leg == leg, profile.c.segment_id == ALL_REQUESTS


def whole_days(window: Window) -> tuple[datetime, datetime]:
    """Start and end of the whole UTC days inside the window; equal when there is none."""
    day = Grain.DAY.length
    first = Window.holding(window.start, Grain.DAY).start
    first = first if first == window.start else first + day
    last = Window.holding(window.end, Grain.DAY).start
    return (first, last) if first < last else (window.start, window.start)


def covering(window: Window) -> sa.ColumnElement[bool]:
    """The condition that picks every request of the window once."""
    first, last = whole_days(window)
    start = profile.c.window_start
    hours = sa.and_(
        profile.c.grain == int(Grain.HOUR),
        start >= window.start,
        start < window.end,
        sa.or_(start < first, start >= last),
    )
    days = sa.and_(profile.c.grain == int(Grain.DAY), start >= first, start < last)
    return sa.or_(days, hours) if first < last else hours


def hours_in(window: Window) -> sa.ColumnElement[bool]:
    """The condition that picks the hours that start in the window, for charts of hours or days."""
    start = profile.c.window_start
    return sa.and_(profile.c.grain == int(Grain.HOUR), start >= window.start, start < window.end)


def counted_rows(
    project_id: int, model_ids: tuple[int, ...] | None, condition: sa.ColumnElement[bool]
) -> sa.Subquery:
    """One row a window, deployment and grain with n; None means every model.

    Two binnings side by side, or two parts, hold the same requests: the larger count is theirs.
    """
    query: sa.Select[Any] = sa.select(
        profile.c.model_id,
        profile.c.deployment_id,
        profile.c.window_start,
        profile.c.grain,
        sa.func.max(profile.c.n).label("n"),
    ).where(
        profile.c.project_id == project_id,
        profile.c.part.in_(COUNTED_PARTS),
        condition,
        *live_all(),
    )
    if model_ids is not None:
        query = query.where(profile.c.model_id.in_(model_ids))
    return query.group_by(
        profile.c.model_id, profile.c.deployment_id, profile.c.window_start, profile.c.grain
    ).subquery("counted")
