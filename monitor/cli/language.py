"""`inferwatch language`: tokens, first tokens, answers and cache of a language model."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
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
)

if TYPE_CHECKING:
    from monitor.measurement import Outcome
    from monitor.reports.language import LanguageReport

DEFAULT_DAYS = timedelta(days=7)


def language(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    window: Annotated[
        str | None, typer.Option("--window", help="FROM/TO; the newest seven days without it.")
    ] = None,
    leg: Annotated[str, typer.Option("--leg", help="Whose requests.")] = "live",
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Show tokens, first-token times by where they begin, finish reasons, refusals, caches."""
    from monitor.reports.language import language_report
    from monitor.reports.model import newest_moment
    from monitor.windows import Window

    with open_database() as engine:
        project_id = find_project(engine, project)
        context = find_context(engine, project_id, model)
        end = newest_moment(engine, project_id, context.model_id) or datetime.now(UTC)
        zone = context.contract.time_zone
        span = read_span(window, "--window", zone) if window else Window(end - DEFAULT_DAYS, end)
        found = language_report(engine, project_id, context, span, leg)
    if as_json:
        print_json(_facts(found))
    elif found.n == 0:
        typer.echo("No request was profiled there; other days or --leg may show some.")
    else:
        _print(found)


def _facts(found: LanguageReport) -> dict[str, Any]:
    return {
        "window": [found.window.start, found.window.end],
        "n": found.n,
        "rates": {name: asdict(outcome) for name, outcome in found.rates.items()},
        "first_tokens": [
            {"method": method, "from": word, **asdict(outcome)}
            for (method, word), outcome in found.first_tokens.items()
        ],
        "finish_reasons": {word: asdict(outcome) for word, outcome in found.reasons.items()},
        "lengths": {row.column: row.quantiles for row in found.lengths},
        "kv_cache_bytes": dict(found.cache),
    }


def _print(found: LanguageReport) -> None:
    typer.echo(f"{plain(found.window)}, {found.n:,} requests\n")
    rows = [[name, *_told(outcome)] for name, outcome in found.rates.items()]
    rows += [
        [f"{method} from {word}", *_told(outcome)]
        for (method, word), outcome in found.first_tokens.items()
    ]
    rows += [[f"finish reason {word}", *_told(outcome)] for word, outcome in found.reasons.items()]
    if not rows and not found.lengths:
        typer.echo("The contract has no field of language models; docs/language-models.md tells.")
        return
    print_table(("what", "value", "95 % interval", "n"), rows)
    if found.lengths:
        typer.echo("")
        headings = ("tokens", "p5", "p50", "p95", "p99")
        lengths = [[row.column, *(f"{q:,.0f}" for q in row.quantiles)] for row in found.lengths]
        print_table(headings, lengths)
    for name, size in found.cache.items():
        typer.echo(f"Key-value cache of {name}: {size / 2**20:,.1f} MiB, from the architecture")


def _told(outcome: Outcome) -> list[Any]:
    value = getattr(outcome, "value", None)
    if value is None:
        return [f"not measured: {getattr(outcome, 'reason', '')}", "", ""]
    low, high = getattr(outcome, "low", None), getattr(outcome, "high", None)
    limits = "" if low is None or high is None else f"{low:.4g} to {high:.4g}"
    return [f"{value:.4g}", limits, f"{getattr(outcome, 'n', 0):,}"]
