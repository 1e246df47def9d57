"""Golden sets from the command line: applied, replayed against real servers, judged, compared."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.run import Runner
from tests.factories import TestClock, apply, make_contract, rows_of
from tests.integration.cli.conftest import Run
from tests.integration.cli.model_server import (
    model_server,
    score_of,
    server_that_goes_away,
)

COLUMNS = [
    {"name": "age", "type": "number"},
    {"name": "city", "type": "category", "nullable": True},
    {"name": "score", "type": "number", "role": "score", "range": [0, 1]},
    {"name": "decision", "type": "category", "role": "prediction", "categories": ["no", "yes"]},
    {"name": "total_ms", "type": "number", "role": "timing", "unit": "ms", "nullable": True},
]
FINE = 0.001


def golden_file(
    folder: Path, *, ages: tuple[float, ...] = (20, 30, 40, 60, 70), **more: Any
) -> Path:
    """A set whose expected answers are the double-precision ones."""
    cases = [
        {
            "id": f"age-{age}",
            "kind": "high_impact" if age >= 70 else "boundary" if age <= 20 else "representative",
            "inputs": {"age": age, "city": "Bonn"},
            "expect": {
                "score": round(score_of(age), 6),
                "decision": "yes" if score_of(age) >= 0.5 else "no",
            },
        }
        for age in ages
    ]
    cases.append(
        {"id": "words", "kind": "malformed", "inputs": {"age": "old"}, "expect": "refused"}
    )
    body = {
        "golden": "core", "model": "credit", "cases": cases,
        "tolerances": {"score": {"absolute": FINE}}, **more,
    }  # fmt: skip
    path = folder / "golden.json"
    path.write_text(json.dumps(body))
    return path


@pytest.fixture
def model(engine: Engine, project_id: int) -> Any:
    """The credit model with a score and a decision."""
    return apply(engine, project_id, make_contract(columns=COLUMNS, label=None))


@pytest.fixture
def core(run: Run, model: Any, tmp_path: Path) -> Iterator[None]:
    """The set `core`, version 1."""
    assert run("golden", "apply", golden_file(tmp_path), "--by", "Ada").code == 0
    return


def replay(run: Run, url: str, name: str, precision: str = "float64", *more: str) -> Any:
    return run(
        "golden", "replay", "core", "--url", f"{url}/predict", "--run", name,
        "--tag", f"precision={precision}", "--tag", "model_version=1", *more,
    )  # fmt: skip


def judged(run: Run, name: str, *more: str) -> tuple[int, list[dict[str, Any]]]:
    ended = run("golden", "judge", "core", "--run", name, "--json", *more)
    assert ended.code in (0, 1), ended.err
    return ended.code, json.loads(ended.out)


def test_versions(run: Run, model: Any, tmp_path: Path):
    first = run("golden", "apply", golden_file(tmp_path), "--by", "Ada")
    assert (first.code, first.out) == (0, "core@1 of credit is stored: 6 cases.\n")
    again = run("golden", "apply", golden_file(tmp_path), "--by", "Bob")
    assert "is there already; nothing changed" in again.out
    other = run("golden", "apply", golden_file(tmp_path, ages=(25,)), "--by", "Bob")
    assert other.out.startswith("core@2")
    back = run("golden", "apply", golden_file(tmp_path))
    assert back.out.startswith("core@3")
    (listed,) = json.loads(run("golden", "list", "--json").out)
    assert (listed["set"], listed["version"], listed["cases"]) == ("core", 3, 6)
    shown = json.loads(run("golden", "show", "core@2", "--json").out)
    assert (shown["applied_by"], len(shown["cases"])) == ("Bob", 2)
    text = run("golden", "show", "core").out
    for words in ("every boundary and high-impact case", "Tolerance of score: 0.001", "ends as"):
        assert words in text
    wrong = run("golden", "show", "core@9")
    assert wrong.code == 2
    assert "core@3" in wrong.err


def test_a_file_with_mistakes_stores_nothing(run: Run, model: Any, tmp_path: Path):
    path = golden_file(tmp_path, required_share=3)
    ended = run("golden", "apply", path)
    assert ended.code == 2
    assert "required_share: must be above 0 and at most 1" in ended.err
    assert "No golden set yet" in run("golden", "list").out


def test_a_sound_deployment_passes(run: Run, core: None, engine: Engine, project_id: int):
    with model_server() as url:
        sent = replay(run, url, "first", "float64", "--repeat", "2")
    assert sent.code == 0, sent.err
    assert "12 requests; 10 answered, 2 refused" in sent.out
    code, (found,) = judged(run, "first")
    assert (code, found["verdict"], found["passed_cases"], found["cases"]) == (0, "passed", 6, 6)
    assert found["kinds"]["malformed"] == [1, 1]
    assert found["differences"]["score"]["largest"] < 1e-6
    assert found["versus"] is None
    assert found["latency_median"] > 0
    stored = rows_of(
        engine, project_id,
        "select request_id, leg, outcome, outcome_reason from request_log"
        " where request_id like '%words%' order by request_id",
    )  # fmt: skip
    assert [row.request_id for row in stored] == ["core@1/words#1", "core@1/words#2"]
    assert {(row.leg, row.outcome) for row in stored} == {("replay:first", 3)}
    assert "age must be a number" in stored[0].outcome_reason


def test_half_precision_is_in_tolerance_and_named(run: Run, core: None):
    with model_server() as url:
        replay(run, url, "double")
    with model_server("float16") as url:
        replay(run, url, "half", "float16")
    judged(run, "double")
    code, (found,) = judged(run, "half")
    assert code == 0
    versus = found["versus"]
    assert versus["differs"] == {"precision": ["precision"]}
    assert not versus["confounded"]
    assert versus["passed_by_both"] == 6
    assert versus["p_value"] == 1.0
    (score,) = (each for each in versus["columns"] if each["column"] == "score")
    assert score["numbers"]["rounding"] == "float16"
    assert score["numbers"]["largest_steps"]["float16"] <= 0.5


def test_a_planted_precision_fault_fails_and_names_whom_to_roll_back_to(
    run: Run, core: None, engine: Engine, project_id: int
):
    with model_server() as url:
        replay(run, url, "double")
    judged(run, "double")
    with model_server("float64", "coarse") as url:
        replay(run, url, "coarse", "int8")
    code, (found,) = judged(run, "coarse")
    assert (code, found["verdict"]) == (1, "failed")
    assert found["roll_back_to"] == 1
    assert found["roll_back"] == (
        "Roll back to deployment 1 (model_version 1, precision float64), the newest that passed"
        " core@1."
    )
    assert "every boundary and high-impact case must pass" in found["why"]
    assert {case["id"] for case in found["failed"]} >= {"age-20", "age-70"}
    assert set(found["versus"]["regressions"]) == {case["id"] for case in found["failed"]}
    told = run("golden", "judge", "core", "--run", "coarse").out
    for words in ("FAILED", "off by", "allowed 0.001", "Roll back to deployment 1", "McNemar p ="):
        assert words in told
    measured = {
        (row.method, row.column_name): row
        for row in rows_of(
            engine, project_id,
            "select method, column_name, value, leg, detail from measurement"
            " where check_name = 'golden' and leg = 'replay:coarse' and state = 'measured'",
        )
    }  # fmt: skip
    assert set(measured) == {
        ("pass_rate", "core"), ("regressions", "core"), ("max_difference", "core/score"),
    }  # fmt: skip
    assert measured["pass_rate", "core"].value == pytest.approx(found["passed_cases"] / 6)
    assert measured["regressions", "core"].value == len(found["failed"])
    assert measured["max_difference", "core/score"].value > FINE
    assert "Roll back to deployment 1" in measured["pass_rate", "core"].detail["roll_back"]


def test_verdicts_are_listed_as_known_on_a_day(run: Run, core: None):
    assert run("golden", "runs", "credit").out == "No verdict yet.\n"
    with model_server("float64", "coarse") as url:
        replay(run, url, "coarse")
    judged(run, "coarse")
    (one,) = json.loads(run("golden", "runs", "credit", "--json").out)
    assert (one["verdict"], one["subject"], one["deployment_id"]) == ("failed", "core@1", 1)
    assert "none to roll back to" in run("golden", "runs", "credit").out
    assert json.loads(run("golden", "runs", "credit", "--json", "--as-of", "2020-01-01").out) == []


def test_answers_logged_by_somebody_else_are_judged_just_the_same(
    run: Run, core: None, tmp_path: Path
):
    rows = [
        {
            "request_id": f"core@1/age-{age}#1", "event_time": "2026-11-01T00:00:00Z", "age": age,
            "score": score_of(age), "decision": "yes" if score_of(age) >= 0.5 else "no",
        }
        for age in (20, 30, 40, 60, 70)
    ]  # fmt: skip
    rows.append(
        {"request_id": "core@1/words#1", "event_time": "2026-11-01T00:00:00Z", "outcome": "refused"}
    )
    path = tmp_path / "own.ndjson"
    path.write_text("\n".join(map(json.dumps, rows)))
    sent = run("import", path, "--model", "credit", "--leg", "replay:own", "--tag", "hardware=fpga")
    assert sent.code == 0, sent.out
    code, (found,) = judged(run, "own")
    assert (code, found["passed_cases"], found["tags"]) == (0, 6, {"hardware": "fpga"})


FAULTS = {
    "html": "failed (malformed answer: not readable as JSON",
    "nan": "malformed answer: score is not a number",
    "text": "malformed answer: score is wrong type",
    "list": "malformed answer: is not a JSON object",
    "other": "malformed answer: has no output column of the contract; it holds result",
    "twice": "malformed answer: not readable as JSON",
    "empty": "malformed answer: not readable as JSON",
    "partly": "malformed answer: lacks decision",
    "null": "abstained (every output is null)",
    "abstains": "abstained (not sure)",
    "error": "HTTP 500: Internal Server Error",
    "drip": "timed out (no whole answer within 0.3 s)",
    "huge": "malformed answer: longer than 8 MB",
    "slow": "timed out (no whole answer within 0.3 s)",
    "outside": "score has no value that keeps the contract",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_rubbish_is_stored_as_what_it_is(run: Run, core: None, fault: str):
    patience = "0.3" if FAULTS[fault].startswith("timed out") else "30"
    with model_server("float64", fault) as url:
        sent = replay(run, url, fault, "float64", "--timeout", patience)
        assert sent.code == 0, sent.err
    code, (found,) = judged(run, fault)
    assert (code, found["verdict"]) == (1, "failed")
    reasons = next(case["reasons"] for case in found["failed"] if case["id"] == "age-20")
    assert FAULTS[fault] in " ".join(reasons)
    assert (
        found["roll_back"]
        == "No other deployment has passed core@1: there is none to roll back to."
    )


def test_nobody_answers(run: Run, core: None, engine: Engine, project_id: int):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    ended = replay(run, f"http://127.0.0.1:{port}", "nobody")
    assert ended.code == 2
    assert "the model server can't be reached" in ended.err
    assert rows_of(engine, project_id, "select 1 from request_log") == []
    unjudged = run("golden", "judge", "core", "--run", "nobody")
    assert unjudged.code == 2
    assert "no answer to core@1 on leg replay:nobody; there is: nothing" in unjudged.err


def test_a_server_that_goes_away_leaves_failed_requests(run: Run, core: None):
    with server_that_goes_away(1) as url:
        sent = replay(run, url, "away")
    assert (sent.code, "1 answered, 5 failed" in sent.out) == (0, True)
    code, (found,) = judged(run, "away")
    assert (code, found["passed_cases"]) == (1, 1)
    assert "it ended as failed (no connection:" in found["failed"][0]["reasons"][0]


def test_a_run_is_one_replay(run: Run, core: None):
    with model_server() as url:
        assert replay(run, url, "once").code == 0
        again = replay(run, url, "once")
        other = replay(run, url, "once", "float32")
    assert again.code == 2
    assert "holds answers of deployment 1 to core@1 already" in again.err
    assert other.code == 0
    _, both = judged(run, "once")
    assert [one["deployment"] for one in both] == [1, 2]


def test_the_open_inference_protocol(run: Run, core: None):
    with model_server() as url:
        sent = run(
            "golden", "replay", "core", "--url", url, "--format", "v2", "--run", "v2",
            "--tag", "runtime=triton", "--output", "probability=score",
        )  # fmt: skip
    assert sent.code == 0, sent.err
    code, (found,) = judged(run, "v2")
    assert (code, found["passed_cases"]) == (0, 6)


def test_two_groups_of_tags_are_confounded(run: Run, core: None):
    with model_server() as url:
        replay(run, url, "old")
        judged(run, "old")
        replay(run, url, "new", "float32", "--tag", "runtime_version=2", "--deployment", "canary")
    _, (found,) = judged(run, "new", "--reference", "old")
    assert found["versus"]["confounded"]
    assert "runtime (runtime_version)" in found["versus"]["sentence"]
    _, (also,) = judged(run, "new", "--reference", "1")
    assert also["versus"]["reference_id"] == 1
    wrong = run("golden", "judge", "core", "--run", "new", "--reference", "7")
    assert wrong.code == 2
    assert "deployments that passed: 2, 1" in wrong.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--url", "localhost", "--run", "a b", "--format", "xml"), "3 problems"),
        (("--url", "http://exa mple/", "--run", "a"), "is no address"),
        (("--url", "http://host:99999/", "--run", "a"), "is no address"),
        (("--url", "http://127.0.0.1:1", "--run", "a"), "say what answers"),
        (("--url", "http://127.0.0.1:1", "--run", "a", "--deployment", "blue"), "no deployment"),
        (("--url", "http://127.0.0.1:1", "--run", "a", "--tag", "colour=x"), "unknown tag"),
        (("--url", "http://127.0.0.1:1", "--run", "a", "--tag", "x"), "is not NAME=TEXT"),
        (("--url", "http://127.0.0.1:1", "--run", "a", "--latency", "score"), "no timing column"),
        (("--url", "http://127.0.0.1:1", "--run", "a", "--header", "x"), "is not 'NAME: VALUE'"),
    ],
)
def test_options_that_can_not_be(run: Run, core: None, options: tuple[str, ...], told: str):
    ended = run("golden", "replay", "core", *options)
    assert ended.code == 2
    assert told in ended.err


def test_a_replay_is_judged_by_its_set_alone(
    run: Run, core: None, engine: Engine, project_id: int, runner: Runner, clock: TestClock
):
    """No check of traffic looks at a replay, and the jobs of its hours do not fail."""
    with model_server() as url:
        replay(run, url, "night", "float64", "--repeat", "30")
    judged(run, "night")
    clock.now = datetime.now(UTC) + timedelta(days=40)
    runner.catch_up()
    failed = rows_of(engine, project_id, "select job, error from job_window where failures > 0")
    assert failed == []
    checks = rows_of(
        engine, project_id,
        "select distinct check_name from measurement where leg like 'replay:%'",
    )  # fmt: skip
    assert [row.check_name for row in checks] == ["golden"]
    assert rows_of(engine, project_id, "select 1 from baseline") == []
    live = "select 1 from measurement where leg = 'live' and state = 'measured'"
    assert rows_of(engine, project_id, live) == []


RULES = """
owners: [{name: risk, people: [risk@example.org], receiver: desk}]
receivers:
  - {name: desk, channel: webhook, url_env: DESK_URL, secret_env: DESK_SECRET}
rules:
  - name: golden-set-failed
    when: {check: golden, method: pass_rate, leg: replay, scale: run}
    below: 1
    severity: page
    owner: risk
    response: roll_back
    runbook: https://runbooks.example.org/golden
    precondition: The deployment to roll back to has passed the same version of the set.
    limit: Only to the deployment that the message names.
    impact: Decisions differ from what was agreed.
    about: quality
    summary: "{column} passed {value:.2f} on deployment {deployment_name}"
"""


def test_a_rule_alerts_on_a_failed_set_and_the_next_passed_run_ends_it(
    run: Run, core: None, tmp_path: Path, engine: Engine, project_id: int
):
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES)
    assert run("alerts", "apply", rules).code == 0
    states = []
    for name, fault in (("one", ""), ("two", "coarse"), ("three", "")):
        with model_server("float64", fault) as url:
            replay(run, url, name)
        judged(run, name)
        rows = rows_of(engine, project_id, "select state, body -> 'labels' as about from alert")
        states.append(
            [(r.state, dict(r.about)["deployment"], dict(r.about)["column"]) for r in rows]
        )
    assert states == [[], [("firing", "1", "core")], [("resolved", "1", "core")]]
