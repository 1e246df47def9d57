"""Alerts: the list, one with its surroundings, and what a person may do to it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from alerts.errors import AlertNotOpen
from monitor.errors import ConfigurationError, UnknownSubject
from monitor.jobs.notify import notify
from monitor.reports.actions import acknowledge, close_by_hand
from monitor.reports.alert_detail import WINDOWS_BEFORE, alert_detail, series_filter, span_of
from monitor.reports.alerts import FindingFilter, finding, findings, locate
from monitor.reports.database import reading
from monitor.reports.measurements import read_measurements
from monitor.reports.rules import bounds_of
from monitor.store.alert_book import find_alert
from monitor.store.engine import Role, transaction
from monitor.store.tables import alert, alert_config, alert_transition, delivery
from monitor.windows import Window
from tests.dashboard_seed import MODEL
from tests.seeded_database import SeededDatabase

CONTRAST = "deployment-contrast/distance"


def test_open_alerts_the_worst_first(database: SeededDatabase):
    page = database.ask(findings, FindingFilter(), 1)
    assert [found.rule_name for found in page.rows] == [
        "deployment-contrast",
        "no-labels",
        "column-drift",
        "auc-low",
        "drift-incident",
        "missing-values",
    ]
    assert [found.state for found in page.rows] == [
        "firing", "firing", "firing", "pending", "firing", "firing",
    ]  # fmt: skip


def test_filters_by_state_column_and_model(database: SeededDatabase):
    resolved = database.ask(findings, FindingFilter(states=("resolved",)), 1)
    assert [found.labels["column"] for found in resolved.rows] == ["price $ net $"]
    assert resolved.rows[0].resolved_reason == "recovered"
    of_column = database.ask(findings, FindingFilter(column="distance"), 1)
    assert of_column.total == 3
    assert database.ask(findings, FindingFilter(model="other"), 1).total == 0


def test_a_finding_carries_sentence_number_threshold_and_rule(database: SeededDatabase):
    found = database.ask(finding, database.seeded.alert_ids[CONTRAST])
    assert found.sentence == "distance of deployment 2 stands apart: 0.500 psi"
    assert found.judged is not None
    assert (found.judged.value, found.judged.n) == (0.5, 1200)
    assert found.threshold == "above 0.1"
    assert bounds_of(found.rule) == (None, 0.1)
    assert found.response == "reduce_traffic"


def test_a_rule_without_a_sentence_gets_a_plain_one(database: SeededDatabase):
    found = database.ask(finding, database.seeded.alert_ids["auc-low/"])
    assert found.sentence == "Quality, auc: deployment 1"


def test_an_alert_without_data_stays_open_and_says_so(database: SeededDatabase):
    found = database.ask(finding, database.seeded.alert_ids["missing-values/wind"])
    assert (found.state, found.data_state) == ("firing", "no_data")


def test_rules_that_can_not_be_read_any_more_hide_no_alert(own_database: SeededDatabase):
    with transaction(own_database.engine, own_database.seeded.project_id, Role.OWNER) as connection:
        connection.execute(sa.update(alert_config).values(source="rules: [nonsense"))
    page = own_database.ask(findings, FindingFilter(), 1)
    assert page.total == 6
    assert {found.threshold for found in page.rows} == {"threshold not readable"}
    assert page.rows[0].sentence == "Contrast, within hours: column distance, deployment 2"


def test_a_message_s_link_finds_the_alert_by_its_fingerprint(database: SeededDatabase):
    number = database.seeded.alert_ids[CONTRAST]
    found = database.ask(finding, number)
    assert locate(database.engine, found.fingerprint) == (database.seeded.project_id, number)
    assert locate(database.engine, "0" * 64) is None


def test_one_alert_with_its_series_timeline_and_neighbours(database: SeededDatabase):
    detail = database.ask(alert_detail, database.seeded.alert_ids[CONTRAST])
    assert {(row.check, row.column, row.deployment_ids) for row in detail.series} == {
        ("contrast", "distance", (2,))
    }
    assert [row.window.start for row in detail.series] == sorted(
        row.window.start for row in detail.series
    )
    kinds = [event.kind for event in detail.timeline]
    assert sorted(kinds) == ["attempt", "attempt", "delivery", "delivery", "transition"]
    assert "retry HTTP 503" in " ".join(event.what for event in detail.timeline)
    assert (detail.fired_in_30_days, detail.deliveries_dead) == (1, 1)
    assert {other.rule_name for other in detail.others} == {
        "no-labels", "column-drift", "auc-low", "missing-values", "drift-incident",
    }  # fmt: skip


def test_labels_choose_the_measurements():
    labels = {
        "check": "drift", "method": "psi", "column": "a", "deployment": "3+1", "baseline": "7",
        "scale": "day", "leg": "shadow:b",
    }  # fmt: skip
    wanted = series_filter(labels, baseline_id=7)
    assert (wanted.checks, wanted.methods, wanted.column) == (("drift",), ("psi",), "a")
    assert (wanted.deployment_ids, wanted.baseline_id) == ((3, 1), 7)
    assert (wanted.scale, wanted.leg) == ("day", "shadow:b")
    assert series_filter({}).deployment_ids == ()


def test_an_alert_on_all_deployments_shows_one_number_a_window(database: SeededDatabase):
    """That of the deployments together, not those of each beside it."""
    wanted = series_filter({"check": "quality", "method": "auc", "scope": "all"})
    days = Window(database.now - timedelta(days=40), database.now)
    number, model_id = database.seeded.project_id, database.seeded.model_id
    with reading(database.engine, number) as connection:
        shown = read_measurements(connection, number, model_id, days, wanted)
        unlike = replace(wanted, widest=False)
        every = read_measurements(connection, number, model_id, days, unlike)
    starts = [row.window.start for row in shown]
    assert len(set(starts)) == len(starts) < len(every)
    for row in shown:
        beside = [len(other.deployment_ids) for other in every if other.window == row.window]
        assert len(row.deployment_ids) == max(beside)
    assert not series_filter({"check": "incident", "scope": "all"}).widest


def test_the_range_of_an_alert_on_months_holds_twelve_of_them(database: SeededDatabase):
    found = database.ask(finding, database.seeded.alert_ids["auc-low/"])
    assert found.judged is not None
    month = replace(found.judged, window_start=found.judged.at - timedelta(days=31))
    begun = min(found.since, found.fired_at or found.since)
    assert span_of(replace(found, judged=month)).start == begun - WINDOWS_BEFORE * timedelta(31)
    assert span_of(found).start == begun - timedelta(days=14)


def test_another_project_does_not_see_the_alert(database: SeededDatabase):
    number = database.seeded.alert_ids[CONTRAST]
    with pytest.raises(UnknownSubject, match="no alert"):
        finding(database.engine, database.seeded.empty_project_id, number)
    with pytest.raises(UnknownSubject):
        acknowledge(
            database.engine, database.seeded.empty_project_id, number, "eve", "", database.now
        )


def test_taking_an_alert_on_keeps_it_open_and_is_recorded(own_database: SeededDatabase):
    number = own_database.seeded.alert_ids[CONTRAST]
    at = own_database.now + timedelta(minutes=5)
    own_database.ask(acknowledge, number, "  Ada  ", "rolling back", at)
    found = own_database.ask(finding, number)
    assert (found.state, found.acknowledged_by, found.acknowledged_at) == ("firing", "Ada", at)
    newest = own_database.ask(alert_detail, number).timeline[0]
    assert (newest.what, newest.by, newest.comment) == (
        "firing: acknowledged", "Ada", "rolling back",
    )  # fmt: skip


def test_closing_by_hand_ends_the_episode_for_the_rules_too(own_database: SeededDatabase):
    project_id = own_database.seeded.project_id
    number = own_database.seeded.alert_ids[CONTRAST]
    own_database.ask(close_by_hand, number, "Ada", "known fault", own_database.now)
    found = own_database.ask(finding, number)
    assert (found.state, found.resolved_reason) == ("resolved", "closed_by_hand")
    with transaction(own_database.engine, project_id, Role.OWNER) as connection:
        kept, _, _ = find_alert(connection, project_id, number)
    assert (kept.resolved_by, kept.comment, kept.is_open) == ("Ada", "known fault", False)
    with pytest.raises(AlertNotOpen, match="is resolved; only a pending, firing or recovering"):
        own_database.ask(acknowledge, number, "Ada", "", own_database.now)
    with pytest.raises(AlertNotOpen, match="is resolved; only a pending, firing or recovering"):
        own_database.ask(close_by_hand, number, "Ada", "", own_database.now)


def test_closing_by_hand_owes_the_receiver_the_end(own_database: SeededDatabase):
    project_id = own_database.seeded.project_id
    number = own_database.seeded.alert_ids[CONTRAST]
    arguments = (number, "Ada", "known fault", own_database.now)
    own_database.ask(close_by_hand, *arguments)
    assert notify(own_database.engine, project_id, own_database.now, "http://d") > 0
    with transaction(own_database.engine, project_id, Role.OWNER) as connection:
        events = connection.scalars(
            sa.select(delivery.c.event_type)
            .where(sa.literal(number) == sa.any_(delivery.c.alert_ids))
            .order_by(delivery.c.id)
        ).all()
    assert events[-1] == "finding.resolved"
    assert notify(own_database.engine, project_id, own_database.now, "http://d") == 0


@pytest.mark.parametrize(
    ("by", "comment"),
    [("", ""), ("   ", ""), ("a\nb", ""), ("x" * 201, ""), ("Ada", "c" * 2001)],
)
def test_what_can_not_be_recorded_is_refused_and_nothing_changes(
    database: SeededDatabase, by: str, comment: str,
):  # fmt: skip
    number = database.seeded.alert_ids["no-labels/"]
    with pytest.raises(ConfigurationError):
        database.ask(acknowledge, number, by, comment, database.now)
    assert database.ask(finding, number).acknowledged_by is None


def test_the_dashboard_s_role_changes_nothing_but_alerts(database: SeededDatabase):
    with (
        pytest.raises(sa.exc.ProgrammingError, match="permission denied"),
        transaction(
            database.engine, database.seeded.project_id, Role.DASHBOARD
        ) as connection,
    ):  # fmt: skip
        connection.execute(sa.delete(alert_transition))
    with (
        pytest.raises(sa.exc.ProgrammingError, match="permission denied"),
        transaction(
            database.engine, database.seeded.project_id, Role.DASHBOARD
        ) as connection,
    ):  # fmt: skip
        connection.execute(sa.delete(alert))


def test_the_model_of_an_alert_is_found(database: SeededDatabase):
    detail = database.ask(alert_detail, database.seeded.alert_ids[CONTRAST])
    assert detail.finding.model == MODEL
    assert detail.model_id == database.seeded.model_id
