"""What was measured, on the command line: revisions, and as known on an earlier day."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.run import Runner
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import (
    START,
    TestClock,
    apply,
    current_context,
    deployment,
    label,
    label_batch,
    make_contract,
    request,
    rows_of,
    send,
)
from tests.integration.cli.conftest import Run

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
SPAN = ("--window", "2024-05-01/2024-06-01")
ROWS = 120


@pytest.fixture
def credit(engine: Engine, project_id: int) -> ModelContext:
    context = apply(engine, project_id, make_contract(segments=["city"]))
    assert deployment(engine, context, model_version="1") == 1
    return current_context(engine, project_id)


@pytest.fixture
def history(store: IntakeStore, runner: Runner, credit: ModelContext, clock: TestClock) -> History:
    made = History(store, replace(runner, revision_pause=timedelta(0)), credit, clock)
    made.play()
    return made


class History:
    """Two days of requests; labels of both come, then some of the first day's are corrected."""

    def __init__(
        self, store: IntakeStore, runner: Runner, model: ModelContext, clock: TestClock
    ) -> None:
        self.store, self.runner, self.model, self.clock = store, runner, model, clock

    def play(self) -> None:
        rows = [
            request(f"{day}-{i}", START + day * DAY + HOUR, score=0.9 if i % 2 else 0.1)
            for day in (0, 1)
            for i in range(ROWS)
        ]
        send(self.store, self.model, rows)
        self.label([(f"{day}-{i}", float(i % 2)) for day in (0, 1) for i in range(ROWS)], 3)

    def correct(self) -> None:
        """A quarter of the first day's labels turn out to be wrong."""
        self.label([(f"0-{i}", float(1 - i % 2)) for i in range(0, ROWS, 4)], 6)

    def label(self, values: list[tuple[str, float]], day: int) -> None:
        at = START + day * DAY
        batch = [label(name, value, at) for name, value in values]
        self.store.store_labels(label_batch(self.model, batch, arrived_at=at))
        self.clock.now = at + HOUR
        self.runner.catch_up()


def told(run: Run, *options: object) -> list[dict[str, Any]]:
    ended = run("measurements", "credit", *SPAN, "--json", *options)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def accuracies(rows: list[dict[str, Any]]) -> dict[str, float]:
    day = [row for row in rows if row["method"] == "accuracy"]
    return {row["window"][0][:10]: row["value"] for row in day}


def test_a_past_date_reads_the_same_before_and_after_a_correction(
    run: Run, history: History
) -> None:
    before = run("measurements", "credit", *SPAN, "--as-of", "2024-05-05", "--json").out
    table = run("measurements", "credit", *SPAN, "--as-of", "2024-05-05").out
    history.correct()
    assert run("measurements", "credit", *SPAN, "--as-of", "2024-05-05", "--json").out == before
    assert run("measurements", "credit", *SPAN, "--as-of", "2024-05-05").out == table
    then = accuracies(told(run, "--check", "quality", "--scale", "day", "--as-of", "2024-05-05"))
    now = accuracies(told(run, "--check", "quality", "--scale", "day"))
    assert then == {"2024-05-01": 1.0, "2024-05-02": 1.0}
    assert now == {"2024-05-01": 0.75, "2024-05-02": 1.0}


def test_before_anything_was_known_there_is_nothing(run: Run, history: History) -> None:
    assert told(run, "--as-of", "2024-05-01") == []
    ended = run("measurements", "credit", *SPAN, "--as-of", "2024-05-01")
    assert "Nothing was measured there" in ended.out


def test_a_correction_makes_revisions_of_what_it_touches_and_of_nothing_else(
    engine: Engine, history: History
) -> None:
    def revised() -> set[tuple[Any, ...]]:
        rows = rows_of(
            engine, 1,
            "select check_name, method, window_start, window_end, segment_id from measurement"
            " group by 1, 2, 3, 4, 5, leg, column_name, deployment_ids, baseline_id"
            " having count(*) > 1",
        )  # fmt: skip
        return {tuple(row) for row in rows}

    assert revised() == set()
    history.correct()
    found = revised()
    asked = {check for check, *_ in found}
    assert "quality" in asked
    assert not asked & {"drift", "missing", "violations", "serving", "confidence", "contrast"}
    assert {start for *_, start, end, _ in found if end - start == DAY} == {START}


def test_doing_the_same_again_makes_no_revision(
    engine: Engine, history: History, runner: Runner
) -> None:
    counted = "select count(*) from measurement"
    before = rows_of(engine, 1, counted)
    history.label([(f"0-{i}", float(i % 2)) for i in range(ROWS)], 3)  # duplicates
    assert rows_of(engine, 1, counted) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--as-of", "yesterday"), "neither a day nor a moment"),
        (("--window", "2024-05-01"), "is not FROM/TO"),
        (("--window", "2024-05-03/2024-05-01"), "ends before it begins"),
        (("--check", "qualty"), "there is no check 'qualty'; there are: calibration"),
        (("--method", "auk", "--scale", "week"), "there is no method 'auk'"),
        (("--scale", "week"), "is no length of a window; write 1h, 6h, 168h, day or month"),
    ],
)
def test_rubbish_is_told_with_the_option(
    run: Run, history: History, options: tuple[str, ...], words: str
) -> None:
    ended = run("measurements", "credit", *options)
    assert ended.code == 2
    assert words in ended.err
    assert options[0] in ended.err


def test_the_end_of_a_day_is_meant() -> None:
    from monitor.cli.common import read_as_of

    assert read_as_of("2024-05-05", "UTC") == datetime(2024, 5, 6, tzinfo=UTC)
    assert read_as_of("2024-05-05", "America/New_York") == datetime(2024, 5, 6, 4, tzinfo=UTC)
    assert read_as_of("2024-05-05T06:00Z", "UTC") == datetime(2024, 5, 5, 6, tzinfo=UTC)
    assert read_as_of(None, "UTC") is None


def test_without_a_window_the_newest_days_with_data_are_shown(run: Run, history: History) -> None:
    ended = run("measurements", "credit", "--json", "--check", "quality")
    assert {row["window"][0][:7] for row in json.loads(ended.out)} == {"2024-05"}
