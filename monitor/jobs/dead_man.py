"""The dead man's switch: calls an outside address while all is well.

Nobody inside can tell that the whole installation is gone. Whoever runs the address (a service for
heartbeats, or another team's monitoring) pages when the calls stop.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from alerts.channels.http_post import open_address, post
from alerts.channels.outbound import Outbound
from alerts.config import Receiver
from alerts.delivery_policy import DeadMansSwitch
from alerts.errors import SendFailed
from monitor.store.alert_book import rules_in_force
from monitor.store.engine import Role, transaction
from monitor.store.outbox import is_stuck
from monitor.store.tables import notice_clock

log = logging.getLogger("inferwatch.dead_man")

PATIENCE = timedelta(minutes=2)
AGAIN_AFTER_FAILURE = timedelta(seconds=10)
NAME = "dead man's switch"


@dataclass
class DeadMan:
    """Remembers when each project's switch was called last, and since when its plan is overdue."""

    engine: Engine
    environment: Mapping[str, str]
    http: Outbound
    _due: dict[int, datetime] = field(default_factory=dict)
    _overdue_since: dict[int, datetime] = field(default_factory=dict)

    def call_due(self, project_id: int, now: datetime) -> bool:
        """Call the switch of a project if that is due and all is well; whether it was called.

        All is well when the rules can be read from the database, notifications are planned when
        they are due, and no message has been due for 2 minutes without anybody sending it.
        """
        with transaction(self.engine, project_id, Role.WORKER) as connection:
            rules = rules_in_force(connection, project_id)
            switch = rules.config.delivery.dead_mans_switch if rules is not None else None
            if switch is None:
                return False
            trouble = self._trouble(connection, project_id, now)
        if now < self._due.get(project_id, now):
            return False
        if trouble is not None:
            log.warning("dead man's switch not called project=%d reason=%s", project_id, trouble)
            self._due[project_id] = now + AGAIN_AFTER_FAILURE
            return False
        return self._call(project_id, switch, now)

    def _trouble(self, connection: Connection, project_id: int, now: datetime) -> str | None:
        query = sa.select(notice_clock.c.due_at).where(notice_clock.c.project_id == project_id)
        due = connection.scalar(query)
        if due is None or due > now:
            self._overdue_since.pop(project_id, None)
        elif now - self._overdue_since.setdefault(project_id, now) > PATIENCE:
            return "notifications are not planned"
        if is_stuck(connection, project_id, now - PATIENCE):
            return "messages are due and nobody sends them"
        return None

    def _call(self, project_id: int, switch: DeadMansSwitch, now: datetime) -> bool:
        try:
            call_switch(switch, self.environment, self.http, now)
        except SendFailed as error:
            log.warning("dead man's switch not reached project=%d reason=%s", project_id, error)
            self._due[project_id] = now + min(switch.every, AGAIN_AFTER_FAILURE)
            return False
        self._due[project_id] = now + switch.every
        return True


def call_switch(
    switch: DeadMansSwitch, environment: Mapping[str, str], http: Outbound, now: datetime
) -> int:
    """One call, a POST without a body; the status. Raises SendFailed."""
    allowed = switch.private_addresses_allowed
    receiver = Receiver(NAME, "webhook", options=dict(switch.address))
    url = open_address(receiver, environment)
    return post(http, url, b"", {}, now=now, private_allowed=allowed).status or 0
