"""`inferwatch alerts test`: what a rule would have done on what was measured."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import (
    AsJson,
    KnownProject,
    context_in,
    find_project,
    job_context,
    open_database,
    plain,
    print_json,
    print_table,
    read_moment,
    read_text_file,
)
from monitor.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from alerts.config import AlertConfig
    from alerts.model import Transition
    from monitor.jobs.rule_trial import TrialOfModel

DEFAULT_SPAN = timedelta(days=30)
NOT_IN_A_SUBJECT = frozenset({"project", "model"})
NEVER_STORED = "condition"


def try_rule(
    rule: Annotated[str, typer.Argument(help="The rule's name.", show_default=False)],
    at: Annotated[
        str | None,
        typer.Option("--at", help="The end: a day or a moment; without it the newest data."),
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", help="The begin; 30 days before the end without it.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Only on this model; all without it.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Rules that are not in force yet, a YAML file."),
    ] = None,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """Show what a rule would have done on stored measurements; nothing is written or sent.

    It begins as if no alert had been open, and knows no silences and no other rules than its parts.
    """
    with open_database() as engine:
        project_id = find_project(engine, project)
        config = _config(engine, project_id, file)
        known_rules = [each.name for each in config.rules]
        if rule not in known_rules:
            there = ", ".join(known_rules)
            problem = Problem("RULE", f"no rule is called {rule[:60]!r}; there are: {there}")
            raise ConfigurationError("command", [problem])
        tried = [
            _try(engine, project, project_id, name, config, rule, (begin, at))
            for name in _models(engine, project_id, model)
        ]
    if as_json:
        print_json({"rule": rule, "models": [_json(each) for each in tried]})
        return
    wanted = config.rule(rule)
    if wanted is not None and wanted.names("check", NEVER_STORED):
        typer.echo("Conditions are looked at when they are judged and never stored; "
                   "this rule can't be tried on the past.")  # fmt: skip
    for each in tried:
        _show(rule, each)


def _config(engine: Engine, project_id: int, file: Path | None) -> AlertConfig:
    from alerts.channels.registry import CHANNELS
    from alerts.config import read_alert_config
    from monitor.store.alert_book import rules_in_force
    from monitor.store.engine import Role, transaction

    if file is not None:
        return read_alert_config(read_text_file(file), str(file), CHANNELS)
    with transaction(engine, project_id, Role.OWNER) as connection:
        rules = rules_in_force(connection, project_id)
    if rules is None:
        remedy = "no rules are in force; name a file with --file"
        raise ConfigurationError("command", [Problem("RULE", remedy)])
    return rules.config


def _models(engine: Engine, project_id: int, model: str | None) -> list[str]:
    from monitor.store.engine import Role, transaction
    from monitor.store.models import model_names

    if model is not None:
        return [model]
    with transaction(engine, project_id, Role.OWNER) as connection:
        return list(model_names(connection, project_id))


def _try(
    engine: Engine,
    project: str,
    project_id: int,
    model: str,
    config: AlertConfig,
    rule: str,
    span: tuple[str | None, str | None],
) -> TrialOfModel:
    from monitor.jobs.rule_trial import rules_to_try, try_on_model
    from monitor.reports.model import newest_moment
    from monitor.store.engine import Role, transaction

    with transaction(engine, project_id, Role.OWNER) as connection:
        context = context_in(connection, project_id, model)
    zone = context.contract.time_zone
    begin, end = span
    until = read_moment(end, "--at", zone) if end is not None else None
    until = until or newest_moment(engine, project_id, context.model_id) or datetime.now(UTC)
    after = read_moment(begin, "--from", zone) if begin is not None else until - DEFAULT_SPAN
    if after >= until:
        raise ConfigurationError("command", [Problem("--from", "must lie before --at")])
    with (
        job_context(engine, project, context) as job,
        transaction(engine, project_id, Role.WORKER, snapshot=True) as connection,
    ):
        return try_on_model(connection, job, rules_to_try(config, rule), after, until)


def _show(rule: str, tried: TrialOfModel) -> None:
    trial = tried.trial
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in trial.verdicts.items())
    typer.echo(f"Model {plain(tried.model)}: {tried.measurements} windows of rule {rule} and its "
               f"parts, taken by themselves: {counts}.")  # fmt: skip
    if tried.afterwards:
        typer.echo(f"{tried.afterwards} measurements became known only after --at; they count as "
                   "if they had been made in time.")  # fmt: skip
    if not trial.transitions:
        typer.echo("No alert would have changed.")
        return
    rows = [_transition_row(each, tried) for each in trial.transitions]
    print_table(["window's end", "rule", "subject", "from", "to", "reason", "value"], rows)
    fired = sum(each.reason.value == "breach_held" for each in trial.transitions)
    typer.echo(f"Alerts that fired: {fired}. Messages: {len(trial.messages)}.")
    for message in trial.messages:
        typer.echo(f"  {plain(message.at)}  {message.receiver}  {message.event}")
        for sentence in message.sentences:
            typer.echo(f"    {plain(sentence)}")
    if trial.is_cut:
        typer.echo("Later messages are not counted: there are too many.")


def _subject(each: Transition, tried: TrialOfModel) -> str:
    labels = tried.trial.alerts[each.fingerprint].labels
    return ", ".join(f"{name}={labels[name]}" for name in labels if name not in NOT_IN_A_SUBJECT)


def _transition_row(each: Transition, tried: TrialOfModel) -> list[Any]:
    reading = each.reading
    value = ""
    if reading is not None:
        value = reading.text if reading.value is None else f"{reading.value:.4g} {reading.unit}"
    return [
        *(each.at, each.rule, _subject(each, tried), each.from_state, each.to_state),
        *(each.reason, value),
    ]


def _json(tried: TrialOfModel) -> dict[str, Any]:
    trial = tried.trial
    return {
        "model": tried.model,
        "measurements": tried.measurements,
        "known_only_afterwards": tried.afterwards,
        "verdicts": {verdict.value: count for verdict, count in trial.verdicts.items()},
        "transitions": [
            {
                "at": each.at,
                "recorded_at": each.recorded_at,
                "rule": each.rule,
                "labels": dict(trial.alerts[each.fingerprint].labels),
                "episode": each.episode,
                "from": each.from_state.value,
                "to": each.to_state.value,
                "reason": each.reason.value,
                "value": each.reading.value if each.reading is not None else None,
                "text": each.reading.text if each.reading is not None else None,
            }
            for each in trial.transitions
        ],
        "messages": [
            {
                "at": each.at,
                "receiver": each.receiver,
                "type": each.event,
                "sentences": list(each.sentences),
            }
            for each in trial.messages
        ],
        "messages_cut": trial.is_cut,
    }
