"""Test messages: sent at once, or owed like any other message."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy.engine import Engine

from alerts.channels.base import Receipt
from alerts.channels.outbound import Outbound
from alerts.channels.registry import open_channel
from alerts.config import Receiver
from alerts.service_messages import ping_message
from monitor.errors import UnknownSubject
from monitor.store.alert_book import rules_in_force
from monitor.store.engine import Role, transaction
from monitor.store.outbox import owe


def ping_receiver(
    engine: Engine,
    project_id: int,
    project: str,
    name: str,
    environment: Mapping[str, str],
    http: Outbound,
    now: datetime,
) -> Receipt:
    """Send the test message now; raises SendFailed, or UnknownSubject when there is no receiver."""
    channel = open_channel(_receiver(engine, project_id, name), environment)
    message = ping_message(name, project, "", now)
    return channel.send(message, delivery_id=_key(), now=now, http=http)


def owe_ping(engine: Engine, project_id: int, project: str, name: str, now: datetime) -> None:
    """Put the test message into the outbox; UnknownSubject when there is no such receiver."""
    _receiver(engine, project_id, name)
    with transaction(engine, project_id, Role.WORKER) as connection:
        owe(connection, project_id, _key(), ping_message(name, project, "", now), (), now)


def _key() -> str:
    return f"msg_{secrets.token_hex(20)}"


def _receiver(engine: Engine, project_id: int, name: str) -> Receiver:
    with transaction(engine, project_id, Role.WORKER) as connection:
        rules = rules_in_force(connection, project_id)
    known = {each.name: each for each in rules.config.receivers} if rules is not None else {}
    if name not in known:
        told = ", ".join(sorted(known)) or "none"
        raise UnknownSubject(f"the rules in force have no receiver {name!r}; they have {told}")
    return known[name]
