"""`inferwatch cost` and `inferwatch cascade`: money, energy and routes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
    from monitor.reports.cascade import CascadeReport, RouteRow
    from monitor.reports.costs import CostRow
    from monitor.reports.measurements import MeasurementRow

DEFAULT_DAYS = timedelta(days=30)
SpanOption = Annotated[
    str | None, typer.Option("--window", help="FROM/TO; the newest 30 days without it.")
]
LegOption = Annotated[str, typer.Option("--leg", help="Whose requests.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(cost)
    app.command()(cascade)


def cost(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    window: SpanOption = None,
    scale: Annotated[
        Literal["day", "month"], typer.Option("--scale", help="Days or months.")
    ] = "day",
    leg: LegOption = "live",
    as_of: AsOf = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Show what a request and a successful task cost, with the condition of success."""
    from monitor.reports.costs import cost_rows
    from monitor.reports.model import newest_moment
    from monitor.windows import Window

    with open_database() as engine:
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, model)
        zone = context.contract.time_zone
        known_by = read_as_of(as_of, zone)
        end = known_by or newest_moment(engine, project_id, context.model_id) or datetime.now(UTC)
        span = read_span(window, "--window", zone) if window else Window(end - DEFAULT_DAYS, end)
        rows = cost_rows(engine, project_id, context.model_id, span, leg, scale, known_by)
    if as_json:
        print_json([_facts(row) for row in rows])
    elif context.contract.costs is None:
        typer.echo("The contract declares no costs; docs/costs.md tells how.")
    elif not rows:
        typer.echo("No cost was measured there; a day is measured when it has ended.")
    else:
        _print_costs(rows)


def _facts(row: CostRow) -> dict[str, Any]:
    return {
        "window": [row.window.start, row.window.end],
        "deployment_ids": list(row.deployment_ids),
        "condition": row.condition,
        "components": dict(row.components),
        "left_out": list(row.left_out),
        **{
            name: {"value": one.value, "low": one.low, "high": one.high, "unit": one.unit,
                   "n": one.n, "state": one.state.value, "reason": one.reason,
                   "success_share": one.detail.get("success_share")}
            for name, one in row.methods.items()
        },
    }  # fmt: skip


def _print_costs(rows: tuple[CostRow, ...]) -> None:
    newest = rows[0]
    typer.echo(f"A task is a success when {plain(newest.condition)}.\n")
    headings = ("window", "to", "deployments", "per request", "per success", "95 % interval",
                "success", "joules per request", "per success")  # fmt: skip
    print_table(headings, [_row(row) for row in rows])
    typer.echo(f"\n{plain(newest.window)}: the total by component")
    unit = newest.methods["per_request"].unit if "per_request" in newest.methods else ""
    total = sum(newest.components.values())
    for name, value in newest.components.items():
        share = f" ({value / total:.1%})" if total else ""
        typer.echo(f"  {plain(name)} {value:,.4g} {plain(unit)}{share}")
    for line in newest.left_out:
        typer.echo(f"  left out: {plain(line)}")


def _row(row: CostRow) -> list[Any]:
    each, success = row.methods.get("per_request"), row.methods.get("per_success")
    limits = share = ""
    if success is not None and success.low is not None and success.high is not None:
        limits = f"{success.low:.4g} to {success.high:.4g}"
    if success is not None and success.detail.get("success_share") is not None:
        share = f"{success.detail['success_share']:.1%}"
    joules = row.methods.get("energy_per_request"), row.methods.get("energy_per_success")
    return [
        *(row.window.start, row.window.end, ", ".join(map(str, row.deployment_ids))),
        *(_value(each), _value(success), limits, share, _value(joules[0]), _value(joules[1])),
    ]


def _value(row: MeasurementRow | None) -> str:
    if row is None:
        return ""
    return f"{row.value:,.4g} {row.unit}" if row.value is not None else str(row.reason)


def cascade(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    window: SpanOption = None,
    leg: LegOption = "live",
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Show the routes of a cascade beside each other: shares, latency, cost, labels, errors."""
    from monitor.reports.cascade import cascade_report
    from monitor.reports.model import newest_moment
    from monitor.windows import Window

    with open_database() as engine:
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, model)
        zone = context.contract.time_zone
        end = newest_moment(engine, project_id, context.model_id) or datetime.now(UTC)
        span = read_span(window, "--window", zone) if window else Window(end - DEFAULT_DAYS, end)
        found = cascade_report(engine, project_id, context, span, leg)
    if as_json:
        print_json(found.as_json() if found is not None else None)
    elif found is None:
        typer.echo("The contract declares no cascade; docs/costs.md tells how.")
    else:
        _print_cascade(found)


def _print_cascade(found: CascadeReport) -> None:
    typer.echo(f"{plain(found.window)}, {found.n:,} requests\n")
    headings = ("route", "requests", "share", "95 % interval", "latency p50", "p95",
                "cost each", "right", "95 % interval", "labelled")  # fmt: skip
    print_table(headings, [_route(row) for row in found.routes])
    typer.echo("")
    for line in found.sentences():
        typer.echo(plain(line))


def _route(row: RouteRow) -> list[Any]:
    def number(value: float | None, unit: str = "") -> str:
        return "" if value is None else f"{value:,.4g}{f' {unit}' if unit else ''}"

    limits = "" if row.low is None or row.high is None else f"{row.low:.1%} to {row.high:.1%}"
    right = "" if row.right is None else f"{row.right:.1%}"
    known = row.right_low is not None and row.right_high is not None
    between = f"{row.right_low:.1%} to {row.right_high:.1%}" if known else row.why_not_right
    return [
        *(row.route, f"{row.n:,}", f"{row.share:.1%}" if row.share is not None else "", limits),
        *(number(row.latency_p50, row.latency_unit), number(row.latency_p95, row.latency_unit)),
        *(number(row.cost, row.currency), right, between, f"{row.labelled:,}"),
    ]
