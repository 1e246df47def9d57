"""`inferwatch backtest`: what the drift alarms would have done in a model's healthy weeks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import (
    AsJson,
    KnownProject,
    find_context,
    find_project,
    job_context,
    open_database,
    print_json,
)
from monitor.cli.promise import backtest_facts, backtest_lines

if TYPE_CHECKING:
    from monitor.jobs.promise.backtest_model import Progress

MOST_WEEKS = 104


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(backtest)


def backtest(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    weeks: Annotated[
        int, typer.Option("--weeks", min=5, max=MOST_WEEKS, help="How many weeks to look back.")
    ] = 16,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Judge every healthy week by a baseline that was learned without it.

    If those weeks were healthy, every incident it opens is false. Weeks touched by an incident that
    nobody has cleared are left out. The result is kept and shown wherever the promise is shown.
    """
    from monitor.jobs.promise.backtest_model import backtest_model
    from monitor.reports.promise_state import backtest_from_json

    with open_database() as engine:
        found_model = find_context(engine, find_project(engine, project), model)
        with job_context(engine, project, found_model) as context, _progress() as progress:
            kept = backtest_model(context, weeks=weeks, progress=progress)
    found = backtest_from_json(kept)
    if as_json:
        print_json(backtest_facts(found))
        return
    for line in backtest_lines(found):
        typer.echo(line)


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on the error output; nothing where that is no terminal."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("weeks", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)
