"""Drift incidents of a model: stored, judged by people, read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.checks.promise.firing import Firing
from monitor.checks.promise.incidents import ColumnEpisode, Gap, Incident
from monitor.errors import UnknownSubject
from monitor.store.measurements import finite
from monitor.store.tables import incident as table


class Verdict(StrEnum):
    """What a person decided. Weeks of a fault are never learned from; adopted ones are the new
    normal; a false alarm lowers the levels and is learned from."""

    FAULT = "fault"
    ADOPT = "adopt"
    FALSE_ALARM = "false_alarm"


@dataclass(frozen=True)
class StoredIncident:
    """An incident with its number and what people said of it. `told` are the deployments under
    which alerts know it, None until it was told; `quiet` when it came back and nobody is told."""

    id: int
    leg: str
    open: bool
    incident: Incident
    leading: str
    context: Mapping[str, Any] | None = None
    told: tuple[int, ...] | None = None
    quiet: bool = False
    closed_at: datetime | None = None
    verdict: Verdict | None = None
    verdict_by: str | None = None
    verdict_comment: str | None = None
    verdict_at: datetime | None = None

    @property
    def takes_more(self) -> bool:
        """Whether further firings may belong to it: not once it is closed and judged."""
        return self.open or self.verdict is None


def read_incidents(
    connection: Connection,
    project_id: int,
    model_id: int,
    *,
    leg: str | None = None,
    since: datetime | None = None,
) -> list[StoredIncident]:
    """Incidents of a model that were open at or after `since`, oldest first."""
    row = table.c
    query = sa.select(table).where(row.project_id == project_id, row.model_id == model_id)
    if leg is not None:
        query = query.where(row.leg == leg)
    if since is not None:
        query = query.where(sa.or_(row.state == "open", row.until_at >= since))
    return [_stored(found) for found in connection.execute(query.order_by(row.opened_at, row.id))]


def find_incident(connection: Connection, project_id: int, number: int) -> StoredIncident:
    """One incident by its number; UnknownSubject when there is none."""
    found = connection.execute(
        sa.select(table).where(table.c.project_id == project_id, table.c.id == number)
    ).one_or_none()
    if found is None:
        raise UnknownSubject(f"no incident {number}; `inferwatch incidents list` shows them")
    return _stored(found)


def add_incident(
    connection: Connection, project_id: int, model_id: int, made: StoredIncident
) -> StoredIncident:
    """Store a new incident; it comes back with its number."""
    statement = sa.insert(table).values(
        project_id=project_id, model_id=model_id, leg=made.leg, **_values(made)
    )
    number = connection.scalar(statement.returning(table.c.id))
    return replace(made, id=int(number))


def update_incident(connection: Connection, project_id: int, changed: StoredIncident) -> None:
    """Store what the worker knows of an incident; the verdict is people's and stays."""
    connection.execute(
        sa.update(table)
        .where(table.c.project_id == project_id, table.c.id == changed.id)
        .values(**_values(changed))
    )


def judge_incident(
    connection: Connection,
    project_id: int,
    number: int,
    verdict: Verdict,
    by: str,
    comment: str | None,
    now: datetime,
) -> StoredIncident:
    """Record what a person decided; a later verdict takes the place of an earlier one."""
    find_incident(connection, project_id, number)
    connection.execute(
        sa.update(table)
        .where(table.c.project_id == project_id, table.c.id == number)
        .values(verdict=verdict.value, verdict_by=by, verdict_comment=comment, verdict_at=now)
    )
    return find_incident(connection, project_id, number)


def told_false(connection: Connection, project_id: int, model_id: int) -> list[datetime]:
    """When people told of false alarms of a model."""
    row = table.c
    query = sa.select(row.verdict_at).where(
        row.project_id == project_id,
        row.model_id == model_id,
        row.verdict == Verdict.FALSE_ALARM.value,
    )
    return list(connection.scalars(query))


def firing_to_json(one: Firing) -> dict[str, Any]:
    """A firing as JSON."""
    return {**asdict(one), "end": one.end.isoformat()}


def firing_from_json(kept: Mapping[str, Any]) -> Firing:
    """Read what `firing_to_json` wrote."""
    return Firing(**{**kept, "end": datetime.fromisoformat(kept["end"])})


def _values(one: StoredIncident) -> dict[str, Any]:
    return {
        "state": "open" if one.open else "closed",
        "opened_at": one.incident.opened,
        "last_at": one.incident.last,
        "until_at": one.incident.until,
        "closed_at": one.closed_at,
        "leading_column": one.leading,
        "body": {
            "columns": {name: _episode(part) for name, part in one.incident.columns.items()},
            "told": None if one.told is None else list(one.told),
            "quiet": one.quiet,
        },
        "context": None if one.context is None else finite(one.context),
    }


def _episode(part: ColumnEpisode) -> dict[str, Any]:
    return {
        "first": part.first.isoformat(),
        "last": part.last.isoformat(),
        "until": part.until.isoformat(),
        "firings": part.firings,
        "strongest": firing_to_json(part.strongest),
        "fresh_scale": part.fresh_scale,
        "fresh_end": None if part.fresh_end is None else part.fresh_end.isoformat(),
        "deployments": list(part.deployments),
        "segments": list(part.segments),
        "gaps": [[moment.isoformat() for moment in astuple(gap)] for gap in part.gaps],
    }


def _stored(row: Any) -> StoredIncident:
    body = row.body
    columns = {name: _read_episode(part) for name, part in body["columns"].items()}
    return StoredIncident(
        id=row.id,
        leg=row.leg,
        open=row.state == "open",
        incident=Incident(row.opened_at, columns, row.id),
        leading=row.leading_column,
        context=row.context,
        told=None if body["told"] is None else tuple(body["told"]),
        quiet=body["quiet"],
        closed_at=row.closed_at,
        verdict=None if row.verdict is None else Verdict(row.verdict),
        verdict_by=row.verdict_by,
        verdict_comment=row.verdict_comment,
        verdict_at=row.verdict_at,
    )


def _read_episode(kept: Mapping[str, Any]) -> ColumnEpisode:
    return ColumnEpisode(
        first=datetime.fromisoformat(kept["first"]),
        last=datetime.fromisoformat(kept["last"]),
        until=datetime.fromisoformat(kept["until"]),
        firings=kept["firings"],
        strongest=firing_from_json(kept["strongest"]),
        fresh_scale=kept["fresh_scale"],
        fresh_end=datetime.fromisoformat(kept["fresh_end"]) if kept["fresh_end"] else None,
        deployments=tuple(kept["deployments"]),
        segments=tuple(kept["segments"]),
        gaps=tuple(Gap(*map(datetime.fromisoformat, gap)) for gap in kept["gaps"]),
    )
