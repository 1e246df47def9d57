"""`inferwatch alerts explain-route` and `inferwatch alerts silence`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    read_moment,
    read_text_file,
)
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from alerts.notify.explain import Explanation, Way
    from alerts.rules import Matcher

silence_app = typer.Typer(help="Keep alerts quiet for a while.", no_args_is_help=True)

Labels = Annotated[
    list[str] | None,
    typer.Option("--label", help="LABEL=VALUE, as often as needed.", show_default=False),
]
SilenceNumber = Annotated[int, typer.Argument(help="The silence's number.", min=1)]


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `inferwatch alerts`."""
    app.command("explain-route")(explain_route)
    app.add_typer(silence_app, name="silence")


def explain_route(
    label: Labels = None,
    rule: Annotated[str | None, typer.Option("--rule", help="As if this rule fired.")] = None,
    alert: Annotated[int | None, typer.Option("--alert", min=1, help="A stored alert.")] = None,
    at: Annotated[str | None, typer.Option("--at", help="At this moment instead of now.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Rules not applied yet; needs no database.")
    ] = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Say who gets what of an alert, when and why, and what keeps it quiet.

    Labels are those of the alert; rule, severity, owner, response and about count as labels.
    """
    labels = _labels(label or [], rule, project)
    if (alert is None) == (len(labels) == 1) or (alert is not None and file is not None):
        problem = Problem("command", "say --alert NUMBER, or --rule and --label (also with --file)")
        raise ConfigurationError("explain-route", [problem])
    now = read_moment(at, "--at", "UTC") if at is not None else datetime.now(UTC)
    found = _from_file(file, labels, now) if file else _stored(project, alert, labels, now)
    if as_json:
        print_json(_as_json(found))
        return
    for line in _lines(found):
        typer.echo(plain(line))


def _labels(given: Sequence[str], rule: str | None, project: str) -> dict[str, str]:
    labels = {"project": project}
    for matcher in read_labels(given):
        if len(matcher.patterns) > 1:
            message = f"{matcher.label} is given twice; an alert has one value"
            raise ConfigurationError("command", [Problem("--label", message)])
        labels[matcher.label] = matcher.patterns[0]
    return {**labels, "rule": rule} if rule is not None else labels


def read_labels(given: Sequence[str]) -> list[Matcher]:
    """`LABEL=VALUE` texts as matchers; a label that is given again may have either value."""
    from alerts.model import LABEL_NAME
    from alerts.rules import Matcher

    found: dict[str, list[str]] = {}
    problems = []
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not LABEL_NAME.fullmatch(name):
            message = f"{text[:60]!r} is not LABEL=VALUE; write for example model=flight-delay"
            problems.append(Problem("--label", message))
        found.setdefault(name, []).append(value)
    if problems:
        raise ConfigurationError("command", problems)
    return [Matcher(name, tuple(values)) for name, values in found.items()]


def _from_file(file: Path, labels: Mapping[str, str], now: datetime) -> Explanation:
    from alerts.channels.registry import CHANNELS
    from alerts.config import read_alert_config
    from alerts.notify.explain import explain
    from monitor.store.explained import read_supposed

    config = read_alert_config(read_text_file(file), str(file), CHANNELS)
    return explain(config, read_supposed(config, labels, now), (), (), now)


def _stored(
    project: str, alert: int | None, labels: Mapping[str, str], now: datetime
) -> Explanation:
    from monitor.store.engine import Role, transaction
    from monitor.store.explained import explain_alert, explain_labels

    with open_database() as engine:
        project_id = find_project(engine, project)
        with transaction(engine, project_id, Role.WORKER) as connection:
            if alert is not None:
                return explain_alert(connection, project_id, alert, now)
            return explain_labels(connection, project_id, labels, now)


def _lines(found: Explanation) -> Iterator[str]:
    facts = ", ".join(f"{name}={value}" for name, value in sorted(found.facts.items()) if value)
    yield f"An alert with {facts}"
    if found.component:
        yield "Nobody is told of it: its rule is a part of other rules."
        return
    for hold in found.holds:
        yield f"Kept quiet: {hold.text}."
    if not found.ways:
        yield "Nobody gets it: no route, rule or owner names a receiver. Give one."
    for way in found.ways:
        yield from _way_lines(way, found.acknowledged_by)


def _way_lines(way: Way, acknowledged_by: str | None) -> Iterator[str]:
    from alerts.durations import duration_text

    yield ""
    yield f"{way.receiver} ({way.channel})"
    yield f"  why     {way.why}"
    if way.after is not None:
        stopped = f"; stopped, {acknowledged_by} took it on" if acknowledged_by else ""
        yield f"  when    {duration_text(way.after)} after the first message{stopped}"
    else:
        wait = f"{duration_text(way.group_wait)} after the first alert" if way.group_wait else ""
        interval = duration_text(way.group_interval)
        yield f"  when    {wait or 'at once'}" + (
            f", then at most every {interval}" if way.group_interval else ""
        )
    repeat = f"every {duration_text(way.repeat_after)}" if way.repeat_after else "never"
    yield f"  group   {way.group}"
    yield f"  again   {repeat}; its end is {'told' if way.tells_ends else 'not told'}"
    if way.hold is not None:
        yield f"  held    {way.hold.text}"
    if way.told is not None:
        told = way.told
        yield f"  knows   episode {told.episode}: {told.event.value}, {told.at:%Y-%m-%d %H:%M}Z"


def _as_json(found: Explanation) -> dict[str, Any]:
    from alerts.durations import duration_text

    def way_json(way: Way) -> dict[str, Any]:
        return {
            "receiver": way.receiver,
            "channel": way.channel,
            "why": way.why,
            "step": way.step,
            "after": duration_text(way.after) if way.after is not None else None,
            "group": way.group,
            "group_wait": duration_text(way.group_wait),
            "group_interval": duration_text(way.group_interval),
            "repeat_after": duration_text(way.repeat_after) if way.repeat_after else None,
            "tells_ends": way.tells_ends,
            "held": way.hold.text if way.hold else None,
            "told": vars(way.told) if way.told else None,
        }

    return {
        "facts": dict(found.facts),
        "kept_quiet": [
            {"kind": each.kind.value, "text": each.text, "until": each.until}
            for each in found.holds
        ],
        "acknowledged_by": found.acknowledged_by,
        "receivers": [way_json(each) for each in found.ways],
    }


@silence_app.command()
def add(
    label: Labels = None,
    alert: Annotated[int | None, typer.Option("--alert", min=1, help="This alert alone.")] = None,
    length: Annotated[
        str | None, typer.Option("--for", help="From its start on, such as 30m, 4h or 2d.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="A day or a moment.")] = None,
    start: Annotated[str | None, typer.Option("--from", help="Its start; default now.")] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; everybody sees it.")] = "",
    by: By = None,
    project: KnownProject = "default",
) -> None:
    """Keep alerts that have all of these labels quiet; what still fires afterwards is told then.

    Values may end in `*`; a label given twice may have either value. Rule, severity, owner,
    response and about count as labels.
    """
    from monitor.cli.alert_deeds import end_of
    from monitor.store.alert_book import find_alert
    from monitor.store.engine import Role, transaction
    from monitor.store.silences import WantedSilence, add_silence, matchers_of_alert

    now = datetime.now(UTC)
    first = read_moment(start, "--from", "UTC") if start is not None else now
    last = end_of(length, until, first)
    matchers = tuple(read_labels(label or []))
    with open_database() as engine:
        project_id = find_project(engine, project)
        if alert is not None:
            with transaction(engine, project_id, Role.WORKER) as connection:
                matchers += matchers_of_alert(find_alert(connection, project_id, alert)[0])
        wanted = WantedSilence(matchers, first, last, login(by), reason)
        made = add_silence(engine, project_id, wanted, now)
    typer.echo(f"Silence {made.id} holds from {plain(made.starts_at)} to {plain(made.ends_at)}.")


@silence_app.command("list")
def list_(
    every: Annotated[bool, typer.Option("--all", help="Past ones too.")] = False,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """List silences that hold or will hold, the first to end first."""
    from monitor.reports.silences import silence_lines

    with open_database() as engine:
        found = silence_lines(engine, find_project(engine, project), every=every)
    rows: list[dict[str, Any]] = [
        {
            "number": each.silence.id,
            "labels": {one.label: list(one.patterns) for one in each.silence.matchers},
            "from": each.silence.starts_at,
            "until": each.silence.ends_at,
            "by": each.silence.author,
            "reason": each.silence.reason,
            "ended_by": each.ended_by,
        }
        for each in found
    ]
    if as_json:
        print_json(rows)
        return
    if not rows:
        typer.echo("No silence." if every else "No silence holds; --all shows past ones too.")
        return
    names = list(rows[0])
    shown = [{**row, "labels": _words(row["labels"])} for row in rows]
    print_table([name.replace("_", " ") for name in names], [list(r.values()) for r in shown])


def _words(labels: Mapping[str, Sequence[str]]) -> str:
    return " ".join(f"{name}={'|'.join(values)}" for name, values in labels.items())


@silence_app.command()
def end(number: SilenceNumber, by: By = None, project: KnownProject = "default") -> None:
    """End a silence now; what it kept quiet and still fires is told at once."""
    from monitor.store.silences import end_silence

    with open_database() as engine:
        project_id = find_project(engine, project)
        done = end_silence(engine, project_id, number, login(by), datetime.now(UTC))
    typer.echo(f"Silence {done.id} is over since {plain(done.ends_at)}.")
