"""All that happened to alerts in a span of time, as records: for reviewers and other programs.

A record belongs to the span by the moment it was written down: a transition by when it was noticed,
a message by when it was owed, an attempt by when it was made, an action by when it was asked for.
So the exports of two months hold together what one export of both does. A silence belongs to every
span it reaches into. Alerts are told as they are now: those that a record of the span is about, and
those that are open. Bodies of messages stay out: they carry links that act.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.reports.alert_json import action_json, alert_json
from monitor.reports.alerts import OPEN_STATES, findings_of_rows
from monitor.store.actions import stored_action
from monitor.store.engine import Role, transaction
from monitor.store.tables import (
    alert,
    alert_transition,
    delivery,
    delivery_attempt,
    response_action,
    silence,
)
from monitor.windows import Window

KINDS = ("alert", "transition", "delivery", "attempt", "action", "silence")
BATCH = 500

Record = dict[str, Any]


@dataclass(frozen=True)
class Exported:
    """An export that is being read: `records` gives (kind, record) in the order of KINDS."""

    project: str
    span: Window
    made_at: datetime
    records: Iterator[tuple[str, Record]]


@contextmanager
def alert_export(
    engine: Engine, project_id: int, project: str, span: Window, public_url: str, now: datetime
) -> Iterator[Exported]:
    """The records of a span, as they stand at one moment; read them inside the block."""
    with transaction(engine, project_id, Role.EXPORT, snapshot=True) as connection:
        yield Exported(project, span, now, _records(connection, project_id, span, public_url))


def _records(
    connection: Connection, project_id: int, span: Window, public_url: str
) -> Iterator[tuple[str, Record]]:
    readers = (
        _alerts(connection, project_id, span, public_url),
        _transitions(connection, project_id, span),
        _deliveries(connection, project_id, span),
        _attempts(connection, project_id, span),
        _actions(connection, project_id, span),
        _silences(connection, project_id, span),
    )
    for kind, reader in zip(KINDS, readers, strict=True):
        for record in reader:
            yield kind, record


def _alerts(
    connection: Connection, project_id: int, span: Window, public_url: str
) -> Iterator[Record]:
    row = alert.c
    still_open = sa.and_(row.state.in_(OPEN_STATES), row.since < span.end)
    query = (
        sa.select(alert)
        .where(row.project_id == project_id)
        .where(sa.or_(row.id.in_(_touched(project_id, span)), still_open))
        .order_by(row.id)
    )
    rows = _stream(connection, query)
    while batch := list(islice(rows, BATCH)):
        for found in findings_of_rows(connection, project_id, batch):
            yield alert_json(found, public_url)


def _touched(project_id: int, span: Window) -> sa.CompoundSelect[Any]:
    """Numbers of the alerts that a record of the span is about."""
    changed, owed, asked = alert_transition.c, delivery.c, response_action.c
    return sa.union(
        sa.select(changed.alert_id).where(
            changed.project_id == project_id, _within(changed.recorded_at, span)
        ),
        sa.select(sa.func.unnest(owed.alert_ids)).where(
            owed.project_id == project_id, _of_span(project_id, span)
        ),
        sa.select(asked.alert_id).where(
            asked.project_id == project_id,
            _within(asked.requested_at, span),
            asked.alert_id.is_not(None),
        ),
    )


def _transitions(connection: Connection, project_id: int, span: Window) -> Iterator[Record]:
    row = alert_transition.c
    query = (
        sa.select(alert_transition)
        .where(row.project_id == project_id, _within(row.recorded_at, span))
        .order_by(row.id)
    )
    for each in _stream(connection, query):
        yield {
            "number": each.id,
            "alert": each.alert_id,
            "episode": each.episode,
            "from_state": each.from_state,
            "to_state": each.to_state,
            "reason": each.reason,
            "by": each.by,
            "comment": each.comment,
            "at": each.at,
            "recorded_at": each.recorded_at,
            "since": each.body.get("since"),
            "reading": each.body.get("reading"),
        }


def _deliveries(connection: Connection, project_id: int, span: Window) -> Iterator[Record]:
    row = delivery.c
    query = (
        sa.select(delivery)
        .where(row.project_id == project_id, _of_span(project_id, span))
        .order_by(row.id)
    )
    for each in _stream(connection, query):
        yield {
            "number": each.id,
            "key": each.delivery_key,
            "alerts": list(each.alert_ids),
            "receiver": each.receiver,
            "severity": each.severity,
            "event": each.event_type,
            "title": each.body.get("title"),
            "drill": bool(each.body.get("drill", False)),
            "state": each.state,
            "attempts": each.attempts,
            "created_at": each.created_at,
            "finished_at": each.finished_at,
        }


def _attempts(connection: Connection, project_id: int, span: Window) -> Iterator[Record]:
    row = delivery_attempt.c
    query = (
        sa.select(delivery_attempt)
        .where(row.project_id == project_id, _within(row.at, span))
        .order_by(row.id)
    )
    for each in _stream(connection, query):
        yield {
            "number": each.id,
            "delivery": each.delivery_id,
            "attempt": each.attempt,
            "at": each.at,
            "outcome": each.outcome,
            "detail": each.detail,
        }


def _actions(connection: Connection, project_id: int, span: Window) -> Iterator[Record]:
    row = response_action.c
    query = (
        sa.select(response_action)
        .where(row.project_id == project_id, _within(row.requested_at, span))
        .order_by(row.id)
    )
    for each in _stream(connection, query):
        yield action_json(stored_action(each))


def _silences(connection: Connection, project_id: int, span: Window) -> Iterator[Record]:
    row = silence.c
    query = (
        sa.select(silence)
        .where(row.project_id == project_id, row.starts_at < span.end, row.ends_at > span.start)
        .order_by(row.id)
    )
    for each in _stream(connection, query):
        yield {
            "number": each.id,
            "matchers": each.matchers,
            "author": each.author,
            "reason": each.reason,
            "starts_at": each.starts_at,
            "ends_at": each.ends_at,
            "created_at": each.created_at,
            "ended_by": each.ended_by,
            "ended_at": each.ended_at,
        }


def _within(column: sa.ColumnElement[datetime], span: Window) -> sa.ColumnElement[bool]:
    return sa.and_(column >= span.start, column < span.end)


def _of_span(project_id: int, span: Window) -> sa.ColumnElement[bool]:
    """Deliveries that were owed in the span, and those that were tried in it."""
    tried = delivery_attempt.c
    return sa.or_(
        _within(delivery.c.created_at, span),
        sa.exists().where(
            tried.project_id == project_id,
            tried.delivery_id == delivery.c.id,
            _within(tried.at, span),
        ),
    )


def _stream(connection: Connection, query: sa.Select[Any]) -> Iterator[Any]:
    return iter(connection.execute(query, execution_options={"yield_per": BATCH}))
