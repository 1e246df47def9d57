"""Contrasts of deployments that are beyond chance at the promise's level: firings with a name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.checks.promise.firing import Firing
from monitor.checks.promise.scales import MONTH_HOURS
from monitor.checks.registry import CheckName
from monitor.jobs.base import JobContext
from monitor.jobs.contrast_windows import LONG, LONG_EVERY, SHORT
from monitor.records import LIVE_LEG
from monitor.store.tables import measurement
from monitor.windows import Window

LEAST_EFFECT = 0.02
WINDOWS_A_MONTH = {SHORT: MONTH_HOURS, LONG: MONTH_HOURS / LONG_EVERY}
SHARE = 0.5


def contrast_firings(
    connection: Connection, context: JobContext, span: Window, columns: Sequence[str], level: float
) -> list[Firing]:
    """Firings of contrast windows that end inside (span.start, span.end].

    `level` is what all contrasts of a month may add up to; each window's share of it is divided by
    columns and deployments. A difference below 0.02 PSI units never fires.
    """
    row = measurement.c
    detail = row.detail["p_log10"].as_float()
    query = (
        sa.select(
            row.column_name, row.deployment_ids, row.window_start, row.window_end, row.value, row.n,
            detail.label("p_log10"),
        )
        .where(row.project_id == context.project_id, row.model_id == context.model_id)
        .where(row.check_name == CheckName.CONTRAST.value, row.leg == LIVE_LEG)
        .where(row.window_end > span.start, row.window_end <= span.end)
        .where(row.state == "measured", row.value > LEAST_EFFECT, row.column_name.in_(columns))
    )  # fmt: skip
    served = _deployments(connection, context, span)
    found = []
    for one in connection.execute(query):
        scale = round((one.window_end - one.window_start).total_seconds() / 3600)
        tests = len(columns) * max(served.get(one.window_end, 2), 2) * WINDOWS_A_MONTH[scale]
        allowed = level * SHARE / tests
        if allowed > 0 and one.p_log10 < math.log10(allowed):
            found.append(
                Firing(
                    column=one.column_name, segment="", scale=scale, view="contrast",
                    end=one.window_end, p_value=10.0 ** max(one.p_log10, -300.0), level=allowed,
                    effect=one.value, n=one.n, deployment=one.deployment_ids[0],
                )
            )  # fmt: skip
    return found


def _deployments(connection: Connection, context: JobContext, span: Window) -> dict[datetime, int]:
    """How many deployments were contrasted in the windows that end at a moment."""
    row = measurement.c
    query = (
        sa.select(row.window_end, sa.func.count(sa.distinct(row.deployment_ids)))
        .where(row.project_id == context.project_id, row.model_id == context.model_id)
        .where(row.check_name == CheckName.CONTRAST.value, row.leg == LIVE_LEG)
        .where(row.window_end > span.start, row.window_end <= span.end)
        .group_by(row.window_end)
    )
    return {end: int(number) for end, number in connection.execute(query)}
