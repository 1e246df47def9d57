"""`inferwatch report`: a document about one model and one period, for people who review it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import (
    AsOf,
    KnownProject,
    find_context,
    find_project,
    open_database,
    read_as_of,
    read_moment,
)
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from monitor.evidence.signing import SigningKey


class Form(StrEnum):
    """What the report is written as."""

    PDF = "pdf"
    HTML = "html"
    JSON = "json"
    CSV = "csv"
    ZIP = "zip"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(report)


def report(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    start: Annotated[
        str, typer.Option("--from", help="First day, or a moment.", show_default=False)
    ],
    end: Annotated[
        str,
        typer.Option(
            "--to", help="Last day, which is in the report, or a moment.", show_default=False
        ),
    ],
    as_of: AsOf = None,
    form: Annotated[Form, typer.Option("--format", help="How it is written.")] = Form.PDF,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            dir_okay=False,
            show_default=False,
            help="The file; MODEL-FROM-TO.FORMAT without it, - for standard output.",
        ),
    ] = None,
    project: KnownProject = "default",
) -> None:
    """Write what was planned, measured, found and decided about a model in a period.

    With --as-of the same command gives the same bytes whenever it is run. csv is a zip with a file
    a table; zip is a signed bundle of all forms with the measurements and the audit chain, for
    `inferwatch verify`. Exit codes: 0 written, 2 it could not be.
    """  # fmt: skip
    from monitor.documents.build import Question, build_document
    from monitor.documents.signed import write_report
    from monitor.documents.writers.registry import FORMS
    from monitor.windows import Window

    with open_database() as engine:
        project_id = find_project(engine, project)
        zone = find_context(engine, project_id, model).contract.time_zone
        first, last = read_moment(start, "--from", zone), read_as_of(end, zone)
        if last is None or not first < last:
            problem = Problem("--to", f"{end[:40]!r} is before --from {start[:40]!r}")
            raise ConfigurationError("command", [problem])
        known_by = read_as_of(as_of, zone) or datetime.now(UTC)
        question = Question(project_id, model, Window(first, last), known_by)
        with _progress() as step:
            document = build_document(engine, question, step)
        written = write_report(engine, question, document, form.value, installation_signer)
    name = f"{model}-{first:%Y%m%d}-{last:%Y%m%d}.{FORMS[form.value].ending}"
    _put(written, output or Path(name))


def installation_signer() -> SigningKey:
    """The key of this installation; made at first use."""
    from monitor.installation_key import signing_key
    from monitor.settings import Settings

    return signing_key(Settings.from_environment())


def _put(written: bytes, path: Path) -> None:
    if str(path) == "-":
        sys.stdout.buffer.write(written)
        return
    try:
        path.write_bytes(written)
    except OSError as error:
        problem = Problem("--output", f"{path} can't be written: {error.strerror or error}")
        raise ConfigurationError("command", [problem]) from error
    typer.echo(f"{path}: {len(written):,} bytes.")


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """A bar on a terminal, nothing elsewhere."""
    from rich.console import Console
    from rich.progress import Progress

    from monitor.documents.registry import SECTIONS

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Reading", total=len(SECTIONS))

        def step(title: str) -> None:
            bar.update(task, advance=1, description=title)

        yield step
