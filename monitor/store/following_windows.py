"""Windows of a job that follows another one: done again whenever its leader was."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.store.tables import job_window


def windows_to_follow(
    connection: Connection,
    project_id: int,
    model_id: int,
    job: str,
    leader: str,
    before: datetime,
) -> list[datetime]:
    """Starts before a moment of windows that the leader has done, and the follower never or not
    since; oldest first. What the follower has waiting, running or failed is left alone."""
    led, own = job_window.alias("led"), job_window.alias("own")
    same = sa.and_(
        own.c.project_id == led.c.project_id,
        own.c.model_id == led.c.model_id,
        own.c.window_start == led.c.window_start,
        own.c.job == job,
    )
    behind = sa.and_(own.c.state == "done", own.c.finished_at < led.c.finished_at)
    query = (
        sa.select(led.c.window_start)
        .select_from(led.outerjoin(own, same))
        .where(led.c.project_id == project_id, led.c.model_id == model_id)
        .where(led.c.job == leader, led.c.state == "done", led.c.window_start < before)
        .where(sa.or_(own.c.window_start.is_(None), behind))
        .order_by(led.c.window_start)
    )
    return list(connection.scalars(query))
