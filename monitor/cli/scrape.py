"""`inferwatch scrape`: whose metrics are read, how that goes, and a page tried out."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from monitor.cli.common import (
    AsJson,
    By,
    KnownProject,
    find_project,
    login,
    open_database,
    plain,
    print_json,
    print_table,
    read_text_file,
)

FOUND = 1
app = typer.Typer(help="Read the metrics of model servers now and then.", no_args_is_help=True)


@app.command()
def apply(
    file: Annotated[Path, typer.Argument(help="The targets, a YAML file.", show_default=False)],
    project: KnownProject = "default",
    by: By = None,
) -> None:
    """Put scrape targets in force in place of those there were; the same file changes nothing.

    Targets whose models do not exist are refused; all mistakes are told at once.
    """
    from monitor.errors import ConfigurationError, Problem
    from monitor.scrape_targets import read_targets
    from monitor.store.engine import Role, transaction
    from monitor.store.models import model_numbers_by_any_name
    from monitor.store.scrape_targets import apply_targets

    targets = read_targets(read_text_file(file), str(file))
    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.OWNER) as connection:
            known = model_numbers_by_any_name(connection, project_id)
            unknown = [
                Problem(f"target {each.name}", f"no model {name!r}; apply its contract first")
                for each in targets
                for name in each.models
                if name not in known
            ]
            if unknown:
                raise ConfigurationError(str(file), unknown)
            count, ended = apply_targets(connection, project_id, targets, by=login(by))
    typer.echo(f"{count} scrape targets are in force; {ended} ended. The worker reads them.")


@app.command("list")
def list_(project: KnownProject = "default", as_json: AsJson = False) -> None:
    """List the targets, when each was read last and what it held."""
    from monitor.store.engine import Role, transaction
    from monitor.store.scrape_targets import target_states

    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.OWNER) as connection:
            found = target_states(connection, project_id)
    rows: list[dict[str, Any]] = [
        {
            "target": each.target.name, "address": each.target.address,
            "models": ", ".join(each.target.models), "deployment": each.target.deployment,
            "every": f"{each.target.every.total_seconds():g} s", "read": each.read_at,
            "failures": each.failures, "told": dict(each.told),
        }
        for each in found
    ]  # fmt: skip
    if as_json:
        print_json(rows)
    elif not rows:
        typer.echo("No scrape target. Write a file and: inferwatch scrape apply FILE")
    else:
        print_table(list(rows[0]), [[*list(row.values())[:-1], _told(row["told"])] for row in rows])


@app.command("test")
def try_page(
    url: Annotated[str, typer.Argument(help="Address of a page of metrics.", show_default=False)],
    private: Annotated[
        bool, typer.Option("--private", help="Open loopback and private networks.")
    ] = False,
    authorization_env: Annotated[
        str | None, typer.Option("--authorization-env", help="Variable with the header's value.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read one page now and say which server it is, what it gives and what it can't; keeps nothing.

    Exit code 1: the page holds no metric that stands for a reading.
    """
    from alerts.channels.outbound import Outbound
    from monitor.intake.server_metrics.prometheus_text import UnreadableMetrics, read_prometheus
    from monitor.intake.server_metrics.registry import is_known_metric
    from monitor.jobs.scraping.page import PageUnread, read_page
    from monitor.scrape_targets import ScrapeTarget
    from monitor.settings import process_environment

    options: dict[str, str | bool] = {"url": url, "private_addresses_allowed": private}
    if authorization_env:
        options["authorization_env"] = authorization_env
    with Outbound() as http:
        text = read_page(http, ScrapeTarget("test", (), options=options), process_environment())
    try:
        read = read_prometheus(text, datetime.now(UTC), is_known_metric)
    except UnreadableMetrics as error:
        raise PageUnread(f"{url}: {error}") from None
    facts = _page_facts({point.name for point in read.points}, read.reasons)
    models = sorted({name for point in read.points for name in _models(point)})
    if as_json:
        print_json({**facts, "models": models})
    else:
        _print_page(facts, models)
    if not facts["readings"]:
        raise typer.Exit(FOUND)


def _models(point: Any) -> tuple[str, ...]:
    from monitor.intake.server_metrics.minutes import models_of
    from monitor.intake.server_metrics.registry import BY_NAME

    return models_of(point, BY_NAME[point.name])


def _page_facts(names: set[str], reasons: list[str]) -> dict[str, Any]:
    from monitor.intake.server_metrics.registry import BY_NAME, SERVERS, servers_of

    readings = sorted({use.reading for name in names for use in BY_NAME[name].taken[name]})
    found = servers_of(names)
    cannot = [text for server in SERVERS if server.name in found for text in server.cannot]
    return {"servers": list(found), "readings": readings, "cannot": cannot, "unread": reasons}


def _print_page(facts: dict[str, Any], models: list[str]) -> None:
    typer.echo(f"Server: {', '.join(facts['servers']) or 'none that is known'}")
    typer.echo(f"Models: {plain(', '.join(models)) or 'none named; the target names them'}")
    typer.echo(f"Readings: {', '.join(facts['readings']) or 'none'}")
    for text in facts["cannot"]:
        typer.echo(f"Can't tell: {text}")
    for text in facts["unread"]:
        typer.echo(plain(f"Unread: {text}"))


def _told(told: dict[str, Any]) -> str:
    if "error" in told:
        return str(told["error"])
    if not told:
        return "not read yet"
    parts = [", ".join(told["servers"]) or "no known server", f"{told['readings']} readings"]
    parts += [f"{count} left out: {why}" for why, count in told["left_out"].items()]
    if told["unknown_models"]:
        parts.append(f"unknown models {', '.join(told['unknown_models'])}")
    return "; ".join(parts)
