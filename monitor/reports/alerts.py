"""Alerts as people read them: the list of findings and one alert with all that is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from alerts.config import AlertConfig
from alerts.model import Alert, AlertState, Reading, Severity, Standing, Told
from alerts.rules import Rule
from alerts.silences import Silence
from alerts.summaries import summary_of
from monitor.errors import UnknownSubject
from monitor.reports.database import projects, reading
from monitor.reports.paging import PAGE_SIZE, Page, fetch_page
from monitor.reports.rules import configs_of
from monitor.reports.silences import holding, silences_now
from monitor.store.alert_rows import alert_from_row
from monitor.store.tables import alert, model

FIRING_STATES = (AlertState.FIRING.value, AlertState.RECOVERING.value)
OPEN_STATES = (*FIRING_STATES, AlertState.PENDING.value)


@dataclass(frozen=True)
class Judged:
    """The window an alert was last judged by; `value` is there when it was measured."""

    window_start: datetime
    at: datetime
    state: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    unit: str
    text: str
    evidence: Mapping[str, str | float]


@dataclass(frozen=True)
class Finding:
    """One alert on one line. `judged` is the newest window that was a breach or clear.

    `told` says what each receiver was last told, `silences` which ones keep it quiet now.
    """

    id: int
    fingerprint: str
    rule_name: str
    model: str
    state: str
    data_state: str
    severity: str
    owner: str
    response: str
    episode: int
    since: datetime
    fired_at: datetime | None
    resolved_at: datetime | None
    resolved_reason: str | None
    acknowledged_by: str | None
    acknowledged_at: datetime | None
    labels: Mapping[str, str]
    judged: Judged | None
    rule: Rule | None
    sentence: str
    standing: str = Standing.NEW.value
    noticed_at: datetime | None = None
    snoozed_until: datetime | None = None
    archived_by: str | None = None
    comment: str | None = None
    told: Mapping[str, Told] = field(default_factory=dict)
    silences: tuple[Silence, ...] = ()
    config_version: int = 0

    @property
    def is_open(self) -> bool:
        """Pending, firing or recovering."""
        return self.state in OPEN_STATES

    @property
    def response_name(self) -> str | None:
        """The defined response that the rule names, None for a bare action."""
        return self.rule.response_name if self.rule is not None else None

    @property
    def threshold(self) -> str:
        """For people: `above 0.2`."""
        return self.rule.condition.describe() if self.rule else "threshold not readable"


@dataclass(frozen=True)
class FindingFilter:
    """Which alerts; empty means any."""

    states: tuple[str, ...] = OPEN_STATES
    severities: tuple[str, ...] = ()
    model: str | None = None
    column: str | None = None
    rule: str | None = None
    owner: str | None = None
    standings: tuple[str, ...] = ()


def findings(
    engine: Engine, project_id: int, wanted: FindingFilter, number: int, size: int = PAGE_SIZE
) -> Page[Finding]:
    """One page of alerts: most severe first, firing before the rest, then by impact: those of
    models with the highest risk first; unacknowledged before acknowledged, newest first."""
    query = _ordered(_matching(project_id, wanted))
    with reading(engine, project_id) as connection:
        page = fetch_page(connection, query, number, lambda row: row, size)
        found = findings_of_rows(connection, project_id, page.rows)
        return Page(found, page.total, page.number, page.size)


def finding(engine: Engine, project_id: int, alert_id: int) -> Finding:
    """One alert; raises UnknownSubject when the project has none of this number."""
    with reading(engine, project_id) as connection:
        return read_finding(connection, project_id, alert_id)


def read_finding(connection: Connection, project_id: int, alert_id: int) -> Finding:
    """The same inside a transaction."""
    query = sa.select(alert).where(alert.c.project_id == project_id, alert.c.id == alert_id)
    rows = tuple(connection.execute(query))
    if not rows:
        raise UnknownSubject(
            f"this project has no alert {alert_id}; it may belong to another project"
        )
    return findings_of_rows(connection, project_id, rows)[0]


def locate(engine: Engine, fingerprint: str) -> tuple[int, int] | None:
    """Project and number of the alert that a message links to, None when nobody knows it.

    Looks through the projects one by one, since a transaction sees one of them only.
    """
    for each in projects(engine):
        query = sa.select(alert.c.id).where(
            alert.c.project_id == each.id, alert.c.fingerprint == fingerprint
        )
        with reading(engine, each.id) as connection:
            found = connection.scalar(query)
        if found is not None:
            return each.id, int(found)
    return None


def number_of(engine: Engine, project_id: int, fingerprint: str) -> int:
    """The number of the project's alert with this fingerprint; UnknownSubject when it has none."""
    row = alert.c
    with reading(engine, project_id) as connection:
        query = sa.select(row.id).where(row.project_id == project_id)
        found = connection.scalar(query.where(row.fingerprint == fingerprint))
    if found is None:
        raise UnknownSubject("this project has no such alert")
    return int(found)


def open_of_model(
    connection: Connection, project_id: int, model: str, without: int
) -> tuple[Finding, ...]:
    """Other open alerts of a model, at most ten, the most severe first."""
    query = _ordered(_matching(project_id, FindingFilter(model=model))).where(alert.c.id != without)
    return findings_of_rows(connection, project_id, tuple(connection.execute(query.limit(10))))


def _matching(project_id: int, wanted: FindingFilter) -> sa.Select[Any]:
    query = sa.select(alert).where(alert.c.project_id == project_id)
    if wanted.states:
        query = query.where(alert.c.state.in_(wanted.states))
    if wanted.severities:
        query = query.where(alert.c.severity.in_(wanted.severities))
    if wanted.standings:
        query = query.where(alert.c.standing.in_(wanted.standings))
    for name in ("model", "rule", "owner"):
        if (value := getattr(wanted, name)) is not None:
            query = query.where(alert.c[name] == value)
    if wanted.column is not None:
        query = query.where(alert.c.body["labels"]["column"].astext == wanted.column)
    return query


def _ordered(query: sa.Select[Any]) -> sa.Select[Any]:
    severity = sa.case(
        {each.value: each.rank for each in Severity}, value=alert.c.severity, else_=9
    )
    firing = sa.case((alert.c.state.in_(FIRING_STATES), 0), else_=1)
    taken = alert.c.acknowledged_at.is_not(None)
    tier = (
        sa.select(model.c.risk_tier)
        .where(model.c.project_id == alert.c.project_id, model.c.name == alert.c.model)
        .scalar_subquery()
    )
    impact = sa.case({"high": 0, "medium": 1, "low": 2}, value=tier, else_=3)
    return query.order_by(severity, firing, impact, taken, alert.c.since.desc(), alert.c.id)


def findings_of_rows(
    connection: Connection, project_id: int, rows: Sequence[Any]
) -> tuple[Finding, ...]:
    """Rows of the alert table as findings, each with its rule and the silences that keep it."""
    configs = configs_of(connection, project_id, {row.config_version for row in rows})
    silences = silences_now(connection, project_id) if rows else ()
    return tuple(_finding(row, configs.get(row.config_version), silences) for row in rows)


def _finding(row: Any, config: AlertConfig | None, silences: tuple[Silence, ...]) -> Finding:
    one = alert_from_row(row)
    rule = config.rule(row.rule) if config is not None else None
    labels = dict(one.labels)
    judged = one.last_judged or one.last_reading
    return Finding(
        id=row.id,
        fingerprint=row.fingerprint,
        rule_name=row.rule,
        model=row.model,
        state=row.state,
        data_state=row.data_state,
        severity=row.severity,
        owner=row.owner,
        response=row.response,
        episode=row.episode,
        since=row.since,
        fired_at=row.fired_at,
        resolved_at=row.resolved_at,
        resolved_reason=row.resolved_reason,
        acknowledged_by=row.acknowledged_by,
        acknowledged_at=row.acknowledged_at,
        labels=labels,
        judged=_judged(judged) if judged else None,
        rule=rule,
        sentence=summary_of(rule, labels, judged)
        if rule is not None and rule.summary
        else plain_sentence(row.rule, labels),
        standing=one.standing.value,
        noticed_at=one.noticed_at,
        snoozed_until=one.snoozed_until,
        archived_by=one.archive.by if one.archive is not None else None,
        comment=one.comment,
        told=_told_now(one),
        silences=holding(silences, one, rule) if one.is_open else (),
        config_version=row.config_version,
    )


def _told_now(one: Alert) -> dict[str, Told]:
    """What receivers know of the present episode; before that of nothing else."""
    return {name: told for name, told in one.told.items() if told.episode == one.episode}


def _judged(kept: Reading) -> Judged:
    return Judged(
        window_start=kept.window_start,
        at=kept.at,
        state=kept.state.value,
        value=kept.value,
        low=kept.low,
        high=kept.high,
        n=kept.n,
        unit=kept.unit,
        text=kept.text,
        evidence=dict(kept.evidence),
    )


def plain_sentence(rule_name: str, labels: Mapping[str, str]) -> str:
    """What an alert is about where its rule has no sentence of its own."""
    if "check" not in labels:
        return rule_name
    said = labels["check"].capitalize()
    if "method" in labels:
        said += f", {labels['method'].replace('_', ' ')}"
    of = [
        text.format(labels[name])
        for name, text in (
            ("column", "column {}"),
            ("segment", "segment {}"),
            ("deployment", "deployment {}"),
        )
        if name in labels
    ]
    return f"{said}: {', '.join(of)}" if of else said
