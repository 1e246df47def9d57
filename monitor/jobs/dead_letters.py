"""Tells the fallback receiver of messages that reached nobody."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from alerts.service_messages import dead_letter_key, tell_dead_letters
from monitor.store.alert_book import RulesInForce
from monitor.store.dead_letters import mark_told_of, untold_dead_letters
from monitor.store.engine import Role, transaction
from monitor.store.outbox import owe
from monitor.store.tables import project


def tell_dead(
    engine: Engine, project_id: int, rules: RulesInForce | None, now: datetime, public_url: str
) -> int:
    """Owe the fallback one message for each receiver with new dead letters; how many.

    Without a fallback, and of the fallback's own dead letters, nobody is told: they stand in
    `inferwatch deliveries list` and on the page System health.
    """
    if rules is None or rules.config.delivery.fallback is None:
        return 0
    with transaction(engine, project_id, Role.WORKER) as connection:
        return _tell(connection, project_id, rules.config.delivery.fallback, now, public_url)


def _tell(
    connection: Connection, project_id: int, fallback: str, now: datetime, public_url: str
) -> int:
    count = 0
    name = None
    for each in untold_dead_letters(connection, project_id, now):
        if each.receiver == fallback:
            continue
        if name is None:
            name = connection.scalar(sa.select(project.c.name).where(project.c.id == project_id))
        message = tell_dead_letters(
            each.receiver, each.letters, fallback, str(name), public_url, now
        )
        key = dead_letter_key(fallback, each.letters, now)
        owe(connection, project_id, key, message, each.alert_ids, now)
        mark_told_of(connection, project_id, each.ids, key)
        count += 1
    return count
