"""Signals and reviews as pages read them, and the model's page with both."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.engine import Engine

from dashboards import data
from monitor.checks.signals.by_age import age_point, at_equal_age
from monitor.jobs.review.draw import draw_review
from monitor.jobs.review.take_ratings import take_ratings
from monitor.jobs.review.task_files import question
from monitor.jobs.review.wanted import Importance, Wanted
from monitor.jobs.run import Runner
from monitor.reports.measurements import Filter
from monitor.reports.reviews import reviews
from monitor.reports.signals import signals
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from monitor.windows import Window
from tests.contracts.test_pages import run_page
from tests.factories import (
    TestClock,
    apply,
    current_context,
    deployment,
    label,
    label_batch,
    make_contract,
    request,
    send,
)
from tests.integration.jobs.support import DAY, HOUR, context_of

START = datetime(2024, 5, 1, tzinfo=UTC)
HOSTILE = "<b>*stars*</b>"
SIGNALS = [
    {"name": "appealed", "kind": "event", "direction": "higher_is_worse", "max_age": "4d"},
    {"name": HOSTILE, "kind": "rating", "direction": "lower_is_worse", "scale": [1, 5]},
]
N = 400
ALL = Window(START - DAY, START + 40 * DAY)


@pytest.fixture
def played(
    store: IntakeStore, engine: Engine, runner: Runner, project_id: int, clock: TestClock
) -> ModelContext:
    """Eight days of 400 requests: a tenth appeals within a day, a tenth in three; the last two
    days appeal twice as much."""
    context = apply(engine, project_id, make_contract(signals=SIGNALS))
    for number in (1, 2):
        deployment(engine, context, model_version=str(number))
    context = current_context(engine, project_id)
    rng = random.Random(3)
    for day in range(8):
        at = START + day * DAY
        rows = [
            request(f"{day}-{k}", at + timedelta(minutes=3 * k), deployment=1 + k % 2)
            for k in range(N)
        ]
        send(store, context, rows)
        share = 0.4 if day >= 6 else 0.2
        told = [
            label(f"{day}-{k}", 1.0, at + timedelta(minutes=3 * k) + rng.choice((HOUR, 3 * DAY)))
            for k in range(N)
            if rng.random() < share
        ]
        now = START + 9 * DAY + HOUR
        known = [one for one in told if one["observed_at"] <= now]
        store.store_labels(label_batch(context, known, name="appealed"))
    clock.now = START + 9 * DAY + HOUR
    replace(runner, revision_pause=timedelta(0)).catch_up()
    return context


def test_young_days_are_held_against_final_ones_at_equal_age(
    engine: Engine, played: ModelContext
) -> None:
    (one,) = [
        each
        for each in signals(engine, 1, played.model_id, ALL, Filter())
        if each.name == "appealed"
    ]
    assert (one.kind, one.unit, one.direction) == ("event", "share", "higher_is_worse")
    assert len(one.series.shown) == 8 * 3
    assert [day.maturity for day in one.young] == ["too_early", "partial", "partial"]
    newest = one.young[0]
    assert newest.window.start == START + 7 * DAY
    assert newest.hours == 24
    assert newest.share == pytest.approx(0.2, abs=0.06)
    assert newest.share_before == pytest.approx(0.1, abs=0.03)
    assert newest.difference is not None
    assert newest.expected is not None
    assert newest.difference[1] > 0
    assert newest.expected[1] < 0.4 < newest.expected[2]
    oldest = one.young[-1]
    assert (oldest.window.start, oldest.hours) == (START + 5 * DAY, 72)
    assert oldest.difference is not None
    assert oldest.difference[1] < 0 < oldest.difference[2]
    assert at_equal_age(age_point(24 * HOUR, 1, 10), []) is None


def test_as_of_a_day_signals_are_what_was_known_then(engine: Engine, played: ModelContext) -> None:
    before = signals(engine, 1, played.model_id, ALL, Filter(known_by=START + 9 * DAY))
    assert before == ()


def reviewed(
    runner: Runner, store: IntakeStore, model: ModelContext, folder: Path, clock: TestClock
) -> None:
    context = context_of(runner, model)
    wanted = Wanted(
        name="may", signals=(HOSTILE,), raters=("ada", "ben"), size=120, double=0.5, seed=3,
        leg="live", by=("deployment",), importance=Importance.RANDOM, show_output=False,
    )  # fmt: skip
    found = draw_review(context, wanted, Window(START, START + 8 * DAY), by="eve", folder=folder)
    heading = question(context.contract.signals[1])
    for rater, path in found.files.items():
        header, *lines = path.read_text(encoding="utf-8-sig").splitlines()
        assert heading in header
        filled = [f"{line}{4 if number % 9 else 2}" for number, line in enumerate(lines)]
        text = "\n".join([header, *filled])
        take_ratings(context, store, "may", rater, text, str(path))


def test_the_page_tells_signals_and_reviews(
    engine: Engine,
    played: ModelContext,
    runner: Runner,
    store: IntakeStore,
    clock: TestClock,
    tmp_path: Path,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reviewed(runner, store, played, tmp_path, clock)
    (made,) = reviews(engine, 1, played.model_id)
    assert made.population == 8 * N
    assert made.given == made.asked == 180
    assert set(made.signals[0].strata) == {"deployment=1", "deployment=2"}
    clock.now += DAY
    runner.catch_up()
    rated = [
        one for one in signals(engine, 1, played.model_id, ALL, Filter()) if one.name == HOSTILE
    ]
    told = f"0 records of {HOSTILE!r} were ever received, 1 needed"  # raters' are weighed instead
    assert {row for one in rated for row in one.series.frame["reason"]} == {told}
    days = {"from": "2024-05-01", "to": "2024-05-09", "zone": "UTC"}
    test = run_page(
        database_url,
        monkeypatch,
        "model",
        model="credit",
        section="people",
        signal="appealed",
        **days,
    )
    assert not test.exception, [each.value for each in test.exception]
    tables = "\n".join(frame.value.to_csv() for frame in test.dataframe)
    assert "final days by that age" in tables
    assert "Krippendorff's alpha" in tables
    assert HOSTILE in tables
    captions = "\n".join(each.value for each in test.caption)
    assert "higher is worse" in captions
    data.forget()
    data.engine.clear()
