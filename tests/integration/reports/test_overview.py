"""The first page and system health: what is counted, and that nothing bad is left out."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from monitor.registration import TagConflict, TagSource
from monitor.reports.database import projects
from monitor.reports.health import JobRunFilter, health, job_runs
from monitor.reports.overview import BlindSpotKind, overview
from monitor.store.engine import Role, transaction
from monitor.store.registrations import keep_conflicts
from monitor.store.tables import intake_batch, job_window, measurement, prediction_block
from tests.dashboard_seed import EMPTY_PROJECT, MODEL, PROJECT, SILENT_MODEL, STALE_MODEL
from tests.seeded_database import SeededDatabase


def test_open_alerts_are_counted_by_severity(database: SeededDatabase):
    counts = database.ask(overview, database.now).counts
    assert (counts.page, counts.ticket, counts.notice) == (1, 2, 2)
    assert (counts.pending, counts.acknowledged) == (1, 1)


def test_what_can_not_be_seen_is_told_with_a_remedy(database: SeededDatabase):
    spots = database.ask(overview, database.now).blind_spots
    kinds = {(spot.model, spot.kind) for spot in spots}
    assert kinds == {
        (MODEL, BlindSpotKind.JOBS_FAILED),
        (STALE_MODEL, BlindSpotKind.STALE),
        (STALE_MODEL, BlindSpotKind.NO_LABELS),
        (STALE_MODEL, BlindSpotKind.CHECKS_FAILED),
        (SILENT_MODEL, BlindSpotKind.NO_REQUESTS),
    }
    assert all(spot.remedy for spot in spots)


def test_the_model_with_the_worst_news_stands_first(database: SeededDatabase):
    names = [line.name for line in database.ask(overview, database.now).models]
    assert names == [MODEL, STALE_MODEL, SILENT_MODEL]


def test_traffic_and_coverage_are_those_of_the_stored_profiles(database: SeededDatabase):
    line = database.ask(overview, database.now).models[0]
    assert line.activity.requests == database.seeded.requests
    assert len(line.activity.daily) == 30
    assert line.activity.newest_event == database.seeded.window.end
    assert line.activity.deployment == "autumn*new"
    with transaction(database.engine, database.seeded.project_id, Role.OWNER) as connection:
        labelled, all_rows = connection.execute(
            sa.select(
                sa.func.sum(prediction_block.c.labelled), sa.func.sum(prediction_block.c.n)
            ).where(prediction_block.c.model_id == database.seeded.model_id)
        ).one()
    assert line.activity.label_coverage == labelled / all_rows


def test_a_day_without_requests_counts_nothing_and_stays_in_line(own_database: SeededDatabase):
    seeded = own_database.seeded
    day = seeded.window.start + timedelta(days=10)
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        connection.execute(
            sa.text("delete from profile where model_id = :model and window_start = :day"),
            {"model": seeded.model_id, "day": day},
        )
    daily = dict(own_database.ask(overview, own_database.now).models[0].activity.daily)
    assert daily[day] == 0
    assert len(daily) == 30


def test_a_model_that_goes_quiet_becomes_a_blind_spot(own_database: SeededDatabase):
    later = own_database.now + timedelta(hours=24, minutes=1)
    page = own_database.ask(overview, later)
    kinds = {spot.kind for spot in page.blind_spots if spot.model == MODEL}
    assert BlindSpotKind.STALE in kinds
    assert BlindSpotKind.NO_LABELS not in kinds
    page = own_database.ask(overview, own_database.now + timedelta(days=3, minutes=1))
    kinds = {spot.kind for spot in page.blind_spots if spot.model == MODEL}
    assert BlindSpotKind.NO_LABELS in kinds


def test_a_batch_in_which_nothing_was_accepted_is_no_fresh_data(own_database: SeededDatabase):
    with transaction(own_database.engine, None, Role.OWNER) as connection:
        connection.execute(sa.update(intake_batch).values(accepted=0))
    kinds = {
        (spot.model, spot.kind) for spot in own_database.ask(overview, own_database.now).blind_spots
    }
    assert (MODEL, BlindSpotKind.NO_REQUESTS) in kinds


def test_an_old_failure_that_was_measured_since_is_no_blind_spot(own_database: SeededDatabase):
    """Only the newest window of a check counts, and of it the newest revision."""
    seeded = own_database.seeded
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        failed = connection.execute(
            sa.select(measurement).where(
                measurement.c.model_id == seeded.stale_model_id, measurement.c.state == "failed"
            )
        ).one()
        again = {**failed._mapping, "state": "measured", "value": 0.1, "reason": None}
        again["known_at"] = failed.known_at + timedelta(hours=1)
        del again["id"]
        connection.execute(sa.insert(measurement).values(again))
    kinds = {
        spot.kind
        for spot in own_database.ask(overview, own_database.now).blind_spots
        if spot.model == STALE_MODEL
    }
    assert BlindSpotKind.CHECKS_FAILED not in kinds


def test_tags_that_sources_contradict_each_other_on_are_a_blind_spot(
    own_database: SeededDatabase,
):
    seeded, now = own_database.seeded, own_database.now
    old = TagConflict("runtime", "a", TagSource.REQUEST, "b", TagSource.RESOURCE)
    new = TagConflict("precision", None, TagSource.REGISTRATION, "x | y", TagSource.REGISTRATION)
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        key = (connection, seeded.project_id, seeded.stale_model_id)
        keep_conflicts(*key, {old: 5}, now - timedelta(days=2))
        keep_conflicts(*key, {new: 3}, now - timedelta(hours=1))
    spots = own_database.ask(overview, now).blind_spots
    (found,) = [each for each in spots if each.kind is BlindSpotKind.TAGS_CONTRADICT]
    assert (found.model, found.what) == (STALE_MODEL, "1 version tag is told in two ways")
    assert found.since == now - timedelta(hours=1)


def test_an_empty_project_has_nothing_and_no_error(database: SeededDatabase):
    page = overview(database.engine, database.seeded.empty_project_id, database.now)
    assert (page.models, page.blind_spots, page.counts.page) == ((), (), 0)
    found = health(database.engine, database.seeded.empty_project_id, database.now)
    assert found.intake.last_requests is None
    assert (found.jobs, found.outbox.waiting, found.intake.rejections) == ((), 0, ())


def test_projects_are_listed_oldest_first(database: SeededDatabase):
    assert [each.name for each in projects(database.engine)] == [PROJECT, EMPTY_PROJECT]


def test_health_tells_intake_jobs_workers_and_outbox(database: SeededDatabase):
    found = database.ask(health, database.now)
    assert found.intake.last_requests == database.now
    assert (found.intake.accepted, found.intake.rejected) == (900, 4)
    assert found.intake.rejections == (("time_without_zone", 2), ("missing_id", 1))
    jobs = {job.job: job for job in found.jobs}
    assert (jobs["profile"].done, jobs["checks-day"].failed) == (60, 1)
    assert {worker.name: worker.is_late for worker in found.workers} == {
        "worker-1": False,
        "collector-1": True,
    }
    assert (found.outbox.waiting, found.outbox.dead) == (0, 1)


def test_a_window_whose_worker_died_is_overdue(own_database: SeededDatabase):
    seeded, now = own_database.seeded, own_database.now
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        connection.execute(
            sa.update(job_window)
            .where(job_window.c.state == "failed")
            .values(state="running", lease_until=now - timedelta(minutes=1))
        )
    jobs = {job.job: job for job in own_database.ask(health, now).jobs}
    assert (jobs["checks-day"].overdue, jobs["checks-day"].failed) == (1, 0)
    spots = own_database.ask(overview, now).blind_spots
    assert (MODEL, BlindSpotKind.JOBS_FAILED) in {(spot.model, spot.kind) for spot in spots}


def test_a_failed_run_tells_its_error(database: SeededDatabase):
    page = database.ask(job_runs, JobRunFilter(states=("failed",)), 1)
    assert [run.error for run in page.rows] == ["DatabaseUnavailable: Postgres is away"]
    assert page.rows[0].model == MODEL
