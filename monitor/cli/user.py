"""`inferwatch user`: who may look at the dashboard, and what they may do there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import (
    AsJson,
    By,
    login,
    open_database,
    print_json,
    print_table,
    settings_with_database,
)
from monitor.errors import ConfigurationError, Problem, UnknownSubject

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

app = typer.Typer(help="Accounts of the dashboard: add, list, roles, end.", no_args_is_help=True)

Login = Annotated[str, typer.Argument(help="The login.", show_default=False)]
InProject = Annotated[
    str | None,
    typer.Option("--project", help="Only in this project; without it in all.", show_default=False),
]
OneLine = Annotated[
    bool,
    typer.Option("--password-stdin", help="Read the password from standard input's first line."),
]


@app.command()
def add(
    name: Login,
    role: Annotated[
        str, typer.Option("--role", help="viewer, engineer, on-call, reviewer or admin.")
    ] = "viewer",
    project: InProject = None,
    password_stdin: OneLine = False,
    by: By = None,
) -> None:
    """Make an account and print a one-time link that signs the person in and sets a password.

    With --password-stdin the password is set at once and no link is made. People who sign in at an
    OpenID Connect provider get their e-mail address as login, and need no link.
    """
    from monitor.store.accounts import add_account, checked_role, grant_role

    wanted, password = checked_role(role), _first_line() if password_stdin else None
    with _as_owner() as connection:
        number = add_account(connection, name, by=login(by), password=password)
        grant_role(connection, number, _project(connection, project), wanted, login(by))
        address = None if password_stdin else _fresh_link(connection, number, login(by))
    typer.echo(f"Account {name.strip().lower()}: {_told(wanted.value, project)}.")
    if address is not None:
        typer.echo(address)
        typer.echo("The link signs in once, within a day. Give it to nobody else.", err=True)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the accounts with their roles."""
    from monitor.store.accounts import list_accounts

    with _as_owner() as connection:
        rows = list_accounts(connection)
    if as_json:
        print_json(rows)
    elif not rows:
        typer.echo("No account yet: `inferwatch user link` prints the link that makes the first.")
    else:
        shown = [{**row, "projects": _projects_told(row["projects"])} for row in rows]
        _print(shown)


@app.command()
def role(
    name: Login,
    role: Annotated[str, typer.Argument(help="viewer, engineer, on-call, reviewer or admin.")],
    project: InProject = None,
    by: By = None,
) -> None:
    """Give an account a role in a project, or in all that have none of their own for it.

    It holds from the next click on.
    """
    from monitor.store.accounts import account_number, checked_role, grant_role

    wanted = checked_role(role)
    with _as_owner() as connection:
        number = account_number(connection, name)
        grant_role(connection, number, _project(connection, project), wanted, login(by))
    typer.echo(f"Account {name.strip().lower()}: {_told(wanted.value, project)}.")


@app.command()
def passwd(name: Login, password_stdin: OneLine = False, by: By = None) -> None:
    """Set a new password; all sessions of the account end."""
    from monitor.store.accounts import account_number, set_password
    from monitor.store.sessions import revoke_sessions

    password = _first_line() if password_stdin else _asked_twice()
    with _as_owner() as connection:
        number = account_number(connection, name)
        set_password(connection, number, password)
        ended = revoke_sessions(connection, number, login(by), datetime.now(UTC))
    typer.echo(f"The password is set; {ended} sessions ended.")


@app.command()
def disable(name: Login, by: By = None) -> None:
    """Let nobody sign in with an account any more, and end its sessions. Deeds keep its name."""
    from monitor.store.accounts import account_number, disable_account

    with _as_owner() as connection:
        number = account_number(connection, name)
        ended = disable_account(connection, number, login(by), datetime.now(UTC))
    typer.echo(f"Account {name.strip().lower()} is disabled; {ended} sessions ended.")


@app.command()
def sessions(
    name: Annotated[str | None, typer.Argument(help="Only of this login.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the sessions that hold now."""
    from monitor.store.accounts import account_number
    from monitor.store.sessions import list_sessions

    with _as_owner() as connection:
        number = account_number(connection, name) if name is not None else None
        rows = list_sessions(connection, number, datetime.now(UTC))
    if as_json:
        print_json(rows)
    elif not rows:
        typer.echo("Nobody is signed in.")
    else:
        _print(rows)


@app.command()
def revoke(name: Login, by: By = None) -> None:
    """End all sessions of an account; open pages close within seconds."""
    from monitor.store.accounts import account_number
    from monitor.store.sessions import revoke_sessions

    with _as_owner() as connection:
        number = account_number(connection, name)
        ended = revoke_sessions(connection, number, login(by), datetime.now(UTC))
    typer.echo(f"{ended} sessions of {name.strip().lower()} ended.")


@app.command()
def link(
    name: Annotated[
        str | None, typer.Argument(help="Whose; without it the only admin's, or the first link.")
    ] = None,
    by: By = None,
) -> None:
    """Print a one-time link that signs a person in; where there is no account, it makes the first.

    It holds for a day; an earlier one of the same person ends.
    """
    with _as_owner() as connection:
        typer.echo(_fresh_link(connection, _whose(connection, name), login(by)))


def _whose(connection: Connection, name: str | None) -> int | None:
    from monitor.access import AccessRole
    from monitor.store.accounts import account_number, list_accounts

    if name is not None:
        return account_number(connection, name)
    known = list_accounts(connection)
    if not known:
        return None
    admins = [
        row["login"]
        for row in known
        if row["everywhere"] == AccessRole.ADMIN and row["disabled_at"] is None
    ]
    if len(admins) == 1:
        return account_number(connection, admins[0])
    raise UnknownSubject(f"say whose link; admins are: {', '.join(admins) or 'nobody'}")


def _fresh_link(connection: Connection, account_id: int | None, by: str) -> str:
    from monitor.store.one_time_links import link_address, make_link

    token = make_link(connection, account_id, by, datetime.now(UTC))
    return link_address(settings_with_database().public_url, token)


@contextmanager
def _as_owner() -> Iterator[Connection]:
    from monitor.store.engine import Role, transaction

    with open_database() as engine, transaction(engine, None, Role.OWNER) as connection:
        yield connection


def _project(connection: Connection, name: str | None) -> int | None:
    from monitor.store.projects import project_number

    return project_number(connection, name) if name is not None else None


def _first_line() -> str:
    return sys.stdin.readline().rstrip("\r\n")


def _asked_twice() -> str:
    from getpass import getpass

    password = getpass("New password: ")
    if password != getpass("Once more: "):
        raise ConfigurationError("account", [Problem("password", "the two are not the same")])
    return password


def _told(role: str, project: str | None) -> str:
    return f"{role} in {f'project {project}' if project is not None else 'all projects'}"


def _projects_told(projects: dict[str, str]) -> str:
    return ", ".join(f"{name}: {role}" for name, role in sorted(projects.items()))


def _print(rows: list[dict[str, Any]]) -> None:
    print_table([name.replace("_", " ") for name in rows[0]], [list(r.values()) for r in rows])
