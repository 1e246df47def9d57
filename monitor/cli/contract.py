"""`inferwatch contract`: draft, check, apply and show the contract of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import (
    AsJson,
    By,
    KnownProject,
    Project,
    find_context,
    find_project,
    login,
    open_database,
    print_json,
    read_text_file,
)
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from monitor.contract import Contract

FOUND = 1

app = typer.Typer(
    help="Declare what requests and labels of a model look like.", no_args_is_help=True
)

File = Annotated[Path, typer.Argument(help="The contract, a YAML file.", show_default=False)]


@app.command()
def infer(
    file: Annotated[
        Path, typer.Argument(help="Reference rows: Parquet, CSV or Feather.", show_default=False)
    ],
    model: Annotated[
        str | None, typer.Option("--model", help="The model's name; else made from the file's.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this new file, not the screen.")
    ] = None,
) -> None:
    """Draft a contract from reference rows: types, roles and comments on what was seen.

    It is a draft: read the comments, fill in owner and purpose, set ranges, then check and apply.
    """
    from monitor.contract_file import write_contract
    from monitor.reference import read_reference
    from monitor.reference_draft import draft_contract, model_name

    draft, comments = draft_contract(read_reference(file), model or model_name(file.stem))
    text = write_contract(draft, comments)
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        with output.open("x", encoding="utf-8") as target:
            target.write(text)
    except FileExistsError:
        _refuse_output(output, "exists already; remove it or choose another name")
    except OSError as error:
        _refuse_output(output, f"can't be written: {error.strerror or error}")
    typer.echo(f"{output}: a draft with {len(draft.columns)} columns.")
    typer.echo(f"Fill in owner and purpose, then: inferwatch contract check {output}")


@app.command()
def check(file: File, as_json: AsJson = False) -> None:
    """Say every mistake of a contract with its line; needs no database.

    Exit codes: 0 the contract can be applied, 1 it has mistakes, 2 the file can't be read.
    """
    from monitor.contract_file import read_contract

    text = read_text_file(file)
    try:
        contract = read_contract(text, str(file))
    except ConfigurationError as error:
        if as_json:
            print_json({"file": str(file), "problems": [vars(each) for each in error.problems]})
        else:
            typer.echo(str(error), err=True)
        raise typer.Exit(FOUND) from None
    if as_json:
        print_json({"file": str(file), "problems": []})
    else:
        typer.echo(f"{file}: no mistakes. {_outline(contract)}")


@app.command()
def apply(
    file: File,
    project: Project = "default",
    by: By = None,
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", help="Also make the baseline 'reference' from this file."),
    ] = None,
) -> None:
    """Store a contract as the model's next version; the same contract again changes nothing.

    Without --baseline the file that the contract names (baseline.file, seen from the contract's
    folder) is used once, when the model has no baseline from a file yet.
    """
    from monitor.contract_file import read_contract
    from monitor.store.engine import Role, transaction
    from monitor.store.models import apply_contract
    from monitor.store.projects import ensure_project
    from monitor.store.views import view_name

    text = read_text_file(file)
    contract = read_contract(text, str(file))
    with open_database() as engine:
        with transaction(engine, None, Role.OWNER) as connection:
            project_id = ensure_project(connection, project)
        with transaction(engine, project_id, Role.OWNER) as connection:
            version = apply_contract(connection, project_id, contract, source=text, by=login(by))
        typer.echo(
            f"{contract.model}: contract version {version} is in force. {_outline(contract)}"
        )
        typer.echo(f"Requests can be read as project_{project_id}.{view_name(contract.model)}.")
        chosen = baseline or _named_baseline(file, contract)
        if chosen is not None:
            from monitor.cli.baseline import make_from_file

            make_from_file(
                engine, project_id, contract.model, chosen, login(by), once=baseline is None
            )


@app.command()
def show(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Print the contract in force as YAML (or JSON)."""
    from monitor.contract_file import HEAD, write_contract

    with open_database() as engine:
        context = find_context(engine, find_project(engine, project), model)
    if as_json:
        body = context.contract.model_dump(mode="json")
        print_json({"version": context.contract_version, "contract": body})
    else:
        head = {HEAD: f"Version {context.contract_version}, in force."}
        typer.echo(write_contract(context.contract, head), nl=False)


def _named_baseline(file: Path, contract: Contract) -> Path | None:
    return file.parent / contract.baseline.file if contract.baseline.file is not None else None


def _outline(contract: Contract) -> str:
    columns = len(contract.columns)
    label = f"label {contract.label.name!r}" if contract.label is not None else "no label"
    return f"{columns} column{'s' if columns != 1 else ''}, {contract.task} task, {label}."


def _refuse_output(output: Path, what: str) -> None:
    raise ConfigurationError(str(output), [Problem("--output", what)]) from None
