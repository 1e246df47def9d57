"""`inferwatch audit`: the key that signs, the chain of what people did, bundles of evidence."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import (
    AsJson,
    AsOf,
    KnownProject,
    find_context,
    find_project,
    open_database,
    plain,
    print_json,
    print_table,
    read_as_of,
    read_moment,
)
from monitor.cli.evidence_files import read_outside_head, read_public_key, told
from monitor.cli.report import installation_signer
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    pass

app = typer.Typer(help="The audit chain and what is signed.", no_args_is_help=True)


@app.command()
def key(
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the public key to this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the public key that this installation signs with; it is made at first use."""
    public = installation_signer().public
    if output is not None:
        output.write_bytes(public.pem)
    if as_json:
        print_json({"fingerprint": public.fingerprint, "public_key": public.pem.decode()})
    else:
        typer.echo(f"{public.fingerprint}\n{public.pem.decode()}", nl=False)


@app.command("list")
def list_(
    subject: Annotated[
        str | None, typer.Option("--subject", help="Only deeds on this subject.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many.")] = 50,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """List who did what, the newest first."""
    from monitor.store.audit import link_waiting, newest_entries
    from monitor.store.engine import Role, transaction

    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.EXPORT) as connection:
            link_waiting(connection, project_id)
            rows = newest_entries(connection, project_id, limit=limit, subject=subject)
    if as_json:
        print_json(rows)
        return
    shown = [[row["seq"], row["at"], row["actor"], row["deed"], row["subject"]] for row in rows]
    print_table(["#", "at", "who", "deed", "subject"], shown)


@app.command()
def verify(
    known_key: Annotated[
        list[Path] | None,
        typer.Option("--key", help="Another public key that heads may be signed with (a file)."),
    ] = None,
    head: Annotated[
        list[Path] | None,
        typer.Option("--head", help="A signed head that was kept outside (a file); repeatable."),
    ] = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Check the chain in the database against its links and every signed head.

    Exit code 1 when something is wrong. Only a head kept outside shows that chain and heads were
    both written anew.
    """
    from monitor.reports.audit import check_stored_chain

    known = [installation_signer().public, *map(read_public_key, known_key or ())]
    outside = [read_outside_head(path) for path in head or ()]
    with open_database() as engine:
        keys = {each.fingerprint: each for each in known}
        found = check_stored_chain(engine, find_project(engine, project), keys, outside)
    if as_json:
        print_json(
            {"entries": found.entries, "heads": found.heads, "findings": told(found.findings)}
        )
    else:
        for finding in found.findings:
            typer.echo(f"BAD  {plain(finding)}")
        if not found.findings:
            typer.echo(f"ok   {found.entries} entries, {found.heads} signed heads")
    if found.findings:
        raise typer.Exit(1)


@app.command()
def export(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    start: Annotated[str, typer.Option("--from", help="The first day, or a moment.")],
    end: Annotated[str, typer.Option("--to", help="The day, or moment, where the span ends.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write, a .zip.")],
    as_of: AsOf = None,
    project: KnownProject = "default",
) -> None:
    """Write a signed bundle: the measurements of a span, and the audit chain up to then.

    The end is not part of the span. With --as-of the bundle is the same whenever it is made.
    """
    from monitor.reports.bundle import BundleSubject, build_bundle
    from monitor.windows import Window

    with open_database() as engine:
        project_id = find_project(engine, project)
        zone = find_context(engine, project_id, model).contract.time_zone
        first, last = read_moment(start, "--from", zone), read_moment(end, "--to", zone)
        if not first < last:
            raise ConfigurationError("command", [Problem("--to", "must lie after --from")])
        known_by = read_as_of(as_of, zone) or datetime.now(UTC)
        subject = BundleSubject(project_id, model, Window(first, last), known_by)
        body = build_bundle({}, engine=engine, subject=subject, signer=installation_signer())
    output.write_bytes(body)
    typer.echo(f"{output}: {len(body)} bytes. Check it with `inferwatch verify {output}`.")
