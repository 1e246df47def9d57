"""Small charts of a list of alerts, its order, and a column by segment."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from monitor.profiles.part import Part, PartKind
from monitor.reports.alert_lines import BEFORE, POINTS, alert_lines
from monitor.reports.alerts import FindingFilter, findings
from monitor.reports.baselines import baselines
from monitor.reports.column_segments import FEWEST_ROWS, column_segments
from monitor.reports.overview import BlindSpotKind, overview
from monitor.reports.promise_state import PromiseState
from monitor.store.engine import Role, transaction
from monitor.store.profile_rows import ProfileKey, StoredProfile, write_profiles
from monitor.store.promise_tables import seasonal_baseline
from monitor.store.tables import alert, baseline, deployment, measurement, model, profile, segment
from monitor.windows import Grain, Window
from tests.dashboard_seed import MODEL, STALE_MODEL
from tests.seeded_database import SeededDatabase


def test_the_line_of_an_alert_is_what_its_rule_looked_at(database: SeededDatabase):
    """Read again one by one, newest revisions in the 30 days up to the window last judged."""
    page = database.ask(findings, FindingFilter(), 1)
    lines = database.ask(alert_lines, tuple(found.id for found in page.rows))
    number = database.seeded.alert_ids["auc-low/"]
    (one,) = [found for found in page.rows if found.id == number]
    assert one.judged is not None
    with transaction(database.engine, database.seeded.project_id, Role.OWNER) as connection:
        row = measurement.c
        stored = connection.execute(
            sa.select(row.value).where(
                row.model_id == database.seeded.model_id, row.method == "auc",
                row.deployment_ids == [int(one.labels["deployment"])],
                row.window_start >= one.judged.at - BEFORE,
            ).order_by(row.window_start)
        ).scalars().all()  # fmt: skip
    assert list(lines[number].values) == stored[-POINTS:]
    assert None in lines[number].values
    assert lines[number].bounds == (0.7, None)


def test_alerts_without_measurements_have_no_line(database: SeededDatabase):
    number = database.seeded.alert_ids["no-labels/"]
    assert number not in database.ask(alert_lines, (number,))
    assert database.ask(alert_lines, ()) == {}


def test_of_one_severity_the_model_with_the_highest_risk_stands_first(
    own_database: SeededDatabase,
):
    """A notice of a high-risk model before that of a medium one, never before a ticket."""
    seeded = own_database.seeded
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        connection.execute(
            sa.update(model).where(model.c.name == STALE_MODEL).values(risk_tier="high")
        )
        last = own_database.ask(findings, FindingFilter(), 1).rows[-1]
        assert last.model == MODEL
        connection.execute(sa.update(alert).where(alert.c.id == last.id).values(model=STALE_MODEL))
    found = own_database.ask(findings, FindingFilter(), 1).rows
    assert [each.severity for each in found] == sorted(
        (each.severity for each in found), key=["page", "ticket", "notice"].index
    )
    notices = [each.model for each in found if each.severity == "notice"]
    assert notices == [STALE_MODEL, MODEL]


def test_a_promise_that_is_not_available_is_a_blind_spot(own_database: SeededDatabase):
    """Every column withheld: nothing is promised, and that is counted as bad news."""
    (line, *_) = own_database.ask(overview, own_database.now).models
    assert line.promise is PromiseState.NOT_YET_VERIFIED
    assert BlindSpotKind.NO_PROMISE not in {spot.kind for spot in line.blind_spots}
    with transaction(own_database.engine, own_database.seeded.project_id, Role.OWNER) as connection:
        kept = seasonal_baseline.c
        query = sa.select(kept.model_id, kept.week_start, kept.summary)
        for row in connection.execute(query).all():
            told = row.summary.get("columns", {})
            columns = {name: {**one, "withheld": "it wobbles"} for name, one in told.items()}
            connection.execute(
                sa.update(seasonal_baseline)
                .where(kept.model_id == row.model_id, kept.week_start == row.week_start)
                .values(summary={**row.summary, "columns": columns})
            )
    found = own_database.ask(overview, own_database.now)
    assert found.models[0].promise is PromiseState.NOT_AVAILABLE
    (spot,) = [each for each in found.blind_spots if each.kind is BlindSpotKind.NO_PROMISE]
    assert spot.model == MODEL
    assert "false drift alarms" in spot.what


@pytest.mark.parametrize("days", [1, 7, 30])
def test_traffic_of_the_days_asked_for(database: SeededDatabase, days: int):
    """The newest days of each model; the same days as a window hold the same requests."""
    by_days = database.ask(overview, database.now, days).models[0].activity
    assert len(by_days.daily) == days
    first, last = by_days.daily[0][0], by_days.daily[-1][0] + timedelta(days=1)
    window = Window(first, last)
    by_window = database.ask(overview, database.now, 0, window).models[0].activity
    assert by_window.daily == by_days.daily
    assert by_window.predictions == by_days.predictions


def test_a_window_without_requests_counts_none(database: SeededDatabase):
    start = database.seeded.window.start - timedelta(days=400)
    window = Window(start, start + timedelta(days=3))
    activity = database.ask(overview, database.now, 0, window).models[0].activity
    assert (activity.daily, activity.requests, activity.label_coverage) == ((), 0, None)


def test_segments_are_held_against_themselves_before(own_database: SeededDatabase):
    """One segment whose values all moved to other cells, one that stayed, one too small."""
    seeded = own_database.seeded
    (chosen, *_) = own_database.ask(baselines, seeded.model_id)
    end = Window.holding(seeded.window.end, Grain.DAY).start
    window = Window(end - timedelta(days=2), end)
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        binning_id = connection.scalar(
            sa.select(baseline.c.binning_id).where(baseline.c.id == chosen.id)
        )
        number = connection.scalar(sa.select(sa.func.min(deployment.c.id)))
        whole = connection.execute(
            sa.select(profile.c.body).where(
                profile.c.binning_id == binning_id, profile.c.part == int(PartKind.COLUMNS)
            ).limit(1)
        ).scalar_one()  # fmt: skip
        cells = len(Part.from_bytes(whole).dense["cells/wind"])
        for name, place, n in (("moves", (1, 2), 300), ("stays", (3, 3), 400), ("few", (1, 2), 9)):
            key = connection.scalar(
                sa.insert(segment).values(
                    project_id=seeded.project_id, model_id=seeded.model_id,
                    definition={"carrier": name},
                ).returning(segment.c.id)
            )  # fmt: skip
            for start, cell in (
                (window.start - timedelta(days=1), place[0]),
                (window.start, place[1]),
            ):
                _store(connection, seeded, (number, key, binning_id), start, cells, cell, n)
    found = own_database.ask(column_segments, seeded.model_id, "wind", window, chosen.id)
    assert [line.name for line in found] == ["carrier=moves", "carrier=stays", "carrier=few"]
    assert [line.moved for line in found] == [1.0, 0.0, None]
    assert [(line.n, line.n_before) for line in found] == [(300, 300), (400, 400), (9, 9)]
    assert found[2].n < FEWEST_ROWS
    alone = own_database.ask(
        column_segments, seeded.model_id, "wind", window, chosen.id, number + 1000
    )
    assert alone == ()


def _store(connection, seeded, place, start, cells: int, cell: int, n: int) -> None:
    number, segment_id, binning_id = place
    counts = np.zeros(cells, np.int64)
    counts[cell] = n
    key = ProfileKey(number, "live", segment_id, binning_id, PartKind.COLUMNS, Grain.DAY, start)
    part = Part({"cells/wind": counts})
    write_profiles(connection, seeded.project_id, seeded.model_id, [StoredProfile(key, 1, n, part)])
