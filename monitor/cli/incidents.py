"""`inferwatch incidents`: what the drift alarms found, and what a person says it was."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import (
    AsJson,
    By,
    KnownProject,
    find_context,
    find_project,
    login,
    open_database,
    plain,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from monitor.reports.incidents import ColumnPart, IncidentFacts

MOST_LISTED = 1_000
LARGEST = 2**63 - 1

app = typer.Typer(help="Look at drift incidents and say what they were.", no_args_is_help=True)

Number = Annotated[
    int,
    typer.Argument(help="The incident's number.", min=1, max=LARGEST, show_default=False),
]


class As(StrEnum):
    """What an incident can be told to have been."""

    FAULT = "fault"
    ADOPT = "adopt"
    FALSE_ALARM = "false-alarm"


_MEANS = {
    As.FAULT: "Its weeks are never learned from.",
    As.ADOPT: "Its weeks are learned from from now on: it is the new normal.",
    As.FALSE_ALARM: "Its weeks are learned from, and the levels of all drift alarms go down.",
}


@app.command("list")
def list_(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    every: Annotated[
        bool, typer.Option("--all", help="Also those that are closed and judged.")
    ] = False,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """List incidents that are open or that nobody has judged yet, the newest first."""
    from monitor.reports.incidents import incidents

    with open_database() as engine:
        project_id = find_project(engine, project)
        model_id = find_context(engine, project_id, model).model_id
        page = incidents(engine, project_id, model_id, every, 1, MOST_LISTED)
    if as_json:
        print_json([_facts(one) for one in page.rows])
        return
    if not page.rows:
        none = "No incident." if every else "No incident is open or waits for a verdict; --all "
        typer.echo(none if every else none + "shows all.")
        return
    headings = ("number", "state", "opened", "until", "leading", "columns", "deployments",
                "verdict", "alerts")  # fmt: skip
    print_table(headings, [_row(one) for one in page.rows])
    if page.total > len(page.rows):
        typer.echo(f"{page.total - len(page.rows)} older ones are not shown.")


@app.command()
def show(number: Number, project: KnownProject = "default", as_json: AsJson = False) -> None:
    """Show one incident: its columns with their strongest windows, and what else was seen."""
    from monitor.reports.incidents import incident_facts

    with open_database() as engine:
        found = incident_facts(engine, find_project(engine, project), number)
    if as_json:
        print_json(_facts(found))
        return
    for line in _head(found):
        typer.echo(line)
    headings = ("column", "first", "last", "until", "firings", "strongest", "p-value", "level",
                "effect", "rows", "deployments", "segments")  # fmt: skip
    print_table(headings, [_column_row(part) for part in found.columns])
    for line in _context(found):
        typer.echo(line)


@app.command()
def judge(
    number: Number,
    what: Annotated[As, typer.Option("--as", help="What it was; see above.", show_default=False)],
    by: By = None,
    comment: Annotated[str, typer.Option("--comment", help="Why; kept with the incident.")] = "",
    project: KnownProject = "default",
) -> None:
    """Say what an incident was. Until somebody does, its weeks are not learned from.

    fault: something was broken. Its weeks are never learned from; the levels stay as they are; it
    does not count against the promise. Its alert stays open until the columns are back.

    adopt: the new normal. Its weeks are learned from; the levels stay as they are; it does not
    count against the promise. Its alert stays open until the baseline has followed.

    false-alarm: nothing had changed that matters. Its weeks are learned from; the governor lowers
    the levels of all drift alarms of the model for a while; it counts against the promise, and its
    open alerts end.

    A later verdict takes the place of an earlier one.
    """
    from monitor.store.hand_over import judge as judge_incident
    from monitor.store.incidents import Verdict

    verdict = Verdict(what.value.replace("-", "_"))
    with open_database() as engine:
        project_id = find_project(engine, project)
        done = judge_incident(
            engine, project_id, number, verdict, login(by), comment, datetime.now(UTC))  # fmt: skip
    typer.echo(f"Incident {number} is judged as {what} by {done.incident.verdict_by}.")
    typer.echo(_MEANS[what])
    for alert in done.ended:
        typer.echo(f"Alert {alert} ended as a false alarm.")


def _facts(one: IncidentFacts) -> dict[str, Any]:
    judged = one.judgement
    return {
        "number": one.id,
        "model": one.model,
        "leg": one.leg,
        "state": one.state,
        "opened": one.opened,
        "last": one.last,
        "until": one.until,
        "closed_at": one.closed_at,
        "leading": one.leading,
        "firings": one.firings,
        "columns": [_column(part) for part in one.columns],
        "deployments": list(one.deployments),
        "segments": list(one.segments),
        "context": list(one.sentences),
        "moved": [{**vars(m), "cells": [vars(c) for c in m.cells]} for m in one.moved],
        "known_at": one.known_at,
        "verdict": judged.verdict.value if judged else None,
        "verdict_by": judged.by if judged else None,
        "verdict_at": judged.at if judged else None,
        "verdict_comment": judged.comment if judged else None,
        "alerts": list(one.alerts),
    }


def _column(part: ColumnPart) -> dict[str, Any]:
    return {**vars(part), "strongest": vars(part.strongest)}


def _row(one: IncidentFacts) -> list[Any]:
    names = [part.name for part in one.columns]
    verdict = one.judgement.words if one.judgement else "none yet"
    return [
        *(one.id, one.state, one.opened, one.until, one.leading, ", ".join(names)),
        *(", ".join(one.deployments), verdict, ", ".join(map(str, one.alerts))),
    ]


def _column_row(part: ColumnPart) -> list[Any]:
    strongest = part.strongest
    where = f"{strongest.view}, {strongest.hours} h to {plain(strongest.end)}"
    return [
        *(part.name, part.first, part.last, part.until, part.firings, where),
        *(f"{strongest.p_value:.3g}", f"{strongest.level:.3g}", f"{strongest.effect:.3g}"),
        *(f"{strongest.n:,}", ", ".join(part.deployments), ", ".join(part.segments)),
    ]


def _head(one: IncidentFacts) -> list[str]:
    lines = [f"Incident {one.id} of {plain(one.model)}: {one.state}, opened {plain(one.opened)},"
             f" last firing {plain(one.last)}, until {plain(one.until)}."]  # fmt: skip
    if one.judgement is None:
        lines.append(
            "Nobody has judged it yet: `inferwatch incidents judge"
            f" {one.id} --as fault|adopt|false-alarm`."
        )
    else:
        comment = f": {plain(one.judgement.comment)}" if one.judgement.comment else ""
        lines.append(
            f"Judged as {one.judgement.words} by {plain(one.judgement.by)},"
            f" {plain(one.judgement.at)}{comment}"
        )
    if one.alerts:
        lines.append(f"Told by alert {', '.join(map(str, one.alerts))}.")
    return [*lines, ""]


def _context(one: IncidentFacts) -> list[str]:
    if not one.sentences:
        return ["", "What else was seen: nothing is known."]
    known = f" (as known at {plain(one.known_at)})" if one.known_at else ""
    return ["", f"What else was seen{known}:", *(f"  - {plain(text)}" for text in one.sentences)]
