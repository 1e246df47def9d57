"""Golden sets by version, and judged runs of them and of shadow pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection

from monitor.errors import UnknownSubject
from monitor.golden import GoldenSet
from monitor.store.measurements import finite
from monitor.store.tables import golden_run, golden_set, model


@dataclass(frozen=True)
class StoredSet:
    """One version of a golden set, with who applied it and when."""

    version: int
    content: GoldenSet
    digest: str
    applied_by: str
    applied_at: datetime


@dataclass(frozen=True)
class NewRun:
    """What a judgement says of one deployment; `body` is JSON."""

    set_name: str
    set_version: int
    leg: str
    deployment_id: int
    reference_id: int | None
    verdict: str
    body: Mapping[str, Any]
    judged_by: str
    known_at: datetime


@dataclass(frozen=True)
class PassedRun:
    """A deployment that passed a version of a set, and when that became known."""

    deployment_id: int
    leg: str
    known_at: datetime


def apply_golden_set(
    connection: Connection,
    project_id: int,
    model_id: int,
    wanted: GoldenSet,
    *,
    source: str,
    by: str,
) -> tuple[int, bool]:
    """The version that the content has, and whether it is new.

    The newest version's content again is that version. The model's row is locked, so that two who
    apply at once get two versions.
    """
    row = model.c
    connection.execute(
        sa.select(row.id).where(row.project_id == project_id, row.id == model_id).with_for_update()
    )
    newest = _newest(connection, project_id, model_id, wanted.name)
    if newest is not None and newest.digest == wanted.digest():
        return int(newest.version), False
    version = 1 if newest is None else int(newest.version) + 1
    connection.execute(
        sa.insert(golden_set).values(
            project_id=project_id,
            model_id=model_id,
            name=wanted.name,
            version=version,
            digest=wanted.digest(),
            body=wanted.to_json(),
            source=source,
            applied_by=by,
        )
    )
    return version, True


def golden_set_of(
    connection: Connection, project_id: int, model_id: int, name: str, version: int | None = None
) -> StoredSet:
    """A set, the newest version unless one is asked for; UnknownSubject names those there are."""
    found = _newest(connection, project_id, model_id, name, version)
    if found is not None:
        return _stored(found)
    there = [
        f"{one.content.name}@{one.version}" for one in golden_sets(connection, project_id, model_id)
    ]
    asked = name if version is None else f"{name}@{version}"
    known = ", ".join(there) or "none yet"
    raise UnknownSubject(f"no golden set {asked!r} of this model; newest of each are: {known}")


def golden_sets(connection: Connection, project_id: int, model_id: int) -> list[StoredSet]:
    """The newest version of every set of a model, by name."""
    row = golden_set.c
    query = (
        sa.select(golden_set)
        .ext(distinct_on(row.name))
        .where(row.project_id == project_id, row.model_id == model_id)
        .order_by(row.name, row.version.desc())
    )
    return [_stored(found) for found in connection.execute(query)]


def models_with_set(connection: Connection, project_id: int, name: str) -> list[str]:
    """Names of the models that have a golden set of this name."""
    query = (
        sa.select(model.c.name)
        .join(golden_set, (golden_set.c.model_id == model.c.id))
        .where(golden_set.c.project_id == project_id, model.c.project_id == project_id)
        .where(golden_set.c.name == name)
        .distinct()
        .order_by(model.c.name)
    )
    return list(connection.scalars(query))


def save_runs(
    connection: Connection, project_id: int, model_id: int, runs: Sequence[NewRun]
) -> None:
    """Store judgements. The same run judged again is a row more, known later."""
    for run in runs:
        connection.execute(
            sa.insert(golden_run).values(
                project_id=project_id,
                model_id=model_id,
                set_name=run.set_name,
                set_version=run.set_version,
                leg=run.leg,
                deployment_id=run.deployment_id,
                reference_id=run.reference_id,
                verdict=run.verdict,
                body=finite(run.body),
                judged_by=run.judged_by,
                known_at=run.known_at,
            )
        )


def passed_runs(
    connection: Connection, project_id: int, model_id: int, name: str, version: int
) -> list[PassedRun]:
    """Deployments whose newest judgement on this set version is that they passed, newest first."""
    row = golden_run.c
    newest = (
        sa.select(row.deployment_id, row.leg, row.known_at, row.verdict)
        .ext(distinct_on(row.deployment_id))
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.set_name == name, row.set_version == version)
        .order_by(row.deployment_id, row.known_at.desc(), row.id.desc())
        .subquery("newest")
    )
    query = sa.select(newest).where(newest.c.verdict == "passed").order_by(newest.c.known_at.desc())
    return [
        PassedRun(found.deployment_id, found.leg, found.known_at)
        for found in connection.execute(query)
    ]


def _newest(
    connection: Connection, project_id: int, model_id: int, name: str, version: int | None = None
) -> Any:
    row = golden_set.c
    query = (
        sa.select(golden_set)
        .where(row.project_id == project_id, row.model_id == model_id, row.name == name)
        .order_by(row.version.desc())
        .limit(1)
    )
    if version is not None:
        query = query.where(row.version == version)
    return connection.execute(query).one_or_none()


def _stored(row: Any) -> StoredSet:
    return StoredSet(
        version=row.version,
        content=GoldenSet.from_json(row.body),
        digest=row.digest,
        applied_by=row.applied_by,
        applied_at=row.applied_at,
    )
