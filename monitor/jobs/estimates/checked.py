"""Errors of estimates: written when a cohort has matured, read for the cohorts after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection

from monitor.checks.estimation.allowance import CheckedCohort
from monitor.checks.registry import CheckName
from monitor.jobs.base import JobContext
from monitor.jobs.estimates.cohorts import Cohort
from monitor.jobs.labels_of_blocks import label_reach
from monitor.store.tables import measurement

LOOKED_AT = 28
ERROR = "_error"
LOOK_BACK = timedelta(days=35)


@dataclass(frozen=True)
class PastError:
    """A matured cohort's estimate minus the realised value, with the sigma claimed for it."""

    deployment_ids: tuple[int, ...]
    day: datetime
    end: datetime
    error: float
    sigma: float


@dataclass(frozen=True)
class StoredEstimate:
    """An estimate as it was made: value, rows, and the sigma without any allowance."""

    deployment_ids: tuple[int, ...]
    leg: str
    method: str
    value: float
    n: int
    sigma: float


def errors_before(
    connection: Connection, context: JobContext, leg: str, end: datetime
) -> list[tuple[str, PastError]]:
    """Measure and error of the cohorts of a leg that had matured when a day ended, newest revision
    of each, over the 35 days before."""
    row = measurement.c
    matured = end - label_reach(context)
    newest = (
        sa.select(
            row.method, row.deployment_ids, row.window_start, row.window_end, row.value,
            row.detail["sigma"].as_float().label("sigma"), row.state,
        )
        .ext(distinct_on(row.method, row.deployment_ids, row.window_start))
        .where(row.project_id == context.project_id, row.model_id == context.model_id)
        .where(row.check_name == CheckName.ESTIMATE.value, row.method.like("%\\_error"))
        .where(row.leg == leg, row.segment_id == 0)
        .where(row.window_end <= matured, row.window_end > matured - LOOK_BACK)
        .order_by(row.method, row.deployment_ids, row.window_start, row.known_at.desc())
    )  # fmt: skip
    return [
        (
            one.method.removesuffix(ERROR),
            PastError(
                tuple(one.deployment_ids), one.window_start, one.window_end, one.value, one.sigma
            ),
        )
        for one in connection.execute(newest)
        if one.state == "measured" and one.sigma is not None
    ]


def past_errors(
    before: Sequence[tuple[str, PastError]], cohort: Cohort
) -> dict[str, list[PastError]]:
    """By measure the newest 28 errors that a cohort can learn from, oldest first.

    For all deployments together those of the widest set of each day, for one deployment its own.
    """
    found: dict[str, dict[datetime, PastError]] = {}
    mine = cohort.deployment_ids
    for method, one in before:
        if not cohort.is_whole and one.deployment_ids != mine:
            continue
        days = found.setdefault(method, {})
        known = days.get(one.day)
        if known is None or len(one.deployment_ids) > len(known.deployment_ids):
            days[one.day] = one
    return {name: [days[at] for at in sorted(days)][-LOOKED_AT:] for name, days in found.items()}


def as_checked(errors: Sequence[PastError]) -> list[CheckedCohort]:
    """What the allowance is computed from."""
    return [CheckedCohort(one.error, one.sigma) for one in errors]


def estimates_of(
    connection: Connection, context: JobContext, day: datetime
) -> Mapping[tuple[str, tuple[int, ...]], list[StoredEstimate]]:
    """Measured estimates of the cohorts of a day, by leg and deployments: the first that was made
    of each, before labels could tell."""
    row = measurement.c
    query = (
        sa.select(row.leg, row.deployment_ids, row.method, row.value, row.n, row.state,
                  row.detail["sigma"].as_float().label("sigma"))
        .ext(distinct_on(row.leg, row.deployment_ids, row.method))
        .where(row.project_id == context.project_id, row.model_id == context.model_id)
        .where(row.check_name == CheckName.ESTIMATE.value, row.method.not_like("%\\_error"))
        .where(row.window_start == day, row.segment_id == 0, row.state == "measured")
        .order_by(row.leg, row.deployment_ids, row.method, row.known_at)
    )  # fmt: skip
    found: dict[tuple[str, tuple[int, ...]], list[StoredEstimate]] = {}
    for one in connection.execute(query):
        if one.sigma is not None:
            numbers = tuple(one.deployment_ids)
            stored = StoredEstimate(numbers, one.leg, one.method, one.value, one.n, one.sigma)
            found.setdefault((one.leg, numbers), []).append(stored)
    return found
