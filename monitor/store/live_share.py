"""How much of a model's live traffic deployments have, from profiles."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.profiles.part import PartKind
from monitor.records import LIVE_LEG
from monitor.store.profile_rows import WHOLE
from monitor.store.tables import profile
from monitor.windows import Grain

SPANS = (timedelta(hours=1), timedelta(hours=6), timedelta(hours=24))
ENOUGH = 500
"""Of so many requests a share is known to within five percent or so; at night an hour has few."""


def live_counts(connection: Connection, project_id: int, model_id: int) -> dict[int, int]:
    """Live requests by deployment up to the newest that was profiled, empty without any.

    Those of the last hour, or of the last 6 or 24 hours where that holds too few.
    """
    row = profile.c
    for grain in (Grain.FIVE_MINUTES, Grain.HOUR):
        of_grain = (
            row.project_id == project_id,
            row.model_id == model_id,
            row.part == int(PartKind.SERVING),
            row.grain == int(grain),
            row.segment_id == WHOLE,
            row.binning_id == 0,
            row.leg == LIVE_LEG,
        )
        newest: datetime | None = connection.scalar(
            sa.select(sa.func.max(row.window_start)).where(*of_grain)
        )
        if newest is None:
            continue
        counts: dict[int, int] = {}
        for span in SPANS:
            query = (
                sa.select(row.deployment_id, sa.func.sum(row.n))
                .where(*of_grain, row.window_start > newest - span)
                .where(row.window_start <= newest)
                .group_by(row.deployment_id)
            )
            counts = {number: int(count) for number, count in connection.execute(query)}
            if sum(counts.values()) >= ENOUGH:
                break
        return counts
    return {}


def live_share(
    connection: Connection, project_id: int, model_id: int, deployments: Collection[int]
) -> float | None:
    """Percent of the live requests that these deployments had; all of them when none is named.

    None while no requests were profiled.
    """
    counts = live_counts(connection, project_id, model_id)
    total = sum(counts.values())
    if total == 0:
        return None
    if not deployments:
        return 100.0
    return 100.0 * sum(counts.get(number, 0) for number in deployments) / total
