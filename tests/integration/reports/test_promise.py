"""The promise as people read it: history, columns, governor, backtest."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from monitor.reports.actions import Verdict, judge_by_hand
from monitor.reports.drift_matrix import drift_matrix
from monitor.reports.promise import promise
from monitor.reports.promise_state import PromiseState
from monitor.store.engine import Role, transaction
from monitor.store.tables import baseline, incident, measurement, profile, seasonal_baseline
from tests.promise_seed import LEFT_OUT, YOUNG
from tests.seeded_database import SeededDatabase


def newest_judged(database: SeededDatabase):
    with transaction(database.engine, database.seeded.project_id, Role.OWNER) as connection:
        return connection.scalar(
            sa.select(sa.func.max(measurement.c.window_end)).where(
                measurement.c.method == "seasonal"
            )
        )


def first_week(database: SeededDatabase):
    with transaction(database.engine, database.seeded.project_id, Role.OWNER) as connection:
        return connection.scalar(sa.select(sa.func.min(seasonal_baseline.c.week_start)))


def test_days_of_incidents_that_were_real_are_not_clean(own_database: SeededDatabase):
    database, seeded = own_database, own_database.seeded
    whole = database.ask(promise, seeded.model_id, database.now).history.days
    database.ask(judge_by_hand, seeded.incidents.open, Verdict.FAULT, "Ada", "", database.now)
    found = database.ask(promise, seeded.model_id, database.now)
    first, newest = first_week(database), newest_judged(database)
    with transaction(database.engine, database.seeded.project_id, Role.OWNER) as connection:
        real = incident.c.verdict.in_(["fault", "adopt"])
        query = sa.select(incident).where(incident.c.last_at > first)
        rows = list(connection.execute(query.where(real)))
    bad = {
        hour
        for row in rows
        for part in row.body["columns"].values()
        for hour in range(int((newest - first) / timedelta(hours=1)))
        if part["first"] <= (first + hour * timedelta(hours=1)).isoformat() < part["until"]
    }
    clean = int((newest - first) / timedelta(hours=1)) - len(bad)
    assert bad
    judged = int((newest - first) / timedelta(hours=1))
    assert whole == pytest.approx(judged / 24)  # nobody had said that something was wrong
    assert found.history.days < whole
    assert found.history.days == pytest.approx(clean / 24, abs=1e-9)
    assert found.history.incidents == found.history.unjudged + found.history.told_false
    assert found.state is PromiseState.NOT_YET_VERIFIED
    assert f"in {clean / 24:.1f} clean days" in found.sentence


def test_silent_and_expected_days_are_not_clean(own_database: SeededDatabase):
    seeded = own_database.seeded
    before = own_database.ask(promise, seeded.model_id, own_database.now).history.days
    day = first_week(own_database) + timedelta(days=4)
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        connection.execute(sa.delete(profile).where(profile.c.window_start == day))
    silent = own_database.ask(promise, seeded.model_id, own_database.now).history.days
    assert silent == pytest.approx(before - 1)
    alarms = {"expected_days": [str((day + timedelta(days=1)).date())]}
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        connection.execute(
            sa.text("update contract set body = body || jsonb_build_object('alarms', :alarms)")
            .bindparams(sa.bindparam("alarms", alarms, type_=sa.JSON))
        )  # fmt: skip
    expected = own_database.ask(promise, seeded.model_id, own_database.now).history.days
    assert expected == pytest.approx(before - 2)


def test_columns_tell_what_was_learned_and_what_was_visible(database: SeededDatabase):
    found = database.ask(promise, database.seeded.model_id, database.now)
    by_name = {one.name: one for one in found.columns}
    assert list(by_name)[:2] == ["distance", "wind"]  # the contract's order
    wind = by_name["wind"]
    assert (wind.column_class, wind.weeks, wind.withheld) == ("row", 8, "")
    shifts = [wind.shifts[scale] for scale in ("1h", "6h", "day", "168h")]
    assert shifts == sorted(shifts, reverse=True)
    # A z-test of 200 rows at a level of about 3e-5 sees (4.2 + 1.3) / sqrt(200) of a deviation.
    assert 0.3 < shifts[0] < 0.8
    assert by_name["carrier"].shifts == {}  # categories have no location
    assert {one.name for one in found.withheld} == {LEFT_OUT, YOUNG}
    assert [one.name for one in found.undecided] == [LEFT_OUT]
    assert len(found.weeks) == 8


def test_false_alarms_turn_the_governor_and_faults_do_not(own_database: SeededDatabase):
    seeded, now = own_database.seeded, own_database.now
    before = own_database.ask(promise, seeded.model_id, now)
    assert (before.governor, before.told_false) == (1.0, 0)
    own_database.ask(judge_by_hand, seeded.incidents.open, Verdict.FALSE_ALARM, "Ada", "", now)
    after = own_database.ask(promise, seeded.model_id, now)
    assert after.governor == pytest.approx(np.exp(-0.5))
    assert (after.told_false, after.history.told_false) == (1, 1)
    assert after.history.days == before.history.days
    own_database.ask(judge_by_hand, seeded.incidents.open, Verdict.ADOPT, "Ada", "", now)
    adopted = own_database.ask(promise, seeded.model_id, now)
    assert (adopted.governor, adopted.history.incidents) == (1.0, 0)
    assert adopted.history.explained == 1
    assert adopted.history.days < before.history.days


def test_the_newest_backtest_stays_when_a_new_week_begins(own_database: SeededDatabase):
    seeded = own_database.seeded
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        row = connection.execute(
            sa.select(seasonal_baseline).order_by(seasonal_baseline.c.week_start.desc()).limit(1)
        ).one()
        values = {**row._mapping, "week_start": row.week_start + timedelta(weeks=1)}
        values["summary"] = {n: v for n, v in row.summary.items() if n != "backtest"}
        connection.execute(sa.insert(seasonal_baseline).values(values))
    found = own_database.ask(promise, seeded.model_id, own_database.now)
    assert found.backtest is not None
    assert found.backtest.p_values == 40_000


def test_models_without_history_wait_and_a_file_alone_is_told(own_database: SeededDatabase):
    seeded, now = own_database.seeded, own_database.now
    waiting = own_database.ask(promise, seeded.stale_model_id, now)
    assert waiting.state is PromiseState.WAITING_FOR_HISTORY
    assert "0 of 4 healthy weeks" in waiting.why[0]
    assert (waiting.columns, waiting.backtest, waiting.history.upper) == ((), None, None)
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        row = connection.execute(sa.select(baseline).where(baseline.c.kind == "file")).one()
        values = {**row._mapping, "model_id": seeded.stale_model_id}
        del values["id"]
        connection.execute(sa.insert(baseline).values(values))
    static = own_database.ask(promise, seeded.stale_model_id, now)
    assert static.state is PromiseState.STATIC_REFERENCE
    assert "without times" in static.why[0]


def test_the_seasonal_method_has_no_baseline_to_choose_in_the_heat_map(database: SeededDatabase):
    seeded = database.seeded
    found = database.ask(
        drift_matrix, seeded.model_id, seeded.window, "drift seasonal", seeded.baseline_id
    )
    assert "distance" in found.columns
    assert found.frame["value"].notna().any()
