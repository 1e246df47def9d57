"""Incidents, with the clocks that Article 73 of the AI Act sets once somebody is aware of one.

Whether an incident is serious is decided by a named person, never here: the clocks are shown for
findings of the severity page and for drift incidents told to be faults, from the moment a person
took them on.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa

from monitor.documents.findings_read import Episode, episodes
from monitor.documents.material import Material
from monitor.documents.parts import Cell, Column, Drafting, Kind, Section, Voice
from monitor.store.tables import incident

CLOCKS = (
    ("general, Art. 73(2)", timedelta(days=15)),
    ("death of a person, Art. 73(4)", timedelta(days=10)),
    ("widespread or critical infrastructure, Art. 73(3)", timedelta(days=2)),
)
CLOCK_COLUMNS = (
    Column("alert", "Alert", Kind.WHOLE), Column("rule", "Rule"),
    Column("fired_at", "Fired", Kind.MOMENT), Column("aware_at", "Aware", Kind.MOMENT),
    Column("aware_by", "Who"),
    *(Column(f"due_{delay.days}", f"Due: {case}", Kind.MOMENT) for case, delay in CLOCKS),
    Column("resolved_at", "Resolved", Kind.MOMENT),
)  # fmt: skip
INCIDENTS = (
    Column("incident", "Incident", Kind.WHOLE), Column("opened", "Opened", Kind.MOMENT),
    Column("closed", "Closed", Kind.MOMENT), Column("column", "Leading column"),
    Column("verdict", "Verdict of a person"), Column("by", "By"),
    Column("at", "Judged", Kind.MOMENT), Column("comment", "Comment"),
)  # fmt: skip


def section(material: Material) -> Section:
    """Drift incidents with their verdicts; clocks of findings that page."""
    draft = Drafting("incidents", "Incidents and clocks")
    found = _incidents(material)
    open_ones = sum(row[4] is None for row in found)
    if open_ones:
        draft.say(f"{open_ones} of {len(found)} drift incidents were not judged by a person.",
                  Voice.MISSING)  # fmt: skip
    draft.table("drift", "Drift incidents", INCIDENTS, found, "No drift incident was open.")
    pages = [one for one in episodes(material) if one.rule and one.rule.severity.value == "page"]
    draft.say(
        "The clocks run from the moment a named person took the finding on. Whether it is a"
        " serious incident in the sense of Article 3(49) is for that person to decide and record;"
        " these dates are the latest ones if it is. Evidence must not be altered before"
        " authorities are informed: set a legal hold."
    )
    unaware = [one for one in pages if one.acknowledged_at is None]
    if unaware:
        draft.say(f"{len(unaware)} findings that page were taken on by nobody: no clock is known.",
                  Voice.BAD)  # fmt: skip
    draft.table("clocks", "Clocks of Article 73, if serious", CLOCK_COLUMNS,
                [_clock(one) for one in pages], "No finding of the severity page.")  # fmt: skip
    return draft.done()


def _clock(one: Episode) -> tuple[Cell, ...]:
    aware = one.acknowledged_at
    due = [aware + delay if aware else None for _, delay in CLOCKS]
    return (one.alert_id, one.rule_name, one.fired_at, aware, one.acknowledged_by, *due,
            one.resolved_at)  # fmt: skip


def _incidents(material: Material) -> list[tuple[Cell, ...]]:
    row, period = incident.c, material.period
    query = (
        sa.select(incident)
        .where(row.project_id == material.project_id, row.model_id == material.model_id)
        .where(row.opened_at < min(period.end, material.known_by))
        .where(sa.or_(row.closed_at.is_(None), row.closed_at >= period.start))
        .order_by(row.opened_at, row.id)
    )
    return [_incident(each, material.known_by) for each in material.connection.execute(query)]


def _incident(row: sa.Row[tuple[object, ...]], known_by: datetime) -> tuple[Cell, ...]:
    closed = row.closed_at if row.closed_at and row.closed_at <= known_by else None
    judged = row.verdict_at is not None and row.verdict_at <= known_by
    verdict = (row.verdict, row.verdict_by, row.verdict_at, row.verdict_comment)
    return (row.id, row.opened_at, closed, row.leading_column,
            *(verdict if judged else (None, None, None, None)))  # fmt: skip
