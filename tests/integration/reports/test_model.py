"""A model over time: newest revisions, drift of all columns, marks, deployments."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
import sqlalchemy as sa

from monitor.errors import UnknownSubject
from monitor.measurement import MeasurementState
from monitor.reports.drift_matrix import drift_matrix
from monitor.reports.measurements import NOT_FINITE, Filter, measurement_page
from monitor.reports.model import (
    marks,
    newest_moment,
    newest_with_detail,
    traffic,
)
from monitor.reports.models import deployments, model_facts, model_names
from monitor.reports.series import series
from monitor.store.engine import Role, transaction
from monitor.store.tables import measurement
from tests.dashboard_seed import MODEL, NUMBERS, SILENT_MODEL, STALE_MODEL
from tests.seeded_database import SeededDatabase


def add_revision(database: SeededDatabase, changes: dict, **where: object) -> None:
    """Store a later revision of one measurement."""
    with transaction(database.engine, database.seeded.project_id, Role.OWNER) as connection:
        query = sa.select(measurement).filter_by(**where).order_by(measurement.c.id).limit(1)
        row = connection.execute(query).one()
        values = {**row._mapping, "known_at": row.known_at + timedelta(hours=1), **changes}
        del values["id"]
        connection.execute(sa.insert(measurement).values(values))


def test_models_deployments_and_contract(database: SeededDatabase):
    assert [each.name for each in database.ask(model_names)] == sorted(
        [MODEL, STALE_MODEL, SILENT_MODEL]
    )
    facts = database.ask(model_facts, MODEL)
    assert (facts.task, facts.label, facts.label_max_age) == ("binary", "late", timedelta(days=3))
    assert {column.name for column in facts.columns} >= set(NUMBERS)
    old, new = database.ask(deployments, facts.id)
    assert (old.title, new.title) == ("spring", "autumn*new")
    assert old.first_request == database.seeded.window.start
    assert new.first_request == database.seeded.window.start + timedelta(days=20)
    assert new.changed == ("runtime",)


def test_an_unknown_model_says_what_to_do(database: SeededDatabase):
    with pytest.raises(UnknownSubject, match="no model 'nothing'; choose one"):
        database.ask(model_facts, "nothing")


def test_the_newest_moment_is_the_end_of_the_data(database: SeededDatabase):
    newest = database.ask(newest_moment, database.seeded.model_id)
    assert newest is not None
    assert newest >= database.seeded.window.end


@pytest.mark.parametrize("check", ["label_feed", "golden"])
def test_what_is_looked_at_without_requests_does_not_move_the_newest_moment(
    own_database: SeededDatabase, check: str
):
    """Pages open on the newest days with data: a replay of 2013 shows 2013."""
    seeded = own_database.seeded
    before = own_database.ask(newest_moment, seeded.model_id)
    later = seeded.window.end + timedelta(days=42)
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        query = sa.select(measurement).where(measurement.c.model_id == seeded.model_id).limit(1)
        values = dict(connection.execute(query).one()._mapping)
        del values["id"]
        values |= {"check_name": check, "window_start": later, "window_end": later + timedelta(1)}
        connection.execute(sa.insert(measurement).values(values))
    assert own_database.ask(newest_moment, seeded.model_id) == before


def test_traffic_by_day_adds_up_and_by_hour_too(database: SeededDatabase):
    seeded = database.seeded
    found = database.ask(traffic, seeded.model_id, seeded.window, "UTC")
    assert (found.bucket, found.requests) == ("day", seeded.requests)
    assert set(found.frame["deployment"]) == {"spring", "autumn*new"}
    assert 0 < found.labelled < found.predictions == seeded.requests


def test_a_later_revision_takes_the_place_of_the_first(own_database: SeededDatabase):
    seeded = own_database.seeded
    wanted = Filter(checks=("quality",), methods=("auc",), deployment_ids=seeded.deployment_ids[:1])
    before = own_database.ask(series, seeded.model_id, seeded.window, wanted)
    first = before.shown.iloc[0]
    add_revision(own_database, {"value": 0.123}, method="auc", state="measured")
    after = own_database.ask(series, seeded.model_id, seeded.window, wanted)
    assert len(after.frame) == len(before.frame)
    assert after.shown.iloc[0]["value"] == 0.123
    assert first["value"] != 0.123


def test_a_failure_that_was_measured_later_is_no_failure_any_more(own_database: SeededDatabase):
    seeded = own_database.seeded
    failed = Filter(checks=("drift",), states=("failed",))
    before = own_database.ask(measurement_page, seeded.model_id, seeded.window, failed, 1)
    assert before.total == 2
    changes = {"state": "measured", "value": 0.1, "reason": None}
    add_revision(own_database, changes, state="failed", method="psi", model_id=seeded.model_id)
    after = own_database.ask(measurement_page, seeded.model_id, seeded.window, failed, 1)
    assert after.total == 1


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_not_finite_is_told_as_failed(own_database: SeededDatabase, value: str):
    """pub-050: strict JSON with a null and a status; the finite neighbour is still shown."""
    seeded = own_database.seeded
    add_revision(own_database, {"value": float(value)}, method="auc", state="measured")
    wanted = Filter(checks=("quality",), methods=("auc", "accuracy"), scale="day")
    found = own_database.ask(series, seeded.model_id, seeded.window, wanted)
    broken = found.frame[(found.frame["method"] == "auc") & (found.frame["reason"] == NOT_FINITE)]
    assert list(broken["state"]) == ["failed"]
    records = json.loads(found.frame.to_json(orient="records"), parse_constant=pytest.fail)
    assert [row["value"] for row in records if row["reason"] == NOT_FINITE] == [None]
    assert found.failed == 1
    neighbour = found.of("accuracy")
    assert neighbour["value"].notna().all()
    assert len(neighbour) > 0


def test_outcomes_that_are_no_number_are_counted_with_their_reason(database: SeededDatabase):
    wanted = Filter(checks=("quality",), methods=("auc",))
    found = database.ask(series, database.seeded.model_id, database.seeded.window, wanted)
    assert found.measured > 0
    assert found.too_few > 0
    assert found.failed == 0
    assert found.reasons == ("12 labels, 50 needed",)
    assert found.scales == ("day",)


def test_the_widest_set_of_deployments_stands_for_all(database: SeededDatabase):
    wanted = Filter(checks=("serving",), methods=("p95",))
    found = database.ask(series, database.seeded.model_id, database.seeded.window, wanted)
    widest = found.widest()
    assert len(widest) == 30
    assert list(widest["breadth"]) == [1] * 20 + [2] * 10


def test_drift_of_all_columns_the_worst_first(database: SeededDatabase):
    seeded = database.seeded
    found = database.ask(drift_matrix, seeded.model_id, seeded.window, None, seeded.baseline_id)
    assert found.choice == "drift psi"
    assert found.columns[0] == "distance"
    assert set(found.columns) == {*NUMBERS, "carrier"}
    assert len(found.frame) == 9 * 30
    late = found.frame[found.frame["column"] == "distance"].sort_values("at")["value"]
    assert (late.iloc[20:] > 0.4).all()
    assert (late.iloc[:20] < 0.1).all()
    states = found.frame.groupby("state").size().to_dict()
    assert states["too_few"] == 4
    assert states["failed"] == 1


def test_deployments_against_each_other_are_a_question_of_their_own(database: SeededDatabase):
    seeded = database.seeded
    choice = "contrast within_hours"
    found = database.ask(drift_matrix, seeded.model_id, seeded.window, choice, seeded.baseline_id)
    assert found.choice == choice
    assert found.columns == ("distance",)
    assert set(found.frame["deployments"]) == {"autumn*new"}


def test_a_baseline_that_nothing_was_measured_against_gives_an_empty_matrix(
    database: SeededDatabase,
):
    seeded = database.seeded
    found = database.ask(drift_matrix, seeded.model_id, seeded.window, None, 987654)
    assert found.frame.empty
    assert found.choices


def test_marks_are_deployments_by_their_first_request_and_alerts_that_fired(
    database: SeededDatabase,
):
    seeded = database.seeded
    found = database.ask(marks, MODEL, seeded.model_id, seeded.window)
    opened = {mark.text for mark in found if mark.kind == "incident"}
    assert "incident 2, led by distance" in opened
    began = [(mark.at, mark.text) for mark in found if mark.kind == "deployment"]
    assert began == [
        (seeded.window.start, "spring"),
        (seeded.window.start + timedelta(days=20), "autumn*new"),
    ]
    fired = {mark.text for mark in found if mark.kind == "alert"}
    assert "deployment-contrast (page)" in fired
    assert [mark.at for mark in found] == sorted(mark.at for mark in found)


def test_the_newest_measured_outcome_of_each_set_of_deployments(database: SeededDatabase):
    rows = database.ask(
        newest_with_detail,
        database.seeded.model_id,
        database.seeded.window,
        Filter(("calibration",), ("debiased_error",)),
    )
    assert {row.state for row in rows} == {MeasurementState.MEASURED}
    assert len({row.deployment_ids for row in rows}) == len(rows)
