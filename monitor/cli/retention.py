"""`inferwatch retention`: how long records are kept, legal holds, certificates of deletion."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import (
    AsJson,
    By,
    KnownProject,
    find_project,
    login,
    open_database,
    plain,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

app = typer.Typer(help="How long records are kept, and what is held.", no_args_is_help=True)

Reason = Annotated[str, typer.Option("--reason", help="Why.")]


@app.command()
def show(project: KnownProject = "default", as_json: AsJson = False) -> None:
    """Show each class of records with its span, its oldest row and holds; then certificates."""
    from monitor.reports.retention import read_retention

    with open_database() as engine:
        found = read_retention(engine, find_project(engine, project))
    if as_json:
        print_json(found.to_json())
        return
    rows = [[one.model, one.kept_class, one.kept, one.oldest, one.held_by] for one in found.rows]
    print_table(["model", "class", "kept", "oldest", "held by"], rows)
    for held in found.holds:
        where, classes = held["model"] or "all models", ", ".join(held["classes"])
        since = f"since {held['placed_at']:%Y-%m-%d} by {plain(held['placed_by'])}"
        typer.echo(f"Hold {held['id']} on {where} ({classes}) {since}: {plain(held['reason'])}")
    for each in found.certificates:
        counts = ", ".join(f"{name} {n}" for name, n in each["body"]["counts"].items())
        typer.echo(f"Deleted {each['at']:%Y-%m-%d} ({each['kind']}): {counts}")


@app.command()
def hold(
    reason: Reason,
    model: Annotated[
        str | None, typer.Argument(help="The model; every model of the project without it.")
    ] = None,
    kept_class: Annotated[
        list[str] | None,
        typer.Option("--class", help="requests, labels or samples; all three without it."),
    ] = None,
    by: By = None,
    project: KnownProject = "default",
) -> None:
    """Place a legal hold: nothing of these classes is deleted or erased until it is released."""
    from monitor.store.engine import Role, transaction
    from monitor.store.holds import place_hold

    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.OWNER) as connection:
            number = place_hold(
                connection,
                project_id,
                _model_number(connection, project_id, model),
                kept_class or (),
                reason=reason,
                by=login(by),
            )
    typer.echo(f"Hold {number} stands.")


@app.command()
def release(
    number: Annotated[int, typer.Argument(help="The hold's number.", show_default=False)],
    reason: Reason,
    by: By = None,
    project: KnownProject = "default",
) -> None:
    """Release a legal hold; what is past its span goes at the next turn."""
    from monitor.store.engine import Role, transaction
    from monitor.store.holds import release_hold

    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.OWNER) as connection:
            release_hold(
                connection, project_id, number, reason=reason, by=login(by), now=datetime.now(UTC)
            )
    typer.echo(f"Hold {number} is released.")


def _model_number(connection: Connection, project_id: int, name: str | None) -> Any:
    from monitor.store.models import model_number

    return model_number(connection, project_id, name) if name is not None else None
