"""`inferwatch deployments`: version tags of what serves, who said them, and contradictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    read_text_file,
)
from monitor.errors import ConfigurationError, Problem, RequestRefused, UnknownSubject

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from monitor.collector.deployment_body import ToldDeployment
    from monitor.reports.deployments import DeploymentLine
    from monitor.store.models import ModelContext

app = typer.Typer(
    no_args_is_help=True, help="Version tags of what serves, who said them, contradictions."
)
Model = Annotated[str, typer.Argument(help="The model's name.", show_default=False)]


@app.command("list")
def list_deployments(
    model: Model, project: KnownProject = "default", as_json: AsJson = False
) -> None:
    """List a model's deployments, the newest first."""
    from monitor.reports.deployments import deployments_of

    with open_database() as engine:
        project_id = find_project(engine, project)
        found = deployments_of(engine, project_id, find_context(engine, project_id, model).model_id)
    if as_json:
        print_json([asdict(each) for each in found])
    elif not found:
        typer.echo("No deployment yet: send tags with requests, or register one.")
    else:
        rows = [
            [each.number, each.name, each.first_seen_at, len(each.registrations), each.summary]
            for each in found
        ]
        print_table(["deployment", "name", "first seen", "registered", "tags"], rows)


@app.command()
def show(
    model: Model,
    number: Annotated[int, typer.Argument(help="The deployment's number.", show_default=False)],
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Show one deployment: each tag with who said it, and where and when it is registered."""
    from monitor.reports.deployments import deployments_of

    with open_database() as engine:
        project_id = find_project(engine, project)
        found = deployments_of(engine, project_id, find_context(engine, project_id, model).model_id)
    one = next((each for each in found if each.number == number), None)
    if one is None:
        known = ", ".join(str(each.number) for each in found[:20]) or "none yet"
        raise UnknownSubject(f"{model} has no deployment {number}; there are: {known}")
    if as_json:
        print_json(asdict(one))
        return
    _print_one(one)


@app.command()
def conflicts(
    model: Annotated[str | None, typer.Argument(help="Only this model.")] = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Tags on which two sources contradict each other. Exit code 1 when there are any."""
    from monitor.reports.deployments import tag_conflicts

    with open_database() as engine:
        project_id = find_project(engine, project)
        chosen = find_context(engine, project_id, model).model_id if model is not None else None
        found = tag_conflicts(engine, project_id, chosen)
    if as_json:
        print_json([asdict(each) for each in found])
    elif not found:
        typer.echo("No contradiction between requests, resources and registrations.")
    else:
        print_table(
            ["model", "last seen", "requests", "what"],
            [[each.model, each.last_at, each.requests, each.what] for each in found],
        )
    if found:
        raise typer.Exit(1)


@app.command("register")
def register_file(
    model: Model,
    file: Annotated[
        Path, typer.Argument(dir_okay=False, help="YAML or JSON: tags, joins, valid_from, …")
    ],
    project: KnownProject = "default",
) -> None:
    """Register a deployment from a file, as `POST /v1/deployments` does.

    What is stored already keeps the tags it has.
    """
    told = read_deployment_file(file)
    with open_database() as engine:
        project_id = find_project(engine, project)
        typer.echo(store_deployment(engine, find_context(engine, project_id, model), told))


def read_deployment_file(file: Path) -> ToldDeployment:
    """The deployment of a file; ConfigurationError names all that is wrong with it."""
    import yaml

    text = read_text_file(file)
    try:
        return told_deployment(yaml.safe_load(text), str(file))
    except yaml.YAMLError as error:
        what = f"is no YAML: {str(error).splitlines()[0]}"
        raise ConfigurationError(str(file), [Problem("file", what)]) from None


def told_deployment(value: Any, source: str) -> ToldDeployment:
    """A decoded deployment; ConfigurationError names all that is wrong with it."""
    from monitor.collector.deployment_body import deployment_of

    try:
        return deployment_of(value, datetime.now(UTC))
    except RequestRefused as error:
        raise ConfigurationError(source, [Problem(error.reason, str(error))]) from None


def store_deployment(engine: Engine, model: ModelContext, told: ToldDeployment) -> str:
    """Store it; what became of it in words."""
    from monitor.store.registration_store import RegistrationStore

    store = RegistrationStore(engine)
    number, created, registration = told.store_in(
        store, model.project_id, model.model_id, datetime.now(UTC)
    )
    known = "" if created else " (known already, nothing changed)"
    one = f"Deployment {number} of {model.contract.model}"
    if registration is None or told.registration is None:
        return f"{one}{known}."
    joins = told.registration.joins
    where = _marks(joins) if joins else "no joins: found by its number only"
    return f"{one}, registration {registration}{known}: {where}."


def _print_one(one: DeploymentLine) -> None:
    typer.echo(f"deployment {one.number} {plain(one.name)}".rstrip())
    typer.echo(f"first seen {plain(one.first_seen_at)}")
    if one.overflow:
        typer.echo(one.summary)
    rows = [
        [tag, value, ", ".join(one.said_by.get(tag, ())) or "sender"]
        for tag, value in sorted(one.tags.items())
    ]
    print_table(["tag", "value", "said by"], rows)
    for span in one.registrations:
        end = plain(span.valid_to) if span.valid_to is not None else "open"
        where = plain(_marks(span.joins)) or "no joins"
        typer.echo(f"registration {span.number}: {plain(span.valid_from)} to {end}, {where}")


def _marks(joins: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sorted(joins.items()))
