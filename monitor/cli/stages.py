"""`inferwatch stages`: which stage of a request to shorten, and what that saves at most."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

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
)
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from monitor.checks.stages import PathTimes, StageTimes
    from monitor.contract import Contract
    from monitor.reports.operation import OperationReport


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(stages)


def stages(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    window: Annotated[
        str | None, typer.Option("--window", help="FROM/TO; default the newest seven days.")
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option("--target", help="STAGE=MS: what it saves if it took no longer; repeatable."),
    ] = None,
    deployment: Annotated[
        list[int] | None, typer.Option("--deployment", help="Only these; may be repeated.")
    ] = None,
    leg: Annotated[str, typer.Option("--leg", help="Whose requests.")] = "live",
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Show the critical path of requests and what each stage would save at most.

    Exit code 1: no request with stage times in this span.
    """
    from monitor.reports.operation import operation
    from monitor.reports.workload import newest_span

    with open_database() as engine:
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, model)
        _need_stages(context.contract)
        targets = _read_targets(target or (), context.contract)
        span = read_span(window, "--window", context.contract.time_zone) if window else None
        span = span or newest_span(engine, project_id, context.model_id)
        if span is None:
            typer.echo("No request has been profiled yet, so no stage was timed.")
            raise typer.Exit(1)
        report = operation(engine, project_id, context, span, leg, deployment or (), targets)
    if as_json:
        print_json(_facts(report))
    elif report.path is None:
        typer.echo("No request in this span has stage times. They come as fields `stage.NAME` or"
                   " as columns that the contract's stages name.")  # fmt: skip
    else:
        _print(report, report.path)
    if report.path is None:
        raise typer.Exit(1)


def _need_stages(contract: Contract) -> None:
    if not contract.stages:
        what = "the contract has none; docs/serving.md tells how to declare them"
        raise ConfigurationError(f"model {contract.model}", [Problem("stages", what)])


def _read_targets(written: list[str] | tuple[()], contract: Contract) -> dict[str, float]:
    known = [stage.name for stage in contract.stages]
    found, problems = {}, []
    for text in written:
        name, _, number = text.rpartition("=")
        if name not in known:
            problems.append(Problem(text, f"no such stage; there are {', '.join(known)}"))
            continue
        try:
            found[name] = float(number)
        except ValueError:
            problems.append(Problem(text, f"{number!r} is no number of milliseconds"))
            continue
        if not (math.isfinite(found[name]) and found[name] >= 0):
            problems.append(Problem(text, "a target is 0 or more milliseconds"))
    if problems:
        raise ConfigurationError("--target", problems)
    return found


def _facts(report: OperationReport) -> dict[str, object]:
    return {
        "window": [report.window.start, report.window.end],
        "leg": report.leg,
        "deployment_ids": list(report.deployment_ids),
        "unit": "ms",
        "path": asdict(report.path) if report.path is not None else None,
    }


def _print(report: OperationReport, path: PathTimes) -> None:
    tail = "" if path.p95 is None else f", p95 {path.p95:,.4g} ms"
    typer.echo(f"{path.n:,} requests with stage times, {path.left_out:,} without;"
               f" deployments {', '.join(map(str, report.deployment_ids))}")  # fmt: skip
    typer.echo(f"critical path: mean {path.mean:,.4g} ms, p50 {path.p50:,.4g} ms{tail}")
    if path.unexplained is not None:
        typer.echo(f"latency less critical path: {path.unexplained:,.4g} ms on average over"
                   f" {path.unexplained_n:,} requests")  # fmt: skip
    typer.echo("")
    heads = ["stage", "mean ms", "p95 ms", "on path", "saves mean", "saves p95",
             "halved: mean", "halved: p95", "at target"]  # fmt: skip
    print_table(heads, [_row(each, path) for each in path.stages])
    typer.echo("")
    for line in advice(path):
        typer.echo(plain(line))


def _row(each: StageTimes, path: PathTimes) -> list[str]:
    fine = path.tail_resolution
    target = "" if each.target is None else f"{each.saves_at_target:,.4g} (at {each.target:g})"
    return [
        each.name, _ms(each.mean), _ms(each.p95), f"{each.on_path / path.n:.1%}", _ms(each.saves),
        _ms(each.saves_tail, fine), _ms(each.halved), _ms(each.halved_tail, fine), target,
    ]  # fmt: skip


def _ms(value: float | None, fine: float | None = None) -> str:
    if value is None:
        return "too few"
    return f"under {fine:,.3g}" if fine is not None and value < fine else f"{value:,.4g}"


def advice(path: PathTimes) -> list[str]:
    """What the table says, in words."""
    mean, tail = path.most_saving(), path.most_saving(tail=True)
    lines = []
    if mean is not None:
        lines.append(f"On average {mean.name} costs most: without it a request would take"
                     f" {mean.saves:,.4g} ms less at most, with half of it {mean.halved:,.4g} ms"
                     " less.")  # fmt: skip
    if tail is not None and tail.saves_tail is not None:
        lines.append(f"For slow requests {tail.name} costs most: the p95 would be"
                     f" {tail.saves_tail:,.4g} ms lower at most.")  # fmt: skip
    lines.append("Upper bounds: the rest is taken to stay as it is.")
    return lines
