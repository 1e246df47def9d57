"""`inferwatch server`: what the servers of a model told of themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alerts.durations import parse_duration
from monitor.cli.common import (
    AsJson,
    KnownProject,
    find_context,
    find_project,
    open_database,
    plain,
    print_json,
    print_table,
)
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from monitor.reports.server_readings import ServerLine, ServerReport

LONGEST = timedelta(days=35)


def server(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    last: Annotated[str, typer.Option("--last", help="How far back, such as 15m or 2h.")] = "15m",
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Show queues, saturation, caches, memory and restarts, as the model's servers tell them.

    They are context: they may explain what requests show, and prove nothing by themselves.
    """
    from monitor.reports.server_readings import server_report

    length = _length(last)
    with open_database() as engine:
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, model)
        report = server_report(engine, project_id, context.model_id, model, length)
    if as_json:
        print_json(_facts(report))
        return
    if report.window is None:
        typer.echo("No server told anything of this model yet: see docs/server-readings.md.")
    else:
        _print_lines(report)
    _print_targets(report, datetime.now(UTC))


def _length(text: str) -> timedelta:
    try:
        length = parse_duration(text)
    except ValueError as error:
        raise ConfigurationError("command", [Problem("--last", str(error))]) from None
    if not timedelta(minutes=1) <= length <= LONGEST:
        raise ConfigurationError("command", [Problem("--last", "is 1m to 35d")])
    return length


def _print_lines(report: ServerReport) -> None:
    window = report.window
    if window is None:
        return
    typer.echo(f"{plain(window.start)} to {plain(window.end)}")
    rows = [
        [
            line.reading.name, line.source, line.version, line.reading.unit, _number(line.value),
            _number(line.low), _number(line.high), _number(line.newest), _number(line.rate),
            "; ".join(f"p{q * 100:g} {between.describe()}" for q, between in line.quantiles),
        ]
        for line in report.lines
    ]  # fmt: skip
    print_table(
        ("reading", "source", "version", "unit", "value", "lowest", "highest", "last minute",
         "a second", "quantiles"),
        rows,
    )  # fmt: skip
    for text in blind_spots(report.lines):
        typer.echo(text)


def blind_spots(lines: tuple[ServerLine, ...]) -> list[str]:
    """What the shown readings can't see, a line each."""
    told = {line.reading.name: line.reading.blind_to for line in lines if line.reading.blind_to}
    return [f"{name} does not tell: {text}." for name, text in told.items()]


def _print_targets(report: ServerReport, now: datetime) -> None:
    for each in report.targets:
        read = "never read" if each.read_at is None else f"read {_ago(now - each.read_at)} ago"
        runs = f", deployment {each.target.deployment}" if each.target.deployment else ""
        error = each.told.get("error")
        failing = f"; {each.failures} tries failed: {error}" if each.failures else ""
        typer.echo(plain(f"Target {each.target.name}{runs}: {read}{failing}"))


def _ago(length: timedelta) -> str:
    seconds = max(0, int(length.total_seconds()))
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}"


def _facts(report: ServerReport) -> dict[str, Any]:
    window = report.window
    return {
        "window": None if window is None else {"start": window.start, "end": window.end},
        "readings": [
            {
                "reading": line.reading.name, "unit": line.reading.unit,
                "kind": line.reading.kind.value, "source": line.source, "version": line.version,
                "value": line.value, "low": line.low, "high": line.high, "newest": line.newest,
                "rate": line.rate, "n": line.n, "minutes": line.minutes, "until": line.until,
                "blind_to": line.reading.blind_to or None,
                "quantiles": [
                    {"q": q, "above": _edge(each.low), "at_most": _edge(each.high)}
                    for q, each in line.quantiles
                ],
            }
            for line in report.lines
        ],
        "targets": [
            {
                "name": each.target.name, "address": each.target.address, "read_at": each.read_at,
                "failures": each.failures, "told": dict(each.told),
            }
            for each in report.targets
        ],
    }  # fmt: skip


def _edge(value: float) -> float | None:
    return None if value in (float("inf"), float("-inf")) else value
