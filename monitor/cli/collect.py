"""`inferwatch collector` and `inferwatch import`: requests and labels over HTTP or from a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from monitor.cli.common import AsJson, KnownProject, print_json, print_table
from monitor.errors import ConfigurationError, Problem, UnknownSubject

if TYPE_CHECKING:
    from monitor.collector.file_import import ImportResult, Progress
    from monitor.store.intake_store import IntakeStore
    from monitor.store.models import ModelContext

KEEP_ALIVE_SECONDS = 65
GRACE_SECONDS = 30
SHOWN_REJECTIONS = 10
APPLICATION = "monitor.collector.app:create_app"
Kind = Literal["requests", "labels"]


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the command line."""
    app.command("collector")(collector)
    app.command("import")(import_command)


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


def import_command(
    file: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, readable=True,
                       help="A .parquet, .csv or .ndjson file; the last two may end in .gz."),
    ],
    model: Annotated[str, typer.Option("--model", help="Name of the model.")],
    kind: Annotated[Kind, typer.Option("--kind", help="What the records are.")] = "requests",
    deployment: Annotated[
        int | None, typer.Option("--deployment", help="For requests that name none.")
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", help="NAME=TEXT, a version tag for requests that have none."),
    ] = None,
    leg: Annotated[str, typer.Option("--leg", help="live, batch, shadow:… or replay:…")] = "batch",
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Store the requests or labels of a file. Doing it again is safe: what is there is a duplicate.

    Exit code 1 says that some records could not be stored.
    """
    from monitor.collector.file_import import import_file

    _check_options(deployment, tag, leg)
    now = datetime.now(UTC)
    with _opened(project, model) as (store, found):
        number = _deployment(store, found, deployment, tag, now)
        with _progress(file, quiet=as_json) as progress:
            result = import_file(
                store,
                found,
                file,
                labels=kind == "labels",
                leg=leg,
                deployment=number,
                now=now,
                progress=progress,
            )
    _tell(result, as_json)
    if result.rejected:
        raise typer.Exit(1)


def _check_options(deployment: int | None, tag: list[str] | None, leg: str) -> None:
    from monitor.intake.legs import is_leg

    problems = []
    if deployment is not None and tag:
        problems.append(Problem("--tag", "give --deployment or --tag, not both"))
    if not is_leg(leg):
        problems.append(Problem("--leg", "is live, batch, shadow:NAME or replay:RUN"))
    problems += [
        Problem("--tag", f"{each[:80]!r} is not NAME=TEXT")
        for each in tag or ()
        if not each.partition("=")[1]
    ]
    if problems:
        raise ConfigurationError("command", problems)


@contextmanager
def _opened(project: str, model: str) -> Iterator[tuple[IntakeStore, ModelContext]]:
    from monitor.cli.common import find_context, find_project, open_database, settings_with_database
    from monitor.store.open import open_store

    with open_database() as engine:
        project_id = find_project(engine, project)
        found = find_context(engine, project_id, model)
    store = open_store(settings_with_database())
    try:
        yield store, found
    finally:
        store.close()


def _deployment(
    store: IntakeStore,
    model: ModelContext,
    deployment: int | None,
    tag: list[str] | None,
    now: datetime,
) -> int | None:
    from monitor.deployment import Tags

    if deployment is not None and deployment not in model.deployment_ids:
        raise UnknownSubject(f"model {model.contract.model} has no deployment {deployment}")
    if not tag:
        return deployment
    try:
        tags = Tags.of(dict(each.split("=", 1) for each in tag))
    except ValueError as error:
        raise ConfigurationError("command", [Problem("--tag", str(error))]) from None
    return store.register_deployment(model.project_id, model.model_id, tags, None, now)[0]


@contextmanager
def _progress(file: Path, *, quiet: bool) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    if quiet:
        yield lambda _share, _sent: None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %, {task.fields[sent]:,} records"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(file.name, total=1.0, sent=0)
        yield lambda share, sent: bar.update(task, completed=share, sent=sent)


def _tell(result: ImportResult, as_json: bool) -> None:
    counts = {
        "sent": result.sent,
        "accepted": result.accepted,
        "duplicate": result.duplicate,
        "conflict": result.conflict,
        "rejected": result.rejected,
        "violations": result.violations,
    }
    shown = result.rejections[:SHOWN_REJECTIONS]
    if as_json:
        listed = [
            {"place": r.place, "reason": r.reason.value, "message": r.message,
             "request_id": r.request_id}
            for r in shown
        ]  # fmt: skip
        print_json({**counts, "rejections": listed})
        return
    print_table(list(counts), [[f"{number:,}" for number in counts.values()]])
    if shown:
        typer.echo(f"\nThe first rejected of {result.rejected:,} (places count from 0):")
        headings = ("place", "reason", "request", "message")
        print_table(
            headings, [(r.place, r.reason.value, r.request_id or "", r.message) for r in shown]
        )
