"""`inferwatch keys`: API keys of a project."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import (
    AsJson,
    By,
    KnownProject,
    Project,
    find_project,
    login,
    open_database,
    print_json,
    print_table,
)
from monitor.errors import UnknownSubject

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

app = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)


@app.command()
def create(
    scope: Annotated[
        list[str],
        typer.Option("--scope", help="What it may do: ingest, labels, backfill, alerts:read,"
                     " alerts:act, read, admin or export. Repeat it for several."),
    ],
    name: Annotated[str, typer.Option("--name", help="What the key is for.")] = "unnamed",
    days: Annotated[
        int | None, typer.Option("--days", min=1, help="It expires after so many days.")
    ] = None,
    project: Project = "default",
    by: By = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Make a key and print it. It is shown this once; the database keeps only its hash."""
    from monitor.store.engine import Role, transaction
    from monitor.store.projects import create_key, ensure_project

    expires = datetime.now(UTC) + timedelta(days=days) if days is not None else None
    scopes = [word for each in scope for word in each.replace(",", " ").split()]
    with open_database() as engine, transaction(engine, None, Role.OWNER) as connection:
        project_id = ensure_project(connection, project)
        key = create_key(connection, project_id, name, scopes, by=login(by), expires_at=expires)
    if as_json:
        print_json({"key": key, "project": project, "scopes": sorted(set(scopes))})
    else:
        typer.echo(key)
        typer.echo(f"Scopes {', '.join(sorted(set(scopes)))} of project {project}.", err=True)
        typer.echo("Keep it now: it is not shown again.", err=True)


@app.command("list")
def list_(project: KnownProject = "default", as_json: AsJson = False) -> None:
    """List the keys of a project by their prefix; the keys themselves can't be shown."""
    with open_database() as engine:
        rows = _keys(engine, find_project(engine, project))
    if as_json:
        print_json(rows)
    elif not rows:
        typer.echo("No key yet: `inferwatch keys create --scope ingest --scope labels`.")
    else:
        shown = [{**row, "scopes": ", ".join(row["scopes"])} for row in rows]
        print_table([n.replace("_", " ") for n in rows[0]], [list(r.values()) for r in shown])


@app.command()
def revoke(
    prefix: Annotated[
        str, typer.Argument(help="The part between iw_ and the next _.", show_default=False)
    ],
    project: KnownProject = "default",
    by: By = None,
) -> None:
    """End a key at once."""
    from monitor.store.audit import act_as
    from monitor.store.engine import Role, transaction
    from monitor.store.projects import revoke_key

    wanted = prefix.removeprefix("iw_").partition("_")[0]
    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.OWNER) as connection:
            act_as(connection, login(by))
            done = revoke_key(connection, project_id, wanted, datetime.now(UTC))
    if not done:
        raise UnknownSubject(
            f"project {project} has no live key {wanted!r}; `inferwatch keys list` shows them"
        )
    typer.echo(f"Key {wanted} is revoked.")


def _keys(engine: Engine, project_id: int) -> list[dict[str, Any]]:
    import sqlalchemy as sa

    from monitor.store.engine import Role, transaction
    from monitor.store.tables import api_key

    key = api_key.c
    names = ("prefix", "name", "scopes", "created_by", "created_at", "expires_at", "revoked_at")
    query = sa.select(*(key[name] for name in names)).where(key.project_id == project_id)
    with transaction(engine, project_id, Role.OWNER) as connection:
        found = connection.execute(query.order_by(key.created_at, key.prefix)).mappings()
        return [dict(row) for row in found]
