"""`inferwatch workload`: under which conditions a model's numbers were measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import (
    AsJson,
    KnownProject,
    find_context,
    find_project,
    open_database,
    plain,
    print_json,
    print_table,
    read_span,
    read_text_file,
)
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from monitor.checks.workload.card import Card, Spread


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(workload)


def workload(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    window: Annotated[
        str | None, typer.Option("--window", help="FROM/TO; default the newest seven days.")
    ] = None,
    deployment: Annotated[
        list[int] | None, typer.Option("--deployment", help="Only these; may be repeated.")
    ] = None,
    leg: Annotated[str, typer.Option("--leg", help="Whose requests.")] = "live",
    against: Annotated[
        Path | None,
        typer.Option(
            "--against", dir_okay=False, help="A card (--json) whose numbers to compare with."
        ),
    ] = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Print assumptions, lengths, arrivals, concurrency, targets, and what nobody measured.

    With --against, numbers are compared only when both workloads are known to be alike. Exit code
    1: the comparison is refused, or a target is missed.
    """
    from monitor.checks.workload.comparable import reasons_against
    from monitor.reports.workload import newest_span, workload_card

    other = _read_card(against) if against else None
    with open_database() as engine:
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, model)
        zone = context.contract.time_zone
        span = read_span(window, "--window", zone) if window else None
        span = span or newest_span(engine, project_id, context.model_id)
        if span is None:
            typer.echo("No request has been profiled yet, so there is no workload to tell.")
            raise typer.Exit(1)
        card = workload_card(engine, project_id, context, span, deployment or (), leg)
    reasons = reasons_against(card, other) if other is not None else []
    if as_json:
        told: Any = card.as_json()
        print_json(told if other is None else _comparison(card, other, reasons))
    else:
        _print_card(card)
        if other is not None:
            _print_comparison(card, other, reasons)
    if reasons or any(each.verdict == "missed" for each in card.targets):
        raise typer.Exit(1)


def _read_card(path: Path) -> Card:
    from monitor.checks.workload.comparable import UnreadableCard, read_card

    text = read_text_file(path)
    try:
        return read_card(json.loads(text))
    except (json.JSONDecodeError, UnreadableCard) as error:
        what = f"is no workload card: {error}; make one with `inferwatch workload MODEL --json`"
        raise ConfigurationError(str(path), [Problem("file", what)]) from None


def _comparison(card: Card, other: Card, reasons: Sequence[str]) -> dict[str, Any]:
    from monitor.checks.workload.comparable import number_pairs

    pairs = [] if reasons else number_pairs(card, other)
    return {
        "refused": list(reasons),
        "numbers": [{**vars(pair), "ratio": pair.ratio} for pair in pairs],
        "card": card.as_json(),
        "against": other.as_json(),
    }


def _print_card(card: Card) -> None:
    typer.echo(f"{plain(card.model)}, {card.start} to {card.end}, {card.leg}, {card.n:,} requests")
    typer.echo(f"deployments {', '.join(map(str, card.deployments)) or 'none'}")
    for name, value in card.tags.items():
        typer.echo(f"  {name} {plain(value)}")
    typer.echo("\nAssumed")
    for name, value in card.assumed.items():
        typer.echo(f"  {name} {plain(_assumption(value))}")
    if not card.assumed:
        typer.echo("  nothing: the contract has no workload section")
    _print_arrivals(card)
    _print_spreads("Lengths", card.lengths)
    _print_spreads("Timings and costs", card.timings)
    _print_targets(card)
    typer.echo("\nNot measured")
    for line in card.missing:
        typer.echo(f"  {plain(line)}")
    if not card.missing:
        typer.echo("  nothing that this card knows of")


def _assumption(value: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    return "; ".join(f"{each['column']} p50 {each['p50']:g}, p95 {each['p95']:g}" for each in value)


def _print_arrivals(card: Card) -> None:
    typer.echo("\nArrivals")
    found = card.arrivals
    if found is None:
        typer.echo("  no request in this span")
        return
    typer.echo(f"  {found.rate:,.4g} requests/s on average, {found.peak_rate:,.4g} in the busiest"
               " five minutes")  # fmt: skip
    if found.dispersion is None:
        typer.echo("  dispersion: too few whole hours")
    else:
        typer.echo(f"  dispersion within hours {found.dispersion:.2f} (1: independent arrivals)")
    if found.concurrency_mean is None or found.concurrency_p95 is None:
        typer.echo("  concurrency: not known without a latency of every request")
    else:
        typer.echo(f"  {found.concurrency_mean:,.3g} at once on average,"
                   f" p95 {found.concurrency_p95:,.3g} (rate times latency)")  # fmt: skip
    shares = ", ".join(f"{name} {share:.2%}" for name, share in card.outcomes.items())
    typer.echo(f"  outcomes: {shares}")


def _print_spreads(title: str, found: Mapping[str, Spread]) -> None:
    if not found:
        return
    typer.echo("")
    rows = []
    for name, each in found.items():
        numbers = (each.mean, each.p5, each.p50, each.p95, each.p99)
        counted = f"{each.n:,}", f"{each.of - each.n:,}"
        rows.append([name, each.unit, *(f"{value:,.4g}" for value in numbers), *counted])
    print_table((title, "unit", "mean", "p5", "p50", "p95", "p99", "n", "without"), rows)


def _print_targets(card: Card) -> None:
    if not card.targets:
        return
    typer.echo("")
    rows = []
    for each in card.targets:
        wanted = f"{'at most' if each.at_most else 'at least'} {each.limit:g}"
        value = "" if each.value is None else f"{each.value:,.4g}"
        limits = (
            "" if each.low is None or each.high is None else f"{each.low:,.4g} to {each.high:,.4g}"
        )
        verdict = each.verdict.replace("_", " ") + (f": {each.reason}" if each.reason else "")
        rows.append([f"{each.column} p{each.quantile * 100:g}", wanted, value, limits, verdict])
    print_table(("Target", "wanted", "value", "95 % interval", "verdict"), rows)


def _print_comparison(card: Card, other: Card, reasons: Sequence[str]) -> None:
    from monitor.checks.workload.comparable import number_pairs

    where = f"{plain(other.model)}, {plain(other.start)} to {plain(other.end)}"
    if reasons:
        typer.echo(f"\nNo comparison with {where}: the workloads are not known to be alike.")
        for reason in reasons:
            typer.echo(f"  {plain(reason)}")
        return
    typer.echo("")
    rows = [
        [pair.name, pair.unit, f"{pair.ours:,.4g}", f"{pair.theirs:,.4g}",
         "" if pair.ratio is None else f"{pair.ratio:.3f}"]
        for pair in number_pairs(card, other)
    ]  # fmt: skip
    print_table((f"Against {where}", "unit", "here", "there", "ratio"), rows)
