"""What a person may do to an alert from a page: take it on, or close it by hand.

Both check the state inside the transaction and lock the row, so that two people at once, or a
person and the rules, never overwrite each other.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.errors import ConfigurationError, Problem, UnknownSubject
from monitor.store.alert_book import lock_alerts
from monitor.store.engine import Role, transaction
from monitor.store.tables import alert, alert_transition
from monitor.windows import require_utc

MAX_NAME, MAX_COMMENT = 200, 2000


class AlertIsClosed(UnknownSubject):
    """The alert is not open any more; somebody or the rules ended it. Reload the page."""


def acknowledge(
    engine: Engine, project_id: int, alert_id: int, by: str, comment: str, now: datetime
) -> None:
    """Somebody takes an open alert on. It stays open; a second one takes the first one's place.

    Raises ConfigurationError when name or comment can't be used, UnknownSubject when there is no
    such alert and AlertIsClosed when it is not open.
    """
    by, comment, now = _name(by), _comment(comment), require_utc(now)
    with transaction(engine, project_id, Role.DASHBOARD) as connection:
        row = _locked(connection, project_id, alert_id)
        changes = {"acknowledged_by": by, "acknowledged_at": now}
        _change(connection, row, changes, {"acknowledged_by": by, "comment": comment or None}, now)
        _record(connection, row, row.state, "acknowledged", by, comment, now)


def close_by_hand(
    engine: Engine, project_id: int, alert_id: int, by: str, comment: str, now: datetime
) -> None:
    """A person ends the episode; the next breaching window opens a new one. Errors as above."""
    by, comment, now = _name(by), _comment(comment), require_utc(now)
    with transaction(engine, project_id, Role.DASHBOARD) as connection:
        row = _locked(connection, project_id, alert_id)
        reason = "closed_by_hand"
        changes = {"state": "resolved", "since": now, "resolved_at": now, "resolved_reason": reason}
        _change(connection, row, changes, {"resolved_by": by, "comment": comment or None}, now)
        _record(connection, row, "resolved", reason, by, comment, now)


def _locked(connection: Connection, project_id: int, alert_id: int) -> Any:
    lock_alerts(connection, project_id)
    query = sa.select(alert).where(alert.c.project_id == project_id, alert.c.id == alert_id)
    row = connection.execute(query.with_for_update()).one_or_none()
    if row is None:
        raise UnknownSubject(f"this project has no alert {alert_id}")
    if row.state not in ("pending", "firing"):
        raise AlertIsClosed(f"alert {alert_id} is {row.state}; only an open one can be changed")
    return row


def _change(
    connection: Connection,
    row: Any,
    columns: dict[str, Any],
    body: dict[str, Any],
    now: datetime,
) -> None:
    version = int(row.body.get("version", 0)) + 1
    merged = {**row.body, **body, "version": version, "changed_at": now.isoformat()}
    connection.execute(
        sa.update(alert)
        .where(alert.c.project_id == row.project_id, alert.c.id == row.id)
        .values(**columns, body=merged)
    )


def _record(
    connection: Connection,
    row: Any,
    to_state: str,
    reason: str,
    by: str,
    comment: str,
    now: datetime,
) -> None:
    connection.execute(
        sa.insert(alert_transition).values(
            project_id=row.project_id,
            alert_id=row.id,
            episode=row.episode,
            from_state=row.state,
            to_state=to_state,
            reason=reason,
            by=by,
            comment=comment or None,
            at=now,
            recorded_at=now,
            body={},
        )
    )


def _name(by: str) -> str:
    by = by.strip()
    if not by or len(by) > MAX_NAME or not by.isprintable():
        message = f"write who you are in 1 to {MAX_NAME} printable characters"
        raise ConfigurationError("form", [Problem("name", message)])
    return by


def _comment(comment: str) -> str:
    comment = comment.strip().replace("\x00", "")
    if len(comment) > MAX_COMMENT:
        message = f"{len(comment)} characters; at most {MAX_COMMENT} are kept"
        raise ConfigurationError("form", [Problem("comment", message)])
    return comment
