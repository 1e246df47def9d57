"""Long lists are cut by the database: 6,000 rows are 120 pages of 50 (pub-066)."""

from __future__ import annotations

import pickle
import time
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from monitor.reports.alerts import FindingFilter, findings
from monitor.reports.health import JobRunFilter, job_runs
from monitor.reports.measurements import Filter, measurement_page
from monitor.reports.overview import overview
from monitor.reports.paging import cut_page
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.projects import ensure_project
from monitor.windows import Window


@pytest.fixture(scope="module")
def full(many_runs: tuple[str, str]):
    """The engine and the project's number."""
    url, name = many_runs
    engine = make_engine(url)
    with transaction(engine, None, Role.OWNER) as connection:
        project_id = ensure_project(connection, name)
    yield engine, project_id
    engine.dispose()


def timed(report, *arguments):
    started = time.perf_counter()
    found = report(*arguments)
    assert time.perf_counter() - started < 2
    assert len(pickle.dumps(found)) < 1_000_000
    return found


def test_6000_runs_are_120_pages_of_50(full):
    page = timed(job_runs, *full, JobRunFilter(), 1)
    assert (page.total, page.pages, len(page.rows)) == (6000, 120, 50)
    assert (page.first, page.last) == (1, 50)
    last = timed(job_runs, *full, JobRunFilter(), 120)
    assert (last.first, last.last, len(last.rows)) == (5951, 6000, 50)
    assert not {(r.model, r.window_start) for r in page.rows} & {
        (r.model, r.window_start) for r in last.rows
    }


def test_filters_look_at_all_6000_rows(full):
    failed = timed(job_runs, *full, JobRunFilter(states=("failed",)), 1)
    assert (failed.total, failed.pages) == (200, 4)
    assert {run.state for run in failed.rows} == {"failed"}
    one = timed(job_runs, *full, JobRunFilter(model="model-137"), 1)
    assert one.total == 30
    assert {run.model for run in one.rows} == {"model-137"}


def test_every_row_is_on_exactly_one_page(full):
    seen = [
        (run.model, run.window_start)
        for number in range(1, 5)
        for run in job_runs(*full, JobRunFilter(states=("failed",)), number).rows
    ]
    assert len(seen) == len(set(seen)) == 200


def test_6000_alerts_by_page_the_worst_first(full):
    page = timed(findings, *full, FindingFilter(states=()), 1)
    assert (page.total, page.pages, len(page.rows)) == (6000, 120, 50)
    assert {found.severity for found in page.rows} == {"page"}
    open_ones = timed(findings, *full, FindingFilter(), 1)
    assert open_ones.total == 4000
    of_model = timed(findings, *full, FindingFilter(states=(), model="model-002"), 1)
    assert of_model.total == 30


def test_measurements_of_one_model_by_page(full):
    engine, project_id = full
    with transaction(engine, project_id, Role.OWNER) as connection:
        model_id = connection.scalar(sa.text("select min(id) from model where name = 'model-001'"))
    from_to = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 31, tzinfo=UTC)
    page = timed(measurement_page, engine, project_id, model_id, Window(*from_to), Filter(), 2)
    assert (page.total, page.pages, page.number, len(page.rows)) == (600, 12, 2, 50)


def test_the_overview_of_200_models_is_quick(full):
    page = timed(overview, *full, datetime(2026, 2, 1, tzinfo=UTC))
    assert len(page.models) == 200
    assert (page.counts.page, page.counts.notice) == (40, 3960)


@given(total=st.integers(0, 500), size=st.integers(1, 60), number=st.integers(-5, 600))
def test_a_page_number_out_of_range_is_moved_in(total: int, size: int, number: int):
    page = cut_page(tuple(range(total)), number, size)
    assert 1 <= page.number <= page.pages
    assert page.rows == tuple(range(max(page.first - 1, 0), page.last))
    assert page.pages == max(1, (total + size - 1) // size)
