"""`inferwatch compare` on stored requests and labels, from the collector's store to the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy.engine import Engine

from monitor.reports.comparisons import comparison_now, comparisons, metric_frame, overlap_frame
from monitor.store.models import ModelContext
from tests.conftest import Playing, played_database
from tests.database import DatabaseServer
from tests.factories import (
    START,
    TestClock,
    current_context,
    rows_of,
)
from tests.integration.cli.comparison_scene import (
    AMBER,
    BLUE,
    GREEN,
    compared,
    line,
    served,
    traffic,
)
from tests.integration.cli.conftest import Run


@pytest.fixture(scope="module")
def database_template(postgres_server: DatabaseServer, migrated_template: str) -> Iterator[str]:
    """Two days of requests and labels, profiled; the tests that play their own begin anew."""

    def play(world: Playing) -> None:
        served(world.engine, world.project_id, world.store, world.runner, world.clock)

    with played_database(postgres_server, migrated_template, play) as name:
        yield name


@pytest.fixture
def model(engine: Engine, project_id: int, clock: TestClock) -> ModelContext:
    clock.now = START + timedelta(days=10)
    return current_context(engine, project_id)


def test_one_factor_gets_a_verdict_and_two_are_confounded(run: Run, model: ModelContext) -> None:
    better = compared(run, "blue", "green")
    assert better["verdict"] == "better"
    assert better["factors"] == ["runtime"]
    assert line(better, "accuracy")["verdict"] == "better"
    assert line(better, "mean of ms")["verdict"] == "better"
    confounded = compared(run, "blue", "amber")
    assert confounded["verdict"] == "confounded"
    assert confounded["factors"] == ["runtime", "precision"]
    assert "can't be separated" in confounded["sentence"]
    assert {one["verdict"] for one in confounded["results"][0]["metrics"]} == {"confounded"}
    worse = compared(run, "2", "3")
    assert (worse["factors"], worse["verdict"]) == (["precision"], "worse")
    assert line(worse, "error_rate")["difference"]["value"] == pytest.approx(0.1, abs=0.03)


def test_every_number_is_that_of_the_rows(run: Run, model: ModelContext) -> None:
    rows = list(traffic(np.random.default_rng(5)))
    found = compared(run, "blue", "green")
    for place, number in enumerate((BLUE, GREEN)):
        mine = [(row, truth) for row, truth in rows if row["deployment"] == number]
        right = [(row["score"] >= 0.5) == bool(truth) for row, truth in mine]
        assert line(found, "accuracy")["crude"][place] == pytest.approx(np.mean(right))
        ms = np.array([row["ms"] for row, _ in mine])
        assert line(found, "mean of ms")["crude"][place] == pytest.approx(ms.mean(), rel=1e-9)
        assert line(found, "goodput")["crude"][place] == pytest.approx(np.mean(ms <= 20))
        losses = [(row["score"] - truth) ** 2 for row, truth in mine]
        assert line(found, "brier")["crude"][place] == pytest.approx(np.mean(losses), rel=1e-6)
        shown = found["results"][0]["overlap"]["slices"]
        bonn = sum(row["city"] == "Bonn" for row, _ in mine)
        assert next(one for one in shown if one["slice"] == "city Bonn")["ab"[place]] == bonn


def test_people_read_the_tags_first_then_the_verdict(run: Run, model: ModelContext) -> None:
    ended = run("compare", "credit", "--a", "blue", "--b", "amber", "--by", "ada")
    assert ended.code == 0
    told = ended.out.splitlines()
    assert told[0].startswith("credit: b (amber) against a (blue), 2024-05-01T00:00Z to")
    assert told[1].startswith("Differs: b differs from a in runtime (runtime_version 1.6 → 1.7);")
    assert told[2].startswith("Verdict: Confounded: b - a differs in: runtime, precision;")
    assert told[-1].endswith("by ada.")
    assert "crude a → b" in ended.out
    assert "city Köln" in ended.out


def test_the_canary_runs_over_matched_hours(run: Run, model: ModelContext) -> None:
    found = compared(run, "green", "amber", "--canary")
    by_metric = {one["metric"]: one for one in found["results"][0]["canary"]}
    assert set(by_metric) == {"accuracy", "goodput", "error_rate"}
    assert by_metric["accuracy"]["verdict"] == "harm"
    assert by_metric["accuracy"]["stopped_at"] < "2024-05-02T12"
    told = run("compare", "credit", "--a", "green", "--b", "amber", "--canary").out
    assert "Canary (accuracy): harm beyond 0.02 from the slot 2024-05-0" in told


def test_deployments_are_named_by_tags_too(run: Run, model: ModelContext) -> None:
    found = compared(run, "precision=float64,runtime_version=1.7", "precision=float16")
    assert (found["a"]["deployments"], found["b"]["deployments"]) == ([GREEN], [AMBER])
    both = compared(run, "blue,green", "amber")  # only green differs from amber in one factor
    (result,) = both["results"]
    assert (result["factor"], result["a"], result["b"]) == ("precision", [GREEN], [AMBER])
    assert any("Left out" in caution and "1" in caution for caution in result["cautions"])


def test_what_was_known_then_is_shown_and_nothing_made(
    run: Run, model: ModelContext, engine: Engine
) -> None:
    early = run("compare", "credit", "--a", "blue", "--b", "green", "--as-of", "2020-01-01")
    assert early.code == 2
    assert "no comparison of these deployments was known by" in early.err
    made = compared(run, "blue", "green", "--epsilon", "0.2")
    again = compared(run, "blue", "green", "--as-of", "2999-01-01")
    assert again == made
    ((count,),) = rows_of(engine, 1, "select count(*) from comparison")
    assert count == 1
    ((who, verdict),) = rows_of(engine, 1, "select made_by, verdict from comparison")
    assert (verdict, bool(who)) == (made["verdict"], True)


REFUSED: list[tuple[str, str, tuple[str, ...], str]] = [
    ("blue", "blue", (), "stands on both sides"),
    ("blue", "red", (), "no deployment 'red'; there are: blue (1), green (2), amber (3)"),
    ("blue", "", (), "names no deployment"),
    ("blue", "colour=red", (), "no tag 'colour'"),
    ("blue", "precision=int8", (), "no deployment has precision=int8"),
    ("blue", "green", ("--window", "2020-01-01/2020-01-02"), "no profiled request"),
    ("blue", "green", ("--window", "yesterday"), "is not FROM/TO"),
    ("blue", "green", ("--epsilon", "nan"), "nan is not from 0 up to 1"),
    ("blue", "green", ("--epsilon", "1", "--canary"), "1.0 is not from 0 up to 1"),
    ("blue", "green", ("--leg", "shadow:x"), "no profiled request on leg shadow:x"),
]


def test_what_can_not_be_compared_is_said(run: Run, model: ModelContext) -> None:
    for a, b, more, words in REFUSED:
        ended = run("compare", "credit", "--a", a, "--b", b, *more)
        assert ended.code == 2
        assert words in ended.err
        assert "Traceback" not in ended.err


def test_reports_read_stored_ones_and_make_others(
    run: Run, model: ModelContext, engine: Engine
) -> None:
    compared(run, "blue", "green")
    (stored,) = comparisons(engine, model.project_id, model.model_id)
    made = comparison_now(engine, model.project_id, "credit", (BLUE,), (GREEN,))
    assert made.id is None
    assert (made.verdict, made.window) == (stored.verdict, stored.window)
    shown, again = metric_frame(stored.results[0]), metric_frame(made.results[0])
    assert shown.equals(again)
    assert shown.set_index("metric").loc["accuracy", "verdict"] == "better"
    assert overlap_frame(stored.results[0])["a_shared"].sum() > 900
    assert comparisons(engine, model.project_id, model.model_id, stored.known_at) == (stored,)
