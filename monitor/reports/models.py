"""Models, what their contract says, and their deployments, as pages need them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.contract_base import parse_duration
from monitor.deployment import Tags, differing_groups
from monitor.errors import UnknownSubject
from monitor.reports.database import reading
from monitor.reports.profile_cover import COUNTED_PARTS, live_all
from monitor.store.tables import contract, deployment, model, profile
from monitor.windows import Grain


@dataclass(frozen=True)
class ModelName:
    """A model as a person picks it."""

    id: int
    name: str


@dataclass(frozen=True)
class ColumnFacts:
    """What the contract says of one column."""

    name: str
    type: str
    role: str
    unit: str | None
    range: tuple[float | None, float | None] | None
    sensitivity: str


@dataclass(frozen=True)
class ModelFacts:
    """A model with the newest version of its contract; `version` is None when it has none."""

    id: int
    name: str
    owner: str
    purpose: str
    risk_tier: str
    task: str | None
    version: int | None
    columns: tuple[ColumnFacts, ...]
    label: str | None
    label_max_age: timedelta | None
    time_zone: str


@dataclass(frozen=True)
class DeploymentFacts:
    """A deployment and when its requests were seen, in the requests' own time.

    `changed` names the groups of tags that differ from the deployment that came before it.
    """

    id: int
    title: str
    tags: str
    overflow: bool
    first_request: datetime | None
    last_request: datetime | None
    changed: tuple[str, ...] = ()


def model_names(engine: Engine, project_id: int) -> tuple[ModelName, ...]:
    """All models of a project, by name."""
    query = sa.select(model.c.id, model.c.name).where(model.c.project_id == project_id)
    with reading(engine, project_id) as connection:
        rows = connection.execute(query.order_by(model.c.name))
        return tuple(ModelName(row.id, row.name) for row in rows)


def model_facts(engine: Engine, project_id: int, name: str) -> ModelFacts:
    """A model by name; raises UnknownSubject when the project has none of it."""
    with reading(engine, project_id) as connection:
        query = sa.select(model).where(model.c.project_id == project_id, model.c.name == name)
        row = connection.execute(query).one_or_none()
        if row is None:
            raise UnknownSubject(f"this project has no model {name!r}; choose one from the list")
        newest = connection.execute(
            sa.select(contract.c.version, contract.c.body)
            .where(contract.c.project_id == project_id, contract.c.model_id == row.id)
            .order_by(contract.c.version.desc())
            .limit(1)
        ).one_or_none()
    return _facts(row, newest)


def deployments(engine: Engine, project_id: int, model_id: int) -> tuple[DeploymentFacts, ...]:
    """All deployments of a model in the order in which their requests began."""
    with reading(engine, project_id) as connection:
        seen = _seen(connection, project_id, model_id)
        query = sa.select(deployment).where(
            deployment.c.project_id == project_id, deployment.c.model_id == model_id
        )
        rows = list(connection.execute(query))
    rows.sort(key=lambda row: (row.id not in seen, seen.get(row.id, (row.first_seen_at,))[0]))
    found: list[DeploymentFacts] = []
    before: Tags | None = None
    for row in rows:
        tags = Tags.of(row.tags)
        changed = tuple(differing_groups(before, tags)) if before is not None else ()
        first, last = seen.get(row.id, (None, None))
        title = row.name or f"deployment {row.id}"
        found.append(
            DeploymentFacts(row.id, title, tags.summary(), row.overflow, first, last, changed)
        )
        before = tags
    return tuple(found)


def label_age(body: Mapping[str, Any]) -> timedelta | None:
    """The longest a label may take, from a stored contract; None when it declares no label."""
    label = body.get("label")
    return parse_duration(label["max_age"]) if label else None


def _seen(
    connection: Connection, project_id: int, model_id: int
) -> dict[int, tuple[datetime, datetime]]:
    """First and last profiled window of every deployment (requests' time, not arrival)."""
    query = (
        sa.select(
            profile.c.deployment_id,
            sa.func.min(profile.c.window_start).label("first"),
            sa.func.max(profile.c.window_start).label("last"),
        )
        .where(
            profile.c.project_id == project_id,
            profile.c.model_id == model_id,
            profile.c.part.in_(COUNTED_PARTS),
            profile.c.grain == int(Grain.HOUR),
            *live_all(),
        )
        .group_by(profile.c.deployment_id)
    )
    return {
        row.deployment_id: (row.first, row.last + Grain.HOUR.length)
        for row in connection.execute(query)
    }


def _facts(row: Any, newest: Any) -> ModelFacts:
    body: Mapping[str, Any] = newest.body if newest is not None else {}
    label = body.get("label") or {}
    return ModelFacts(
        id=row.id,
        name=row.name,
        owner=row.owner,
        purpose=row.purpose,
        risk_tier=row.risk_tier,
        task=body.get("task"),
        version=newest.version if newest is not None else None,
        columns=tuple(_column(each) for each in body.get("columns", ())),
        label=label.get("name"),
        label_max_age=label_age(body),
        time_zone=body.get("time_zone", "UTC"),
    )


def _column(body: Mapping[str, Any]) -> ColumnFacts:
    limits = body.get("range")
    return ColumnFacts(
        name=body["name"],
        type=body["type"],
        role=body.get("role", "feature"),
        unit=body.get("unit"),
        range=(limits[0], limits[1]) if limits else None,
        sensitivity=body.get("sensitivity", "internal"),
    )
