"""Drift incidents as people read them, what a person may say of them, and with which rights."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from monitor.errors import ConfigurationError, UnknownSubject
from monitor.jobs.notify import notify
from monitor.reports.actions import Verdict, judge_by_hand
from monitor.reports.alert_detail import alert_detail
from monitor.reports.alerts import finding
from monitor.reports.incidents import column_of, incident_facts, incident_of_alert, incidents
from monitor.store.alert_book import lock_alerts
from monitor.store.engine import Role, transaction
from monitor.store.tables import delivery, incident, seasonal_baseline
from tests.promise_seed import HOSTILE_SENTENCE
from tests.seeded_database import SeededDatabase

ALERT = "drift-incident/distance"


def labels_of(database: SeededDatabase, alert: str) -> tuple[tuple[str, str], ...]:
    found = database.ask(finding, database.seeded.alert_ids[alert])
    return tuple(sorted(found.labels.items()))


def test_a_model_s_incidents_the_newest_first(database: SeededDatabase):
    seeded = database.seeded
    page = database.ask(incidents, seeded.model_id)
    numbers = [one.id for one in page.rows]
    assert numbers == [seeded.incidents.open, seeded.incidents.fault, seeded.incidents.unjudged]
    unfinished = database.ask(incidents, seeded.model_id, False)
    assert [one.id for one in unfinished.rows] == [numbers[0], numbers[2]]
    assert database.ask(incidents, seeded.stale_model_id).total == 0
    second = database.ask(incidents, seeded.model_id, True, 2, 2)
    assert [one.id for one in second.rows] == numbers[2:]


def test_one_incident_names_columns_deployments_and_what_moved(database: SeededDatabase):
    found = database.ask(incident_facts, database.seeded.incidents.open)
    assert (found.model, found.leading, found.is_open) == ("flight-delay", "distance", True)
    (part,) = found.columns
    assert part.deployments == found.deployments == ("autumn*new",)
    assert part.strongest.p_value < part.strongest.level
    assert part.strongest.view in ("whole distribution", "location")
    assert found.opened == part.first <= part.last == found.last < found.until
    assert HOSTILE_SENTENCE in found.sentences
    (moved,) = found.moved
    assert moved.name == "distance"
    assert all(0 <= cell.seen <= 1 and cell.expected != cell.seen for cell in moved.cells)
    assert found.alerts == (database.seeded.alert_ids[ALERT],)
    assert found.judgement is None


def test_a_judged_incident_tells_who_said_what(database: SeededDatabase):
    found = database.ask(incident_facts, database.seeded.incidents.fault)
    assert found.judgement is not None
    assert found.judgement.words == "a fault"
    assert (found.judgement.by, found.judgement.comment) == (
        "Grace <g@example.org>", "a *bad* join",
    )  # fmt: skip
    assert found.segments == ("carrier=UA",)
    assert (found.sentences, found.alerts) == ((), ())


def test_an_alert_finds_its_incident_and_others_have_none(database: SeededDatabase):
    found = database.ask(incident_of_alert, labels_of(database, ALERT))
    assert found is not None
    assert found.id == database.seeded.incidents.open
    other = labels_of(database, "deployment-contrast/distance")
    assert database.ask(incident_of_alert, other) is None
    for odd in ("999999", "x", "", "9" * 40, "-1"):
        assert database.ask(incident_of_alert, (("incident", odd),)) is None


def test_another_project_does_not_see_the_incident(database: SeededDatabase):
    with pytest.raises(UnknownSubject, match="no incident"):
        incident_facts(
            database.engine, database.seeded.empty_project_id, database.seeded.incidents.open
        )


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("wind", "wind"),
        ("wind (missing)", "wind"),
        ("note.length", "note"),
        ("lat.deg", "lat.deg"),
        ("note.length (missing)", "note"),
        ("all columns", None),
    ],
)
def test_what_is_watched_belongs_to_a_column(name: str, column: str | None):
    assert column_of(name, ["wind", "note", "lat.deg", "lat"]) == column


def test_a_false_alarm_judges_the_incident_and_ends_its_alert(own_database: SeededDatabase):
    number, alert = own_database.seeded.incidents.open, own_database.seeded.alert_ids[ALERT]
    own_database.ask(
        judge_by_hand, number, Verdict.FALSE_ALARM, " Ada ", "holiday", own_database.now
    )
    judged = own_database.ask(incident_facts, number).judgement
    assert judged is not None
    assert (judged.verdict, judged.by, judged.comment) == ("false_alarm", "Ada", "holiday")
    found = own_database.ask(finding, alert)
    assert (found.state, found.resolved_reason) == ("resolved", "false_alarm")
    newest = own_database.ask(alert_detail, alert).timeline[0]
    assert (newest.what, newest.by) == ("firing → resolved: false alarm", "Ada")
    others = own_database.ask(finding, own_database.seeded.alert_ids["column-drift/distance"])
    assert others.is_open


def test_a_false_alarm_is_told_to_who_was_told_of_it(own_database: SeededDatabase):
    project_id = own_database.seeded.project_id
    with transaction(own_database.engine, project_id, Role.OWNER) as connection:
        connection.execute(
            sa.text(
                "update alert set body = jsonb_set(body, '{told}', jsonb_build_object('on-call',"
                " jsonb_build_object('episode', 1, 'event', 'opened', 'at', cast(:at as text),"
                " 'times', 1, 'excess', null))) where rule = 'drift-incident'"
            ),
            {"at": own_database.now.isoformat()},
        )
    number = own_database.seeded.incidents.open
    own_database.ask(judge_by_hand, number, Verdict.FALSE_ALARM, "Ada", "", own_database.now)
    notify(own_database.engine, project_id, own_database.now, "http://d")
    ends = sa.select(delivery.c.alert_ids).where(delivery.c.event_type == "finding.resolved")
    with transaction(own_database.engine, project_id, Role.OWNER) as connection:
        told = connection.scalars(ends).all()
    assert own_database.seeded.alert_ids[ALERT] in {number for each in told for number in each}


def test_a_person_and_the_worker_at_the_same_time_wait_for_each_other(
    own_database: SeededDatabase,
):
    """The worker changes incidents first and alerts then; the other order would be a deadlock."""
    number, project_id = own_database.seeded.incidents.open, own_database.seeded.project_id
    arguments = (number, Verdict.FALSE_ALARM, "Ada", "", own_database.now)
    waits = sa.text("select count(*) from pg_locks where not granted")
    with ThreadPoolExecutor(1) as pool:
        with transaction(own_database.engine, project_id, Role.WORKER) as worker:
            worker.execute(
                sa.update(incident).where(incident.c.id == number).values(last_at=own_database.now)
            )
            told = pool.submit(own_database.ask, judge_by_hand, *arguments)
            deadline = time.monotonic() + 20
            while not worker.scalar(waits) and time.monotonic() < deadline:
                time.sleep(0.02)
            lock_alerts(worker, project_id)
        told.result(20)
    assert own_database.ask(finding, own_database.seeded.alert_ids[ALERT]).state == "resolved"


@pytest.mark.parametrize("verdict", [Verdict.FAULT, Verdict.ADOPT])
def test_other_verdicts_leave_the_alert_open_and_can_be_changed(
    own_database: SeededDatabase, verdict: Verdict
):
    number, alert = own_database.seeded.incidents.open, own_database.seeded.alert_ids[ALERT]
    own_database.ask(judge_by_hand, number, verdict, "Ada", "", own_database.now)
    assert own_database.ask(finding, alert).state == "firing"
    own_database.ask(judge_by_hand, number, Verdict.FALSE_ALARM, "Bob", "", own_database.now)
    judged = own_database.ask(incident_facts, number).judgement
    assert judged is not None
    assert (judged.verdict, judged.by) == (Verdict.FALSE_ALARM, "Bob")
    assert own_database.ask(finding, alert).state == "resolved"


@pytest.mark.parametrize(("by", "comment"), [("", ""), ("a\nb", ""), ("Ada", "c" * 2001)])
def test_what_can_not_be_recorded_changes_neither_incident_nor_alert(
    database: SeededDatabase, by: str, comment: str
):
    number = database.seeded.incidents.open
    with pytest.raises(ConfigurationError):
        database.ask(judge_by_hand, number, Verdict.FALSE_ALARM, by, comment, database.now)
    assert database.ask(incident_facts, number).judgement is None
    assert database.ask(finding, database.seeded.alert_ids[ALERT]).is_open


@pytest.mark.parametrize(
    "statement",
    [
        sa.update(incident).values(leading_column="other"),
        sa.update(incident).values(body={}),
        sa.update(incident).values(context={}),
        sa.update(incident).values(state="closed"),
        sa.delete(incident),
        sa.update(seasonal_baseline).values(summary={}),
    ],
)
def test_the_dashboard_changes_nothing_of_an_incident_but_its_verdict(
    database: SeededDatabase, statement: sa.Update | sa.Delete
):
    project_id = database.seeded.project_id
    with (
        pytest.raises(sa.exc.ProgrammingError, match="permission denied"),
        transaction(database.engine, project_id, Role.DASHBOARD) as connection,
    ):
        connection.execute(statement)
