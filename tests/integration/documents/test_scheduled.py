"""Reports on a schedule: built once a period, kept, and told to their receiver once."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from monitor.evidence.signing import SigningKey
from monitor.jobs.scheduled_reports import SETTLED_AFTER, build_due_reports, next_due
from monitor.store.engine import Role, transaction
from monitor.store.report_book import add_schedule, schedules
from tests.dashboard_seed import MODEL
from tests.integration.cli.conftest import Run, run
from tests.seeded_database import SeededDatabase, own_database, seeded_template

__all__ = ["own_database", "run", "seeded_template"]

pytestmark = pytest.mark.postgres


def build(place: SeededDatabase, now: datetime) -> int:
    key = SigningKey.generate
    return build_due_reports(place.engine, place.seeded.project_id, now, "http://x", key)


def rows(place: SeededDatabase, query: str) -> list[sa.Row[tuple[object, ...]]]:
    with transaction(place.engine, place.seeded.project_id, Role.OWNER) as connection:
        return list(connection.execute(sa.text(query)))


@pytest.mark.parametrize(
    ("every", "due"),
    [("day", "2026-03-29T22:00Z"), ("week", "2026-03-29T22:00Z"), ("month", "2026-03-31T22:00Z")],
)
def test_a_report_is_due_six_hours_after_its_period_ended_there(every: str, due: str) -> None:
    # Berlin goes over to summer time on 29 March 2026: that day ends at 22:00 UTC.
    moment = datetime(2026, 3, 29, 12, tzinfo=UTC)
    wanted = datetime.fromisoformat(due) + SETTLED_AFTER
    assert next_due(every, "Europe/Berlin", moment) == wanted


def test_two_workers_build_one_report_and_tell_it_once(own_database: SeededDatabase) -> None:
    place, project = own_database, own_database.seeded.project_id
    due = next_due("week", "UTC", place.now - timedelta(days=7))
    (number,) = (row[0] for row in rows(place, f"select id from model where name = '{MODEL}'"))
    with transaction(place.engine, project, Role.OWNER) as connection:
        add_schedule(connection, project, number, every="week", zone="UTC", form="json",
                     receiver="on-call", by="Ada", next_at=due)  # fmt: skip
    later = max(due, place.now) + timedelta(minutes=10)
    assert (
        build_due_reports(
            place.engine, project, due - timedelta(minutes=1), "http://x", SigningKey.generate
        )
        == 0
    )
    with ThreadPoolExecutor(2) as pool:
        made = list(
            pool.map(
                lambda _: build_due_reports(
                    place.engine, project, later, "http://x", SigningKey.generate
                ),
                range(2),
            )
        )
    assert sum(made) == 1
    (built,) = rows(place, "select * from report_built")
    assert built.sha256 == hashlib.sha256(built.body).hexdigest()
    assert built.period_end + SETTLED_AFTER == due
    told = json.loads(built.body)
    assert (told["model"], told["sections"][0]["key"]) == (MODEL, "inventory")
    (owed,) = rows(place, "select * from delivery where event_type = 'report.ready'")
    assert (owed.delivery_key, owed.receiver) == (built.delivery_key, "on-call")
    assert owed.body["body"]["data"]["report"]["sha256"] == built.sha256
    with transaction(place.engine, project, Role.OWNER) as connection:
        (holds,) = schedules(connection, project)
    assert holds.next_at == due + timedelta(days=7)
    assert build(place, later) == 0


def test_commands(run: Run, own_database: SeededDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    place = own_database
    monkeypatch.setenv("DATABASE_URL", place.url)
    flights = ("--project", "flights")
    assert "No schedule yet" in run("reports", "list", *flights).out
    unknown = run("reports", "schedule", MODEL, "--receiver", "nobody-there", *flights)
    assert unknown.code == 2
    assert "no receiver 'nobody-there'" in unknown.err
    made = run("reports", "schedule", MODEL, "--every", "day", "--format", "html", "--by", "Ada",
               *flights)  # fmt: skip
    assert made.code == 0, made.err
    assert "Schedule 1: each day of flight-delay as html, kept;" in made.out
    later = datetime.now(UTC) + timedelta(days=2)
    assert (
        build_due_reports(
            place.engine, place.seeded.project_id, later, "http://x", SigningKey.generate
        )
        == 1
    )
    told = json.loads(run("reports", "list", "--json", *flights).out)
    assert (told["schedules"][0]["created_by"], len(told["reports"])) == ("Ada", 1)
    got = run("reports", "get", "1", "-o", "kept.html", *flights)
    assert got.code == 0, got.err
    assert run("reports", "get", "77", *flights).code == 2
    assert run("reports", "end", "1", *flights).code == 0
    again = run("reports", "end", "1", *flights)
    assert again.code == 2
    assert "no schedule 1 holds" in again.err
    assert build(place, later + timedelta(days=3)) == 0
