"""`inferwatch respond`: run the response of an alert, follow actions, stop them all."""

from __future__ import annotations

from datetime import UTC, datetime
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
from monitor.cli.rehearse import rehearsals, rehearse
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from monitor.store.action_orders import Outside
    from monitor.store.actions import StoredAction

REFUSED = 1

app = typer.Typer(help="Run responses, follow their actions, stop them, rehearse them.",
                  no_args_is_help=True)  # fmt: skip
app.command()(rehearse)
app.command()(rehearsals)

Alert = Annotated[int, typer.Argument(help="The alert's number.", min=1, show_default=False)]
Action = Annotated[int, typer.Argument(help="The action's number.", min=1, show_default=False)]
Reason = Annotated[str, typer.Option("--reason", help="Why; kept for good.", show_default=False)]


@app.command("list")
def list_(
    model: Annotated[str | None, typer.Option("--model", help="Only of this model.")] = None,
    alert: Annotated[int | None, typer.Option("--alert", help="Only of this alert.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000)] = 50,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """List actions that were asked for or refused, the newest first."""
    from monitor.store.actions import list_actions
    from monitor.store.engine import Role, transaction

    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.WORKER) as connection:
            found = list_actions(
                connection, project_id, model=model, alert_number=alert, limit=limit
            )  # fmt: skip
    if as_json:
        print_json([action_facts(each) for each in found])
        return
    if not found:
        typer.echo("No action was asked for or refused.")
        return
    names = ("number", "state", "kind", "model", "response", "deployments", "requested_at",
             "requested_by", "what")  # fmt: skip
    rows = [action_facts(each) for each in found]
    print_table([n.replace("_", " ") for n in names], [[row[n] for n in names] for row in rows])


@app.command()
def show(number: Action, project: KnownProject = "default", as_json: AsJson = False) -> None:
    """Show one action: who asked for what, and what became of it."""
    from monitor.store.actions import find_action
    from monitor.store.engine import Role, transaction

    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.WORKER) as connection:
            found = find_action(connection, project_id, number)
    _print_action(found, as_json)


@app.command()
def run(
    alert: Alert,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only have the receiver say whether it could.")
    ] = False,
    by: By = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Start the response of an alert. Its limits hold for people, too.

    A response without an automatic action is recorded as carried out by you; report its outcome.
    Exit codes: 0 asked for, 1 refused.
    """
    from monitor.store.responding import run_response

    with open_database() as engine:
        done = run_response(
            engine, find_project(engine, project), alert, login(by), datetime.now(UTC),
            outside_addresses(), dry_run=dry_run,
        )  # fmt: skip
    _answer(done, as_json)


@app.command("return")
def return_(
    number: Action, by: By = None, project: KnownProject = "default", as_json: AsJson = False
) -> None:
    """Ask for the state before an action again, ahead of its expiry."""
    from monitor.store.responding import return_action

    with open_database() as engine:
        done = return_action(
            engine, find_project(engine, project), number, login(by), datetime.now(UTC),
            outside_addresses(),
        )  # fmt: skip
    _answer(done, as_json)


@app.command()
def outcome(
    number: Action,
    result: Annotated[str, typer.Argument(help="done, failed or refused.", show_default=False)],
    detail: Annotated[str, typer.Option("--detail", help="What happened, in a sentence.")] = "",
    by: By = None,
    project: KnownProject = "default",
) -> None:
    """Report what became of an action that has no outcome yet."""
    from alerts.actions import report_of
    from monitor.store.actions import report_outcome

    try:
        report = report_of({"outcome": result, "detail": detail})
    except ValueError as error:
        raise ConfigurationError("command", [Problem("outcome", str(error))]) from None
    with open_database() as engine:
        done = report_outcome(
            engine, find_project(engine, project), number, report, login(by), datetime.now(UTC)
        )
    typer.echo(f"Action {number} is {done.state}, as {done.outcome_by} reported.")


@app.command()
def stop(reason: Reason, by: By = None, project: KnownProject = "default") -> None:
    """Ask nothing of any deployment system any more, and withdraw what was not sent yet."""
    from monitor.store.responding import stop_actions

    with open_database() as engine:
        withdrawn = stop_actions(
            engine, find_project(engine, project), login(by), reason, datetime.now(UTC)
        )
    typer.echo(f"Actions of project {project} are stopped; `inferwatch respond resume` ends it.")
    for number in withdrawn:
        typer.echo(f"Action {number} is withdrawn.")


@app.command()
def resume(reason: Reason, by: By = None, project: KnownProject = "default") -> None:
    """Let actions go on; what is due is asked for within seconds."""
    from monitor.store.responding import resume_actions

    with open_database() as engine:
        project_id = find_project(engine, project)
        resume_actions(engine, project_id, login(by), reason, datetime.now(UTC))
    typer.echo(f"Actions of project {project} go on.")


@app.command()
def status(project: KnownProject = "default", as_json: AsJson = False) -> None:
    """Say whether actions are stopped, which hold, and which have no outcome in their time.

    Exit codes: 0 nothing to do, 1 actions are stopped or lack an outcome.
    """
    from monitor.reports.responses import response_status

    now = datetime.now(UTC)
    with open_database() as engine:
        found = response_status(engine, find_project(engine, project), now)
    switch = found.switch
    facts = {
        "stopped": found.is_stopped,
        "decided_by": switch.by if switch else None,
        "decided_at": switch.at if switch else None,
        "reason": switch.reason if switch else None,
        "in_force": [action_facts(each) for each in found.in_force],
        "overdue": [action_facts(each) for each in found.overdue],
    }
    if as_json:
        print_json(facts)
    else:
        word = "stopped" if found.is_stopped else "not stopped"
        who = (
            f" (by {plain(switch.by)}, {plain(switch.at)}: {plain(switch.reason)})"
            if switch
            else ""
        )
        typer.echo(f"Actions are {word}{who}.")
        for title, rows in (("In force", found.in_force), ("Without outcome", found.overdue)):
            typer.echo(f"{title}: {len(rows)}")
            for each in rows:
                typer.echo(f"  {plain(action_facts(each)['what'])}")
    if found.is_stopped or found.overdue:
        raise typer.Exit(REFUSED)


def outside_addresses() -> Outside:
    """Where pages and API are reached, by the settings."""
    from monitor.store.action_orders import Outside

    settings = settings_with_database()
    return Outside(settings.public_url, settings.api_url)


def action_facts(action: StoredAction) -> dict[str, Any]:
    """One action under the names that tables and JSON use."""
    from monitor.store.actions import words_of

    kinds = [("drill", action.drill), ("dry run", action.dry_run), ("return", action.returns)]
    return {
        "number": action.number,
        "state": action.state.value,
        "kind": ", ".join(name for name, holds in kinds if holds),
        "alert": action.alert_number,
        "rule": action.rule,
        "response": action.response,
        "action": action.action.value,
        "model": action.model,
        "deployments": "+".join(str(each) for each in action.deployments),
        "from_percent": action.from_percent,
        "to_percent": action.to_percent,
        "requested_by": action.requested_by,
        "requested_at": action.requested_at,
        "receiver": action.receiver,
        "reason": action.reason.value if action.reason else None,
        "text": action.text or None,
        "outcome": action.outcome.value if action.outcome else None,
        "detail": action.detail,
        "outcome_by": action.outcome_by,
        "outcome_at": action.outcome_at,
        "outcome_due_at": action.outcome_due_at,
        "expires_at": action.expires_at,
        "returns": action.returns,
        "what": words_of(action),
    }


def _answer(done: StoredAction, as_json: bool) -> None:
    """What came of a wish, and what to do next."""
    from alerts.actions import ActionState

    refused = done.state is not ActionState.REQUESTED
    if as_json:
        print_json(action_facts(done))
    elif refused:
        typer.echo(f"Action {done.number} is refused ({done.reason}): {plain(done.text)}")
    elif done.delivery_key is None:
        typer.echo(
            f"Action {done.number}: {done.action.value} is yours to carry out; then run"
            f" `inferwatch respond outcome {done.number} done`."
        )
    else:
        kind = " as a dry run" if done.dry_run else ""
        typer.echo(
            f"Action {done.number} is asked of {done.receiver}{kind};"
            f" `inferwatch respond show {done.number}` tells what became of it."
        )
    if refused:
        raise typer.Exit(REFUSED)


def _print_action(found: StoredAction, as_json: bool) -> None:
    facts = action_facts(found)
    if as_json:
        print_json(facts)
        return
    typer.echo(plain(facts.pop("what")))
    for name, value in facts.items():
        if value not in (None, ""):
            typer.echo(f"{name.replace('_', ' '):18} {plain(value)}")
