"""`inferwatch labels`: how soon labels come, how mature cohorts are, what waits for its request."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
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
    from monitor.reports.labels import CohortFacts, CurveFacts, FeedDay, LabelReport

DEFAULT_DAYS = timedelta(days=30)
FEEDBACK_WORDS = {
    "full": "every request gets one",
    "positive_only": "only positives are told; silence becomes a negative",
    "selective": "only some requests ever get one; quality of all is known within bounds",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(labels)


def labels(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    window: Annotated[
        str | None,
        typer.Option(
            "--window", help="FROM/TO, days or moments of requests; the newest 30 days without it."
        ),
    ] = None,
    leg: Annotated[str, typer.Option("--leg", help="live, batch, shadow:NAME.")] = "live",
    as_of: AsOf = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Show how soon labels come, each day's coverage and maturity, the feed, and what waits."""
    from monitor.reports.labels import label_report
    from monitor.reports.model import newest_moment
    from monitor.windows import Window

    with open_database() as engine:
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, model)
        zone = context.contract.time_zone
        known_by = read_as_of(as_of, zone)
        if window is not None:
            span = read_span(window, "--window", zone)
        else:
            newest = known_by or newest_moment(engine, project_id, context.model_id)
            end = newest or datetime.now(UTC)
            span = Window(end - DEFAULT_DAYS, end + timedelta(days=1))
        found = label_report(engine, project_id, context.model_id, span, known_by, leg)
    if as_json:
        print_json({"model": model, "leg": leg, **asdict(found)})
        return
    for line in _head(model, found):
        typer.echo(line)
    if found.name is not None:
        _print_curves(found)
        _print_cohorts(found)
        _print_feed(found)
        _print_orphans(found)


def _head(model: str, found: LabelReport) -> list[str]:
    if found.name is None or found.max_age is None or found.correction_time is None:
        return [f"{plain(model)} has no label: its contract declares none (docs/labels.md)."]
    return [
        f"{plain(model)}: label {plain(found.name)}, {FEEDBACK_WORDS[found.feedback]}.",
        f"It may take {hours_in_words(found.max_age / timedelta(hours=1))}, and corrections"
        f" {hours_in_words(found.correction_time / timedelta(hours=1))} more.",
        f"Newest label observed: {plain(found.newest_label) or 'none yet'}.",
    ]


def _print_curves(found: LabelReport) -> None:
    typer.echo("")
    if not found.curves:
        typer.echo("No delay curve yet: it is learned once a day, from the first labels on.")
        return
    headings = ("delays of", "requests", "half by", "90 % of labels by", "ever labelled", "learned")
    print_table(headings, [_curve_row(one) for one in found.curves])
    if not all(one.settled for one in found.curves):
        typer.echo("+ so far: no request is as old as a label may be, so more may come.")


def _curve_row(one: CurveFacts) -> list[Any]:
    plateau = f"{one.plateau:.1%} ({one.plateau_low:.1%} to {one.plateau_high:.1%})"
    return [
        one.title,
        f"{one.n:,}",
        "never" if one.median_hours is None else hours_in_words(one.median_hours),
        "" if one.ninety_hours is None else hours_in_words(one.ninety_hours),
        plateau if one.settled else f"{plateau} +",
        one.known_at,
    ]


def _print_cohorts(found: LabelReport) -> None:
    typer.echo("")
    if not found.cohorts:
        typer.echo("No day of these was measured.")
        return
    headings = ("day", "requests", "with label", "expected by now", "state", "rules judge", "known")
    print_table(headings, [_cohort_row(one) for one in found.cohorts])


def _cohort_row(one: CohortFacts) -> list[Any]:
    return [
        one.window.start,
        f"{one.n:,}",
        "" if one.coverage is None else f"{one.coverage:.1%}",
        "" if one.expected_share is None else f"{one.expected_share:.1%}",
        one.state.replace("_", " ") or "not told",
        "yes" if one.is_judged else "no",
        one.known_at,
    ]


def _print_feed(found: LabelReport) -> None:
    if not found.feed:
        return
    typer.echo("")
    headings = ("day", "hours since a label", "labels", "expected", "of expected")
    print_table(headings, [_feed_row(one) for one in found.feed])


def _feed_row(one: FeedDay) -> list[Any]:
    ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
    if one.ratio is not None and one.low is not None and one.high is not None:
        ratio += f" ({one.low:.2f} to {one.high:.2f})"
    return [
        one.window.start,
        "" if one.silence_hours is None else f"{one.silence_hours:.1f}",
        "" if one.observed is None else f"{one.observed:,}",
        "" if one.expected is None else f"{one.expected:,.1f}",
        ratio,
    ]


def _print_orphans(found: LabelReport) -> None:
    typer.echo("")
    if not found.orphans:
        typer.echo("No label waits for its request.")
        return
    total = sum(one.n for one in found.orphans)
    typer.echo("1 label waits now:" if total == 1 else f"{total:,} labels wait now:")
    for one in found.orphans:
        typer.echo(f"  {one.n:,}  {one.words} (oldest {plain(one.oldest_arrival)})")


def hours_in_words(hours: float) -> str:
    """`3.2 days`, `5.0 hours`, `12 minutes`."""
    if hours >= 48:
        return f"{hours / 24:.3g} days"
    return f"{hours:.3g} hours" if hours >= 1 else f"{max(hours * 60, 0):.2g} minutes"
