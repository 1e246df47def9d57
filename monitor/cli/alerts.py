"""`inferwatch alerts`: rules of a project, and what a person does about an alert."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alerts.errors import AlertConfigError
from monitor.cli import alert_deeds, alert_routes
from monitor.cli.alert_told import told_facts, told_lines
from monitor.cli.alert_trial import try_rule
from monitor.cli.common import (
    AsJson,
    By,
    KnownProject,
    Project,
    find_project,
    login,
    open_database,
    plain,
    print_json,
    print_table,
    read_text_file,
)

if TYPE_CHECKING:
    from alerts.config import AlertConfig
    from monitor.reports.alert_detail import AlertDetail
    from monitor.reports.alerts import Finding

FOUND = 1

app = typer.Typer(help="Put alert rules in force; look at alerts and answer them.",
                  no_args_is_help=True)  # fmt: skip

File = Annotated[Path, typer.Argument(help="The alert rules, a YAML file.", show_default=False)]
Number = Annotated[int, typer.Argument(help="The alert's number.", min=1, show_default=False)]
Comment = Annotated[str, typer.Option("--comment", help="Why; kept with the alert's history.")]


@app.command()
def check(file: File, as_json: AsJson = False) -> None:
    """Say every mistake of alert rules with its line; needs no database.

    Exit codes: 0 the rules can be applied, 1 they have mistakes, 2 the file can't be read.
    """
    text = read_text_file(file)
    try:
        config = _read_rules(text, file)
    except AlertConfigError as error:
        if as_json:
            print_json({"file": str(file), "problems": [vars(each) for each in error.problems]})
        else:
            typer.echo(str(error), err=True)
        raise typer.Exit(FOUND) from None
    if as_json:
        print_json({"file": str(file), "problems": []})
        return
    counts = (len(config.rules), len(config.owners), len(config.receivers))
    typer.echo("{}: no mistakes. {} rules, {} owners, {} receivers.".format(file, *counts))


def _read_rules(text: str, file: Path) -> AlertConfig:
    """The rules of a file, checks and methods that nothing carries refused as well."""
    from alerts.channels.registry import CHANNELS
    from alerts.config import read_alert_config
    from monitor.jobs.rule_words import RULE_WORDS

    return read_alert_config(text, str(file), CHANNELS, RULE_WORDS)


@app.command()
def apply(file: File, project: Project = "default", by: By = None) -> None:
    """Put alert rules in force; the same file again changes nothing.

    Open alerts of rules that the file no longer holds end as no longer evaluated.
    """
    from monitor.reports.responses import rehearsals_told
    from monitor.store.engine import Role, transaction
    from monitor.store.hand_over import apply_alert_rules
    from monitor.store.projects import ensure_project

    text = read_text_file(file)
    _read_rules(text, file)
    with open_database() as engine:
        with transaction(engine, None, Role.OWNER) as connection:
            project_id = ensure_project(connection, project)
        done = apply_alert_rules(
            engine, project_id, text, name=str(file), by=login(by), now=datetime.now(UTC),
        )  # fmt: skip
        untried = rehearsals_told(engine, project_id).untried
    typer.echo(f"Alert rules version {done.version} are in force in project {project}.")
    if done.closed:
        typer.echo(f"{done.closed} open alerts ended, because their rule is gone.")
    if untried:
        told = "`inferwatch respond rehearsals` lists them"
        typer.echo(f"{len(untried)} rules are not rehearsed as they are now; {told}.")


app.command("test")(try_rule)


@app.command("list")
def list_(
    every: Annotated[bool, typer.Option("--all", help="Resolved ones too.")] = False,
    model: Annotated[str | None, typer.Option("--model", help="Only of this model.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000)] = 100,
    project: KnownProject = "default",
    as_json: AsJson = False,
) -> None:
    """List alerts, the most severe first."""
    from monitor.reports.alerts import OPEN_STATES, FindingFilter, findings
    from monitor.reports.responses import rehearsals_told

    wanted = FindingFilter(states=() if every else OPEN_STATES, model=model)
    with open_database() as engine:
        project_id = find_project(engine, project)
        page = findings(engine, project_id, wanted, 1, limit)
        tried = rehearsals_told(engine, project_id)
    if as_json:
        print_json(
            [{**_facts(each), "rehearsal": tried.words.get(each.rule_name)} for each in page.rows]
        )
        return
    if not page.rows:
        typer.echo("No alert." if every else "No open alert; --all shows resolved ones too.")
        return
    names = ("number", "state", "standing", "severity", "model", "rule", "since",
             "acknowledged_by", "what")  # fmt: skip
    rows = [_facts(each) for each in page.rows]
    print_table([n.replace("_", " ") for n in names], [[row[n] for n in names] for row in rows])
    if page.total > len(rows):
        typer.echo(f"{page.total - len(rows)} more; --limit shows more of them.")
    for rule in sorted({each.rule_name for each in page.rows} & tried.untried):
        how = f"`inferwatch respond rehearse {rule}` tries its whole chain"
        typer.echo(f"Rule {plain(rule)}: {tried.words[rule]}; {how}.")


@app.command()
def show(number: Number, project: KnownProject = "default", as_json: AsJson = False) -> None:
    """Show one alert: the numbers behind it, its owner, the response that is due, its history."""
    from monitor.reports.alert_detail import alert_detail
    from monitor.reports.responses import rehearsals_told

    with open_database() as engine:
        project_id = find_project(engine, project)
        detail = alert_detail(engine, project_id, number)
        words = rehearsals_told(engine, project_id).words.get(detail.finding.rule_name)
    if as_json:
        events = [vars(each) for each in detail.timeline]
        told: dict[str, Any] = {"rehearsal": words, "labels": dict(detail.finding.labels)}
        told |= {"evidence": _evidence(detail.finding), "history": events}
        told |= told_facts(detail)
        print_json({**_facts(detail.finding), **told})
    else:
        for line in _lines(detail, words):
            typer.echo(line)


@app.command()
def ack(
    number: Number, by: By = None, comment: Comment = "", project: KnownProject = "default"
) -> None:
    """Take an open alert on. It stays open."""
    from monitor.store.hand_over import acknowledge_alert

    with open_database() as engine:
        project_id = find_project(engine, project)
        done = acknowledge_alert(engine, project_id, number, login(by), comment, datetime.now(UTC))
    typer.echo(f"Alert {number} is acknowledged by {done.acknowledged_by}; it is {done.state}.")


@app.command()
def resolve(
    number: Number, by: By = None, comment: Comment = "", project: KnownProject = "default"
) -> None:
    """End an open alert by hand; its receiver is told. The next breach opens it anew."""
    from monitor.store.hand_over import resolve_alert

    with open_database() as engine:
        project_id = find_project(engine, project)
        done = resolve_alert(engine, project_id, number, login(by), comment, datetime.now(UTC))
    typer.echo(f"Alert {number} is resolved by {done.resolved_by}.")


@app.command("false-alarm")
def false_alarm_(
    number: Number, by: By = None, comment: Comment = "", project: KnownProject = "default"
) -> None:
    """Say that nothing was wrong: the alert ends as a false alarm; its receiver is told.

    Where it tells of a drift incident, all open alerts of the incident end, its weeks are learned
    from, and the levels of the model's drift alarms go down for a while.
    """
    from monitor.store.hand_over import false_alarm

    with open_database() as engine:
        project_id = find_project(engine, project)
        person = login(by)
        done = false_alarm(engine, project_id, number, person, comment, datetime.now(UTC))
    if done.incident is not None:
        typer.echo(f"Incident {done.incident} is judged as a false alarm by {person}.")
    for alert in done.ended:
        typer.echo(f"Alert {alert} ended as a false alarm.")
    if number not in done.ended:
        typer.echo(f"Alert {number} was over already.")


alert_deeds.register(app)
alert_routes.register(app)


def _facts(found: Finding) -> dict[str, Any]:
    return {
        "number": found.id,
        "state": found.state,
        "severity": found.severity,
        "model": found.model,
        "rule": found.rule_name,
        "what": found.sentence,
        "threshold": found.threshold,
        "owner": found.owner,
        "response": found.response,
        "since": found.since,
        "fired_at": found.fired_at,
        "resolved_at": found.resolved_at,
        "resolved_reason": found.resolved_reason,
        "acknowledged_by": found.acknowledged_by,
        "acknowledged_at": found.acknowledged_at,
        "standing": found.standing,
        "data_state": found.data_state,
        "snoozed_until": found.snoozed_until,
        "archived_by": found.archived_by,
        "silences": [each.id for each in found.silences],
    }


def _evidence(found: Finding) -> dict[str, Any]:
    judged = found.judged
    if judged is None:
        return {}
    values = {name: part for name, part in vars(judged).items() if name != "evidence"}
    return {**values, **judged.evidence}


def _lines(detail: AlertDetail, rehearsal: str | None) -> list[str]:
    found = detail.finding
    facts = {**_facts(found), **dict(found.labels), **_evidence(found)}
    rule = found.rule
    facts["command"] = rule.command_for(found.id) if rule is not None else None
    for name in ("runbook", "impact", "precondition", "limit"):
        facts[name] = getattr(rule, name) if rule is not None else None
    facts["rehearsal"] = rehearsal
    lines = [plain(found.sentence), ""]
    lines += [
        f"{name.replace('_', ' '):18} {plain(value)}"
        for name, value in facts.items()
        if name != "what" and value not in (None, "", [])
    ]
    lines += [*told_lines(detail), "", "History:"]
    for event in detail.timeline:
        words = [plain(event.at), event.what, f"by {event.by}" if event.by else "", event.comment]
        lines.append("  " + "  ".join(plain(word) for word in words if word))
    return lines
