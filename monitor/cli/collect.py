"""`inferwatch collector`: requests and labels over HTTP."""

from __future__ import annotations

import os
from typing import Annotated

import typer

KEEP_ALIVE_SECONDS = 65
GRACE_SECONDS = 30
APPLICATION = "monitor.collector.app:create_app"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the command line."""
    app.command("collector")(collector)


def collector(
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen at; default INFERWATCH_HOST.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="Default INFERWATCH_COLLECTOR_PORT."),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Processes.")] = 1,
) -> None:
    """Take requests and labels over HTTP. Its documents are at /docs."""
    import uvicorn

    from monitor.cli.common import settings_with_database
    from monitor.collector.logs import log_config

    settings = settings_with_database()
    if not {"DATABASE_URL", "DATABASE_URL_FILE"} & os.environ.keys():
        # The processes read the environment; the embedded database's address is not in it yet.
        os.environ["DATABASE_URL"] = settings.database_url or ""
    uvicorn.run(
        APPLICATION,
        factory=True,
        host=host or settings.host,
        port=settings.collector_port if port is None else port,
        workers=workers,
        log_config=log_config(),
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
