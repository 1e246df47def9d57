"""What a person may do to an alert from a page: take it on, or close it by hand.

The same as the commands do, with the dashboard's rights: state, history and the message that is
owed change in one transaction.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.engine import Engine

from monitor.store.engine import Role
from monitor.store.hand_over import MAX_COMMENT, MAX_NAME, acknowledge_alert, resolve_alert

__all__ = ["MAX_COMMENT", "MAX_NAME", "acknowledge", "close_by_hand"]


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
    public_url: str,
) -> None:
    """A person ends the episode; who was told of its opening is told of its end. Errors as above.

    `public_url` is the address of the dashboard that links in the message begin with.
    """
    resolve_alert(engine, project_id, alert_id, by, comment, now, public_url, role=Role.DASHBOARD)
