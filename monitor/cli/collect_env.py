"""`inferwatch collect-env`: version tags of this machine, to print or to register."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import (
    AsJson,
    KnownProject,
    find_context,
    find_project,
    open_database,
    plain,
    print_json,
    print_table,
)
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from monitor.collect_env.collected import Collected


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("collect-env")(collect_env)


def collect_env(
    python: Annotated[
        Path | None, typer.Option("--python", help="The interpreter that serves; default: this.")
    ] = None,
    folder: Annotated[
        Path, typer.Option("--code", file_okay=False, help="A checkout whose revision counts.")
    ] = Path(),
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="NAME=VALUE, before what is found.")
    ] = None,
    join: Annotated[
        list[str] | None, typer.Option("--join", help="NAME=VALUE that requests are found by.")
    ] = None,
    register_for: Annotated[
        str | None, typer.Option("--register", help="Register it for this model.")
    ] = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Tell accelerators, driver, processor, packages, image and code of this machine.

    `--json` prints what `inferwatch deployments register` and `POST /v1/deployments` take.
    """
    from monitor.cli.deployments import store_deployment, told_deployment
    from monitor.collect_env.collect import collect
    from monitor.settings import process_environment

    found = collect(process_environment(), python=python, folder=folder,
                    tags=_pairs(tag, "--tag"), joins=_pairs(join, "--join"))  # fmt: skip
    told = told_deployment(found.as_body(), "collect-env")
    if as_json:
        print_json(found.as_body())
    else:
        _print(found)
    if register_for is not None:
        with open_database() as engine:
            context = find_context(engine, find_project(engine, project), register_for)
            typer.echo(store_deployment(engine, context, told), err=as_json)


def _pairs(written: Sequence[str] | None, option: str) -> dict[str, str]:
    wrong = [each for each in written or () if "=" not in each]
    if wrong:
        what = f"{', '.join(repr(each[:60]) for each in wrong)}: write NAME=VALUE"
        raise ConfigurationError("command", [Problem(option, what)])
    parts = [each.partition("=") for each in written or ()]
    return {name.strip(): value.strip() for name, _, value in parts}


def _print(found: Collected) -> None:
    print_table(["tag", "value"], sorted(found.tags.items()))
    for name, value in found.joins.items():
        typer.echo(f"found by {plain(name)} = {plain(value)}")
    for note in found.notes:
        typer.echo(f"note: {plain(note)}")
