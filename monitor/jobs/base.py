"""What every job is given, and the one way a job runs: claim, work, finish or record failure."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.engine import Engine
from sqlalchemy.exc import DBAPIError

from monitor.contract import Contract
from monitor.errors import LeaseLost
from monitor.store.bulk import BulkConnections
from monitor.store.engine import Role, sqlstate_of, told_without_values, transaction
from monitor.store.job_windows import Claim, claim, fail, release
from monitor.store.models import ModelContext

log = logging.getLogger("inferwatch.jobs")

ATTEMPTS = 5
LOST_RACES = frozenset({"40001", "40P01"})
"""Serialisation failure and deadlock: nothing was written, and the same again may well work."""

Work = Callable[["JobContext", Claim], None]


@dataclass(frozen=True)
class JobContext:
    """One model as a job sees it. `now` is the moment the run began; jobs read no clock.

    `revision_pause`: labels that trickle in revise the measurements of a window this often at most.
    """

    engine: Engine
    bulk: BulkConnections
    project: str
    model: ModelContext
    worker: str
    now: datetime
    public_url: str
    revision_pause: timedelta = timedelta(days=1)

    @property
    def project_id(self) -> int:
        return self.model.project_id

    @property
    def model_id(self) -> int:
        return self.model.model_id

    @property
    def contract(self) -> Contract:
        return self.model.contract


@dataclass(frozen=True)
class JobReport:
    """What one run did: windows finished, and windows that failed."""

    done: int = 0
    failed: int = 0

    def __add__(self, other: JobReport) -> JobReport:
        return JobReport(self.done + other.done, self.failed + other.failed)


def run_claimed(
    context: JobContext, job: str, starts: Sequence[datetime], work: Work, *, done_too: bool = False
) -> JobReport:
    """Claim windows and work on them. `work` finishes the claim inside its own transaction.

    A lost lease is nobody's error: the other worker does the windows. Any other error is recorded
    with the windows, which are tried again later, and does not stop the other jobs.
    """
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        held = claim(
            connection, context.project_id, context.model_id, job, starts, context.worker,
            done_too=done_too,
        )  # fmt: skip
    if not held.fences:
        return JobReport()
    try:
        _work(context, held, work)
    except LeaseLost as lost:
        log.info("windows taken over job=%s model=%s: %s", job, context.contract.model, lost)
        with transaction(context.engine, context.project_id, Role.WORKER) as connection:
            release(connection, held)
        return JobReport()
    except Exception as error:  # noqa: BLE001 -- the job boundary: recorded, tried again
        _record_failure(context, held, error)
        return JobReport(failed=len(held.fences))
    return JobReport(done=len(held.fences))


def _work(context: JobContext, held: Claim, work: Work) -> None:
    """Work, again at once when only the meeting with another transaction undid it."""
    for _ in range(ATTEMPTS - 1):
        try:
            return work(context, held)
        except DBAPIError as error:
            if sqlstate_of(error) not in LOST_RACES:
                raise
    return work(context, held)


def _record_failure(context: JobContext, held: Claim, error: Exception) -> None:
    text = told_without_values(error)
    traceback = None if isinstance(error, DBAPIError) else error
    log.error(
        "job failed job=%s model=%s: %s", held.job, context.contract.model, text, exc_info=traceback
    )
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        fail(connection, held, text)
