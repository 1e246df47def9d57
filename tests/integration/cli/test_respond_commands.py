"""`inferwatch respond`: responses run by people, outcomes, the kill switch, rehearsals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.base import JobContext
from monitor.jobs.evaluate_rules import evaluate_rules
from monitor.jobs.respond import respond
from monitor.measurement import Direction, Measured, Measurement, Subject
from monitor.store.action_orders import Outside
from monitor.store.bulk import BulkConnections
from monitor.store.engine import Role, transaction
from monitor.windows import Window
from tests.factories import current_context, rows_of
from tests.integration.cli.conftest import Run
from tests.integration.jobs.actions import SECRET, RouterDouble, routing
from tests.unit.alerts.receiver import LocalReceiver, listening

RULES = """\
owners:
  - {{name: risk-ml, people: [ada@example.org], receiver: on-call}}
receivers:
  - name: on-call
    channel: webhook
    url: {people}
    secret_env: HOOK_SECRET
    private_addresses_allowed: true
  - name: robot
    channel: webhook
    url: {robot}
    secret_env: HOOK_SECRET
    private_addresses_allowed: true
responses:
  - name: train-again
    action: retrain
    may_run: [risk-ml]
    automatic: {{receiver: robot, dry_run: false, scope: {{model: credit}}, cool_down: 1h}}
rules:
  - name: drifted
    when: {{check: drift, column: age}}
    above: 0.2
    severity: ticket
    owner: risk-ml
    response: train-again
  - name: spread
    when: {{check: drift, column: income}}
    above: 0.2
    severity: ticket
    owner: risk-ml
    response: investigate
"""


@pytest.fixture
def ready(
    run: Run, contract_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    people: LocalReceiver, robot: RouterDouble, engine: Engine, database_url: str,
) -> Run:  # fmt: skip
    """Rules are in force, and one alert of each fires: 1 of drifted, 2 of spread."""
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    path = tmp_path / "alerts.yaml"
    path.write_text(RULES.format(people=people.url, robot=robot.receiver.url))
    assert run("contract", "apply", contract_file).code == 0
    assert run("alerts", "apply", path, "--by", "ada").code == 0
    for column in ("age", "income"):
        measure(engine, database_url, column)
    return run


@pytest.fixture
def people() -> Iterator[LocalReceiver]:
    with listening() as made:
        yield made


@pytest.fixture
def robot() -> Iterator[RouterDouble]:
    with routing() as made:
        yield made


def measure(engine: Engine, database_url: str, column: str) -> None:
    end = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    bulk = BulkConnections(database_url, Role.WORKER)
    model = current_context(engine, 1)
    context = JobContext(engine, bulk, "default", model, "w", end, "http://pages.test")
    found = Measurement(
        check="drift", method="psi", method_version=1,
        subject=Subject((1,), "live", column=column),
        window=Window(end - timedelta(hours=1), end), outcome=Measured(value=0.5, n=500),
        unit="nats", direction=Direction.HIGHER_IS_WORSE, known_at=end,
    )  # fmt: skip
    with transaction(engine, 1, Role.WORKER) as connection:
        evaluate_rules(connection, context, [found])
    bulk.close()


def test_a_person_runs_a_response_and_reports_what_became_of_it(ready: Run) -> None:
    asked = ready("respond", "run", 1, "--by", "ada@example.org")
    assert (asked.code, asked.out) == (
        0,
        "Action 1 is asked of robot; `inferwatch respond show 1` tells what became of it.\n",
    )
    said = ready("respond", "outcome", 1, "done", "--detail", "model 8", "--by", "robot")
    assert said.out == "Action 1 is done, as robot reported.\n"
    again = ready("respond", "outcome", 1, "failed")
    assert (again.code, again.err) == (
        2,
        "action 1 takes no outcome any more: its outcome is done\n",
    )

    shown = json.loads(ready("respond", "show", 1, "--json").out)
    assert (shown["state"], shown["detail"], shown["outcome_by"]) == ("done", "model 8", "robot")
    assert shown["requested_by"] == "ada@example.org"
    assert "retrain: done, model 8 (action 1)" in ready("respond", "show", 1).out


def test_who_may_not_run_a_response_is_refused_and_recorded(ready: Run) -> None:
    refused = ready("respond", "run", 1, "--by", "eve")

    assert refused.code == 1
    assert "refused (may_not_run): eve may not run train-again; these may: risk-ml" in refused.out
    (row,) = json.loads(ready("respond", "list", "--json").out)
    assert (row["state"], row["reason"], row["requested_by"]) == ("refused", "may_not_run", "eve")


def test_limits_hold_for_people_too(ready: Run) -> None:
    assert ready("respond", "run", 1, "--by", "ada@example.org").code == 0

    second = ready("respond", "run", 1, "--by", "ada@example.org")

    assert second.code == 1
    assert "refused (cool_down)" in second.out


def test_a_response_without_an_action_is_the_persons_own(ready: Run) -> None:
    taken = ready("respond", "run", 2, "--by", "ada")

    assert taken.out == (
        "Action 1: investigate is yours to carry out; then run"
        " `inferwatch respond outcome 1 done`.\n"
    )
    assert ready("respond", "outcome", 1, "done").code == 0
    tried = ready("respond", "run", 2, "--dry-run")
    assert (tried.code, "nothing to try" in tried.out) == (1, True)


def test_stopping_withdraws_what_waits_and_holds_until_it_is_ended(
    ready: Run, engine: Engine
) -> None:
    assert ready("respond", "status").out.startswith("Actions are not stopped.")
    ready("respond", "run", 1, "--by", "ada@example.org")

    stopped = ready("respond", "stop", "--reason", "wrong router", "--by", "ada")

    assert stopped.out.splitlines()[1:] == ["Action 1 is withdrawn."]
    state = ready("respond", "status")
    assert state.code == 1
    assert state.out.startswith("Actions are stopped (by ada, ")
    assert "wrong router" in state.out
    assert "refused (stopped)" in ready("respond", "run", 1, "--by", "ada@example.org").out
    assert respond(engine, 1, datetime.now(UTC), Outside("", "")) == 0

    assert ready("respond", "resume", "--reason", "mended", "--by", "ada").code == 0
    assert ready("respond", "status").code == 0
    assert respond(engine, 1, datetime.now(UTC), Outside("", "")) == 1


def test_stopping_needs_a_reason(ready: Run) -> None:
    told = ready("respond", "stop", "--reason", " ")

    assert told.code == 2
    assert "say why" in told.err


def test_there_is_nothing_to_return_from_a_failed_action(ready: Run) -> None:
    ready("respond", "run", 1, "--by", "ada@example.org")
    ready("respond", "outcome", 1, "failed")

    told = ready("respond", "return", 1)

    assert (told.code, told.err) == (
        2,
        "action 1 can't be returned from: it is failed, not done\n",
    )


def test_the_state_before_an_action_can_be_asked_for_at_any_time(ready: Run) -> None:
    ready("respond", "run", 1, "--by", "ada@example.org")
    ready("respond", "outcome", 1, "done")

    assert ready("respond", "return", 1, "--by", "ada").out.startswith("Action 2 is asked of robot")
    twice = ready("respond", "return", 1)
    assert "action 2 does that already" in twice.err
    ready("respond", "outcome", 2, "done")
    states = [each["state"] for each in json.loads(ready("respond", "list", "--json").out)]

    assert states == ["done", "returned"]


def test_a_rehearsal_from_the_command_line(
    ready: Run, engine: Engine, people: LocalReceiver, robot: RouterDouble
) -> None:
    assert "never rehearsed" in ready("respond", "rehearsals").out

    done = ready("respond", "rehearse", "drifted", "--acknowledged-by", "ada", "--here")

    assert done.code == 0, done.out
    assert done.out.startswith("Rehearsal 1 of rule drifted passed.\nok   reading")
    assert [each["drill"] for each in robot.orders] == [True]
    standings = json.loads(ready("respond", "rehearsals", "--json").out)
    assert {each["rule"]: each["standing"] for each in standings} == {
        "drifted": "passed",
        "spread": "never",
        "no-outcome-of-train-again": "never",
    }
    assert len(rows_of(engine, 1, "select id from alert")) == 2


def test_a_rehearsal_without_a_worker_says_what_did_not_happen(ready: Run) -> None:
    done = ready("respond", "rehearse", "spread", "--patience", "1s", "--acknowledged-by", "ada")

    assert done.code == 1
    assert "BAD  message" in done.out
    assert "not taken by on-call within 1 s" in done.out
    drills = json.loads(ready("respond", "rehearsals", "--rule", "spread", "--json").out)
    assert [each["passed"] for each in drills] == [False]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("outcome", 1, "well"), "outcome must be one of done, failed, refused"),
        (("show", 9), "no action 9"),
        (("run", 9), "no alert 9"),
        (("rehearse", "x"), "no rule 'x' is in force; there are: drifted, spread"),
        (("rehearse", "drifted", "--patience", "2d"), "must lie within 1s and 1h"),
    ],
)
def test_mistakes_are_told_with_their_remedy(
    ready: Run, arguments: tuple[object, ...], told: str
) -> None:
    ended = ready("respond", *arguments)

    assert ended.code == 2
    assert told in ended.err


def test_lists_of_alerts_tell_which_rules_were_never_rehearsed(ready: Run, tmp_path: Path) -> None:
    applied = ready("alerts", "apply", tmp_path / "alerts.yaml")
    assert "3 rules are not rehearsed as they are now" in applied.out
    listed = ready("alerts", "list")
    assert "Rule drifted: never rehearsed; `inferwatch respond rehearse drifted`" in listed.out

    ready("respond", "rehearse", "drifted", "--acknowledged-by", "ada", "--here")

    assert "Rule drifted" not in ready("alerts", "list").out
    assert "rehearsed on 20" in ready("alerts", "show", 1).out
    rows = json.loads(ready("alerts", "list", "--json").out)
    assert {row["rule"]: row["rehearsal"][:9] for row in rows} == {
        "drifted": "rehearsed",
        "spread": "never reh",
    }
