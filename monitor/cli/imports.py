"""`inferwatch import`: requests and labels from files of ours and of producers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from monitor.cli.common import AsJson, KnownProject, print_json
from monitor.cli.import_told import tell_left, tell_own, tell_producer
from monitor.errors import ConfigurationError, Problem, UnknownSubject

if TYPE_CHECKING:
    from monitor.collector.file_import import ImportResult, Progress
    from monitor.collector.producer_import import ProducerImport
    from monitor.intake.producer_files.base import ReadOptions
    from monitor.intake.producer_files.find import FoundFiles
    from monitor.store.intake_store import IntakeStore
    from monitor.store.models import ModelContext

Kind = Literal["requests", "labels"]
OWN_LEG, PRODUCER_LEG = "batch", "live"


def register(app: typer.Typer) -> None:
    """Add the command of this file to the command line."""
    app.command("import")(import_command)


@dataclass(frozen=True)
class Asked:
    """What the command line said."""

    path: Path
    project: str
    model: str | None
    kind: Kind | None
    deployment: int | None
    tags: tuple[str, ...]
    leg: str | None
    dry_run: bool
    as_json: bool
    now: datetime


def import_command(
    path: Annotated[
        Path,
        typer.Argument(exists=True, readable=True, metavar="FILE|FOLDER",
                       help="What to import; formats are recognised by content."),
    ],
    model: Annotated[
        str | None,
        typer.Option("--model", help="Name of the model; not needed where the file names one."),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="Take all files for this format.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be stored; store nothing.")
    ] = False,
    kind: Annotated[
        Kind | None,
        typer.Option("--kind", help="What records of our own format are; default requests."),
    ] = None,
    deployment: Annotated[
        int | None, typer.Option("--deployment", help="For requests that name none.")
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", help="NAME=TEXT, a version tag for requests that have none."),
    ] = None,
    leg: Annotated[
        str | None,
        typer.Option("--leg", help="live, batch, shadow:… or replay:…; default batch for our own"
                                   " format, live for a producer's."),
    ] = None,
    time_zone: Annotated[
        str | None,
        typer.Option("--time-zone", help="Whose clock wrote times without a zone: Europe/Berlin."),
    ] = None,
    clock_start: Annotated[
        str | None,
        typer.Option("--clock-start", help="When a file's own clock stood at zero, with its zone."),
    ] = None,
    sampling_rate: Annotated[
        float | None,
        typer.Option("--sampling-rate", help="Share of requests that the producer captured."),
    ] = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Store the requests and labels of files. Doing it again is safe: what is there is a duplicate.

    Formats are recognised by content: our own .parquet, .csv and .ndjson, and what producers write.
    Exit code 1 says that some records could not be stored or a file could not be read.
    """
    from monitor.intake.producer_files.find import find_files

    asked = Asked(path, project, model, kind, deployment, tuple(tag or ()), leg, dry_run, as_json,
                  datetime.now(UTC))  # fmt: skip
    options = _options(asked, form, time_zone, clock_start, sampling_rate)
    found = find_files(path, form)
    _check_found(asked, found)
    told: dict[str, Any] = {}
    failed = found.unreadable > 0
    if found.own:
        own = _import_own(asked, found)
        failed = failed or own.rejected > 0
        told = tell_own(own, dry_run=dry_run, as_json=as_json)
    if found.groups:
        done = _import_producers(asked, found, options, sampling_rate)
        failed = failed or any(each.rejected or each.unreadable for each in done)
        formats = [tell_producer(each, dry_run=dry_run, as_json=as_json) for each in done]
        told = {**_sums(done, told), "formats": formats}
    tell_left(found, as_json=as_json)
    if as_json:
        left = [{"file": file.name, "why": why} for file, why in found.left]
        more = {"left": left} if left else {}
        hidden = {"hidden": found.hidden} if found.hidden else {}
        print_json({**told, **more, **hidden})
    if failed:
        raise typer.Exit(1)


def _options(
    asked: Asked,
    form: str | None,
    time_zone: str | None,
    clock_start: str | None,
    sampling_rate: float | None,
) -> ReadOptions:
    """What is known beside the files; all mistakes of the command line at once."""
    from monitor.intake.legs import is_leg
    from monitor.intake.producer_files.base import BadRecord, ReadOptions
    from monitor.intake.producer_files.find import OWN
    from monitor.intake.producer_files.local_clock import LocalClock
    from monitor.intake.producer_files.moments import moment_of
    from monitor.intake.producer_files.registry import FILE_FORMATS

    problems, clock, start = [], None, None
    if asked.deployment is not None and asked.tags:
        problems.append(Problem("--tag", "give --deployment or --tag, not both"))
    if asked.leg is not None and not is_leg(asked.leg):
        problems.append(Problem("--leg", "is live, batch, shadow:NAME or replay:RUN"))
    problems += [
        Problem("--tag", f"{each[:80]!r} is not NAME=TEXT")
        for each in asked.tags
        if not each.partition("=")[1]
    ]
    if form is not None and form not in FILE_FORMATS and form != OWN:
        known = ", ".join((OWN, *FILE_FORMATS))
        problems.append(Problem("--format", f"{form[:80]!r} is no format; known are {known}"))
    if sampling_rate is not None and not 0 < sampling_rate <= 1:
        problems.append(Problem("--sampling-rate", "is a share above 0 and at most 1"))
    try:
        clock = LocalClock.of(time_zone) if time_zone is not None else None
    except ValueError as error:
        problems.append(Problem("--time-zone", str(error)))
    options = ReadOptions(asked.now, clock)
    try:
        start = moment_of(clock_start, options) if clock_start is not None else None
    except BadRecord as bad:
        problems.append(Problem("--clock-start", bad.message))
    if problems:
        raise ConfigurationError("command", problems)
    return ReadOptions(asked.now, clock, start)


def _check_found(asked: Asked, found: FoundFiles) -> None:
    """What the command line says must fit what was found."""
    problems = []
    if not found.own and not found.groups:
        reasons = "; ".join(f"{file.name}: {why}" for file, why in found.left[:5])
        told = f"nothing here can be imported{f' ({reasons})' if reasons else ''}; see --format"
        problems.append(Problem(str(asked.path), told))
    if found.own and asked.model is None:
        problems.append(
            Problem("--model", f"{found.own[0].name} is of our own format, which names no model")
        )
    if found.groups and not found.own:
        names = ", ".join(found.groups)
        if asked.kind is not None:
            problems.append(
                Problem("--kind", f"the format {names} says itself what its records are")
            )
        if asked.deployment is not None:
            problems.append(Problem("--deployment", f"is for our own format, this is {names};"
                                                    " give --tag"))  # fmt: skip
    if problems:
        raise ConfigurationError("command", problems)


def _import_own(asked: Asked, found: FoundFiles) -> ImportResult:
    from monitor.collector.dry_store import DryStore
    from monitor.collector.file_import import ImportResult, import_file

    whole = ImportResult()
    with _opened(asked.project, asked.model or "") as (store, model):
        number = None if asked.dry_run else _deployment(store, model, asked)
        kept = DryStore(store) if asked.dry_run else store
        for file in found.own:
            with _progress(file.name, quiet=asked.as_json) as progress:
                whole.add(import_file(
                    kept, model, file.path, labels=asked.kind == "labels",
                    leg=asked.leg or OWN_LEG, deployment=number, now=asked.now, progress=progress,
                ))  # fmt: skip
    return whole


def _import_producers(
    asked: Asked, found: FoundFiles, options: ReadOptions, sampling_rate: float | None
) -> list[ProducerImport]:
    from monitor.cli.common import find_project, open_database, settings_with_database
    from monitor.collector.dry_store import DryStore
    from monitor.collector.producer_import import Known, ProducerImporter
    from monitor.collector.producer_store import Sender
    from monitor.collector.text_models import TextModels
    from monitor.settings import Settings
    from monitor.store.open import open_store

    known = Known(_tags(asked).as_dict(), sampling_rate)
    with open_database() as engine:
        project_id = find_project(engine, asked.project)
    sender = Sender(project_id, asked.now, asked.model, asked.leg or PRODUCER_LEG, anytime=True)
    store = open_store(settings_with_database())
    try:
        kept = DryStore(store) if asked.dry_run else store
        models = TextModels(Settings.from_environment().text_models)
        importer = ProducerImporter(kept, sender, known, show=asked.dry_run, text_models=models)
        done = []
        for form, files in found.formats():
            with _progress(form.name, quiet=asked.as_json) as progress:
                done.append(importer.run(form, files, options, progress))
        return done
    finally:
        store.close()


def _tags(asked: Asked) -> Any:
    from monitor.deployment import Tags

    try:
        return Tags.of(dict(each.split("=", 1) for each in asked.tags))
    except ValueError as error:
        raise ConfigurationError("command", [Problem("--tag", str(error))]) from None


def _sums(done: list[ProducerImport], own: dict[str, Any]) -> dict[str, Any]:
    """Counts of all formats and of our own files together."""
    names = ("accepted", "duplicate", "conflict", "rejected", "violations")
    sums = {name: sum(getattr(each, name) for each in done) + own.get(name, 0) for name in names}
    sent = sum(sums[name] for name in names[:4])
    return {"sent": sent, **sums, "rejections": own.get("rejections", [])}


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


def _deployment(store: IntakeStore, model: ModelContext, asked: Asked) -> int | None:
    if asked.deployment is not None and asked.deployment not in model.deployment_ids:
        raise UnknownSubject(f"model {model.contract.model} has no deployment {asked.deployment}")
    if not asked.tags:
        return asked.deployment
    tags = _tags(asked)
    return store.register_deployment(model.project_id, model.model_id, tags, None, asked.now)[0]


@contextmanager
def _progress(name: str, *, quiet: bool) -> Iterator[Progress]:
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
        task = bar.add_task(name, total=1.0, sent=0)
        yield lambda share, sent: bar.update(task, completed=share, sent=sent)
