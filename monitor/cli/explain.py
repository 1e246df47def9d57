"""`inferwatch explain`: what a change of quality between two windows is consistent with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import (
    AsJson,
    By,
    KnownProject,
    find_context,
    find_project,
    job_context,
    login,
    open_database,
    plain,
    print_json,
    print_table,
    read_span,
)

if TYPE_CHECKING:
    from monitor.reports.explanations import Explanation

MOST_SEGMENTS = 10


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(explain)


def explain(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    window: Annotated[
        str,
        typer.Option(
            "--window",
            help="FROM/TO, days in the contract's time zone or moments: when quality was worse (or"
            " better).",
        ),
    ],
    reference: Annotated[
        str, typer.Option("--reference", help="FROM/TO: the time it is compared with.")
    ],
    leg: Annotated[str, typer.Option("--leg", help="Whose requests.")] = "live",
    deployment: Annotated[
        list[int] | None,
        typer.Option("--deployment", help="Only of this deployment; may be repeated."),
    ] = None,
    by: By = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Split a change of quality into harder inputs, changed outcomes and new inputs.

    Columns are ranked by how much of the change goes with their changed mix, segments by what they
    carry of it. Both windows must have all their labels. The answer is kept and shown on the
    dashboard. It says what the change is consistent with, not what caused it.
    """
    from monitor.jobs.explanation.explain import Question
    from monitor.jobs.explanation.explain import explain as make_explanation
    from monitor.reports.explanations import explanation_of

    with open_database() as engine:
        of = find_context(engine, find_project(engine, project), model)
        zone = of.contract.time_zone
        question = Question(
            read_span(window, "--window", zone),
            read_span(reference, "--reference", zone),
            leg,
            tuple(sorted(set(deployment or ()))),
        )
        with job_context(engine, project, of) as context:
            found = explanation_of(make_explanation(context, question, by=login(by)))
    if as_json:
        print_json(_facts(model, found))
        return
    for line in found.sentences:
        typer.echo(plain(line))
    _print_tables(found)


def _facts(model: str, found: Explanation) -> dict[str, Any]:
    return {
        "model": model,
        "leg": found.leg,
        "method": found.method,
        "window": [found.window.start, found.window.end],
        "reference": [found.reference.start, found.reference.end],
        "known_at": found.known_at,
        "made_by": found.made_by,
        **found.body,
    }


def _print_tables(found: Explanation) -> None:
    if found.parts:
        typer.echo("")
        print_table(
            ("part", "change", "95 % interval"),
            [(part.words, part.value_text, part.limits_text) for part in found.parts],
        )
        typer.echo(found.rows_sentence)
    if found.columns:
        typer.echo("")
        headings = ("column", "share explained", "95 % interval", "effective rows")
        print_table(
            headings,
            [(one.name, one.share_text, one.limits_text, one.rows_text) for one in found.columns],
        )
    elif found.columns_reason:
        typer.echo(plain(found.columns_reason))
    for key, segments in found.segments.items():
        typer.echo("")
        named = (f"segment of {plain(key)}", "contribution", "95 % interval", "share of rows",
                 "loss then", "loss now")  # fmt: skip
        print_table(named, [each.cells for each in segments[:MOST_SEGMENTS]])
