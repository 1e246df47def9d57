"""`inferwatch reports`: reports that are built on a schedule, and those that were."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import (
    AsJson,
    By,
    KnownProject,
    find_context,
    find_project,
    login,
    open_database,
    plain,
    print_json,
    print_table,
)
from monitor.cli.report import Form
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

app = typer.Typer(help="Have reports built on a schedule; list and fetch what was built.",
                  no_args_is_help=True)  # fmt: skip

Number = Annotated[int, typer.Argument(help="Its number.", min=1, show_default=False)]


class Every(StrEnum):
    """How long the period of each report is."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


@app.command()
def schedule(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    every: Annotated[Every, typer.Option("--every", help="The period of each.")] = Every.MONTH,
    form: Annotated[Form, typer.Option("--format", help="How it is written.")] = Form.PDF,
    receiver: Annotated[
        str | None,
        typer.Option("--receiver", help="Who is told, a receiver of the alert rules in force."),
    ] = None,
    by: By = None,
    project: KnownProject = "default",
) -> None:
    """Build a report of each period that ends, from the one that runs now on.

    It is built six hours after the period ended, in the contract's time zone, and kept.
    """
    from monitor.jobs.scheduled_reports import next_due
    from monitor.store.engine import Role, transaction
    from monitor.store.report_book import add_schedule

    with open_database() as engine:
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, model)
        zone = context.contract.time_zone
        due = next_due(every.value, zone, datetime.now(UTC))
        with transaction(engine, project_id, Role.OWNER) as connection:
            if receiver is not None:
                _require_receiver(connection, project_id, receiver)
            number = add_schedule(
                connection, project_id, context.model_id, every=every.value, zone=zone,
                form=form.value, receiver=receiver, by=login(by), next_at=due,
            )  # fmt: skip
    told = f" and told to {plain(receiver)}" if receiver else ""
    typer.echo(
        f"Schedule {number}: each {every.value} of {model} as {form.value}, kept{told};"
        f" the first at {due:%Y-%m-%d %H:%M} UTC."
    )


@app.command("list")
def list_(project: KnownProject = "default", as_json: AsJson = False) -> None:
    """List schedules, and the newest 50 reports that were built."""
    from monitor.reports.kept_reports import kept_reports

    with open_database() as engine:
        found = kept_reports(engine, find_project(engine, project))
    if as_json:
        print_json(
            {
                "schedules": [vars(each) for each in found.schedules],
                "reports": [
                    {**vars(each), "period": [each.period.start, each.period.end]}
                    for each in found.built
                ],
            }
        )
        return
    if not found.schedules:
        typer.echo("No schedule yet; `inferwatch reports schedule MODEL` makes one.")
        return
    print_table(
        ["schedule", "model", "every", "format", "receiver", "by", "next at", "ended"],
        [
            [s.id, s.model, s.every, s.form, s.receiver or "", s.created_by, s.next_at,
             s.ended_at or ""]
            for s in found.schedules
        ],
    )  # fmt: skip
    if found.built:
        print_table(
            ["report", "schedule", "model", "from", "to", "format", "bytes", "SHA-256"],
            [
                [b.id, b.schedule_id, b.model, b.period.start, b.period.end, b.form,
                 f"{b.size:,}", b.sha256]
                for b in found.built
            ],
        )  # fmt: skip


@app.command()
def end(number: Number, by: By = None, project: KnownProject = "default") -> None:
    """End a schedule; what it built is kept."""
    from monitor.store.engine import Role, transaction
    from monitor.store.report_book import end_schedule

    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.OWNER) as connection:
            end_schedule(connection, project_id, number, login(by), datetime.now(UTC))
    typer.echo(f"Schedule {number} has ended.")


@app.command()
def get(
    number: Number,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            dir_okay=False,
            show_default=False,
            help="The file; report-NUMBER.FORMAT without it, - for standard output.",
        ),
    ] = None,
    project: KnownProject = "default",
) -> None:
    """Write a report that was built to a file."""  # fmt: skip
    from monitor.documents.writers.registry import FORMS
    from monitor.reports.kept_reports import kept_body

    with open_database() as engine:
        form, body = kept_body(engine, find_project(engine, project), number)
    path = output or Path(f"report-{number}.{FORMS[form].ending}")
    if str(path) == "-":
        sys.stdout.buffer.write(body)
        return
    try:
        path.write_bytes(body)
    except OSError as error:
        problem = Problem("--output", f"{path} can't be written: {error.strerror or error}")
        raise ConfigurationError("command", [problem]) from error
    typer.echo(f"{path}: {len(body):,} bytes.")


def _require_receiver(connection: Connection, project_id: int, name: str) -> None:
    from monitor.store.alert_book import rules_in_force

    rules = rules_in_force(connection, project_id)
    known = sorted(each.name for each in rules.config.receivers) if rules is not None else []
    if name not in known:
        there = ", ".join(known) or "none"
        what = f"the rules in force have no receiver {name[:60]!r}; they have {there}"
        raise ConfigurationError("command", [Problem("--receiver", what)])
