"""`inferwatch erase`: remove a person's rows, with a certificate."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from monitor.cli.common import (
    AsJson,
    By,
    KnownProject,
    context_in,
    find_project,
    login,
    open_database,
    plain,
    print_json,
)


def erase(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    entity: Annotated[
        str,
        typer.Option("--entity", help="The value of the entity column; - reads it from the input."),
    ],
    by: By = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Erase every row of one entity from requests, labels and samples.

    Counts, measurements and the audit chain stay and stay valid. The certificate names the entity
    by its keyed hash. Refused while a legal hold stands.
    """
    from monitor.store.engine import Role, transaction
    from monitor.store.erasure import erase_entity

    value = sys.stdin.readline().rstrip("\r\n") if entity == "-" else entity
    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.OWNER) as connection:
            context = context_in(connection, project_id, model)
            done = erase_entity(connection, context, value, by=login(by))
    if as_json:
        print_json(done.certificate)
        return
    told = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in done.counts.items())
    typer.echo(f"Erased entity {done.entity} of {plain(model)}: {told}.")
    typer.echo(f"Certificate {done.certificate['sha256']}, kept in the audit chain.")
