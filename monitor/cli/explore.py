"""`inferwatch explore`: an Evidently report of a window against a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monitor.cli.common import (
    KnownProject,
    find_context,
    find_project,
    open_database,
    read_span,
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(explore)


def explore(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    window: Annotated[
        str,
        typer.Option(
            "--window",
            help="FROM/TO: days in the contract's time zone, or moments with a zone; TO is the"
            " first that is no longer part of it.",
        ),
    ],
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="Its name; else the newest with a sample.")
    ] = None,
    leg: Annotated[str, typer.Option("--leg", help="Whose requests.")] = "live",
    deployment: Annotated[
        int | None, typer.Option("--deployment", help="Only of this deployment.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file; else named by the question.")
    ] = None,
    project: KnownProject = "default",
) -> None:
    """Write an Evidently HTML report of a window's sample against a baseline's sample.

    At most 2,000 rows a side, the same ones each time. Nothing is sent anywhere.
    """
    with open_database() as engine:
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, model)
        span = read_span(window, "--window", context.contract.time_zone)
        typer.echo("Reading samples and writing the report; this takes about 20 seconds.", err=True)
        from monitor.explore import explore as make_report

        done = make_report(
            engine, project_id, context, span, baseline=baseline, leg=leg,
            deployment_id=deployment, output=output,
        )  # fmt: skip
    typer.echo(
        f"{done.path}: {done.window_rows:,} rows of the window against {done.baseline_rows:,}"
        f" of baseline {done.baseline}."
    )
    if done.left_out:
        typer.echo(f"Not compared: {', '.join(done.left_out)}.")
