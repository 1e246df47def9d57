"""Commands about incidents and the promise, on what the real job made of real counts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.notify import notify
from monitor.jobs.run import Runner
from monitor.store.alert_book import apply_rules
from monitor.store.engine import Role, transaction
from tests.factories import TestClock, apply, current_context, deployment, make_contract, rows_of
from tests.integration.cli.conftest import Run
from tests.integration.cli.factories import reference_table
from tests.integration.cli.test_alert_commands import measure
from tests.integration.jobs.test_watch_hours import DAY, FIRST, RULES, WEEK, Traffic, watched

DRIFT_RULE = """
  - name: drifted
    when: {check: drift, method: psi}
    above: 0.2
    severity: ticket
    owner: risk-ml
    response: investigate
"""
WEEKS = 6
VERDICTS = ("fault", "adopt", "false-alarm")


@pytest.fixture
def traffic(engine: Engine, project_id: int) -> Traffic:
    """Six healthy weeks of the credit model, judged by nobody so far."""
    model = apply(engine, project_id, make_contract())
    deployment(engine, model, runtime_version="1")
    made = Traffic(engine, current_context(engine, project_id))
    made.store(FIRST, WEEKS * 168)
    return made


@pytest.fixture
def incident(engine: Engine, traffic: Traffic, runner: Runner, clock: TestClock) -> int:
    """The number of an incident that is open, told by alert 1: ages moved after a day."""
    with transaction(engine, 1, Role.OWNER) as connection:
        apply_rules(connection, 1, RULES + DRIFT_RULE, name="rules", by="tests")
    start = FIRST + WEEKS * WEEK
    traffic.due(traffic.store(start, 36, {1: lambda at: 0.35 if at >= start + DAY else 0.0}))
    watched(runner, clock, start + timedelta(hours=36))
    ((number,),) = rows_of(engine, 1, "select id from incident")
    return int(number)


def as_json(run: Run, *arguments: object) -> Any:
    ended = run(*arguments, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def alert_state(engine: Engine, number: int = 1) -> tuple[str, str | None]:
    query = "select state, resolved_reason from alert where id = :number"
    ((state, reason),) = rows_of(engine, 1, query, number=number)
    return state, reason


def verdict(engine: Engine) -> str | None:
    ((found,),) = rows_of(engine, 1, "select verdict from incident")
    return found


def test_an_incident_is_listed_and_shown(run: Run, incident: int) -> None:
    (listed,) = as_json(run, "incidents", "list", "credit")
    assert (listed["number"], listed["state"], listed["verdict"]) == (incident, "open", None)
    assert (listed["leading"], listed["alerts"]) == ("age", [1])
    shown = as_json(run, "incidents", "show", incident)
    assert shown == listed
    (column,) = [one for one in shown["columns"] if one["name"] == "age"]
    strongest = column["strongest"]
    assert strongest["p_value"] < strongest["level"] < 0.01
    assert strongest["hours"] in (1, 6, 24)
    assert column["first"] <= column["last"] < column["until"]
    assert any("expected" in text for text in shown["context"])
    assert {"label", "expected", "seen"} == set(shown["moved"][0]["cells"][0])

    table = run("incidents", "list", "credit").out
    assert "none yet" in table
    text = run("incidents", "show", incident).out
    for part in ("Nobody has judged it yet", "Told by alert 1.", "What else was seen", "age"):
        assert part in text
    assert "caused" not in text


@pytest.mark.parametrize("word", VERDICTS)
def test_what_a_verdict_does(run: Run, engine: Engine, incident: int, word: str) -> None:
    ended = run("incidents", "judge", incident, "--as", word, "--by", "ada", "--comment", "seen")
    assert ended.code == 0, ended.err
    assert f"Incident {incident} is judged as {word} by ada." in ended.out
    assert verdict(engine) == word.replace("-", "_")
    told_false = word == "false-alarm"
    assert alert_state(engine) == (
        ("resolved", "false_alarm") if told_false else ("firing", None)
    )  # fmt: skip
    assert ("Alert 1 ended as a false alarm." in ended.out) == told_false
    (listed,) = as_json(run, "incidents", "list", "credit", "--all")
    assert (listed["verdict_by"], listed["verdict_comment"]) == ("ada", "seen")
    governor = as_json(run, "promise", "credit")["governor"]
    assert (governor < 0.7) == told_false
    assert "Judged as" in run("incidents", "show", incident).out


def test_the_list_leaves_out_what_is_over_and_judged(
    run: Run, engine: Engine, incident: int
) -> None:
    run("incidents", "judge", incident, "--as", "fault")
    assert "open" in run("incidents", "list", "credit").out
    with transaction(engine, 1, Role.OWNER) as connection:
        connection.exec_driver_sql("update incident set state = 'closed', closed_at = now()")
    assert "--all shows all" in run("incidents", "list", "credit").out
    assert as_json(run, "incidents", "list", "credit") == []
    assert len(as_json(run, "incidents", "list", "credit", "--all")) == 1


def test_a_false_alarm_told_on_the_alert(run: Run, engine: Engine, incident: int) -> None:
    ended = run("alerts", "false-alarm", 1, "--by", "ada", "--comment", "a holiday")
    assert ended.code == 0, ended.err
    assert f"Incident {incident} is judged as a false alarm by ada." in ended.out
    assert "Alert 1 ended as a false alarm." in ended.out
    assert (alert_state(engine), verdict(engine)) == (("resolved", "false_alarm"), "false_alarm")
    newest = "select to_state, reason, by, comment from alert_transition order by id desc limit 1"
    ((state, reason, by, comment),) = rows_of(engine, 1, newest)
    assert (state, reason, by, comment) == ("resolved", "false_alarm", "ada", "a holiday")
    assert notify(engine, 1, datetime.now(UTC), "http://pages.test") == 1
    events = [row[0] for row in rows_of(engine, 1, "select event_type from delivery order by id")]
    assert events == ["finding.opened", "finding.resolved"]

    again = run("alerts", "false-alarm", 1, "--by", "bob")
    assert again.code == 0, again.err
    assert "Alert 1 was over already." in again.out
    assert len(rows_of(engine, 1, newest.replace("limit 1", ""))) == 2


def test_a_fault_that_was_none_can_be_told_after_the_alert_is_over(
    run: Run, engine: Engine, incident: int
) -> None:
    assert run("alerts", "resolve", 1).code == 0
    run("incidents", "judge", incident, "--as", "fault")
    assert run("alerts", "false-alarm", 1).code == 0
    assert (alert_state(engine)[1], verdict(engine)) == ("closed_by_hand", "false_alarm")


def test_an_alert_of_no_incident_ends_as_a_false_alarm_too(
    run: Run, engine: Engine, database_url: str, incident: int
) -> None:
    measure(engine, database_url, "age", 0.5)
    told = run("alerts", "false-alarm", 2, "--comment", "a test of ours")
    assert (told.code, told.out) == (0, "Alert 2 ended as a false alarm.\n")
    assert alert_state(engine, 2) == ("resolved", "false_alarm")
    assert verdict(engine) is None
    again = run("alerts", "false-alarm", 2)
    assert again.code != 0
    assert "only a pending, firing or recovering alert can be closed" in again.err


def test_what_can_not_be_recorded_changes_nothing(run: Run, engine: Engine, incident: int) -> None:
    for ended in (
        run("alerts", "false-alarm", 1, "--comment", "c" * 2001),
        run("incidents", "judge", incident, "--as", "false-alarm", "--by", "a\nb"),
    ):
        assert ended.code == 2
        assert "write" in ended.err
    assert (alert_state(engine), verdict(engine)) == (("firing", None), None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("incidents", "show", 99), "no incident 99"),
        (("incidents", "judge", 99, "--as", "fault"), "no incident 99"),
        (("incidents", "judge", 1), "--as"),
        (("incidents", "judge", 1, "--as", "false_alarm"), "false-alarm"),
        (("incidents", "show", 0), "number"),
        (("incidents", "show", 10**30), "number"),
        (("incidents", "show", "x"), "number"),
        (("incidents", "list", "debit"), "debit"),
        (("incidents", "list"), "MODEL"),
        (("promise", "debit"), "debit"),
        (("promise", "credit", "--project", "none"), "none"),
        (("backtest", "debit"), "debit"),
        (("backtest", "credit", "--weeks", 4), "--weeks"),
        (("backtest", "credit", "--weeks", "many"), "--weeks"),
        (("alerts", "false-alarm", 99), "no alert 99"),
    ],
)
def test_bad_input_ends_with_2_and_says_what(
    run: Run, engine: Engine, project_id: int, arguments: tuple[object, ...], said: str
) -> None:
    apply(engine, project_id, make_contract())
    ended = run(*arguments)
    assert ended.code == 2
    assert said.lower() in ended.err.lower()
    assert "Traceback" not in ended.err


def test_before_any_history_the_promise_waits(
    run: Run, engine: Engine, project_id: int, tmp_path: Path
) -> None:
    apply(engine, project_id, make_contract())
    waiting = as_json(run, "promise", "credit")
    assert waiting["state"] == "waiting_for_history"
    assert (waiting["columns"], waiting["backtest"]) == ([], None)
    text = run("promise", "credit").out
    assert "credit: promise waits for history." in text
    assert "0 of 4 healthy weeks" in text
    assert "No backtest yet" not in text
    assert "no profiled week yet" in run("backtest", "credit").err


def test_a_reference_file_alone_promises_nothing_and_says_why(
    run: Run, contract_file: Path, reference_file: Path
) -> None:
    assert run("contract", "apply", contract_file, "--baseline", reference_file).code == 0
    found = as_json(run, "promise", "credit")
    assert found["state"] == "static_reference"
    assert "without times" in found["why"][0]
    assert reference_table().num_rows > 0


def test_the_promise_of_a_judged_model(run: Run, incident: int) -> None:
    found = as_json(run, "promise", "credit")
    assert found["state"] == "not_yet_verified"
    assert found["sentence"].startswith("At most 1 false drift incident a month in expectation")
    history = found["history"]
    assert (history["incidents"], history["unjudged"], history["told_false"]) == (1, 1, 0)
    assert history["days"] == 1.5  # all judged hours: nobody said that something was wrong
    assert {one["name"] for one in found["columns"]} == {"age", "city", "score"}
    age = next(one for one in found["columns"] if one["name"] == "age")
    assert age["column_class"] == "row"
    assert age["weeks"] == WEEKS
    assert set(age["shifts"]) <= {"1h", "6h", "day", "168h"}
    text = run("promise", "credit").out
    for part in ("credit: promise available, not yet verified.", "clean days so far", "Governor",
                 "visible 24 h", "No backtest yet"):  # fmt: skip
        assert part in text


def test_a_backtest_is_told_kept_and_shown_with_the_promise(run: Run, incident: int) -> None:
    found = as_json(run, "backtest", "credit")
    assert len(found["weeks"]) == WEEKS
    assert found["days"] == WEEKS * 7
    assert found["incidents"] == []
    assert found["evidence"] == "open"
    # 3 columns, hourly windows of at least 2 views: more than 1,000 p-values a week.
    assert found["p_values"] > WEEKS * 1_000
    assert found["below"]["0.01"] <= 0.03 * found["p_values"]
    assert found["upper"] == pytest.approx(2.9957 / (WEEKS * 7 / 30), rel=1e-3)
    assert as_json(run, "promise", "credit")["backtest"] == found
    text = run("promise", "credit").out
    assert f"Backtest of {WEEKS} healthy weeks (42.0 days)" in text
    assert "Not yet verified: 42 clean days so far" in text


def test_a_backtest_leaves_out_weeks_that_nobody_has_cleared(
    run: Run, engine: Engine, traffic: Traffic, runner: Runner, clock: TestClock
) -> None:
    start = FIRST + WEEKS * WEEK
    moved = {1: lambda at: 0.35 if start + DAY <= at < start + 2 * DAY else 0.0}
    traffic.due(traffic.store(start, 169, moved))
    watched(runner, clock, start + WEEK)
    found = as_json(run, "backtest", "credit")
    assert (len(found["weeks"]), found["left_out"]) == (WEEKS, 1)
    assert "1 week was left out" in run("promise", "credit").out
    ((number,),) = rows_of(engine, 1, "select id from incident")
    run("incidents", "judge", number, "--as", "false-alarm")
    cleared = as_json(run, "backtest", "credit")
    assert (len(cleared["weeks"]), cleared["left_out"]) == (WEEKS + 1, 0)
    (opened,) = cleared["incidents"]
    assert "age" in opened["columns"]
    assert datetime.fromisoformat(opened["opened"]).astimezone(UTC) > start + DAY


def test_a_backtest_needs_five_healthy_weeks(run: Run, engine: Engine, project_id: int) -> None:
    model = apply(engine, project_id, make_contract())
    deployment(engine, model, runtime_version="1")
    Traffic(engine, current_context(engine, project_id)).store(FIRST, 4 * 168 + 1)
    ended = run("backtest", "credit")
    assert ended.code == 2
    assert "has 4 healthy whole weeks; a backtest needs 5" in ended.err


def test_a_backtest_without_a_judged_hour_has_nothing_to_stand_beside(
    run: Run, traffic: Traffic
) -> None:
    ended = run("backtest", "credit")
    assert ended.code == 2
    assert "no hour of credit was judged yet" in ended.err
