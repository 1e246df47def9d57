"""Profiles equal what a person would count in the raw rows, hour by hour and day by day."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.profile_windows import profile_due_windows
from monitor.jobs.run import Runner
from monitor.jobs.set_baseline import baseline_from_file
from monitor.profiles.columns import column_counts
from monitor.profiles.part import PartKind
from monitor.records import RequestOutcome, ViolationReason
from monitor.store.baselines import StoredBinning, current_baselines, current_binning
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from monitor.store.profile_rows import StoredProfile, segments
from monitor.windows import Grain
from tests.factories import START, TestClock, apply, make_contract, request, rows_of, send
from tests.integration.jobs.support import (
    DAY,
    HOUR,
    context_of,
    hours_of,
    problems,
    runs,
    stored,
    traffic,
)

Key = tuple[str, int, Any, str | None]


def binning_of(engine: Engine, model: ModelContext) -> StoredBinning:
    with transaction(engine, model.project_id, Role.WORKER) as connection:
        found = current_binning(connection, model.project_id, model.model_id)
    assert found is not None
    return found


def recount(rows: list[tuple[str, dict[str, Any]]], length: timedelta) -> dict[Key, dict[str, Any]]:
    """Counts a (leg, deployment, window, city or None for all), straight from the raw rows."""
    found: dict[Key, dict[str, Any]] = {}
    for leg, row in rows:
        hour = row["event_time"].replace(minute=0, second=0, microsecond=0)
        window = hour if length == HOUR else hour.replace(hour=0)
        for city in (None, row["city"] or "(missing)"):
            mine = found.setdefault(
                (leg, row["deployment"], window, city),
                {"n": 0, "city": Counter(), "ages": [], "null ages": 0, "outcomes": Counter()},
            )
            mine["n"] += 1
            mine["city"][row["city"]] += 1
            mine["outcomes"][int(row["outcome"])] += 1
            if row["age"] is None:
                mine["null ages"] += 1
            else:
                mine["ages"].append(row["age"])
    return found


def check_against_recount(
    engine: Engine,
    model: ModelContext,
    rows: list[tuple[str, dict[str, Any]]],
    grain: Grain,
) -> int:
    """Compare every stored columns profile with the recount; how many there were."""
    binning = binning_of(engine, model)
    with transaction(engine, model.project_id, Role.WORKER) as connection:
        names = segments(connection, model.project_id, model.model_id)
    wanted = recount(rows, timedelta(seconds=int(grain)))
    profiles = stored(engine, model, PartKind.COLUMNS, grain, segments=None)
    mine = [one for one in profiles if one.key.binning_id == binning.id]
    seen = set()
    for one in mine:
        city = names[one.key.segment_id]["city"] if one.key.segment_id else None
        key = (one.key.leg, one.key.deployment_id, one.key.window_start, city)
        seen.add(key)
        compare(one, wanted[key], binning)
    assert seen == set(wanted)
    assert len(mine) == len(wanted)
    return len(mine)


def compare(one: StoredProfile, wanted: dict[str, Any], binning: StoredBinning) -> None:
    assert one.n == wanted["n"]
    cities = column_counts(one.part, binning.binning, "city")
    counts = dict(zip(cities.cells.labels(), cities.counts.tolist(), strict=True))
    for city in ("Bonn", "Köln", "Aachen"):
        assert counts[city] == wanted["city"][city]
    assert cities.n_missing == wanted["city"][None]
    assert cities.n == wanted["n"]
    ages = column_counts(one.part, binning.binning, "age")
    assert ages.n_missing == wanted["null ages"]
    assert ages.n_finite == len(wanted["ages"])
    if wanted["ages"]:
        mean = sum(wanted["ages"]) / len(wanted["ages"])
        assert ages.mean == pytest.approx(mean, abs=0.01)
    nulls = ages.violations.get(ViolationReason.NULL, 0)
    assert nulls == wanted["null ages"]


def test_every_profile_equals_a_recount_of_the_raw_rows(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    live = traffic(START + timedelta(hours=20), 8, 90, seed=1, deployments=(1, 2, 3))
    shadow = traffic(START + timedelta(hours=22), 4, 40, seed=2, deployments=(2,))
    everything = [("live", row) for row in live] + [("shadow:next", row) for row in shadow]
    random.Random(5).shuffle(everything)
    for leg in ("live", "shadow:next"):
        mine = [row for its, row in everything if its == leg]
        for start in range(0, len(mine), 100):
            send(store, credit, mine[start : start + 100], leg=leg)
    runner.catch_up()
    assert problems(engine) == []
    # 8 hours x 3 deployments and 4 x 1 of the shadow, each whole and by (at most) 4 cities
    assert check_against_recount(engine, credit, everything, Grain.HOUR) == 28 * 5
    assert check_against_recount(engine, credit, everything, Grain.DAY) == 8 * 5


def test_late_rows_are_counted_in_and_only_their_windows_are_done_again(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    first = traffic(START, 6, 60, seed=1, deployments=(1, 2))
    send(store, credit, first)
    runner.catch_up()
    before = runs(engine, "profile")
    assert set(before) == hours_of(first)
    late = traffic(START + 2 * HOUR, 1, 30, seed=3, deployments=(2,))
    send(store, credit, late)
    runner.catch_up()
    after = runs(engine, "profile")
    again = {hour for hour in after if after[hour] != before[hour]}
    assert again == {START + 2 * HOUR}
    rows = [("live", row) for row in [*first, *late]]
    check_against_recount(engine, credit, rows, Grain.HOUR)
    check_against_recount(engine, credit, rows, Grain.DAY)
    assert problems(engine) == []
    assert runner.catch_up() == 0


def test_duplicates_and_conflicts_make_nothing_due(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    rows = traffic(START, 3, 60)
    send(store, credit, rows)
    runner.catch_up()
    before = runs(engine, "profile")
    send(store, credit, rows)
    send(store, credit, [{**row, "age": 1.0} for row in rows])
    assert runner.catch_up() == 0
    assert runs(engine, "profile") == before


def test_an_open_window_waits_for_its_lateness(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    send(store, credit, traffic(START, 1, 200))
    clock.now = START + HOUR + timedelta(minutes=9)
    runner.catch_up()
    assert runs(engine, "profile") == {}
    assert len(runs(engine, "serving-profile")) == 12
    clock.now = START + HOUR + timedelta(minutes=10)
    runner.catch_up()
    assert runs(engine, "profile") == {START: 1}


def test_before_there_is_a_baseline_and_after(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    first = traffic(START, 2, 45)  # 90 rows, 100 wanted
    send(store, credit, first)
    runner.catch_up()
    assert stored(engine, credit, PartKind.COLUMNS) == []
    assert sum(one.n for one in stored(engine, credit, PartKind.SERVING)) == 90
    more = traffic(START + 2 * HOUR, 1, 45, seed=1)
    send(store, credit, more)
    runner.catch_up()
    with transaction(engine, 1, Role.WORKER) as connection:
        baselines = current_baselines(connection, 1, credit.model_id)
    assert [(one.name, one.version, one.n, one.kind) for one in baselines] == [
        ("first-rows", 1, 100, "production")
    ]
    earliest = sorted([*first, *more], key=lambda row: (row["event_time"], row["request_id"]))[:100]
    counts = column_counts(baselines[0].part, binning_of(engine, credit).binning, "city")
    told = dict(zip(counts.cells.labels(), counts.counts.tolist(), strict=True))
    assert told["Bonn"] == sum(row["city"] == "Bonn" for row in earliest)
    # The windows profiled without it were filled in.
    check_against_recount(engine, credit, [("live", r) for r in [*first, *more]], Grain.HOUR)
    check_against_recount(engine, credit, [("live", r) for r in [*first, *more]], Grain.DAY)
    assert runs(engine, "profile") == {START: 2, START + HOUR: 2, START + 2 * HOUR: 1}
    # Later rows never move it.
    send(store, credit, traffic(START + 3 * HOUR, 1, 300, seed=2))
    runner.catch_up()
    with transaction(engine, 1, Role.WORKER) as connection:
        assert len(current_baselines(connection, 1, credit.model_id)) == 1


def test_a_column_appended_in_the_middle_of_a_day(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    old = traffic(START, 2, 80, seed=1)
    send(store, credit, old)
    runner.catch_up()
    columns = [
        *credit.contract.model_dump(mode="json")["columns"],
        {"name": "income", "type": "number", "nullable": True},
    ]
    newer = apply(engine, 1, make_contract(segments=["city"], columns=columns))
    assert newer.contract_version == 2
    # Both versions meet in one hour: rows packed before and after the change.
    send(store, credit, traffic(START + HOUR, 1, 30, seed=2))
    new = [{**row, "income": 1000.0} for row in traffic(START + HOUR, 2, 40, seed=3)]
    send(store, newer, new)
    runner.catch_up()
    assert problems(engine) == []
    found = stored(engine, newer, PartKind.COLUMNS)
    assert [(one.key.window_start - START, one.n) for one in found] == [
        (timedelta(0), 80),
        (HOUR, 150),
        (2 * HOUR, 40),
    ]
    day = stored(engine, newer, PartKind.COLUMNS, Grain.DAY)
    assert [(one.n, one.contract_version) for one in day] == [(270, 2)]


def test_rows_of_a_newer_contract_than_the_job_knows(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    columns = [
        *credit.contract.model_dump(mode="json")["columns"],
        {"name": "income", "type": "number"},
    ]
    newer = apply(engine, 1, make_contract(segments=["city"], columns=columns))
    rows = [{**row, "income": 1.0} for row in traffic(START, 1, 120)]
    rows[0]["violations"] = (("income", ViolationReason.WRONG_TYPE),)
    send(store, newer, rows)
    report = profile_due_windows(context_of(runner, credit))
    assert report.failed == 0
    assert [one.n for one in stored(engine, credit, PartKind.COLUMNS)] == [120]


def test_serving_profiles_of_five_minutes(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    rows = traffic(START, 1, 240, deployments=(1, 2))
    send(store, credit, rows)
    runner.catch_up()
    wanted: Counter[tuple[int, Any]] = Counter()
    failed: Counter[tuple[int, Any]] = Counter()
    for row in rows:
        at = row["event_time"]
        key = (row["deployment"], at.replace(minute=at.minute // 5 * 5, second=0))
        wanted[key] += 1
        failed[key] += row["outcome"] == RequestOutcome.FAILED
    found = stored(engine, credit, PartKind.SERVING, Grain.FIVE_MINUTES)
    assert {(one.key.deployment_id, one.key.window_start): one.n for one in found} == wanted
    for one in found:
        outcomes = one.part.dense["outcome"]
        key = (one.key.deployment_id, one.key.window_start)
        assert int(outcomes[int(RequestOutcome.FAILED)]) == failed[key]


def test_the_months_of_a_zone_west_of_utc_are_made_due(
    store: IntakeStore, engine: Engine, project_id: int, runner: Runner
) -> None:
    model = apply(engine, project_id, make_contract(time_zone="America/New_York"))
    send(store, model, [request("a", START + HOUR, deployment=1)])
    runner.tick({"profile"})
    due = dict(rows_of(engine, 1, "select job, window_start from job_window where state = 'due'"))
    assert due["checks-day"] == START - DAY + timedelta(hours=4)
    assert due["checks-month"] == START - timedelta(days=30) + timedelta(hours=4)


def test_more_than_a_chunk_of_rows_is_added_up(
    store: IntakeStore,
    engine: Engine,
    runner: Runner,
    credit: ModelContext,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("monitor.store.request_rows.ROWS_A_CHUNK", 100)
    rows = traffic(START, 3, 150, deployments=(1, 2))
    send(store, credit, rows)
    runner.catch_up()
    check_against_recount(engine, credit, [("live", row) for row in rows], Grain.HOUR)
    check_against_recount(engine, credit, [("live", row) for row in rows], Grain.DAY)


def test_a_new_binning_leaves_the_days_counted_on_the_old_one_whole(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    send(store, credit, traffic(START, 3, 60))
    runner.catch_up()
    old = binning_of(engine, credit)
    reference = pa.table(
        {"age": [20.0, 30.0, 40.0] * 100, "city": ["Bonn", "Köln", None] * 100,
         "score": [0.1, 0.5, 0.9] * 100, "ms": [1.0, 2.0, 3.0] * 100},
    )  # fmt: skip
    baseline_from_file(engine, 1, credit, reference, name="file", by="tests", new_binning=True)
    runner.catch_up()
    new = binning_of(engine, credit)
    assert new.version == old.version + 1
    late = traffic(START + HOUR, 1, 10, seed=4)
    send(store, credit, late)
    runner.catch_up()
    days = stored(engine, credit, PartKind.COLUMNS, Grain.DAY)
    assert {one.key.binning_id: one.n for one in days} == {old.id: 180, new.id: 190}
    assert problems(engine) == []
