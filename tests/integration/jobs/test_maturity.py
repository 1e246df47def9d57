"""Cohorts that mature: curves, states, rules that wait, the feed, and comparison at equal age.

Twenty days of 150 requests at noon; labels come after a day or two, those of predicted negatives
more slowly. The clock moves a day at a time and everything that is due runs, as in production.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.run import Runner
from monitor.store.alert_book import apply_rules
from monitor.store.delay_curves import CurveKey, read_curves
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from tests.factories import (
    START,
    TestClock,
    apply,
    deployment,
    label,
    label_batch,
    make_contract,
    request,
    rows_of,
    send,
)
from tests.integration.jobs.support import DAY, HOUR, problems
from tests.late_labels import FOUND, RULES, World


@pytest.fixture
def world(
    store: IntakeStore, engine: Engine, runner: Runner, clock: TestClock, project_id: int
) -> Callable[..., World]:
    def made(**changes: Any) -> World:
        context = apply(engine, project_id, make_contract(**changes))
        deployment(engine, context, model_version="1")
        eager = replace(runner, revision_pause=timedelta(0))
        return World(store, engine, eager, clock, context, np.random.default_rng(4))

    return made


def rule(world: World, **entries: str) -> None:
    """Put one rule in force."""
    with transaction(world.engine, 1, Role.OWNER) as connection:
        apply_rules(connection, 1, RULES.format(**entries), name="rules.yaml", by="tests")


def fired(world: World) -> list[Any]:
    query = "select at, body from alert_transition where to_state = 'firing' order by at"
    return rows_of(world.engine, 1, query)


def test_cohorts_mature_and_say_so(world: Callable[..., World]) -> None:
    made = world()
    made.play(20)
    states = [row.detail["maturity"] for row in made.found("quality", "label_coverage")
              if row.window_start == START + 8 * DAY]  # fmt: skip
    ordered = ["too_early", "partial", "provisional", "final"]
    places = [ordered.index(state) for state in states]
    assert places == sorted(places)
    assert places[0] <= 1
    assert states[-1] == "final"
    weighted = [
        row for row in made.found("quality", "accuracy_weighted") if row.state == "measured"
    ]
    assert weighted
    assert all(row.detail["effective_n"] <= row.n for row in weighted)
    early = [row for row in weighted if row.detail["maturity"] == "partial"]
    assert early
    plain = {(row.window_start, row.known_at): row for row in made.found("quality", "accuracy")}
    assert all(plain[(row.window_start, row.known_at)].n == row.n for row in early)
    bound = plain[(early[0].window_start, early[0].known_at)].detail
    assert bound["bound_low"] < early[0].value < bound["bound_high"]


def test_curves_by_class_are_learned_from_all_requests(world: Callable[..., World]) -> None:
    made = world()
    made.play(20)
    with transaction(made.engine, 1, Role.WORKER) as connection:
        stored = read_curves(connection, 1, made.model.model_id, made.clock.now)
        then = read_curves(connection, 1, made.model.model_id, START + 5 * DAY)
    fast, slow = (stored[CurveKey("live", 0, number)].curve for number in (1, 0))
    assert fast.settled
    for hours, mean, curve in ((24, 20, fast), (24, 50, slow), (72, 50, slow)):
        low, high = curve.limits(hours)
        truth = 1 - math.exp(-hours / mean)
        # Requests of a day are taken to be of its middle: a little is lost near their age.
        assert low - 0.03 <= truth <= high + 0.03
    assert max(one.known_at for one in then.values()) <= START + 5 * DAY


def test_a_rule_waits_until_the_cohort_is_mature(world: Callable[..., World]) -> None:
    """Early labels are all wrong ones: the accuracy of a young cohort is below any limit."""
    made = world()
    rule(made, name="accuracy-low", check="quality", method="accuracy", bound="below: 0.99")
    seen: dict[int, int] = {}
    made.play(8, after=lambda day: seen.setdefault(day, len(fired(made))))
    measured = [row for row in made.found("quality", "accuracy") if row.state == "measured"]
    immature = [r for r in measured if r.detail["maturity"] in ("too_early", "partial")]
    assert immature
    assert all(row.value < 0.99 for row in immature)
    first_mature = min(row.known_at for row in measured if row not in immature)
    (first, *_) = fired(made)
    recorded = rows_of(made.engine, 1, "select min(recorded_at) from alert_transition")[0][0]
    assert recorded >= first_mature
    assert seen[1] == 0
    assert first.at in {row.window_start + DAY for row in measured}


def test_a_feed_that_stops_and_one_that_half_stops(world: Callable[..., World]) -> None:
    made = world()
    made.play(22, keep=lambda day, delay, _: day < 18 or (day < 20 and delay * 10 % 2 < 1))
    ratio = {row.window_start: row for row in made.found("label_feed", "arrival_ratio")}
    steady = [ratio[START + day * DAY] for day in range(16, 18)]
    assert all(row.state == "measured" and row.low < 1.15 and row.high > 0.85 for row in steady)
    halved, stopped = ratio[START + 19 * DAY], ratio[START + 21 * DAY]
    assert 0.3 < halved.value < 0.7
    assert halved.high < 0.8
    assert (stopped.value, stopped.low) == (0.0, 0.0)
    silence = {row.window_start: row.value for row in made.found("label_feed", "silence")}
    assert silence[START + 15 * DAY] < 3
    assert 48 <= silence[START + 21 * DAY] < 51
    early = ratio[START + 2 * DAY]
    assert early.state == "too_few"


def test_cohorts_are_held_against_earlier_ones_at_equal_age(world: Callable[..., World]) -> None:
    made = world()
    made.play(16)
    change = [row for row in made.found("quality_change", "accuracy") if row.state == "measured"]
    young = [row for row in change if {"until_delay_hours", "age_hours"} <= row.detail.keys()]
    assert young
    assert all(row.detail["until_delay_hours"] <= row.detail["age_hours"] for row in young)
    wrong = [row for row in change if row.low > 0 or row.high < 0]
    assert len(wrong) <= len(change) * 0.25
    assert {row.detail["cohorts"] for row in change} >= {7}


def test_where_only_positives_are_told_silence_becomes_a_negative(
    world: Callable[..., World],
) -> None:
    contract = {"name": "default", "max_age": "7d", "correction_time": "1d",
                "feedback": "positive_only"}  # fmt: skip
    made = world(label=contract)
    made.play(18, keep=lambda _day, _delay, value: value)
    precision = [row for row in made.found("quality", "precision") if row.state == "measured"]
    final = [row for row in precision if row.detail["maturity"] == "final"]
    assert final
    assert all(0.5 < row.value < 0.9 for row in final)
    truth = 0.7  # mean score of those at 0.5 and above
    mine = [row for row in precision if row.window_start == START + 9 * DAY]
    assert all(row.low - 0.05 <= truth <= row.high + 0.05 for row in mine[-2:])
    estimated = [row for row in precision if row.detail.get("positives_known_share", 1.0) < 1]
    assert estimated
    assert abs(np.mean([row.value for row in estimated]) - truth) < 0.15
    accuracy = [row for row in made.found("quality", "accuracy") if row.state == "measured"]
    assert all(row.value < 0.95 for row in accuracy)
    assert made.found("quality", "accuracy_weighted") == []


def test_where_labels_are_selective_bounds_are_measured(world: Callable[..., World]) -> None:
    contract = {"name": "default", "max_age": "7d", "correction_time": "1d",
                "feedback": "selective"}  # fmt: skip
    made = world(label=contract)
    made.play(10, keep=lambda _day, delay, _: int(delay * 100) % 2 == 0)
    lowest = {(r.window_start, r.known_at): r for r in made.found("quality", "accuracy_lowest")}
    highest = made.found("quality", "accuracy_highest")
    plain = {(r.window_start, r.known_at): r for r in made.found("quality", "accuracy")}
    shown = [row for row in highest if row.state == "measured"]
    assert shown
    for row in shown:
        key = (row.window_start, row.known_at)
        assert lowest[key].value <= plain[key].value <= row.value
        assert plain[key].detail["bound_high"] == pytest.approx(row.value)


def test_a_day_is_followed_once_and_a_backlog_at_once(world: Callable[..., World]) -> None:
    made = world()
    told = []
    for day in range(10):
        told += made.send_day(day, n=60)
    made.send_labels(told, START, START + 10 * DAY)
    made.clock.now = START + 10 * DAY + HOUR
    made.runner.catch_up()
    made.runner.catch_up()
    query = "select job, window_start, runs from job_window where job = 'maturity' order by 2"
    assert [(row.window_start, row.runs) for row in rows_of(made.engine, 1, query)] == [
        (START + 9 * DAY, 1)
    ]
    made.clock.now = START + 14 * DAY + HOUR
    made.runner.catch_up()
    assert [row.runs for row in rows_of(made.engine, 1, query)] == [1] * 5
    known = rows_of(made.engine, 1, "select distinct known_at from delay_curve order by 1")
    assert len(known) == 2
    finals = [row for row in made.found("quality", "label_coverage")
              if row.detail["maturity"] == "final"]  # fmt: skip
    assert {START + day * DAY for day in range(5)} <= {row.window_start for row in finals}


def test_a_correction_touches_no_other_deployment_of_an_immature_day(
    world: Callable[..., World],
) -> None:
    made = world()
    deployment(made.engine, made.model, model_version="2")
    rows = [
        request(f"{number}-{n}", START + HOUR, score=0.1 + n / 100, deployment=number)
        for number in (1, 2)
        for n in range(80)
    ]
    send(made.store, made.model, rows)
    told = [label(row["request_id"], float(n % 2), START + 5 * HOUR)
            for n, row in enumerate(rows) if n % 3]  # fmt: skip
    made.store.store_labels(label_batch(made.model, told, arrived_at=START + DAY))
    made.clock.now = START + DAY + HOUR
    made.runner.catch_up()
    corrected = [label("1-7", 0.0, START + 30 * HOUR)]
    made.store.store_labels(label_batch(made.model, corrected, arrived_at=START + 2 * DAY))
    made.clock.now = START + 2 * DAY + HOUR
    made.runner.catch_up()
    query = (
        "select deployment_ids, count(*) as revisions, max(detail->>'maturity') as state"
        " from measurement where check_name = 'quality' and method = 'accuracy'"
        " and window_end - window_start < interval '2 days' group by 1 order by 1"
    )
    found = rows_of(made.engine, 1, query)
    assert [(row.deployment_ids, row.revisions) for row in found] == [
        ([1], 2),
        ([1, 2], 2),
        ([2], 1),
    ]
    assert {row.state for row in found} <= {"partial", "too_early"}


@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_other_tasks_have_weights_and_comparisons_too(
    store: IntakeStore,
    engine: Engine,
    runner: Runner,
    clock: TestClock,
    project_id: int,
    task: str,
) -> None:
    prediction = {"name": "guess", "type": "number", "role": "prediction"}
    if task == "multiclass":
        prediction |= {"type": "category", "categories": ["red", "blue"]}
    contract = make_contract(task=task, columns=[{"name": "age", "type": "number"}, prediction])
    model = apply(engine, project_id, contract)
    deployment(engine, model, model_version="1")
    eager, rng = replace(runner, revision_pause=timedelta(0)), np.random.default_rng(3)
    told = []
    for day in range(12):
        for n in range(120):
            at = START + day * DAY + 12 * HOUR + n * timedelta(seconds=10)
            value: Any = float(rng.normal(50, 10))
            truth = value + float(rng.normal(0, 3))
            if task == "multiclass":
                value, truth = ("red", "blue")[n % 2], ("red", "blue")[int(n % 3 > 0)]
            send_one = request(f"{day}-{n}", at, guess=value)
            told.append((send_one, at + float(rng.exponential(30)) * HOUR, truth))
        now = START + (day + 1) * DAY
        send(store, model, [row for row, at, _ in told if row["event_time"] >= now - DAY])
        rows = [(row, at, truth) for row, at, truth in told if now - DAY <= at < now]
        batch = label_batch(model, [label(r["request_id"], 0.0, at) for r, at, _ in rows],
                            arrived_at=now)  # fmt: skip
        values = [truth for *_, truth in rows]
        store.store_labels(replace(batch, table=with_values(batch.table, values)))
        clock.now = now + HOUR
        eager.catch_up()
    assert [row for row in problems(engine) if row.state == "failed"] == []
    name = {"regression": "mae", "multiclass": "accuracy"}[task]
    for check, method in (("quality", f"{name}_weighted"), ("quality_change", name)):
        found = rows_of(engine, 1, FOUND, check=check, method=method)
        measured = [row for row in found if row.state == "measured"]
        assert measured, (check, method)
        assert all(row.low <= row.value <= row.high for row in measured if row.low is not None)
        assert {"partial", "final"} & {row.detail["maturity"] for row in measured}


def with_values(table: pa.Table, values: list[Any]) -> pa.Table:
    """Labels with these values: numbers, or texts where they are texts."""
    texts = bool(values) and isinstance(values[0], str)
    nothing = [None] * len(values)
    for name, mine in (
        ("value", nothing if texts else values),
        ("text", values if texts else nothing),
    ):
        place = table.schema.get_field_index(name)
        field = table.schema.field(place)
        table = table.set_column(place, field, pa.array(mine, field.type))
    return table
