"""`inferwatch promise`: how far the promise about a model's drift alarms holds, and why."""

from __future__ import annotations

from datetime import UTC, datetime
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
)

if TYPE_CHECKING:
    from monitor.reports.promise import ColumnPromise, PromiseReport
    from monitor.reports.promise_state import BacktestFacts

SCALE_WORDS = {"1h": "1 h", "6h": "6 h", "day": "24 h", "168h": "7 d"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(promise)


def promise(
    model: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Say what is promised about false drift alarms of a model, and how far it is proven.

    With the columns it holds for, what was learned of each, the smallest shift that would have been
    seen, and the newest backtest.
    """
    from monitor.reports.promise import promise as promise_of

    with open_database() as engine:
        project_id = find_project(engine, project)
        model_id = find_context(engine, project_id, model).model_id
        found = promise_of(engine, project_id, model_id, datetime.now(UTC))
    if as_json:
        print_json(_facts(model, found))
        return
    for line in _head(model, found):
        typer.echo(line)
    if found.columns:
        typer.echo("")
        headings = ("column", "kind", "season", "weeks", "rows", "wobble a day", "promise",
                    *(f"visible {SCALE_WORDS[s]}" for s in SCALE_WORDS))  # fmt: skip
        print_table(headings, [_row(column) for column in found.columns])
        typer.echo(
            "visible: the smallest shift of the mean, in baseline standard deviations, that the"
            " newest window would have shown with 90 % certainty"
        )
    for line in _tail(found):
        typer.echo(line)


def backtest_lines(found: BacktestFacts) -> list[str]:
    """A backtest as lines of text, with its incidents."""
    from monitor.reports.promise_state import backtest_sentences

    lines = list(backtest_sentences(found))
    for opened, columns in found.incidents:
        lines.append(f"  {plain(opened)}  {', '.join(plain(name) for name in columns)}")
    return lines


def backtest_facts(found: BacktestFacts) -> dict[str, Any]:
    """A backtest as JSON."""
    incidents = [{"opened": at, "columns": list(names)} for at, names in found.incidents]
    return {**vars(found), "weeks": list(found.weeks), "incidents": incidents,
            "evidence": found.evidence.value}  # fmt: skip


def _facts(model: str, found: PromiseReport) -> dict[str, Any]:
    history = found.history
    return {
        "model": model,
        "promised_a_month": found.promised,
        "state": found.state.value,
        "why": list(found.why),
        "sentence": found.sentence,
        "history": {**vars(history), "incidents": history.incidents, "upper95": history.upper},
        "learned_for_week": found.learned,
        "weeks": list(found.weeks),
        "columns": [{**vars(column), "shifts": dict(column.shifts)} for column in found.columns],
        "withheld": {column.name: column.withheld for column in found.withheld},
        "decide": [column.name for column in found.undecided],
        "segments": list(found.segments),
        "governor": found.governor,
        "told_false": found.told_false,
        "backtest": backtest_facts(found.backtest) if found.backtest else None,
    }


def _head(model: str, found: PromiseReport) -> list[str]:
    from monitor.reports.promise_state import history_sentence

    lines = [f"{plain(model)}: {found.state.words}.", *found.why, found.sentence]
    if found.history.upper is not None:
        lines.append(history_sentence(found.history))
    if found.withheld and len(found.withheld) < len(found.columns):
        lines.append(f"It does not hold for {len(found.withheld)} of {len(found.columns)} columns:")
    lines += [f"  {plain(one.name)}: {plain(one.withheld)}" for one in found.withheld]
    if found.undecided:
        lines.append("Left out of learning in 3 or more of the last 8 weeks, waiting for a verdict")
        lines[-1] += " (`inferwatch incidents list MODEL`):"
        lines += [f"  {plain(one.name)}: {one.left_out} weeks" for one in found.undecided]
    return lines


def _row(one: ColumnPromise) -> list[Any]:
    wobble = "" if one.wobble_a_day is None else f"{one.wobble_a_day:.3g}"
    return [
        *(one.name, one.column_class, one.season.replace("_", " "), one.weeks, f"{one.n:,}"),
        *(wobble, "no" if one.withheld else "yes"),
        *(f"{one.shifts[s]:.3g}" if s in one.shifts else "" for s in SCALE_WORDS),
    ]


def _tail(found: PromiseReport) -> list[str]:
    lines = [""]
    if found.segments:
        lines.append(f"Segments watched: {', '.join(plain(name) for name in found.segments)}.")
    times = (
        "1 false alarm was" if found.told_false == 1 else f"{found.told_false} false alarms were"
    )
    lines.append(f"Governor: {times} told; all levels are multiplied by {found.governor:.2f}.")
    if found.backtest is not None:
        lines += [f"Tested {plain(found.backtest.at)}.", *backtest_lines(found.backtest)]
    elif found.learned is not None:
        lines.append("No backtest yet: `inferwatch backtest MODEL` makes one.")
    return lines
