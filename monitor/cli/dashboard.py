"""`inferwatch dashboard`: serve the pages.

The pages are a program of their own above this package; this command only becomes it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.settings import Settings

SERVER = "dashboards.server"
EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on


def dashboard(
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on; default INFERWATCH_HOST.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=1, max=65535, help="Default INFERWATCH_DASHBOARD_PORT."),
    ] = None,
    no_link: Annotated[
        bool, typer.Option("--no-link", help="Print no one-time link for the first account.")
    ] = False,
) -> None:
    """Serve the dashboard until Ctrl-C.

    It reads the database only, apart from sign-ins and what people do about alerts. While there is
    no account, a one-time link that makes the first is printed.
    """
    from monitor.cli.common import settings_with_database
    from monitor.settings import refuse_open_dashboard

    settings = settings_with_database()
    host, port = host or settings.host, port or settings.dashboard_port
    settings = moved_to(settings, host, port)
    refuse_open_dashboard(settings, host)
    link = None if no_link else _link(settings)
    command = dashboard_command(host, port, settings.public_url)
    typer.echo(f"Dashboard on http://{host}:{port}")
    if link is not None:
        typer.echo(f"Sign in:     {link} (makes the first account; once, within a day)")
    sys.stdout.flush()
    os.execve(command[0], command, dashboard_environment(settings))  # noqa: S606 - no shell


def _link(settings: Settings) -> str | None:
    """The link for the first account; a database that is away now may be there in a moment."""
    from monitor.cli.run import prepare_link
    from monitor.errors import DatabaseNotReady, DatabaseUnavailable

    try:
        return prepare_link(settings.database_url or "", settings)
    except (DatabaseUnavailable, DatabaseNotReady) as error:
        typer.echo(f"No sign-in link was made: {error}", err=True)
        return None


def moved_to(settings: Settings, host: str, port: int) -> Settings:
    """The settings with the address that was asked for; so is the public one if it was not set."""
    usual = f"http://{settings.host}:{settings.dashboard_port}"
    public = f"http://{host}:{port}" if settings.public_url == usual else settings.public_url
    return replace(settings, host=host, dashboard_port=port, public_url=public)


def dashboard_command(host: str, port: int, public_url: str) -> list[str]:
    """The command line that serves the pages. It holds no secret: processes are listed."""
    command = [sys.executable, "-m", SERVER, "--host", host, "--port", str(port)]
    public = urlsplit(public_url).hostname
    if public is not None and public not in EVERY_ADDRESS:
        command += ["--allowed-host", public]
    return command


def dashboard_environment(settings: Settings) -> Mapping[str, str]:
    """This process's environment with the addresses of database and pages that were found."""
    files = ("DATABASE_URL_FILE", "INFERWATCH_PUBLIC_URL_FILE")
    found = {name: value for name, value in os.environ.items() if name not in files}
    return {
        **found,
        "DATABASE_URL": settings.database_url or "",
        "INFERWATCH_PUBLIC_URL": settings.public_url,
    }
