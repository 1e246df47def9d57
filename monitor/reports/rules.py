"""The rule behind an alert, read from the configuration that was in force when it was judged."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from alerts.channels.registry import CHANNELS
from alerts.conditions.allowed import AllowedRange
from alerts.config import AlertConfig, read_alert_config
from alerts.errors import AlertConfigError
from alerts.rules import Bounds, Rule
from monitor.store.tables import alert_config


def configs_of(
    connection: Connection, project_id: int, versions: Iterable[int]
) -> dict[int, AlertConfig]:
    """Configurations by version; one that this program can't read any more is left out."""
    query = sa.select(alert_config.c.version, alert_config.c.source).where(
        alert_config.c.project_id == project_id, alert_config.c.version.in_(sorted(set(versions)))
    )
    found = {}
    for row in connection.execute(query):
        config = _readable(row.source, f"alert rules, version {row.version}")
        if config is not None:
            found[row.version] = config
    return found


def bounds_of(rule: Rule | None) -> tuple[float | None, float | None]:
    """The lines of a chart: lower and upper bound of the rule, None where it has none."""
    if rule is None or not isinstance(rule.condition, Bounds | AllowedRange):
        return None, None
    return rule.condition.lower, rule.condition.upper


def _readable(source: str, name: str) -> AlertConfig | None:
    try:
        return read_alert_config(source, name, CHANNELS)
    except AlertConfigError:
        return None
