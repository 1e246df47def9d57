"""`inferwatch deliveries`: messages on their way, dead letters, and the receivers themselves."""

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
)
from monitor.errors import ConfigurationError, Problem, UnknownSubject

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from monitor.reports.deliveries import AttemptRow, DeliveryRow, ReceiverRow

FAILED = 1

app = typer.Typer(help="Look at messages and their receivers; send dead letters again.",
                  no_args_is_help=True)  # fmt: skip

Receiver = Annotated[str, typer.Argument(help="The receiver's name.", show_default=False)]
Number = Annotated[int, typer.Argument(help="The message's number.", min=1, show_default=False)]


@app.command("list")
def list_(
    state: Annotated[
        str | None, typer.Option("--state", help="Only those: waiting, sent or dead.")
    ] = None,
    receiver: Annotated[
        str | None, typer.Option("--receiver", help="Only those to this receiver.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000)] = 50,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """List messages, the newest first, and how the last attempt of each went."""
    from monitor.reports.deliveries import STATES, deliveries

    if state is not None and state not in STATES:
        message = f"{state!r} is none of {', '.join(STATES)}"
        raise ConfigurationError("command", [Problem("--state", message)])
    with open_database() as engine:
        rows = deliveries(
            engine, find_project(engine, project), states=(state,) if state else (),
            receiver=receiver, limit=limit,
        )  # fmt: skip
    if as_json:
        print_json([_facts(each) for each in rows])
    elif not rows:
        typer.echo("No such message.")
    else:
        names = (
            "number",
            "state",
            "receiver",
            "severity",
            "event",
            "owed_at",
            "attempts",
            "due_at",
        )
        cells = [[_facts(each)[name] for name in names] + [_what(each)] for each in rows]
        print_table([*(name.replace("_", " ") for name in names), "what"], cells)


@app.command()
def show(number: Number, project: KnownProject = "default", as_json: AsJson = False) -> None:
    """Show one message with all its attempts."""
    from monitor.reports.deliveries import delivery_attempts

    with open_database() as engine:
        row, attempts = delivery_attempts(engine, find_project(engine, project), number)
    if as_json:
        print_json({**_facts(row), "tries": [vars(each) for each in attempts]})
        return
    typer.echo(f"{row.state}  {row.receiver}  {row.severity}  {row.event}  {row.key}")
    typer.echo(plain(row.title))
    if row.alerts:
        typer.echo(f"alerts {', '.join(map(str, row.alerts))}")
    if row.told_by:
        typer.echo(f"the fallback was told by {row.told_by}")
    print_table(["attempt", "at", "outcome", "detail"],
                [[e.attempt, e.at, e.outcome, e.detail] for e in attempts])  # fmt: skip


@app.command()
def resend(
    numbers: Annotated[
        list[int] | None, typer.Argument(help="Numbers of dead letters.", show_default=False)
    ] = None,
    receiver: Annotated[
        str | None, typer.Option("--receiver", help="All dead letters to this receiver.")
    ] = None,
    project: KnownProject = "default",
) -> None:
    """Send dead letters again, with the same ids and the whole schedule of attempts before them."""
    from monitor.reports.deliveries import deliveries
    from monitor.store.dead_letters import send_again
    from monitor.store.engine import Role, transaction

    if bool(numbers) == (receiver is not None):
        message = "give numbers, or --receiver NAME for all of one receiver"
        raise ConfigurationError("command", [Problem("resend", message)])
    with open_database() as engine:
        project_id = find_project(engine, project)
        wanted = list(numbers or ())
        if receiver is not None:
            found = deliveries(
                engine, project_id, states=("dead",), receiver=receiver, limit=10_000
            )
            wanted = [each.number for each in found]
        with transaction(engine, project_id, Role.WORKER) as connection:
            done = send_again(connection, project_id, wanted, datetime.now(UTC))
    missing = sorted(set(wanted) - set(done))
    if missing:
        typer.echo(f"not dead letters: {', '.join(map(str, missing))}", err=True)
    typer.echo(f"{len(done)} messages wait to be sent again.")
    if missing:
        raise typer.Exit(FAILED)


@app.command()
def receivers(project: KnownProject = "default", as_json: AsJson = False) -> None:
    """List receivers: whether they are sent to, what waits, what was given up, what failed last."""
    from monitor.reports.deliveries import receivers as find

    now = datetime.now(UTC)
    with open_database() as engine:
        rows = find(engine, find_project(engine, project))
    if as_json:
        print_json([_receiver_facts(each, now) for each in rows])
        return
    heads = ("receiver", "channel", "state", "waiting", "dead", "last sent", "last failure")
    print_table(heads, [_receiver_cells(each, now) for each in rows])


@app.command()
def enable(
    receiver: Receiver,
    without_missed: Annotated[
        bool, typer.Option("--without-missed", help="Leave what it missed as dead letters.")
    ] = False,
    by: By = None,
    project: KnownProject = "default",
) -> None:
    """Send again to a receiver that had asked for nothing more (410): first what it missed."""
    from monitor.store.dead_letters import send_missed_again
    from monitor.store.engine import Role, transaction
    from monitor.store.receivers import enable_receiver

    now = datetime.now(UTC)
    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.WORKER) as connection:
            since = enable_receiver(connection, project_id, receiver, login(by), now)
            if since is None:
                raise UnknownSubject(
                    f"receiver {receiver!r} is not disabled; `inferwatch deliveries receivers`"
                )
            again: list[int] = []
            if not without_missed:
                again = send_missed_again(connection, project_id, receiver, since, now)
    typer.echo(f"{receiver} is enabled. {len(again)} messages that it missed wait to be sent.")


@app.command()
def ping(
    receiver: Receiver,
    by_worker: Annotated[
        bool,
        typer.Option("--by-worker", help="Let the worker send it, with the worker's secrets."),
    ] = False,
    project: KnownProject = "default",
) -> None:
    """Send a test message to a receiver now. Exit code 1 when it was not taken.

    Addresses and secrets are read from this command's environment.
    """
    with open_database() as engine:
        project_id = find_project(engine, project)
        if by_worker:
            _owe_ping(engine, project_id, project, receiver)
            typer.echo("The worker sends it; `inferwatch deliveries list` shows how it went.")
            return
        _ping_now(engine, project_id, project, receiver)


def _ping_now(engine: Engine, project_id: int, project: str, receiver: str) -> None:
    from alerts.channels.outbound import Outbound
    from alerts.errors import SendFailed
    from monitor.jobs.ping import ping_receiver
    from monitor.settings import process_environment

    try:
        with Outbound() as http:
            receipt = ping_receiver(
                engine, project_id, project, receiver, process_environment(), http,
                datetime.now(UTC),
            )  # fmt: skip
    except SendFailed as error:
        typer.echo(f"not taken: {plain(str(error))}", err=True)
        raise typer.Exit(FAILED) from None
    status = f" (status {receipt.status})" if receipt.status is not None else ""
    typer.echo(plain(f"{receiver} took the test message{status} {receipt.answer}".rstrip()))


def _owe_ping(engine: Engine, project_id: int, project: str, receiver: str) -> None:
    from monitor.jobs.ping import owe_ping

    owe_ping(engine, project_id, project, receiver, datetime.now(UTC))


def _facts(row: DeliveryRow) -> dict[str, Any]:
    return {**vars(row), "last": vars(row.last) if row.last is not None else None}


def _what(row: DeliveryRow) -> str:
    if row.last is None or row.last.outcome == "sent":
        return row.title
    return f"{row.title} ({_failure(row.last)})"


def _failure(attempt: AttemptRow) -> str:
    return attempt.detail or attempt.outcome


def _receiver_facts(row: ReceiverRow, now: datetime) -> dict[str, Any]:
    failure = vars(row.last_failure) if row.last_failure is not None else None
    return {**vars(row), "state": vars(row.state), "condition": row.condition(now),
            "last_failure": failure}  # fmt: skip


def _receiver_cells(row: ReceiverRow, now: datetime) -> list[Any]:
    condition = row.condition(now)
    if condition == "asked for a wait":
        condition += f" until {plain(row.state.not_before)}"
    name = f"{row.name} (fallback)" if row.is_fallback else row.name
    failure = ""
    if row.last_failure is not None:
        failure = f"{plain(row.last_failure.at)} {_failure(row.last_failure)}"
    return [name, row.channel, condition, row.waiting, row.dead, row.last_sent, failure]
