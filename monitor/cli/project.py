"""`inferwatch migrate` and `inferwatch models`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from monitor.cli.common import (
    AsJson,
    KnownProject,
    context_in,
    find_project,
    open_database,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from monitor.store.models import ModelContext


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(migrate)
    app.command()(models)


def migrate() -> None:
    """Bring the database's schema to what this program needs. Running it again changes nothing."""
    from monitor.store.schema import current_revision, newest_revision, upgrade

    with open_database(migrated=False) as engine:
        before, wanted = current_revision(engine), newest_revision()
        if before == wanted:
            typer.echo(f"The database is at revision {wanted} already.")
            return
        upgrade(engine)
        typer.echo(f"The database went from revision {before or 'none'} to {wanted}.")


def models(project: KnownProject = "default", as_json: AsJson = False) -> None:
    """List the models of a project with owner, risk tier, task and contract version."""
    from monitor.store.engine import Role, transaction
    from monitor.store.models import model_names

    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.OWNER) as connection:
            names = model_names(connection, project_id)
            found = [context_in(connection, project_id, name) for name in names]
    rows = [_row(each) for each in found]
    if as_json:
        print_json(rows)
    elif not rows:
        typer.echo("No model yet: `inferwatch contract infer FILE` drafts a contract from data.")
    else:
        print_table([n.replace("_", " ") for n in rows[0]], [list(each.values()) for each in rows])


def _row(each: ModelContext) -> dict[str, object]:
    contract = each.contract
    return {
        "model": contract.model,
        "owner": contract.owner,
        "risk_tier": contract.risk_tier.value,
        "task": contract.task.value,
        "contract_version": each.contract_version,
        "columns": len(contract.columns),
        "label": contract.label.name if contract.label is not None else None,
        "purpose": contract.purpose,
    }
