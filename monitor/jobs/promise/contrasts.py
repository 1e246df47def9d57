"""Contrasts of deployments that are beyond chance at the promise's level: firings with a name.

The exact null needs rows that were dealt to deployments at random. Where healthy weeks show that
deployments differ by more than that (traffic dealt by customer, device, region), a window's T/df
is held against the mean of T/df over healthy days instead, by an F(1, days) tail: such differences
are of few dimensions, so they vary like one squared normal value and not like many.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import sqlalchemy as sa
from scipy import special
from sqlalchemy.engine import Connection

from monitor.checks.promise.baseline import GOOD_WEEKS
from monitor.checks.promise.firing import Firing
from monitor.checks.promise.hours import Hours
from monitor.checks.promise.scales import MONTH_HOURS
from monitor.checks.registry import CheckName
from monitor.jobs.base import JobContext
from monitor.jobs.contrast_windows import LONG, LONG_EVERY, SHORT
from monitor.jobs.promise.learn import GUARD_WEEKS, rejected_weeks
from monitor.records import LIVE_LEG
from monitor.store.incidents import StoredIncident
from monitor.store.tables import measurement
from monitor.windows import Window

LEAST_EFFECT = 0.02
WINDOWS_A_MONTH = {SHORT: MONTH_HOURS, LONG: MONTH_HOURS / LONG_EVERY}
SHARE = 0.5
CLEARLY_MORE = 1.2
LEAST_DAYS = 14


@dataclass(frozen=True)
class Excess:
    """Mean T/df of a column's contrasts in `days` healthy days; 1 when rows are dealt at random."""

    ratio: float
    days: int

    def p_log10(self, ratio_now: float) -> float:
        """log10 of the F(1, days) tail of a window's T/df over the healthy mean."""
        tail = float(special.fdtrc(1.0, float(self.days), max(ratio_now, 0.0) / self.ratio))
        return math.log10(max(tail, 1e-300))


def contrast_firings(
    connection: Connection,
    context: JobContext,
    span: Window,
    columns: Sequence[str],
    level: float,
    excess: Mapping[str, Excess],
) -> list[Firing]:
    """Firings of contrast windows that end inside (span.start, span.end].

    `excess` is how much more than chance the deployments differ in healthy weeks, for the columns
    in which they do. `level` is what all contrasts of a month may add up to; each window's share
    of it is divided by columns and deployments. A difference below 0.02 PSI units never fires.
    """
    row = measurement.c
    detail = row.detail["p_log10"].as_float()
    ratio = row.detail["statistic"].as_float() / row.detail["degrees_of_freedom"].as_float()
    query = (
        sa.select(
            row.column_name, row.deployment_ids, row.window_start, row.window_end, row.value, row.n,
            detail.label("p_log10"), ratio.label("ratio"),
        )
        .where(row.project_id == context.project_id, row.model_id == context.model_id)
        .where(row.check_name == CheckName.CONTRAST.value, row.leg == LIVE_LEG)
        .where(row.window_end > span.start, row.window_end <= span.end)
        .where(row.state == "measured", row.value > LEAST_EFFECT, row.column_name.in_(columns))
        .where(row.detail["degrees_of_freedom"].as_float() > 0)
    )  # fmt: skip
    served = _deployments(connection, context, span)
    found = []
    for one in connection.execute(query):
        scale = round((one.window_end - one.window_start).total_seconds() / 3600)
        tests = len(columns) * max(served.get(one.window_end, 2), 2) * WINDOWS_A_MONTH[scale]
        allowed = level * SHARE / tests
        known = excess.get(one.column_name)
        p_log10 = one.p_log10 if known is None else known.p_log10(one.ratio)
        if allowed > 0 and p_log10 < math.log10(allowed):
            found.append(
                Firing(
                    column=one.column_name, segment="", scale=scale, view="contrast",
                    end=one.window_end, p_value=10.0 ** max(p_log10, -300.0), level=allowed,
                    effect=one.value, n=one.n, deployment=one.deployment_ids[0],
                )
            )  # fmt: skip
    return found


def contrast_excess(
    connection: Connection,
    context: JobContext,
    week_start: datetime,
    incidents: Sequence[StoredIncident],
) -> dict[str, Excess]:
    """What healthy days show of the columns whose mean T/df is above 1.2; columns with fewer than
    14 such days are taken as dealt at random.

    Days are those of the 8 weeks that ended two weeks before, without weeks of an incident of the
    column: a live fault must not teach that deployments differ.
    """
    last = week_start - timedelta(weeks=GUARD_WEEKS)
    weeks = Hours(last - timedelta(weeks=GOOD_WEEKS), GOOD_WEEKS * 168)
    row = measurement.c
    ratio = row.detail["statistic"].as_float() / row.detail["degrees_of_freedom"].as_float()
    query = (
        sa.select(row.column_name, row.window_end, ratio.label("ratio"))
        .where(row.project_id == context.project_id, row.model_id == context.model_id)
        .where(row.check_name == CheckName.CONTRAST.value, row.leg == LIVE_LEG)
        .where(row.state == "measured", row.window_end > weeks.first, row.window_end <= last)
        .where(row.window_end - row.window_start == timedelta(hours=LONG))
        .where(sa.extract("hour", row.window_end) == 0)
        .where(row.detail["degrees_of_freedom"].as_float() > 0)
    )
    known: dict[str, list[tuple[int, datetime, float]]] = defaultdict(list)
    for one in connection.execute(query):
        week = int((one.window_end - weeks.first).total_seconds() - 1) // (168 * 3600)
        known[one.column_name].append((week, one.window_end, float(one.ratio)))
    found = {}
    for column, seen in known.items():
        bad = set(rejected_weeks(column, incidents, weeks).tolist())
        ratios = [value for week, _, value in seen if week not in bad]
        days = len({day for week, day, _ in seen if week not in bad})
        if days >= LEAST_DAYS and (mean := float(np.mean(ratios))) > CLEARLY_MORE:
            found[column] = Excess(mean, days)
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
