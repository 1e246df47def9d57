"""How mature a model's labels are, on the command line and as reports tell it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.run import Runner
from monitor.reports.label_revisions import revised_methods, revisions
from monitor.reports.labels import label_report
from monitor.store.intake_store import IntakeStore
from monitor.windows import Window
from tests.factories import START, TestClock, apply, deployment, label, label_batch, make_contract
from tests.integration.cli.conftest import Run
from tests.integration.jobs.support import DAY
from tests.late_labels import World

SPAN = ("--window", "2024-05-01/2024-05-20")
ALL = Window(START, START + 20 * DAY)


@pytest.fixture
def played(
    store: IntakeStore, engine: Engine, runner: Runner, clock: TestClock, project_id: int
) -> World:
    """Eleven days of requests; two labels find no request."""
    context = apply(engine, project_id, make_contract())
    deployment(engine, context, model_version="1")
    eager = replace(runner, revision_pause=timedelta(0))
    made = World(store, engine, eager, clock, context, np.random.default_rng(4))
    made.play(11)
    at = START + 10 * DAY
    lost = [label("nobody", 1.0, at), label("r3-1", 1.0, at, event_time=START)]
    store.store_labels(label_batch(context, lost, arrived_at=at))
    made.runner.catch_up()
    return made


def test_the_command_tells_curve_days_feed_and_what_waits(played: World, run: Run) -> None:
    told = run("labels", "credit", *SPAN)
    assert told.code == 0
    for part in (
        "label default, every request gets one.",
        "It may take 7 days, and corrections 24 hours more.",
        "predicted negative",
        "too early",
        "final",
        "of expected",
        "2 labels wait now:",
        "no request with this id has come",
        "another event time",
    ):
        assert part in told.out, part
    found = json.loads(run("labels", "credit", *SPAN, "--json").out)
    whole, negative, positive = found["curves"]
    assert positive["median_hours"] < whole["median_hours"] < negative["median_hours"]
    assert len(found["cohorts"]) == 11
    states = {cohort["state"] for cohort in found["cohorts"]}
    assert states >= {"too_early", "final"}


def test_a_past_day_is_told_as_it_was_known_then(played: World, run: Run, engine: Engine) -> None:
    day = ("--as-of", "2024-05-09", "--json")
    before = json.loads(run("labels", "credit", *SPAN, *day).out)
    for number in range(40):
        at = START + 3 * DAY
        corrected = [label(f"r2-{number}", float(number % 2), at + 4 * DAY)]
        played.store.store_labels(label_batch(played.model, corrected, arrived_at=START + 12 * DAY))
    played.clock.now = START + 12 * DAY
    played.runner.catch_up()
    after = json.loads(run("labels", "credit", *SPAN, *day).out)
    assert before == after
    now = json.loads(run("labels", "credit", *SPAN, "--json").out)
    assert len(now["cohorts"]) > len(before["cohorts"])
    methods = revised_methods(engine, 1, played.model.model_id, ALL)
    assert {"accuracy", "accuracy_weighted", "auc"} <= set(methods)
    found = revisions(engine, 1, played.model.model_id, ALL, "accuracy")
    third = next(one for one in found if one.window.start == START + 2 * DAY)
    assert third.revisions > 1
    assert third.first.known_at < third.newest.known_at
    assert third.change == pytest.approx(third.newest.value - third.first.value)
    then = revisions(engine, 1, played.model.model_id, ALL, "accuracy", third.first.known_at)
    assert next(one for one in then if one.window == third.window).newest == third.first


def test_without_a_label_or_without_data_it_says_so(
    engine: Engine, project_id: int, run: Run
) -> None:
    apply(engine, project_id, make_contract(model="plain", label=None))
    context = apply(engine, project_id, make_contract())
    assert "declares none" in run("labels", "plain").out
    told = run("labels", "credit").out
    assert "No delay curve yet" in told
    assert "No day of these was measured." in told
    assert run("labels", "nobody").code == 2
    assert label_report(engine, project_id, context.model_id, ALL).curves == ()
