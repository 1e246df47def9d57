"""`inferwatch dashboard`: serve the pages against DATABASE_URL.

The pages are a program of their own above this package; this command only becomes it.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from monitor.errors import ConfigurationError
from monitor.settings import Settings

SERVER = "dashboards.server"


def dashboard(
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on; default INFERWATCH_HOST.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=0, max=65535, help="Port; default INFERWATCH_DASHBOARD_PORT (8501)."
        ),
    ] = None,
) -> None:
    """Serve the dashboard against DATABASE_URL until Ctrl-C.

    It reads the database only, apart from taking alerts on and closing them. Exit codes: 2 the
    settings can't be used, otherwise those of the server.
    """
    try:
        settings = Settings.from_environment()
    except ConfigurationError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    if settings.database_url is None:
        typer.echo(
            "DATABASE_URL is not set: the dashboard alone needs a database that runs."
            " `inferwatch up` starts everything together; `inferwatch db url` prints the address of"
            " the embedded one.",
            err=True,
        )
        raise typer.Exit(2)
    command = dashboard_command(host or settings.host, port or settings.dashboard_port)
    typer.echo(f"Dashboard on http://{host or settings.host}:{port or settings.dashboard_port}")
    sys.stdout.flush()
    os.execv(command[0], command)  # noqa: S606 - fixed program, no shell


def dashboard_command(host: str, port: int) -> list[str]:
    """The command line that serves the pages; DATABASE_URL goes by the environment."""
    return [sys.executable, "-m", SERVER, "--host", host, "--port", str(port)]
