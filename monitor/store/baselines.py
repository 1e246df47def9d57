"""Binnings (the edges) and baselines (frozen counts on them): versioned, never rewritten."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.errors import UnknownSubject
from monitor.profiles.binning import Binning
from monitor.profiles.part import Part
from monitor.store.tables import baseline, binning
from monitor.windows import Window


@dataclass(frozen=True)
class StoredBinning:
    """A binning with its number."""

    id: int
    version: int
    binning: Binning


@dataclass(frozen=True)
class StoredBaseline:
    """Frozen counts that others are compared with."""

    id: int
    name: str
    version: int
    binning_id: int
    kind: str
    source: str
    window: Window | None
    n: int
    part: Part
    sample: bytes | None
    created_by: str
    created_at: datetime


def add_binning(
    connection: Connection, project_id: int, model_id: int, made: Binning, source: str
) -> StoredBinning:
    """Store a binning as the model's next version and use it from now on."""
    mine = (binning.c.project_id == project_id, binning.c.model_id == model_id)
    newest = connection.scalar(sa.select(sa.func.max(binning.c.version)).where(*mine)) or 0
    connection.execute(sa.update(binning).where(*mine).values(retired=True))
    statement = sa.insert(binning).values(
        project_id=project_id,
        model_id=model_id,
        version=newest + 1,
        body=made.to_json(),
        source=source,
    )
    number = connection.scalar(statement.returning(binning.c.id))
    return StoredBinning(int(number), newest + 1, made)


def current_binning(connection: Connection, project_id: int, model_id: int) -> StoredBinning | None:
    """The binning in use; None while there is no baseline yet."""
    row = connection.execute(
        sa.select(binning)
        .where(binning.c.project_id == project_id, binning.c.model_id == model_id)
        .where(~binning.c.retired)
        .order_by(binning.c.version.desc())
        .limit(1)
    ).one_or_none()
    return None if row is None else StoredBinning(row.id, row.version, Binning.from_json(row.body))


def add_baseline(
    connection: Connection,
    project_id: int,
    model_id: int,
    *,
    name: str,
    binning_id: int,
    kind: str,
    source: str,
    window: Window | None,
    n: int,
    part: Part,
    sample: bytes | None,
    by: str,
) -> int:
    """Freeze counts as the next version of a baseline; its number."""
    mine = (
        baseline.c.project_id == project_id,
        baseline.c.model_id == model_id,
        baseline.c.name == name,
    )
    newest = connection.scalar(sa.select(sa.func.max(baseline.c.version)).where(*mine)) or 0
    statement = sa.insert(baseline).values(
        project_id=project_id,
        model_id=model_id,
        name=name,
        version=newest + 1,
        binning_id=binning_id,
        kind=kind,
        source=source,
        window_start=window.start if window else None,
        window_end=window.end if window else None,
        n=n,
        body=part.to_bytes(),
        sample=sample,
        created_by=by,
    )
    return int(connection.scalar(statement.returning(baseline.c.id)))


def current_baselines(
    connection: Connection, project_id: int, model_id: int
) -> list[StoredBaseline]:
    """The newest version of each named baseline."""
    row, newer = baseline.c, baseline.alias("newer")
    superseded = sa.exists().where(
        newer.c.project_id == row.project_id,
        newer.c.model_id == row.model_id,
        newer.c.name == row.name,
        newer.c.version > row.version,
    )
    query = (
        sa.select(baseline)
        .where(row.project_id == project_id, row.model_id == model_id, ~superseded)
        .order_by(row.name)
    )
    return [_stored(found) for found in connection.execute(query)]


def baseline_names(connection: Connection, project_id: int, model_id: int) -> dict[int, str]:
    """Names of all versions of all baselines of a model, by number."""
    row = baseline.c
    query = sa.select(row.id, row.name).where(
        row.project_id == project_id, row.model_id == model_id
    )
    return {found.id: found.name for found in connection.execute(query)}


def baseline_named(
    connection: Connection, project_id: int, model_id: int, name: str
) -> StoredBaseline:
    """The newest version of a baseline; UnknownSubject lists what there is."""
    found = {stored.name: stored for stored in current_baselines(connection, project_id, model_id)}
    if name not in found:
        raise UnknownSubject(f"no baseline {name!r}; there are: {', '.join(found) or 'none yet'}")
    return found[name]


def _stored(found: sa.Row[tuple[object, ...]]) -> StoredBaseline:
    window = Window(found.window_start, found.window_end) if found.window_start else None
    return StoredBaseline(
        id=found.id,
        name=found.name,
        version=found.version,
        binning_id=found.binning_id,
        kind=found.kind,
        source=found.source,
        window=window,
        n=found.n,
        part=Part.from_bytes(bytes(found.body)),
        sample=bytes(found.sample) if found.sample is not None else None,
        created_by=found.created_by,
        created_at=found.created_at,
    )
