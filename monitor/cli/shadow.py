"""`inferwatch shadow`: a shadow deployment beside the live one, on the same requests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
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
    read_span,
)
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from monitor.checks.paired.numbers import Tolerance
    from monitor.jobs.golden.shadow import ShadowResult
    from monitor.jobs.golden.shadow_run import ShadowRun
    from monitor.store.models import ModelContext
    from monitor.windows import Window


def shadow(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    name: Annotated[
        str, typer.Option("--name", help="Compare leg shadow:NAME.", show_default=False)
    ],
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            help="FROM/TO: days in the contract's time zone, or moments with a zone; TO is the"
            " first that is no longer part of it. Without it the last 24 full hours.",
        ),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance",
            help="COLUMN=ABSOLUTE or COLUMN=ABSOLUTE,RELATIVE: what may differ; else nothing.",
        ),
    ] = None,
    project: KnownProject = "default",
    by: By = None,
    as_json: AsJson = False,
) -> None:
    """Compare a shadow deployment with the live one, request by request, and store the verdict.

    A pair is the same request id on the live leg and on leg shadow:NAME. Requests without a partner
    are counted. Where labels are known, quality is compared on the pairs that have one.
    """
    from monitor.intake.legs import is_leg
    from monitor.jobs.golden.shadow_run import shadow_run

    if not is_leg(f"shadow:{name}"):
        raise ConfigurationError(
            "command", [Problem("--name", f"{name[:60]!r} is no name of a shadow leg")]
        )
    with open_database() as engine:
        found = find_context(engine, find_project(engine, project), model)
        chosen = _window(found, window)
        tolerances = _tolerances(found, tolerance)
        with job_context(engine, project, found) as context:
            run = shadow_run(context, name, chosen, tolerances, by=login(by))
    if as_json:
        print_json(_facts(run))
        return
    _print(run)


def _window(model: ModelContext, text: str | None) -> Window:
    from monitor.windows import Grain, Window

    zone = model.contract.time_zone
    if text is None:
        closed = datetime.now(UTC) - model.contract.lateness.profiles
        end = Window.holding(closed, Grain.HOUR).start
        return Window(end - timedelta(hours=24), end)
    return read_span(text, "--window", zone)


def _tolerances(model: ModelContext, given: list[str] | None) -> dict[str, Tolerance]:
    from monitor.checks.paired.numbers import Tolerance
    from monitor.golden import numeric_outputs

    known, found, problems = numeric_outputs(model.contract), {}, []
    for each in given or ():
        column, _, text = each.partition("=")
        ends = [_amount(part) for part in text.split(",")]
        if column not in known:
            there = ", ".join(known) or "none"
            problems.append(
                Problem("--tolerance", f"{column[:60]!r} is no numeric output; there are: {there}")
            )
        elif len(ends) > 2 or None in ends:
            told = f"{each[:60]!r} is not COLUMN=ABSOLUTE or COLUMN=ABSOLUTE,RELATIVE"
            problems.append(Problem("--tolerance", told))
        else:
            found[column] = Tolerance(*(end or 0.0 for end in ends))
    if problems:
        raise ConfigurationError("command", problems)
    return found


def _amount(text: str) -> float | None:
    """A number from 0 on, None when it is anything else."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _facts(run: ShadowRun) -> dict[str, Any]:
    return {
        "leg": run.leg,
        "window": [run.window.start, run.window.end],
        "pairs": run.pairs,
        "live_alone": run.live_alone,
        "shadow_alone": run.shadow_alone,
        "ambiguous": run.ambiguous,
        "not_compared": run.not_compared,
        "results": [{"verdict": one.verdict.value, **one.to_json()} for one in run.results],
    }


def _print(run: ShadowRun) -> None:
    typer.echo(
        f"{run.leg}, {plain(run.window.start)} to {plain(run.window.end)}: {run.pairs:,} pairs;"
        f" without a partner {run.live_alone:,} live and {run.shadow_alone:,} shadow requests"
    )
    if run.ambiguous:
        typer.echo(f"{run.ambiguous:,} left out: their id stands for several requests of a leg.")
    if not run.results:
        typer.echo("No pair, so nothing can be compared: send the live request's id with both.")
    for one in run.results:
        _print_result(run, one)
    if run.not_compared:
        typer.echo(f"{run.not_compared} rarer combinations of deployments are not compared.")


def _print_result(run: ShadowRun, one: ShadowResult) -> None:
    from monitor.cli.golden_words import outcome_text, print_columns
    from monitor.jobs.golden.shadow import VERDICT_WORDS

    typer.echo(f"\nLive {plain(run.told(one.live_id))}")
    typer.echo(f"Shadow {plain(run.told(one.shadow_id))}")
    typer.echo(one.differs.sentence)
    typer.echo(f"Verdict: {one.verdict.value} ({VERDICT_WORDS[one.verdict]}).")
    typer.echo(f"{one.answered:,} of {one.pairs:,} pairs were answered by both.")
    for live, other, n in one.outcomes:
        typer.echo(f"  live {live}, shadow {other}: {n:,}")
    print_columns(one.columns)
    typer.echo(f"Same choice: {outcome_text(one.agreement, signed=False)}")
    typer.echo(f"Labelled pairs: {one.labelled:,}. Accuracy, shadow less live:"
               f" {outcome_text(one.accuracy)}")  # fmt: skip
    if one.counts is not None and one.test is not None:
        typer.echo(
            f"  right: both {one.counts.both:,}, only live {one.counts.only_first:,}, only shadow"
            f" {one.counts.only_second:,}, neither {one.counts.neither:,};"
            f" McNemar p = {one.test.p_value:.3g} ({one.test.test.value})"
        )
    typer.echo(f"Loss, shadow less live: {outcome_text(one.loss)}")
    if None not in one.latency:
        typer.echo(f"Median time: live {one.latency[0]:.4g}, shadow {one.latency[1]:.4g}.")
