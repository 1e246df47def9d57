"""Deployments of a model: tags, who said them, where they are registered, what contradicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.deployment import Tags
from monitor.reports.database import reading
from monitor.store.tables import (
    deployment,
    deployment_registration,
    model,
    tag_conflict,
    tag_source,
)

REMEDY = "mend whoever is wrong: the request, its resource, or the registration"
UNCLEAR_REMEDY = "give the registrations joins that tell them apart, or end one with valid_to"


@dataclass(frozen=True)
class RegisteredSpan:
    """One registration of a deployment."""

    number: int
    joins: Mapping[str, str]
    valid_from: datetime
    valid_to: datetime | None
    registered_at: datetime
    evidence: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class DeploymentLine:
    """One deployment; `said_by` holds for each tag who said it (none: the sender's own tags)."""

    number: int
    name: str | None
    overflow: bool
    first_seen_at: datetime
    tags: Mapping[str, str]
    said_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    registrations: tuple[RegisteredSpan, ...] = ()

    @property
    def summary(self) -> str:
        """Its tags on one line."""
        if self.overflow:
            return "too many new deployments in a day: all further tags share this one"
        return Tags.of(self.tags).summary()


@dataclass(frozen=True)
class ConflictLine:
    """A contradiction; `used` None: no value was believed. `requests` counts those told."""

    model: str
    tag: str
    used: str | None
    used_source: str
    other: str
    other_source: str
    requests: int
    first_at: datetime
    last_at: datetime

    @property
    def what(self) -> str:
        """In words, with what to do."""
        if self.used is None:
            told = f"{self.tag}: {self.other}; nothing says which, so it is unknown"
            return f"{told}: {UNCLEAR_REMEDY}"
        return (
            f"{self.tag} is {self.used!r} by the {self.used_source} and {self.other!r} by the"
            f" {self.other_source}; the first is used: {REMEDY}"
        )


def deployments_of(engine: Engine, project_id: int, model_id: int) -> tuple[DeploymentLine, ...]:
    """All deployments of a model, the newest first."""
    key = (deployment.c.project_id == project_id, deployment.c.model_id == model_id)
    query = sa.select(deployment).where(*key).order_by(deployment.c.id.desc())
    with reading(engine, project_id) as connection:
        rows = connection.execute(query).all()
        spans = _spans(connection, project_id, model_id)
        said = _said(connection, project_id, model_id)
    return tuple(
        DeploymentLine(
            row.id, row.name, row.overflow, row.first_seen_at, row.tags,
            said.get(row.digest, {}), tuple(spans.get(row.id, ())),
        )
        for row in rows
    )  # fmt: skip


def tag_conflicts(
    engine: Engine, project_id: int, model_id: int | None = None
) -> tuple[ConflictLine, ...]:
    """Contradictions of one model or of all, those seen last first."""
    with reading(engine, project_id) as connection:
        return read_conflicts(connection, project_id, model_id)


def read_conflicts(
    connection: Connection, project_id: int, model_id: int | None = None
) -> tuple[ConflictLine, ...]:
    """The same in an open transaction."""
    wanted = [tag_conflict.c.project_id == project_id]
    if model_id is not None:
        wanted.append(tag_conflict.c.model_id == model_id)
    query = (
        sa.select(tag_conflict, model.c.name)
        .join(model, model.c.id == tag_conflict.c.model_id)
        .where(*wanted)
        .order_by(tag_conflict.c.last_at.desc(), tag_conflict.c.digest)
    )
    return tuple(
        ConflictLine(row.name, row.tag, row.used, row.used_source, row.other, row.other_source,
                     row.requests, row.first_at, row.last_at)
        for row in connection.execute(query)
    )  # fmt: skip


def _spans(
    connection: Connection, project_id: int, model_id: int
) -> Mapping[int, list[RegisteredSpan]]:
    table = deployment_registration
    query = (
        sa.select(table)
        .where(table.c.project_id == project_id, table.c.model_id == model_id)
        .order_by(table.c.valid_from, table.c.id)
    )
    found: dict[int, list[RegisteredSpan]] = defaultdict(list)
    for row in connection.execute(query):
        span = RegisteredSpan(
            row.id, row.joins, row.valid_from, row.valid_to, row.registered_at, row.evidence
        )
        found[row.deployment_id].append(span)
    return found


def _said(
    connection: Connection, project_id: int, model_id: int
) -> dict[str, dict[str, tuple[str, ...]]]:
    query = sa.select(tag_source).where(
        tag_source.c.project_id == project_id, tag_source.c.model_id == model_id
    )
    found: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for row in connection.execute(query.order_by(tag_source.c.source)):
        held = found[row.digest].get(row.tag, ())
        found[row.digest][row.tag] = (*held, row.source)
    return found
