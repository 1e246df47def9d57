"""`inferwatch groups`: shares of favourable answers and quality by group, and the worst group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

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
    read_span,
)

if TYPE_CHECKING:
    from monitor.reports.groups import AdjustedRow, GroupRow, GroupsReport, Worst

FLAGS = {
    "reversed": "turns round",
    "more_than_half": "changes by more than half",
    "none": "stays",
    "too_few": "too few",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(groups)


def groups(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    window: Annotated[
        str | None,
        typer.Option("--window", help="FROM/TO: the newest month that starts there."),
    ] = None,
    leg: Annotated[str, typer.Option("--leg", help="Whose requests.")] = "live",
    as_of: AsOf = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Show how groups of the contract's fairness columns are treated and judged in a month.

    A verdict goes by the interval: violates when all of it is below the least ratio, passes when
    none of it is. Groups below 50 rows are counted and not shown.
    """
    from monitor.reports.groups import groups as groups_of

    with open_database() as engine:
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, model)
        zone = context.contract.time_zone
        span = read_span(window, "--window", zone) if window else None
        known_by = read_as_of(as_of, zone)
        found = groups_of(engine, project_id, context.model_id, span, known_by, leg)
    if as_json:
        print_json(_facts(model, found))
        return
    if found.window is None:
        typer.echo(_nothing(has_fairness=context.contract.fairness is not None))
        return
    numbers = ", ".join(map(str, found.deployment_ids))
    typer.echo(f"{plain(model)}, {plain(found.window)}, deployments {numbers}")
    _print_columns(found)
    _print_adjusted(found.adjusted)
    if found.worst is None:
        typer.echo("\nThe worst group is sought once the month's labels are in.")
    else:
        _print_worst(found.worst)


def _nothing(*, has_fairness: bool) -> str:
    first = "No month of groups was measured there; a month is measured when it has ended."
    if has_fairness:
        return first
    return f"{first} The contract names no fairness columns, so only the worst group is sought."


def _facts(model: str, found: GroupsReport) -> dict[str, Any]:
    worst = found.worst
    return {
        "model": model,
        "window": [found.window.start, found.window.end] if found.window else None,
        "deployment_ids": list(found.deployment_ids),
        "known_at": found.known_at,
        "columns": {column: [vars(row) for row in rows] for column, rows in found.columns.items()},
        "adjusted": [vars(row) for row in found.adjusted],
        "worst": {**vars(worst), "found": [vars(one) for one in worst.found]} if worst else None,
    }


def _print_columns(found: GroupsReport) -> None:
    from monitor.reports.groups import METHOD_WORDS, SELECTION

    for column in found.columns:
        for method, words in METHOD_WORDS.items():
            rows = found.of(column, method)
            if not rows:
                continue
            against = "ratio to the best" if method == SELECTION else "gap to the largest"
            typer.echo("")
            headings = (f"{plain(column)}: {words}", "rate", against, "95 % interval", "verdict",
                        "ranked by", "n")  # fmt: skip
            print_table(headings, [_row(row) for row in rows])


def _row(row: GroupRow) -> list[Any]:
    if row.value is None:
        word = row.verdict.replace("_", " ")
        return [row.group, "", "", "", f"{word}: {row.reason or ''}", "", f"{row.n:,}"]
    limits = "" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}"
    return [
        row.group,
        "" if row.rate is None else f"{row.rate:.3f}",
        f"{row.value:.3f}" if row.unit == "ratio" else f"{row.value:+.3f}",
        limits,
        row.verdict.replace("_", " "),
        "" if row.shrunk is None else f"{row.shrunk:.3f}",
        f"{row.n:,}",
    ]


def _print_adjusted(rows: tuple[AdjustedRow, ...]) -> None:
    if not rows:
        return
    typer.echo("")
    headings = ("favourable answers", "against", "held fixed", "gap", "gap held fixed",
                "95 % interval", "the gap")  # fmt: skip
    print_table(
        headings,
        [
            (
                f"{one.column} = {one.group}",
                one.reference,
                one.by,
                "" if one.crude is None else f"{one.crude:+.3f}",
                one.reason if one.value is None else f"{one.value:+.3f}",
                "" if one.low is None or one.high is None else f"{one.low:+.3f} to {one.high:+.3f}",
                FLAGS.get(one.flag, one.flag),
            )
            for one in rows
        ],
    )


def _print_worst(worst: Worst) -> None:
    typer.echo("")
    if not worst.found:
        typer.echo(f"Worst group: {plain(worst.reason)}.")
        return
    typer.echo(
        f"Worst of {worst.searched:,} groups of {worst.rows:,} labelled sampled rows, found on one"
        " half of the entities; gaps are of the other half:"
    )
    headings = ("group", "rows there", "z there", "rows here", "more errors than the rest",
                "95 % interval", "p", "confirmed")  # fmt: skip
    print_table(
        headings,
        [
            (
                one.group,
                f"{one.n_discovered:,}",
                f"{one.z_discovered:.1f}",
                f"{one.n:,}",
                "" if one.gap is None else f"{one.gap:+.3f}",
                "" if one.low is None or one.high is None else f"{one.low:+.3f} to {one.high:+.3f}",
                f"{one.p_confirmed:.2g}",
                "yes" if one.confirmed else "no",
            )
            for one in worst.found
        ],
    )
