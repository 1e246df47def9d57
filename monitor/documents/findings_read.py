"""Episodes of a model's alerts as they were known at a moment, rebuilt from their transitions.

The row of an alert says how it is now; its transitions are never rewritten. Owner, severity and
response come from the rules that were in force when the alert fired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from alerts.rules import Rule
from monitor.documents.material import Material
from monitor.store.tables import alert, alert_transition, response_action

FIRING, RESOLVED = "firing", "resolved"


@dataclass(frozen=True)
class Answer:
    """What was asked of a deployment system because of an episode, and what became of it."""

    response: str
    requested_by: str
    requested_at: datetime
    dry_run: bool
    outcome: str | None
    outcome_at: datetime | None


@dataclass(frozen=True)
class Episode:
    """One time that an alert fired. `known_state` is its state at the report's moment."""

    alert_id: int
    number: int
    rule_name: str
    rule: Rule | None
    fired_at: datetime
    noticed_at: datetime
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    comments: tuple[str, ...]
    resolved_at: datetime | None
    resolved_reason: str | None
    resolved_by: str | None
    known_state: str
    reading: Mapping[str, Any]
    answers: tuple[Answer, ...]


def episodes(material: Material) -> tuple[Episode, ...]:
    """Episodes that fired by the period's end and were not over before it began, oldest first."""
    rows = list(material.connection.execute(_transitions(material)))
    answers = _answers(material)
    found = []
    for (number, episode), each in groupby(rows, key=lambda row: (row.alert_id, row.episode)):
        made = _episode(material, list(each), answers.get((number, episode), ()))
        if made is not None and _touches(made, material):
            found.append(made)
    return tuple(sorted(found, key=lambda one: (one.fired_at, one.alert_id, one.number)))


def _transitions(material: Material) -> sa.Select[Any]:
    row = alert_transition.c
    return (
        sa.select(alert_transition, alert.c.rule)
        .join(alert, alert.c.id == row.alert_id)
        .where(row.project_id == material.project_id, alert.c.project_id == material.project_id)
        .where(alert.c.model == material.name, row.recorded_at <= material.known_by)
        .order_by(row.alert_id, row.episode, row.id)
    )


def _episode(material: Material, rows: Sequence[Any], answers: Sequence[Answer]) -> Episode | None:
    fired = next((row for row in rows if row.to_state == FIRING), None)
    if fired is None:  # it only waited; nobody was told
        return None
    taken = next((row for row in rows if row.reason == "acknowledged"), None)
    over = rows[-1] if rows[-1].to_state == RESOLVED else None
    in_force = material.rules_at(fired.recorded_at) or next(iter(material.rules), None)
    config = in_force.config if in_force else None
    return Episode(
        fired.alert_id, fired.episode, fired.rule, config.rule(fired.rule) if config else None,
        fired.at, fired.recorded_at,
        taken.recorded_at if taken else None, taken.by if taken else None,
        tuple(f"{row.by}: {row.comment}" for row in rows if row.comment),
        over.at if over else None, over.reason if over else None, over.by if over else None,
        rows[-1].to_state, fired.body.get("reading") or {}, tuple(answers),
    )  # fmt: skip


def _touches(one: Episode, material: Material) -> bool:
    over = one.resolved_at
    return one.fired_at < material.period.end and (over is None or over >= material.period.start)


def _answers(material: Material) -> dict[tuple[int, int], tuple[Answer, ...]]:
    row = response_action.c
    query = (
        sa.select(response_action)
        .where(row.project_id == material.project_id, row.model == material.name)
        .where(row.requested_at <= material.known_by, row.drill.is_(False))
        .order_by(row.alert_id, row.episode, row.id)
    )
    found: dict[tuple[int, int], tuple[Answer, ...]] = {}
    for each in material.connection.execute(query):
        if each.alert_id is None:
            continue
        known = each.outcome_at is not None and each.outcome_at <= material.known_by
        key = (each.alert_id, each.episode)
        found[key] = (
            *found.get(key, ()),
            Answer(
                each.response, each.requested_by, each.requested_at, each.dry_run,
                each.outcome if known else None, each.outcome_at if known else None,
            ),
        )  # fmt: skip
    return found
