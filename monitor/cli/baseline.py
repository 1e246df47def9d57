"""`inferwatch baseline`: freeze counts that later windows are compared with."""

from __future__ import annotations

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
    print_json,
    print_table,
    read_moment,
)
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from monitor.store.baselines import StoredBaseline
    from monitor.store.models import ModelContext

REFERENCE = "reference"

app = typer.Typer(help="Freeze counts that windows are compared with.", no_args_is_help=True)

Model = Annotated[str, typer.Argument(help="The model's name.", show_default=False)]


@app.command()
def create(
    model: Model,
    name: Annotated[str, typer.Option("--name", help="What the baseline is called.")],
    file: Annotated[
        Path | None, typer.Option("--file", help="Reference rows: Parquet, CSV or Feather.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", help="First day (in the contract's time zone) or moment."),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", help="First day or moment that is no longer part of it.")
    ] = None,
    leg: Annotated[
        str, typer.Option("--leg", help="Whose requests, with --from and --to.")
    ] = "live",
    new_binning: Annotated[
        bool,
        typer.Option("--new-binning", help="Choose new cells from this file; needs --file."),
    ] = False,
    project: KnownProject = "default",
    by: By = None,
) -> None:
    """Make the next version of a baseline, from a file or from production that you accept.

    Production baselines are merged from stored profiles: no request is read again.
    """
    if (file is None) == (start is None or end is None) or (file is None and new_binning):
        raise ConfigurationError(
            "command", [Problem("baseline create", "give --file, or --from with --to")]
        )
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise ConfigurationError(
            "command", [Problem("--name", "write 1 to 100 printable characters")]
        )
    with open_database() as engine:
        project_id = find_project(engine, project)
        if file is not None:
            make_from_file(
                engine, project_id, model, file, login(by), name=name, new_binning=new_binning
            )
            return
        context = find_context(engine, project_id, model)
        _make_from_window(engine, project_id, context, str(start), str(end), name, login(by), leg)


@app.command("list")
def list_(model: Model, project: KnownProject = "default", as_json: AsJson = False) -> None:
    """List the baselines of a model: newest version of each name."""
    from monitor.store.baselines import current_baselines, current_binning
    from monitor.store.engine import Role, transaction
    from monitor.store.models import model_number

    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.OWNER) as connection:
            model_id = model_number(connection, project_id, model)
            in_use = current_binning(connection, project_id, model_id)
            found = current_baselines(connection, project_id, model_id)
    rows = [_row(each, in_use.id if in_use is not None else None) for each in found]
    if as_json:
        print_json(rows)
    elif not rows:
        typer.echo(
            f"{model} has no baseline yet: `inferwatch baseline create {model} --name NAME --file"
            " FILE`, or wait for the first rows."
        )
    else:
        print_table([key.replace("_", " ") for key in rows[0]], [list(r.values()) for r in rows])


def make_from_file(
    engine: Engine,
    project_id: int,
    model: str,
    file: Path,
    by: str,
    *,
    name: str = REFERENCE,
    new_binning: bool = False,
    once: bool = False,
) -> None:
    """Make a baseline from a file and say what came of it; with `once` only when there is none."""
    from monitor.jobs.set_baseline import baseline_from_file
    from monitor.reference import read_reference
    from monitor.store.baselines import baseline_named, current_baselines
    from monitor.store.engine import Role, transaction

    context = find_context(engine, project_id, model)
    if once:
        with transaction(engine, project_id, Role.OWNER) as connection:
            known = current_baselines(connection, project_id, context.model_id)
        if any(each.kind == "file" for each in known):
            return
    table = read_reference(file)
    baseline_from_file(
        engine, project_id, context, table,
        name=name, by=by, source=file.name, new_binning=new_binning,
    )  # fmt: skip
    with transaction(engine, project_id, Role.OWNER) as connection:
        _tell(baseline_named(connection, project_id, context.model_id, name), context)


def _make_from_window(
    engine: Engine,
    project_id: int,
    context: ModelContext,
    start: str,
    end: str,
    name: str,
    by: str,
    leg: str,
) -> None:
    from monitor.jobs.set_baseline import baseline_from_window
    from monitor.store.baselines import baseline_named
    from monitor.store.engine import Role, transaction
    from monitor.windows import Window

    zone = context.contract.time_zone
    first, last = read_moment(start, "--from", zone), read_moment(end, "--to", zone)
    if not first < last:
        raise ConfigurationError("command", [Problem("--to", "must be later than --from")])
    window = Window(first, last)
    baseline_from_window(engine, project_id, context, window, name=name, by=by, leg=leg)
    with transaction(engine, project_id, Role.OWNER) as connection:
        _tell(baseline_named(connection, project_id, context.model_id, name), context)


def _tell(made: StoredBaseline, context: ModelContext) -> None:
    """What was frozen, and what in it breaks the contract."""
    from monitor.profiles.columns import CELLS, violation_counts
    from monitor.profiles.views import views_of

    typer.echo(f"Baseline {made.name!r} version {made.version}: {made.n:,} rows of {made.source}.")
    views = views_of(context.contract)
    lacking = {v.column.name for v in views if CELLS + v.name not in made.part.dense}
    if lacking:
        typer.echo(f"Without values there, so without a yardstick: {', '.join(sorted(lacking))}.")
    for column in context.contract.columns:
        for reason, times in violation_counts(made.part, column.name).items():
            word = reason.name.lower().replace("_", " ")
            typer.echo(f"  {column.name}: {times:,} rows break the contract ({word})")


def _row(each: StoredBaseline, in_use: int | None) -> dict[str, object]:
    return {
        "name": each.name,
        "version": each.version,
        "kind": each.kind,
        "rows": each.n,
        "source": each.source,
        "compared": each.binning_id == in_use,
        "sample": each.sample is not None,
        "created_by": each.created_by,
        "created_at": each.created_at,
    }
