"""Reads the drift incidents of the replay and the state of the promise at its end."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.checks.promise.baseline import MIN_WEEKS
from monitor.contract import Contract
from monitor.demo.summary import IncidentTold, IncidentTotals
from monitor.records import LIVE_LEG
from monitor.store.incidents import StoredIncident, read_incidents
from monitor.store.models import deployment_names
from monitor.store.seasonal import newest_seasonal
from monitor.store.tables import seasonal_baseline

WEEK_DAYS = 7


def incident_totals(
    connection: Connection, project_id: int, model_id: int, contract: Contract
) -> IncidentTotals:
    """All incidents, the weeks that were judged, and the columns without the promise."""
    names = deployment_names(connection, project_id, model_id)
    found = read_incidents(connection, project_id, model_id, leg=LIVE_LEG)
    newest = newest_seasonal(connection, project_id, model_id, LIVE_LEG)
    judged = _judged_weeks(connection, project_id, model_id)
    columns = {} if newest is None else newest.summary["columns"]
    withheld = {name: one["withheld"] for name, one in columns.items() if one["withheld"]}
    return IncidentTotals(
        incidents=tuple(_told(one, names) for one in found),
        days=judged * WEEK_DAYS,
        promised=contract.alarms.false_incidents_a_month,
        state=_state(judged, len(columns), len(withheld)),
        withheld=withheld,
    )


def _judged_weeks(connection: Connection, project_id: int, model_id: int) -> int:
    row = seasonal_baseline.c
    query = sa.select(sa.func.count()).where(
        row.project_id == project_id, row.model_id == model_id, row.body.is_not(None)
    )
    return connection.scalar(query) or 0


def _state(judged: int, columns: int, withheld: int) -> str:
    if not judged:
        return f"not available yet: {MIN_WEEKS} weeks of history are needed"
    if not withheld:
        return "available for every column"
    return f"available for {columns - withheld} of {columns} columns"


def _told(one: StoredIncident, names: dict[int, str]) -> IncidentTold:
    others = sorted(name for name in one.incident.columns if name != one.leading)
    said = list((one.context or {}).get("sentences", ()))
    return IncidentTold(
        opened=one.incident.opened,
        columns=(one.leading, *others),
        deployments=tuple(names.get(each, str(each)) for each in one.incident.deployments),
        sentence=str(said[0]) if said else "",
    )
