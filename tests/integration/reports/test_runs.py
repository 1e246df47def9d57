"""The run ledger: counts by job, late and missing runs, failures with their reasons."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from monitor.reports.runs import run_ledger
from monitor.store.engine import Role, transaction
from monitor.store.tables import intake_mark, job_window, measurement
from monitor.windows import Grain, Window
from tests.seeded_database import SeededDatabase


def _wide(database: SeededDatabase) -> Window:
    window = database.seeded.window
    return Window(window.start - timedelta(days=1), window.end + timedelta(days=1))


def test_what_ran_and_what_failed_with_its_reason(database: SeededDatabase):
    ledger = database.ask(run_ledger, database.seeded.model_id, _wide(database), database.now)
    by_job = {line.job: line for line in ledger.jobs}
    assert (by_job["profile"].planned, by_job["profile"].done) == (60, 60)
    assert (by_job["checks-day"].planned, by_job["checks-day"].failed) == (1, 1)
    (failure,) = ledger.failures
    assert failure.error == "DatabaseUnavailable: Postgres is away"
    assert ledger.late == 0
    assert ledger.missing.windows == 0


def test_every_stored_answer_is_in_one_of_three_counts(database: SeededDatabase):
    seeded, wide = database.seeded, _wide(database)
    ledger = database.ask(run_ledger, seeded.stale_model_id, wide, database.now)
    with transaction(database.engine, seeded.project_id, Role.OWNER) as connection:
        stored = connection.scalar(
            sa.select(sa.func.count()).where(
                measurement.c.model_id == seeded.stale_model_id,
                measurement.c.window_end > wide.start,
                measurement.c.window_end <= wide.end,
            )
        )
    assert stored
    assert sum(line.planned for line in ledger.checks) == stored
    failed = [line for line in ledger.checks if line.failed]
    assert "can't be read" in (failed[0].failed_reason or "")


def test_a_run_past_its_lease_is_late_and_a_mark_nobody_took_is_missing(
    own_database: SeededDatabase,
):
    seeded, now = own_database.seeded, own_database.now
    start = seeded.window.end - timedelta(hours=5)
    key = {"project_id": seeded.project_id, "model_id": seeded.stale_model_id}
    run = {**key, "job": "profile", "fence": 1, "worker": "worker-1", "state": "running"}
    mark = {**key, "leg": "live", "grain": int(Grain.HOUR), "n": 3}
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        for hours, back in ((0, 2), (1, 0)):  # the first one's lease ended two hours ago
            lease = now - timedelta(hours=back)
            at = start + timedelta(hours=hours)
            connection.execute(sa.insert(job_window).values(**run, window_start=at,
                                                            lease_until=lease))  # fmt: skip
        for at in (start, start, now):  # two marks of one window, and one that is not over
            connection.execute(sa.insert(intake_mark).values(**mark, window_start=at))
    ledger = own_database.ask(run_ledger, seeded.stale_model_id, _wide(own_database), now)
    assert (ledger.late, ledger.missing.windows, ledger.missing.oldest) == (1, 1, start)
