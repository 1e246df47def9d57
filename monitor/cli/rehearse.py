"""`inferwatch respond rehearse` and `rehearsals`: drills of the whole chain of a rule."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import (
    AsJson,
    By,
    KnownProject,
    find_project,
    login,
    open_database,
    plain,
    print_json,
    print_table,
    settings_with_database,
)
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from monitor.store.rehearsals import StoredRehearsal

FAILED = 1
PAUSE_SECONDS = 0.5
LONGEST_PATIENCE = timedelta(hours=1)


def rehearse(
    rule: Annotated[str, typer.Argument(help="The rule's name.", show_default=False)],
    acknowledged_by: Annotated[
        str | None,
        typer.Option("--acknowledged-by", help="Who got the message; else you are asked."),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="The model of the drill.")] = None,
    deployment: Annotated[
        str | None, typer.Option("--deployment", help="The deployment's number.")
    ] = None,
    patience: Annotated[
        str, typer.Option("--patience", help="How long to wait for each answer.")
    ] = "1m",
    here: Annotated[
        bool, typer.Option("--here", help="Send from this process, not from the worker.")
    ] = False,
    by: By = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Run the whole chain of a rule as a drill: reading, alert, message, action, outcome.

    Messages go to the real receivers, marked as a drill; the action is a dry run. Without --here
    the worker must be running. Exit codes: 0 the rehearsal passed, 1 it did not.
    """
    from monitor.jobs.rehearse import Drill
    from monitor.jobs.rehearse import rehearse as run_drill
    from monitor.store.action_orders import Outside

    settings = settings_with_database()
    given = {"model": model, "deployment": deployment}
    with open_database() as engine:
        project_id = find_project(engine, project)
        drill = Drill(
            rule=rule,
            by=login(by),
            labels={name: value for name, value in given.items() if value},
            who_took_it_on=_asking(acknowledged_by),
            wait=_waiting(engine, project_id, here=here),
            clock=lambda: datetime.now(UTC),
            patience=_patience(patience),
        )
        outside = Outside(settings.public_url, settings.api_url)
        done = run_drill(engine, project_id, drill, outside)
    if as_json:
        print_json(rehearsal_facts(done))
    else:
        word = "passed" if done.passed else "did not pass"
        typer.echo(f"Rehearsal {done.number} of rule {plain(done.rule)} {word}.")
        for step in done.steps:
            sign = "ok " if step.passed else "BAD"
            typer.echo(f"{sign}  {step.step.value:13} {plain(step.text)}")
    if not done.passed:
        raise typer.Exit(FAILED)


def rehearsals(
    rule: Annotated[str | None, typer.Option("--rule", help="All drills of one rule.")] = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Say of every rule in force whether it was rehearsed as it is now."""
    from monitor.reports.responses import rehearsals_of, rule_rehearsals_now
    from monitor.store.rehearsals import rehearsal_words

    with open_database() as engine:
        project_id = find_project(engine, project)
        if rule is not None:
            drills = rehearsals_of(engine, project_id, rule)
            _print_drills(drills, as_json)
            return
        found = rule_rehearsals_now(engine, project_id)
    facts = [
        {
            "rule": each.rule,
            "standing": each.standing.value,
            "what": rehearsal_words(each),
            "rehearsal": each.newest.number if each.newest else None,
            "by": each.newest.by if each.newest else None,
            "at": each.newest.at if each.newest else None,
        }
        for each in found
    ]
    if as_json:
        print_json(facts)
    elif not facts:
        typer.echo("No rules are in force.")
    else:
        names = ("rule", "what", "rehearsal", "by")
        print_table(names, [[row[name] for name in names] for row in facts])


def rehearsal_facts(done: StoredRehearsal) -> dict[str, Any]:
    """One rehearsal for JSON."""
    steps = [
        {"step": each.step.value, "passed": each.passed, "text": each.text, "at": each.at}
        for each in done.steps
    ]
    return {
        "number": done.number,
        "rule": done.rule,
        "rules_version": done.config_version,
        "by": done.by,
        "at": done.at,
        "passed": done.passed,
        "steps": steps,
    }


def _print_drills(drills: Sequence[StoredRehearsal], as_json: bool) -> None:
    if as_json:
        print_json([rehearsal_facts(each) for each in drills])
        return
    if not drills:
        typer.echo("This rule was never rehearsed.")
        return
    rows = [
        [each.number, each.at, each.by, "passed" if each.passed else "did not pass",
         "; ".join(step.text for step in each.steps if not step.passed)]
        for each in drills
    ]  # fmt: skip
    print_table(["number", "at", "by", "result", "what failed"], rows)


def _asking(given: str | None) -> Callable[[Sequence[str]], str | None]:
    """Who took the drill's alert on: the name given, or the answer of whoever sits there."""

    def ask(receivers: Sequence[str]) -> str | None:
        if given is not None or not sys.stdin.isatty():
            return given
        names = ", ".join(receivers) or "nobody"
        typer.echo(f"The drill went to {names}. Who got it and takes the alert on?")
        return typer.prompt("Name (empty: nobody)", default="", show_default=False) or None

    return ask


def _waiting(engine: Engine, project_id: int, *, here: bool) -> Callable[[], None]:
    """A little time passes; with `here` what is owed is sent in it."""

    def wait() -> None:
        if here:
            from monitor.jobs.deliver import deliver
            from monitor.settings import process_environment

            now = datetime.now(UTC)
            deliver(engine, project_id, now, process_environment(), random.SystemRandom())
        time.sleep(PAUSE_SECONDS)

    return wait


def _patience(text: str) -> timedelta:
    from alerts.durations import parse_duration

    try:
        found = parse_duration(text)
    except ValueError as error:
        raise ConfigurationError("command", [Problem("--patience", str(error))]) from None
    if not timedelta(seconds=1) <= found <= LONGEST_PATIENCE:
        message = f"must lie within 1s and 1h, got {text!r}"
        raise ConfigurationError("command", [Problem("--patience", message)])
    return found
