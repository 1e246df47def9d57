"""What a person may do from a page: take an alert on, close it, say what an incident was.

The same as the commands do, with the dashboard's rights: state, history and the message that is
owed change in one transaction.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.engine import Engine

from monitor.store.engine import Role
from monitor.store.hand_over import (
    MAX_COMMENT,
    MAX_NAME,
    acknowledge_alert,
    judge,
    resolve_alert,
)
from monitor.store.incidents import Verdict

__all__ = ["MAX_COMMENT", "MAX_NAME", "Verdict", "acknowledge", "close_by_hand", "judge_by_hand"]


def acknowledge(
    engine: Engine, project_id: int, alert_id: int, by: str, comment: str, now: datetime
) -> None:
    """Somebody takes an open alert on. It stays open; a second one takes the first one's place.

    Raises ConfigurationError when name or comment can't be used, UnknownSubject when there is no
    such alert and AlertNotOpen when it is over.
    """
    acknowledge_alert(engine, project_id, alert_id, by, comment, now, role=Role.DASHBOARD)


def close_by_hand(
    engine: Engine,
    project_id: int,
    alert_id: int,
    by: str,
    comment: str,
    now: datetime,
) -> None:
    """A person ends the episode; who knew of its opening is told of its end. Errors as above."""
    resolve_alert(engine, project_id, alert_id, by, comment, now, role=Role.DASHBOARD)


def judge_by_hand(
    engine: Engine,
    project_id: int,
    incident: int,
    verdict: Verdict,
    by: str,
    comment: str,
    now: datetime,
) -> None:
    """A person says what an incident was; a false alarm ends its open alerts as well.

    Raises ConfigurationError when name or comment can't be used, UnknownSubject without such an
    incident.
    """
    judge(engine, project_id, incident, verdict, by, comment, now, role=Role.DASHBOARD)
