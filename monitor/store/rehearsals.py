"""Rehearsals as rows: who tried which rule when, each step, and what holds for the rules now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection

from alerts.config import AlertConfig
from alerts.rehearsal import RehearsalStep, Rehearsed, StepDone, rule_digest
from monitor.store.alert_book import RulesInForce
from monitor.store.tables import delivery, rehearsal


@dataclass(frozen=True)
class StoredRehearsal:
    """One drill. One that broke off has not all of its steps, and did not pass."""

    number: int
    rule: str
    config_version: int
    by: str
    at: datetime
    passed: bool
    digest: str
    steps: tuple[StepDone, ...]


@dataclass(frozen=True)
class RuleRehearsal:
    """What is known of one rule in force: its standing, and its newest rehearsal if any."""

    rule: str
    standing: Rehearsed
    newest: StoredRehearsal | None


def begin_rehearsal(
    connection: Connection,
    project_id: int,
    rules: RulesInForce,
    rule_name: str,
    by: str,
    now: datetime,
) -> int:
    """Store a rehearsal that begins; its number."""
    rule = rules.config.rule(rule_name)
    if rule is None:
        raise AssertionError("a rehearsal is of a rule in force")
    statement = sa.insert(rehearsal).values(
        project_id=project_id,
        rule=rule_name,
        config_version=rules.version,
        by=by,
        at=now,
        passed=False,
        body={"digest": rule_digest(rules.config, rule), "steps": []},
    )
    return int(connection.scalar(statement.returning(rehearsal.c.id)))


def store_steps(
    connection: Connection,
    project_id: int,
    number: int,
    steps: Sequence[StepDone],
    *,
    passed: bool,
) -> None:
    """Store what a rehearsal has shown so far."""
    told = [
        {"step": each.step.value, "passed": each.passed, "text": each.text,
         "at": each.at.isoformat()}
        for each in steps
    ]  # fmt: skip
    body = rehearsal.c.body.op("||")(
        sa.func.jsonb_build_object("steps", sa.cast(told, rehearsal.c.body.type))
    )
    connection.execute(
        sa.update(rehearsal)
        .where(rehearsal.c.project_id == project_id, rehearsal.c.id == number)
        .values(passed=passed, body=body)
    )


def list_rehearsals(
    connection: Connection, project_id: int, *, rule: str | None = None, limit: int = 100
) -> list[StoredRehearsal]:
    """Rehearsals, the newest first."""
    row = rehearsal.c
    query = sa.select(rehearsal).where(row.project_id == project_id)
    if rule is not None:
        query = query.where(row.rule == rule)
    found = connection.execute(query.order_by(row.id.desc()).limit(limit))
    return [_stored(each) for each in found]


def rule_rehearsals(
    connection: Connection, project_id: int, config: AlertConfig
) -> list[RuleRehearsal]:
    """Every rule of a configuration that people are told of, in its order, and what is known."""
    row = rehearsal.c
    query = (
        sa.select(rehearsal)
        .ext(distinct_on(row.rule))
        .where(row.project_id == project_id)
        .order_by(row.rule, row.id.desc())
    )
    newest = {each.rule: _stored(each) for each in connection.execute(query)}
    return [
        RuleRehearsal(
            each.name,
            _standing(newest.get(each.name), rule_digest(config, each)),
            newest.get(each.name),
        )
        for each in config.rules
        if not each.component
    ]


def rehearsal_words(known: RuleRehearsal) -> str:
    """For people: `never rehearsed`, `rehearsed on 2026-12-01`, …."""
    newest = known.newest
    if newest is None:
        return "never rehearsed"
    day = newest.at.strftime("%Y-%m-%d")
    return {
        Rehearsed.PASSED: f"rehearsed on {day}",
        Rehearsed.FAILED: f"its rehearsal of {day} failed",
        Rehearsed.CHANGED: f"changed since its rehearsal of {day}",
        Rehearsed.NEVER: "never rehearsed",
    }[known.standing]


def delivery_states(
    connection: Connection, project_id: int, keys: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Receiver and state of messages by their keys."""
    row = delivery.c
    query = sa.select(row.delivery_key, row.receiver, row.state).where(
        row.project_id == project_id, row.delivery_key.in_(list(keys))
    )
    return {
        each.delivery_key: (each.receiver, each.state) for each in connection.execute(query)
    }  # fmt: skip


def _standing(newest: StoredRehearsal | None, digest: str) -> Rehearsed:
    if newest is None:
        return Rehearsed.NEVER
    if newest.digest != digest:
        return Rehearsed.CHANGED
    return Rehearsed.PASSED if newest.passed else Rehearsed.FAILED


def _stored(row: Any) -> StoredRehearsal:
    return StoredRehearsal(
        number=row.id,
        rule=row.rule,
        config_version=row.config_version,
        by=row.by,
        at=row.at,
        passed=row.passed,
        digest=row.body["digest"],
        steps=tuple(
            StepDone(
                RehearsalStep(each["step"]),
                each["passed"],
                each["text"],
                datetime.fromisoformat(each["at"]),
            )
            for each in row.body["steps"]
        ),
    )
