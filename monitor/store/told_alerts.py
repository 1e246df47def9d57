"""Alerts by what a receiver was told of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from alerts.model import Alert, AlertState, Told, ToldEvent
from alerts.rules import Rule
from monitor.store.alert_book import rules_of_version
from monitor.store.alert_rows import alert_from_row
from monitor.store.tables import alert

LONGEST_DELAY = timedelta(days=45)
"""How long after a window's end it may be judged: labels of a month come late."""


@dataclass(frozen=True)
class ToldAlert:
    """An alert with its row number, the rule it was judged by and what the receiver was told."""

    number: int
    alert: Alert
    rule: Rule
    told: Told


def told_alerts(
    connection: Connection, project_id: int, receiver: str, ended_since: datetime
) -> list[ToldAlert]:
    """What the receiver knows as open, and what it was told the end of after `ended_since`."""
    row, told = alert.c, alert.c.body["told"][receiver]
    ended = told["event"].astext == ToldEvent.ENDED.value
    lately = sa.cast(told["at"].astext, sa.DateTime(timezone=True)) > ended_since
    over = row.state == AlertState.RESOLVED.value
    query = (
        sa.select(alert)
        .where(row.project_id == project_id)
        .where(sa.or_(~row.settled, over & (row.resolved_at > ended_since - LONGEST_DELAY)))
        .where(row.body["told"].has_key(receiver), sa.or_(~ended, lately))
        .order_by(row.id)
    )
    rows = list(connection.execute(query))
    configs = {
        version: rules_of_version(connection, project_id, version).config
        for version in {each.config_version for each in rows}
    }
    found = []
    for each in rows:
        rule, one = configs[each.config_version].rule(each.rule), alert_from_row(each)
        if rule is not None and one.told[receiver].times > 0:
            found.append(ToldAlert(int(each.id), one, rule, one.told[receiver]))
    return found
