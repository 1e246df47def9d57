"""Alert rules in force, alerts and their transitions.

A change of state, its transition and the mark that somebody may have to be told are rows of one
transaction: either all are there or none. The messages are planned from the state (see
`monitor.jobs.notify`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection

from alerts.channels.registry import CHANNELS
from alerts.codec import reading_to_json
from alerts.config import AlertConfig, read_alert_config
from alerts.model import Alert, Transition
from alerts.rules import Rule
from monitor.errors import UnknownSubject
from monitor.store.alert_rows import alert_from_row, row_of_alert
from monitor.store.tables import alert, alert_config, alert_transition, notice_clock

ALERT_LOCK = 7_205_301_150
"""Advisory lock (with the project): alerts of a project change one writer at a time."""


_IDENTITY = ("project_id", "fingerprint")
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""Due at once, by any clock: that of a replay runs years behind."""


@dataclass(frozen=True)
class RulesInForce:
    """The newest applied alert configuration of a project."""

    version: int
    config: AlertConfig


@dataclass(frozen=True)
class KnownAlerts:
    """Alerts by fingerprint, with their row numbers."""

    alerts: Mapping[str, Alert]
    numbers: Mapping[str, int]


def apply_rules(connection: Connection, project_id: int, source: str, *, name: str, by: str) -> int:
    """Check and store alert rules as the next version; the same text again changes nothing.

    Raises AlertConfigError with every mistake.
    """
    read_alert_config(source, name, CHANNELS)
    newest = _newest_config(connection, project_id)
    if newest is not None and newest.source == source:
        return int(newest.version)
    version = 1 if newest is None else int(newest.version) + 1
    connection.execute(
        sa.insert(alert_config).values(
            project_id=project_id, version=version, source=source, applied_by=by
        )
    )
    plan_now(connection, project_id)
    return version


def rules_in_force(connection: Connection, project_id: int) -> RulesInForce | None:
    """The newest rules, None when none were applied."""
    newest = _newest_config(connection, project_id)
    if newest is None:
        return None
    name = f"alert rules version {newest.version}"
    return RulesInForce(newest.version, _read(newest.source, name))


def rules_of_version(connection: Connection, project_id: int, version: int) -> RulesInForce:
    """The rules as they were applied once; the version must exist."""
    source = connection.scalar(
        sa.select(alert_config.c.source).where(
            alert_config.c.project_id == project_id, alert_config.c.version == version
        )
    )
    name = f"alert rules version {version}"
    return RulesInForce(version, _read(str(source), name))


def lock_alerts(connection: Connection, project_id: int) -> None:
    """Wait until no other transaction changes alerts of this project."""
    connection.execute(
        sa.text("select pg_advisory_xact_lock(:key + :project)"),
        {"key": ALERT_LOCK, "project": project_id},
    )


def known_alerts(connection: Connection, project_id: int, model: str) -> KnownAlerts:
    """All alerts of a model, resolved ones included."""
    query = sa.select(alert).where(alert.c.project_id == project_id, alert.c.model == model)
    rows = list(connection.execute(query))
    return KnownAlerts(
        {row.fingerprint: alert_from_row(row) for row in rows},
        {row.fingerprint: row.id for row in rows},
    )


def save_alerts(
    connection: Connection,
    project_id: int,
    changed: Iterable[tuple[Alert, Rule]],
    config_version: int,
) -> dict[str, int]:
    """Store alerts; their row numbers. Their notifications are planned anew at once."""
    rows = {
        one.fingerprint: {
            **row_of_alert(one, rule), "project_id": project_id, "config_version": config_version
        }
        for one, rule in changed
    }  # fmt: skip
    if not rows:
        return {}
    statement = insert(alert)
    new = statement.excluded
    changes: dict[str, sa.ColumnElement[Any]] = {
        name: new[name] for name in next(iter(rows.values())) if name not in _IDENTITY
    }
    # Only the plan says of a known alert that nobody is owed a word any more.
    changes["settled"] = sa.and_(alert.c.settled, new.settled)
    stored = connection.execute(
        statement.on_conflict_do_update(index_elements=_IDENTITY, set_=changes).returning(
            alert.c.fingerprint, alert.c.id
        ),
        list(rows.values()),
    )
    numbers = {each.fingerprint: int(each.id) for each in stored}
    plan_now(connection, project_id)
    return numbers


def plan_now(connection: Connection, project_id: int) -> None:
    """Have the notifications of the project planned at the next opportunity."""
    statement = insert(notice_clock).values(project_id=project_id, due_at=LONG_AGO)
    connection.execute(
        statement.on_conflict_do_update(index_elements=["project_id"], set_={"due_at": LONG_AGO})
    )


def save_transitions(
    connection: Connection,
    project_id: int,
    transitions: Sequence[Transition],
    numbers: Mapping[str, int],
) -> None:
    """Record changes of alerts."""
    rows = [
        {
            "project_id": project_id,
            "alert_id": numbers[each.fingerprint],
            "episode": each.episode,
            "from_state": each.from_state.value,
            "to_state": each.to_state.value,
            "reason": each.reason.value,
            "by": each.by,
            "comment": each.comment,
            "at": each.at,
            "recorded_at": each.recorded_at,
            "body": _body_of(each),
        }
        for each in transitions
    ]
    if rows:
        connection.execute(sa.insert(alert_transition), rows)


def _body_of(one: Transition) -> dict[str, Any]:
    reading = reading_to_json(one.reading) if one.reading is not None else None
    return {"reading": reading, "since": one.since.isoformat() if one.since else None}


def find_alert(connection: Connection, project_id: int, number: int) -> tuple[Alert, Rule, int]:
    """An alert by its row number, with its rule and the rules' version; UnknownSubject if none."""
    row = connection.execute(
        sa.select(alert).where(alert.c.project_id == project_id, alert.c.id == number)
    ).one_or_none()
    if row is None:
        raise UnknownSubject(f"no alert {number}; `inferwatch alerts list --all` shows them")
    rule = rules_of_version(connection, project_id, row.config_version).config.rule(row.rule)
    if rule is None:
        raise AssertionError("an alert's rule is in the configuration version it was judged by")
    return alert_from_row(row), rule, int(row.config_version)


@lru_cache(maxsize=32)
def _read(source: str, name: str) -> AlertConfig:
    """Rules that were stored, read once: they are asked for every second."""
    return read_alert_config(source, name, CHANNELS)


def _newest_config(connection: Connection, project_id: int) -> Any:
    return connection.execute(
        sa.select(alert_config)
        .where(alert_config.c.project_id == project_id)
        .order_by(alert_config.c.version.desc())
        .limit(1)
    ).one_or_none()
