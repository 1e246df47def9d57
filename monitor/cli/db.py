"""`inferwatch db`: look after the database.

Without DATABASE_URL that is the embedded server; with it, an outside server that these commands
only look at and connect to.
"""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import psycopg
import typer
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from monitor.errors import ConfigurationError, InferwatchError
from monitor.postgres.binaries import find_postgres_bin
from monitor.postgres.server import EmbeddedServer
from monitor.postgres.status import ServerStatus
from monitor.settings import Settings

FAILED, REFUSED, NOT_RUNNING = 1, 2, 3

app = typer.Typer(
    help="Start, stop and look at the database.\n\n"
    "Without DATABASE_URL the embedded Postgres in INFERWATCH_HOME (default ~/.inferwatch) is "
    "meant. With DATABASE_URL that server is meant; it can't be started or stopped from here.",
    no_args_is_help=True,
)


@app.command()
def start() -> None:
    """Start the embedded server and leave it running until `db stop`.

    Makes the database on first use. A server that already runs is left as it is. Exit codes: 0 it
    runs, 1 it could not be started, 2 DATABASE_URL is set.
    """
    with _told():
        settings = _without_outside_database("start")
        server = EmbeddedServer(settings.home, find_postgres_bin(settings.postgres_bin))
        running = server.start(child_of_this_process=False)
        verb = "started" if running.started_here else "already runs"
        typer.echo(f"The database {verb} on 127.0.0.1:{running.port} (process {running.pid}).")
        if running.notice:
            typer.echo(running.notice)
        if running.parent is not None:
            typer.echo(f"It ends with process {running.parent}, which started it.")
        typer.echo("`inferwatch db url` prints its address, `inferwatch db stop` stops it.")


@app.command()
def stop(
    immediate: Annotated[
        bool,
        typer.Option(
            "--immediate",
            help="Do not wait for the last checkpoint; the next start recovers from the log.",
        ),
    ] = False,
) -> None:
    """Stop the embedded server, whoever started it; clients are cut off, nothing committed is lost.

    Exit codes: 0 it is stopped (or was not running), 1 it would not stop, 2 DATABASE_URL is set.
    """
    with _told():
        settings = _without_outside_database("stop")
        stopped = EmbeddedServer(settings.home).stop(immediate=immediate)
        typer.echo("The database is stopped." if stopped else "The database was not running.")


@app.command()
def status(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say whether the database runs and where it lies.

    Exit codes: 0 it runs and answers, 3 it does not, 1 it could not be looked at.
    """
    with _told():
        settings = Settings.from_environment()
        if settings.database_url is not None:
            found = _outside_status(settings.database_url)
        else:
            found = _embedded_status(EmbeddedServer(settings.home).status())
        if as_json:
            typer.echo(json.dumps(found))
        else:
            typer.echo("\n".join(f"{name.replace('_', ' ')}: {found[name]}" for name in found))
        if not found["running"]:
            raise typer.Exit(NOT_RUNNING)


@app.command()
def url() -> None:
    """Print the address of the database, password included, for use in DATABASE_URL.

    Exit codes: 0 printed, 3 the embedded server does not run (nothing is printed then).
    """
    with _told():
        typer.echo(_url_of_running_database(Settings.from_environment()))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def psql(
    context: typer.Context,
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Passed on to psql, for example -c 'SELECT 1'.")
    ] = None,
) -> None:
    """Open psql on the database as the application's role.

    Exit codes: those of psql; 3 the embedded server does not run.
    """
    with _told():
        settings = Settings.from_environment()
        address = _url_of_running_database(settings)
        program = find_postgres_bin(settings.postgres_bin).psql
        if program is None:
            _fail("no psql found: install the package postgresql-client.", FAILED)
        given = [*(arguments or []), *context.args]
        raise typer.Exit(_run_psql(program, address, given))


def _run_psql(program: Path, address: str, arguments: list[str]) -> int:
    parts = conninfo_to_dict(address)
    password = parts.pop("password", None)
    with tempfile.NamedTemporaryFile("w", prefix="inferwatch-psql-", encoding="utf-8") as file:
        if password is not None:
            # A file (mode 0600) instead of an argument, which every user of the machine could read.
            escaped = str(password).replace("\\", "\\\\").replace(":", "\\:")
            file.write(f"*:*:*:*:{escaped}\n")
            file.flush()
            parts["passfile"] = file.name
        command = [str(program), make_conninfo("", **parts), *arguments]
        # Ctrl-C cancels a query inside psql; it must not end this process around it. A handler,
        # because "ignore" would be inherited by psql.
        previous = signal.signal(signal.SIGINT, lambda _number, _frame: None)
        try:
            return subprocess.run(command, check=False).returncode  # noqa: S603 - psql, no shell
        finally:
            signal.signal(signal.SIGINT, previous)


def _url_of_running_database(settings: Settings) -> str:
    if settings.database_url is not None:
        return settings.database_url
    server = EmbeddedServer(settings.home)
    found = server.status()
    if not found.is_running:
        _fail(f"the database is {found.condition}: run `inferwatch db start`.", NOT_RUNNING)
    return server.url


def _embedded_status(found: ServerStatus) -> dict[str, object]:
    return {
        "database": "embedded",
        "running": found.is_running,
        "condition": found.condition.value,
        "process": found.pid,
        "ends_with_process": found.parent,
        "host": "127.0.0.1",
        "port": found.port,
        "version": found.major_version,
        "data_folder": str(found.data_folder),
        "log_file": str(found.log_file),
    }


def _outside_status(address: str) -> dict[str, object]:
    parts = conninfo_to_dict(address)
    found: dict[str, object] = {
        "database": "outside (DATABASE_URL)",
        "running": False,
        "condition": "not answering",
        "host": parts.get("host"),
        "port": parts.get("port", 5432),
        "version": None,
    }
    try:
        with psycopg.connect(address, connect_timeout=10) as connection:
            version = connection.info.server_version // 10_000
            found |= {"running": True, "condition": "running", "version": version}
    except psycopg.OperationalError as error:
        found["condition"] = f"not answering: {str(error).strip()}"
    return found


def _without_outside_database(verb: str) -> Settings:
    settings = Settings.from_environment()
    if settings.database_url is not None:
        _fail(
            f"DATABASE_URL is set: an outside database is used, which can't be {_past(verb)} from "
            "here. Unset DATABASE_URL to use the embedded one.",
            REFUSED,
        )
    return settings


def _past(verb: str) -> str:
    return {"start": "started", "stop": "stopped"}[verb]


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code)


@contextmanager
def _told() -> Iterator[None]:
    """Say an error in plain words instead of a stack trace."""
    try:
        yield
    except ConfigurationError as error:
        _fail(str(error), REFUSED)
    except InferwatchError as error:
        _fail(str(error), FAILED)
    except psycopg.ProgrammingError:
        # The driver's text repeats the address, and with it a password.
        _fail(
            "DATABASE_URL is not an address of a Postgres server; it looks like "
            "postgresql://user:password@host:5432/database.",
            REFUSED,
        )
