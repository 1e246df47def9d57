"""`inferwatch measurements`: stored outcomes, also as they were known on an earlier day."""

from __future__ import annotations

import re
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
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from monitor.reports.measurements import MeasurementRow

DEFAULT_DAYS = timedelta(days=30)
MOST = 100_000
SCALE = re.compile(r"\d{1,3}h|day|month", re.ASCII)


def measurements(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    window: Annotated[
        str | None,
        typer.Option("--window", help="FROM/TO, days or moments; the newest 30 days without it."),
    ] = None,
    check: Annotated[
        list[str] | None, typer.Option("--check", help="Only this check; may be repeated.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option("--method", help="Only this method; may be repeated.")
    ] = None,
    column: Annotated[str | None, typer.Option("--column", help="Only of this column.")] = None,
    scale: Annotated[
        str | None, typer.Option("--scale", help="Only windows this long: 1h, 6h, day, month.")
    ] = None,
    leg: Annotated[str, typer.Option("--leg", help="live, batch, shadow:NAME, replay:RUN.")] = (
        "live"
    ),
    segment: Annotated[
        int, typer.Option("--segment", help="The segment's number; 0 is all requests.", min=0)
    ] = 0,
    as_of: AsOf = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Show what was measured, the newest window first.

    With --as-of the answer is the same whenever it is asked: later labels and corrections make new
    revisions and leave the old ones as they are.
    """
    from monitor.reports.database import reading
    from monitor.reports.measurements import Filter, read_measurements
    from monitor.reports.model import newest_moment
    from monitor.windows import Window

    _require_known(check or [], method or [], scale)
    with open_database() as engine:
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, model)
        zone = context.contract.time_zone
        known_by = read_as_of(as_of, zone)
        # As of a day the range must not move with data that came later.
        end = known_by or newest_moment(engine, project_id, context.model_id) or datetime.now(UTC)
        span = read_span(window, "--window", zone) if window else Window(end - DEFAULT_DAYS, end)
        wanted = Filter(
            tuple(check or ()), tuple(method or ()), column, scale=scale, leg=leg,
            segment_id=segment, known_by=known_by,
        )  # fmt: skip
        with reading(engine, project_id) as connection:
            rows = read_measurements(
                connection, project_id, context.model_id, span, wanted, limit=MOST + 1
            )
    _show(rows[:MOST], as_json=as_json)
    if len(rows) > MOST:
        typer.echo(f"Only the newest {MOST:,} are shown; ask for fewer days.", err=True)


def _require_known(checks: list[str], methods: list[str], scale: str | None) -> None:
    """ConfigurationError with every word that nothing can carry."""
    from monitor.checks.registry import CHECKS

    problems = []
    known = {"check": {one.check.value for one in CHECKS}, "method": {one.method for one in CHECKS}}
    for option, given in (("check", checks), ("method", methods)):
        for word in given:
            if word not in known[option]:
                there = ", ".join(sorted(known[option]))
                what = f"there is no {option} {word[:60]!r}; there are: {there}"
                problems.append(Problem(f"--{option}", what))
    if scale is not None and not SCALE.fullmatch(scale):
        what = f"{scale[:60]!r} is no length of a window; write 1h, 6h, 168h, day or month"
        problems.append(Problem("--scale", what))
    if problems:
        raise ConfigurationError("command", problems)


def _show(rows: tuple[MeasurementRow, ...], *, as_json: bool) -> None:
    if as_json:
        print_json([_facts(row) for row in rows])
        return
    if not rows:
        typer.echo("Nothing was measured there; other days, --leg or --as-of may show something.")
        return
    headings = ("window", "to", "check", "method", "column", "deployments", "value",
                "95 % interval", "n", "known at")  # fmt: skip
    print_table(headings, [_row(row) for row in rows])


def _facts(row: MeasurementRow) -> dict[str, Any]:
    told = {**vars(row), "window": [row.window.start, row.window.end], "state": row.state.value}
    return {name: value for name, value in told.items() if name != "id"}


def _row(row: MeasurementRow) -> list[Any]:
    value = row.reason if row.value is None else f"{row.value:.6g} {row.unit}"
    limits = "" if row.low is None or row.high is None else f"{row.low:.6g} to {row.high:.6g}"
    state = str(row.detail.get("maturity") or "").replace("_", " ")
    return [
        *(row.window.start, row.window.end, row.check, row.method, row.column),
        ", ".join(map(str, row.deployment_ids)),
        f"{plain(value)} ({state})" if state else value,
        *(limits, f"{row.n:,}", row.known_at),
    ]
