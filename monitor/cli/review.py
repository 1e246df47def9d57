"""`inferwatch review`: people look at a sample of requests, and it counts for all of them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import (
    AsJson,
    AsOf,
    KnownProject,
    find_context,
    find_project,
    job_context,
    login,
    open_database,
    plain,
    print_json,
    print_table,
    read_as_of,
    read_span,
    read_text_file,
    settings_with_database,
)
from monitor.cli.review_words import draw_facts, draw_lines, facts, list_row, show_lines
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from monitor.jobs.base import JobContext
    from monitor.jobs.review.wanted import Wanted

MOST_BYTES = 256 << 20

app = typer.Typer(help="Let people rate a sample of requests.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The review's name.", show_default=False)]
OfModel = Annotated[
    str | None,
    typer.Option("--model", help="Whose review; needed where two models have one of this name."),
]


@app.command()
def draw(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    window: Annotated[
        str, typer.Option("--window", help="FROM/TO: days or moments; TO is no part of it.")
    ],
    size: Annotated[int, typer.Option("--size", help="How many requests.")],
    raters: Annotated[str, typer.Option("--raters", help="Who rates, such as ada,ben.")],
    name: Annotated[str, typer.Option("--name", help="The review's name.")],
    seed: Annotated[
        int, typer.Option("--seed", help="The same seed draws the same requests.", min=0)
    ],
    signal: Annotated[
        list[str] | None,
        typer.Option("--signal", help="What is rated; may be repeated. Else all that people give."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="A column (or deployment) whose values are strata; repeatable."),
    ] = None,
    importance: Annotated[
        str,
        typer.Option(
            "--importance", help="random, score-near-threshold or violations: what is drawn more."
        ),
    ] = "random",
    double: Annotated[
        float | None,
        typer.Option(
            "--double", help="Share of requests that two people rate; 0.2 with several raters."
        ),
    ] = None,
    leg: Annotated[str, typer.Option("--leg", help="Whose requests.")] = "live",
    show_output: Annotated[
        bool, typer.Option("--show-output", help="Show raters what the model answered.")
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for the task files.")
    ] = Path(),
    drawn_by: Annotated[
        str | None, typer.Option("--drawn-by", help="Who draws; without it the name of the login.")
    ] = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Draw answered requests for people to rate, and write a task file for each of them.

    The probability with which each request was drawn is stored: what the ratings say is weighted by
    it. The same command again writes the files of the same requests again.
    """
    from monitor.jobs.review.draw import draw_review

    names = tuple(one.strip() for one in raters.split(",") if one.strip())
    with open_database() as engine, _context(engine, project, model) as context:
        span = read_span(window, "--window", context.contract.time_zone)
        wanted = _wanted(
            context, name, names, size, double, seed, leg, by or [], importance, signal or [],
            show_output=show_output,
        )  # fmt: skip
        found = draw_review(context, wanted, span, by=login(drawn_by), folder=output)
    if as_json:
        print_json(draw_facts(found))
        return
    for line in draw_lines(found):
        typer.echo(line)


@app.command("import")
def import_(
    name: Name,
    file: Annotated[Path, typer.Argument(help="A filled task file.", show_default=False)],
    rater: Annotated[str, typer.Option("--rater", help="Who filled it in.")],
    model: OfModel = None,
    project: KnownProject = "default",
) -> None:
    """Store the ratings of a filled task file. Cells left empty may be filled in later.

    Nothing is stored when anything is wrong; all mistakes are told at once. The same file again
    changes nothing; a changed cell is a new revision.
    """
    from monitor.jobs.review.take_ratings import take_ratings
    from monitor.store.open import open_store

    text = read_text_file(file, MOST_BYTES)
    with open_database() as engine:
        owner = _model_of(engine, project, name, model)
        store = open_store(settings_with_database())
        try:
            with _context(engine, project, owner) as context:
                done = take_ratings(context, store, name, rater, text, str(file))
        finally:
            store.close()
    typer.echo(
        f"{done.new} new, {done.changed} changed, {done.known} known before,"
        f" {done.empty} not filled in."
    )
    typer.echo(f"`inferwatch review show {plain(name)}` shows what they say.")


@app.command()
def show(
    name: Name,
    model: OfModel = None,
    as_of: AsOf = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Show how far a review is, what it says of all requests, and where raters differ."""
    from monitor.reports.reviews import review

    with open_database() as engine:
        owner = _model_of(engine, project, name, model)
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, owner)
        known_by = read_as_of(as_of, context.contract.time_zone)
        found = review(engine, project_id, context.model_id, name, known_by)
    if as_json:
        print_json({"model": owner, **facts(found)})
        return
    for line in show_lines(owner, found):
        typer.echo(line)


@app.command("list")
def list_(
    model: OfModel = None,
    as_of: AsOf = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """List reviews, the newest of each model first."""
    from monitor.reports.reviews import reviews
    from monitor.store.engine import Role, transaction
    from monitor.store.models import model_names

    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.OWNER) as connection:
            names = [model] if model else model_names(connection, project_id)
        contexts = [(each, find_context(engine, project_id, each)) for each in names]
        found = [
            (each, one)
            for each, context in contexts
            for one in reviews(
                engine, project_id, context.model_id,
                read_as_of(as_of, context.contract.time_zone),
            )
        ]  # fmt: skip
    if as_json:
        print_json([{"model": each, **facts(one)} for each, one in found])
        return
    if not found:
        typer.echo("No review yet: `inferwatch review draw MODEL …` draws one.")
        return
    headings = ("name", "model", "window", "population", "drawn", "ratings", "raters", "drawn by")
    print_table(headings, [list_row(each, one) for each, one in found])


def _wanted(
    context: JobContext,
    name: str,
    raters: tuple[str, ...],
    size: int,
    double: float | None,
    seed: int,
    leg: str,
    by: list[str],
    importance: str,
    signals: list[str],
    *,
    show_output: bool,
) -> Wanted:
    from monitor.jobs.review.wanted import Importance, Wanted, rated_signals

    if importance not in set(Importance):
        what = f"{importance[:80]!r} is none of {', '.join(Importance)}"
        raise ConfigurationError("review", [Problem("--importance", what)])
    every = tuple(one.name for one in rated_signals(context.contract))
    columns = tuple(one.strip() for each in by for one in each.split(",") if one.strip())
    return Wanted(
        name=name,
        signals=tuple(dict.fromkeys(signals)) or every,
        raters=raters,
        size=size,
        double=(0.2 if len(raters) > 1 else 0.0) if double is None else double,
        seed=seed,
        leg=leg,
        by=columns,
        importance=Importance(importance),
        show_output=show_output,
    )


def _model_of(engine: Engine, project: str, name: str, model: str | None) -> str:
    from monitor.reports.reviews import models_with

    if model is not None:
        return model
    found = models_with(engine, find_project(engine, project), name)
    if len(found) > 1:
        what = f"models {', '.join(found)} have a review {name!r}; say which"
        raise ConfigurationError("review", [Problem("--model", what)])
    return found[0]


def _context(engine: Engine, project: str, model: str) -> AbstractContextManager[JobContext]:
    """What the jobs of a review are given."""
    return job_context(engine, project, find_context(engine, find_project(engine, project), model))
