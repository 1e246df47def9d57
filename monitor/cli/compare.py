"""`inferwatch compare`: is one deployment better than another, and can that be told at all?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import (
    AsJson,
    AsOf,
    By,
    KnownProject,
    find_context,
    find_project,
    login,
    open_database,
    plain,
    print_json,
    print_table,
    read_as_of,
    read_span,
)

if TYPE_CHECKING:
    from monitor.reports.comparisons import ComparisonFacts

HEADINGS = (
    *("metric", "crude a → b", "adjusted a → b", "b - a", "95 % interval", "n a / b", "verdict"),
)
SIDE = "Deployments by name or number, or tags: blue,7 or precision=float16,runtime=onnx."


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)


def compare(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    a: Annotated[str, typer.Option("--a", help=SIDE, show_default=False)],
    b: Annotated[str, typer.Option("--b", help=SIDE, show_default=False)],
    window: Annotated[
        str | None,
        typer.Option(
            "--window", help="FROM/TO, days or moments; without it the days on which both served."
        ),
    ] = None,
    epsilon: Annotated[
        float,
        typer.Option(
            "--epsilon",
            help="What doesn't matter: points of a share (0.02 = 2 points), of anything else a"
            " share of a's value.",
        ),
    ] = 0.02,
    canary: Annotated[
        bool, typer.Option("--canary", help="Bet on harm and on \"no worse than ε\" over time.")
    ] = False,
    leg: Annotated[str, typer.Option("--leg", help="live, batch, shadow:NAME, replay:RUN.")] = (
        "live"
    ),
    as_of: AsOf = None,
    by: By = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Compare deployments b with deployments a, and keep the result.

    Says first which version tags differ. When more than one group of them differs and no pair of
    deployments differs in one alone, the verdict is "confounded". With --as-of nothing is computed:
    the newest result that was known then is shown.
    """
    from monitor.compare_versions import Wanted, named_deployments
    from monitor.jobs.comparison.compare_deployments import compare_deployments
    from monitor.reports.comparisons import facts_of
    from monitor.reports.database import reading
    from monitor.reports.series import deployment_titles

    with open_database() as engine:
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, model)
        zone = context.contract.time_zone
        known_by = read_as_of(as_of, zone)
        with reading(engine, project_id) as connection:
            sides = [named_deployments(connection, context, side) for side in (a, b)]
            titles = deployment_titles(connection, project_id, context.model_id)
        if known_by is not None:
            found = _known_then(engine, context, (sides[0], sides[1]), known_by)
        else:
            span = read_span(window, "--window", zone) if window else None
            wanted = Wanted(sides[0], sides[1], span, leg, epsilon, canary)
            now = datetime.now(UTC)
            stored = compare_deployments(engine, context, wanted, by=login(by), now=now)
            found = facts_of(stored, titles)
    if as_json:
        print_json(comparison_facts(model, found))
        return
    for line in _head(model, found):
        typer.echo(line)
    for result in found.results:
        _print_result(result, several=len(found.results) > 1)
    typer.echo(f"Comparison {found.id}, made {plain(found.known_at)} by {plain(found.made_by)}.")


def comparison_facts(model: str, found: ComparisonFacts) -> dict[str, Any]:
    """A comparison as JSON."""
    return {
        "model": model,
        "id": found.id,
        "a": {"deployments": list(found.a), "title": found.a_title},
        "b": {"deployments": list(found.b), "title": found.b_title},
        "leg": found.leg,
        "window": {"start": found.window.start, "end": found.window.end},
        "made_by": found.made_by,
        "known_at": found.known_at,
        **found.body,
    }


def _known_then(
    engine: Any, context: Any, sides: tuple[tuple[int, ...], tuple[int, ...]], known_by: datetime
) -> ComparisonFacts:
    from monitor.errors import UnknownSubject
    from monitor.reports.comparisons import newest_comparison

    found = newest_comparison(
        engine, context.project_id, context.model_id, sides[0], sides[1], known_by
    )
    if found is None:
        raise UnknownSubject(
            f"no comparison of these deployments was known by {plain(known_by)};"
            " without --as-of one is made now"
        )
    return found


def _head(model: str, found: ComparisonFacts) -> list[str]:
    return [
        f"{plain(model)}: b ({plain(found.b_title)}) against a ({plain(found.a_title)}),"
        f" {found.window}, leg {plain(found.leg)}",
        f"Differs: {plain(found.differs)}",
        f"Verdict: {_verdict(found)}",
    ]


def _verdict(found: ComparisonFacts) -> str:
    """The sentence, which may begin with the verdict's own word."""
    named = found.sentence.lower().startswith(found.verdict)
    return plain(found.sentence if named else f"{found.verdict}. {found.sentence}")


def _print_result(result: Mapping[str, Any], *, several: bool) -> None:
    typer.echo("")
    if several:
        typer.echo(f"{plain(result['factor'])}: {plain(result['sentence'])}")
    for caution in result["cautions"]:
        typer.echo(f"Note: {plain(caution)}")
    shared = result["overlap"]
    typer.echo(
        f"Common support: {shared['share_a']:.1%} of a's requests and {shared['share_b']:.1%} of"
        f" b's, in {shared['strata_shared']:,} of {shared['strata']:,} strata"
        f" ({'slot of time' if shared['control'] == 'matched' else 'hour of the day'} × slice)."
    )
    labelled = result["labelled"]
    if labelled["a"][1] or labelled["b"][1]:
        told = [f"{side} {labels:,} of {n:,}" for side, (labels, n) in labelled.items()]
        typer.echo(f"Labelled: {', '.join(told)}.")
    names = ("slice", "a", "b", "a_shared", "b_shared")
    slices = [name.replace("_", " ") for name in names]
    print_table(slices, [[_count(row[name]) for name in names] for row in shared["slices"]])
    typer.echo("")
    headings = (
        "metric",
        "crude a → b",
        "adjusted a → b",
        "b - a",
        "95 % interval",
        "n a / b",
        "verdict",
    )
    print_table(headings, [_row(line) for line in result["metrics"]])
    for one in result["canary"]:
        typer.echo(_canary_line(one))


def _row(line: Mapping[str, Any]) -> list[str]:
    told, unit = line["difference"], line["unit"]
    crude = " → ".join(_number(value, unit) for value in line["crude"])
    adjusted = " → ".join(_number(value, unit) for value in line["adjusted"])
    title = line["title"] if unit in ("share", "column") else f"{line['title']} ({unit})"
    counts = " / ".join(f"{n:,}" for n in line["n"])
    if told["state"] != "measured":
        reason = f"{line['verdict']}: {told['reason']}"
        return [title, crude, adjusted, "", "", counts, reason]
    interval = f"{_number(told['low'], unit)} to {_number(told['high'], unit)}"
    return [title, crude, adjusted, _number(told["value"], unit), interval, counts,
            line["verdict"]]  # fmt: skip


def _canary_line(one: Mapping[str, Any]) -> str:
    name, tolerance = plain(one["metric"]), one["tolerance"]
    mean = "" if one["mean"] is None else f", mean difference of losses {one['mean']:+.4f}"
    pairs = f"{one['pairs']:,} pairs{mean}"
    at = plain(one["stopped_at"])
    match one["verdict"]:
        case "harm":
            return f"Canary ({name}): harm beyond {tolerance:g} from the slot {at} on; {pairs}."
        case "no worse":
            return f"Canary ({name}): no worse than {tolerance:g} since the slot {at}; {pairs}."
        case _:
            return f"Canary ({name}): undecided about {tolerance:g}; {pairs}."


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.2f} %" if unit == "share" else f"{value:.4g}"


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else plain(value)
