"""`inferwatch alerts snooze`, `archive`, `unarchive`, `retire-model` and `export`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from monitor.cli.common import By, KnownProject, find_project, login, open_database, read_moment
from monitor.errors import ConfigurationError, Problem
from monitor.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterator

USUAL_DAYS = 30

Number = Annotated[int, typer.Argument(help="The alert's number.", min=1, show_default=False)]
Comment = Annotated[str, typer.Option("--comment", help="Why; kept with the alert's history.")]
Format = Literal["json", "ndjson", "csv"]


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `inferwatch alerts`."""
    app.command()(snooze)
    app.command()(archive)
    app.command()(unarchive)
    app.command("retire-model")(retire_model_)
    app.command()(export)


def snooze(
    number: Number,
    length: Annotated[
        str | None, typer.Option("--for", help="From now on, such as 30m, 4h or 2d.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="A day or a moment.")] = None,
    by: By = None,
    comment: Comment = "",
    project: KnownProject = "default",
) -> None:
    """Keep an open alert quiet for a while; its end is told all the same."""
    from monitor.store.hand_over import snooze_alert

    now = datetime.now(UTC)
    end = end_of(length, until, now)
    with open_database() as engine:
        project_id = find_project(engine, project)
        done = snooze_alert(engine, project_id, number, end, login(by), comment, now)
    typer.echo(f"Alert {number} is snoozed until {end:%Y-%m-%d %H:%M}Z; it is {done.state}.")


def archive(
    number: Number, by: By = None, comment: Comment = "", project: KnownProject = "default"
) -> None:
    """Hear of an alert, and of its next episodes, only when it is much worse than now."""
    from monitor.store.hand_over import archive_alert

    with open_database() as engine:
        project_id = find_project(engine, project)
        archive_alert(engine, project_id, number, login(by), comment, datetime.now(UTC))
    typer.echo(f"Alert {number} is archived until it is much worse.")


def unarchive(
    number: Number, by: By = None, comment: Comment = "", project: KnownProject = "default"
) -> None:
    """Hear of an archived alert again."""
    from monitor.store.hand_over import unarchive_alert

    with open_database() as engine:
        project_id = find_project(engine, project)
        unarchive_alert(engine, project_id, number, login(by), comment, datetime.now(UTC))
    typer.echo(f"Alert {number} is told of again.")


def retire_model_(
    model: Annotated[str, typer.Argument(help="Name of the model.", show_default=False)],
    by: By = None,
    comment: Comment = "",
    project: KnownProject = "default",
) -> None:
    """Say that a model is served no more: its open alerts end for that reason."""
    from monitor.store.hand_over import retire_model

    with open_database() as engine:
        project_id = find_project(engine, project)
        ended = retire_model(engine, project_id, model, login(by), comment, datetime.now(UTC))
    typer.echo(f"Model {model} is retired; {ended} open alerts ended.")


def export(
    start: Annotated[
        str | None,
        typer.Option(
            "--from", help=f"A day or a moment; default {USUAL_DAYS} days before the end."
        ),
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="Up to this; default now.")] = None,
    form: Annotated[Format, typer.Option("--format", help="json, ndjson or csv.")] = "json",
    output: Annotated[
        Path | None, typer.Option("--output", help="A file; without it standard output.")
    ] = None,
    project: KnownProject = "default",
) -> None:
    """Write down alerts with their history, messages, attempts, actions and silences.

    A record belongs to the span by the moment it was written down. Days are days of UTC.
    """
    from monitor.cli.common import settings_with_database
    from monitor.reports.alert_export import alert_export
    from monitor.reports.alert_export_files import ExportFormat, written

    now = datetime.now(UTC)
    last = read_moment(end, "--to", "UTC") if end else now
    usual = last - timedelta(days=USUAL_DAYS)
    first = read_moment(start, "--from", "UTC") if start else usual
    span = _span(first, last)
    pages = settings_with_database().public_url
    with open_database() as engine:
        project_id = find_project(engine, project)
        with alert_export(engine, project_id, project, span, pages, now) as exported:
            _write(written(exported, ExportFormat(form)), output)


def _write(pieces: Iterator[bytes], output: Path | None) -> None:
    if output is None:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    try:
        with output.open("wb") as file:
            file.writelines(pieces)
    except OSError as error:
        problem = Problem("--output", f"can't be written: {error.strerror or error}")
        raise ConfigurationError("command", [problem]) from error
    typer.echo(f"{output} is written.", err=True)


def _span(first: datetime, last: datetime) -> Window:
    if not first < last:
        raise ConfigurationError("command", [Problem("--from", "must lie before --to")])
    return Window(first, last)


def end_of(length: str | None, until: str | None, now: datetime) -> datetime:
    """The end that --for or --until name; ConfigurationError unless exactly one is given."""
    from alerts.durations import parse_duration

    if (length is None) == (until is None):
        problem = Problem("--for", "say --for (such as 4h) or --until (a moment), one of them")
        raise ConfigurationError("command", [problem])
    if until is not None:
        return read_moment(until, "--until", "UTC")
    try:
        return now + parse_duration(length or "")
    except ValueError as error:
        raise ConfigurationError("command", [Problem("--for", str(error))]) from None
