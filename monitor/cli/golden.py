"""`inferwatch golden`: golden sets applied, replayed against a model server and judged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import (
    AsJson,
    AsOf,
    By,
    KnownProject,
    find_context,
    find_project,
    job_context,
    login,
    open_database,
    print_json,
    print_table,
    read_as_of,
    read_text_file,
)
from monitor.errors import ConfigurationError, InferwatchError, Problem, UnknownSubject

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from monitor.store.golden import StoredSet
    from monitor.store.models import ModelContext

FOUND = 1
MOST_RUNS = 100
app = typer.Typer(
    help="Replay chosen inputs against a model server and judge its answers.", no_args_is_help=True
)
Set = Annotated[
    str, typer.Argument(metavar="SET", help="The set's name; NAME@VERSION for an older version.")
]
Model = Annotated[
    str | None, typer.Option("--model", help="The model, where several have a set of this name.")
]


@app.command()
def apply(
    file: Annotated[
        Path, typer.Argument(help="The YAML or JSON file of the set.", show_default=False)
    ],
    project: KnownProject = "default",
    by: By = None,
) -> None:
    """Store a golden set as its next version; the same content again changes nothing.

    All mistakes of the file are told at once, each with its line.
    """
    from monitor.golden_file import golden_model, read_golden
    from monitor.store.engine import Role, transaction
    from monitor.store.golden import apply_golden_set

    text = read_text_file(file)
    model = golden_model(text, str(file))
    with open_database() as engine:
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, model)
        wanted = read_golden(text, str(file), context.contract)
        with transaction(engine, project_id, Role.OWNER) as connection:
            version, new = apply_golden_set(
                connection, project_id, context.model_id, wanted, source=text, by=login(by)
            )
    state = "is stored" if new else "is there already; nothing changed"
    typer.echo(f"{wanted.name}@{version} of {model} {state}: {len(wanted.cases)} cases.")


@app.command("list")
def list_(
    model: Annotated[
        str | None, typer.Argument(help="Only of this model.", show_default=False)
    ] = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """List the golden sets with their newest version and who applied it."""
    from monitor.store.engine import Role, transaction
    from monitor.store.golden import golden_sets
    from monitor.store.models import model_names, model_number

    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.OWNER) as connection:
            names = [model] if model is not None else model_names(connection, project_id)
            found = [
                (name, one)
                for name in names
                for one in golden_sets(
                    connection, project_id, model_number(connection, project_id, name)
                )
            ]
    if as_json:
        print_json([_facts(name, one) for name, one in found])
    elif not found:
        typer.echo("No golden set yet. Write one and: inferwatch golden apply FILE")
    else:
        headings = ("set", "model", "version", "cases", "applied", "by", "why")
        print_table(headings, [_row(name, one) for name, one in found])


@app.command()
def show(
    name: Set, model: Model = None, project: KnownProject = "default", as_json: AsJson = False
) -> None:
    """Show one set: its rule, tolerances and cases."""
    from monitor.cli.golden_words import case_rows, set_lines

    with open_database() as engine:
        context, stored = _find_set(engine, find_project(engine, project), name, model)
    if as_json:
        print_json({**_facts(context.contract.model, stored), **stored.content.to_json()})
        return
    for line in set_lines(stored):
        typer.echo(line)
    print_table(("case", "kind", "inputs", "expected", "why"), case_rows(stored.content))


@app.command()
def replay(
    name: Set,
    url: Annotated[
        str, typer.Option("--url", help="Where the model server answers POST.", show_default=False)
    ],
    run: Annotated[
        str,
        typer.Option("--run", help="A name for this replay: leg replay:RUN.", show_default=False),
    ],
    form: Annotated[
        str,
        typer.Option(
            "--format", help="json: an object in, an object out; v2: Open Inference Protocol."
        ),
    ] = "json",
    deployment: Annotated[
        str | None,
        typer.Option(
            "--deployment", help="Number or name of the deployment; with --tag its name."
        ),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "--tags", help="NAME=TEXT, a version tag of what answers."),
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option("--output", help="NAME=COLUMN: the server's name of an output column."),
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", help="'NAME: VALUE', sent with every request.")
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(
            "--latency", help="Timing column for the whole answer's time; else total_ms,"
            " latency_ms or the only one."
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.01, max=3600, help="Seconds for a whole answer.")
    ] = 10.0,
    repeat: Annotated[
        int, typer.Option("--repeat", min=1, max=1000, help="How often each case is sent.")
    ] = 1,
    model: Model = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Send every case to a model server and store what it answers on leg replay:RUN.

    Refusals, errors, time-outs and answers that can't be used are stored too: they are findings.
    Exit codes: 0 every case was sent and stored, 2 it could not run.
    """
    from monitor.cli.golden_send import Sending, read_headers, run_replay, wire_of
    from monitor.jobs.golden.replay import told

    wire = wire_of(url, run, form, output)
    with open_database() as engine:
        project_id = find_project(engine, project)
        context, stored = _find_set(engine, project_id, name, model)
        counts = run_replay(
            engine, project, context, stored, wire(context),
            Sending(url, run, timeout, repeat, latency, read_headers(header)),
            deployment, tag, quiet=as_json,
        )  # fmt: skip
    asked = f"{stored.content.name}@{stored.version}"
    if as_json:
        print_json({"set": asked, "run": run, "sent": counts.sent, "outcomes": counts.outcomes})
        return
    typer.echo(f"{asked}, run {run}: {counts.sent:,} requests; {told(counts.outcomes)}.")
    typer.echo(f"Judge it with: inferwatch golden judge {stored.content.name} --run {run}")


@app.command()
def judge(
    name: Set,
    run: Annotated[str, typer.Option("--run", help="The replay to judge.", show_default=False)],
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            help="A run, or a deployment's number or name; else the newest other deployment"
            " that passed.",
        ),
    ] = None,
    model: Model = None,
    project: KnownProject = "default",
    by: By = None,
    as_json: AsJson = False,
) -> None:
    """Judge the answers of a run and store the verdict of each deployment in it.

    Every boundary and high-impact case must pass, and of the others the share that the set
    requires (all, unless it says otherwise). Exit codes: 0 passed, 1 failed, 2 could not run.
    """
    from monitor.cli.golden_words import judged_facts, print_judged
    from monitor.jobs.golden.judge_run import PASSED, judge_run

    bare, version = _parts(name)
    with open_database() as engine:
        project_id = find_project(engine, project)
        found, _ = _find_set(engine, project_id, name, model)
        with job_context(engine, project, found) as context:
            judged = judge_run(
                context, bare, run, version=version, reference=reference, by=login(by)
            )
    if as_json:
        print_json([judged_facts(one, run) for one in judged])
    else:
        for one in judged:
            print_judged(one, run)
    if any(one.verdict != PASSED for one in judged):
        raise typer.Exit(FOUND)


@app.command()
def runs(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    as_of: AsOf = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """List the newest verdicts on golden sets and shadow pairs, at most 100.

    With --as-of only those that were known then.
    """
    from monitor.cli.golden_words import run_facts, run_row
    from monitor.reports.golden import golden_runs

    with open_database() as engine:
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, model)
        known_by = read_as_of(as_of, context.contract.time_zone)
        page = golden_runs(engine, project_id, context.model_id, 1, known_by, MOST_RUNS)
    if as_json:
        print_json([run_facts(one) for one in page.rows])
    elif not page.rows:
        typer.echo("No verdict yet.")
    else:
        headings = ("judged", "set or leg", "deployment", "against", "verdict", "why", "by")
        print_table(headings, [run_row(one) for one in page.rows])
        if page.total > len(page.rows):
            typer.echo(f"{page.total - len(page.rows):,} older ones are not shown.")


def _wrong(option: str, what: str) -> InferwatchError:
    return ConfigurationError("command", [Problem(option, what)])


def _parts(name: str) -> tuple[str, int | None]:
    bare, at, version = name.partition("@")
    if at and not (version.isascii() and version.isdigit() and len(version) < 10):
        raise _wrong("SET", f"{name[:80]!r} is not NAME or NAME@VERSION")
    return bare, int(version) if at else None


def _find_set(
    engine: Engine, project_id: int, name: str, model: str | None
) -> tuple[ModelContext, StoredSet]:
    from monitor.store.engine import Role, transaction
    from monitor.store.golden import golden_set_of, models_with_set

    bare, version = _parts(name)
    if model is None:
        with transaction(engine, project_id, Role.OWNER) as connection:
            models = models_with_set(connection, project_id, bare)
        if len(models) != 1:
            several = f"models {', '.join(models)} have a golden set {bare!r}; add --model NAME"
            none = f"no golden set {bare!r} in this project; `inferwatch golden list` shows them"
            raise UnknownSubject(several if models else none)
        model = models[0]
    context = find_context(engine, project_id, model)
    with transaction(engine, project_id, Role.OWNER) as connection:
        stored = golden_set_of(connection, project_id, context.model_id, bare, version)
    return context, stored


def _facts(model: str, one: StoredSet) -> dict[str, Any]:
    return {
        "set": one.content.name,
        "model": model,
        "version": one.version,
        "cases": len(one.content.cases),
        "applied_at": one.applied_at,
        "applied_by": one.applied_by,
        "why": one.content.why,
    }


def _row(model: str, one: StoredSet) -> tuple[Any, ...]:
    facts = _facts(model, one)
    return tuple(facts.values())
