"""Evidence bundles: what was measured, as it was known, with the audit chain up to then, signed.

The same subject at the same moment gives the same bytes, whenever and wherever it is asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Connection, Engine

from monitor.errors import UnknownSubject
from monitor.evidence.bundle import audit_parts, pack_bundle
from monitor.evidence.canonical import canonical, sha256_hex
from monitor.evidence.signing import SigningKey
from monitor.reports.database import reading
from monitor.store.audit import chain_lines, link_waiting, project_name
from monitor.store.engine import Role, transaction
from monitor.store.tables import alert_config, contract, measurement, model
from monitor.windows import Window

MEASUREMENTS = "values/measurements.ndjson"
LARGEST_EXACT = 2**53
_LEFT_OUT = ("project_id", "model_id")


@dataclass(frozen=True)
class BundleSubject:
    """What a bundle is about: one model, a span of time, and the moment of knowledge."""

    project_id: int
    model: str
    window: Window
    known_by: datetime


def build_bundle(
    parts: Mapping[str, bytes], *, engine: Engine, subject: BundleSubject, signer: SigningKey
) -> bytes:
    """A signed bundle of these parts, the measurements behind them and the audit chain until then.

    Names of parts are plain paths such as `report.pdf`; ValueError for any other. Raises
    UnknownSubject when there is no such model.
    """
    with transaction(engine, subject.project_id, Role.EXPORT) as connection:
        link_waiting(connection, subject.project_id)
    with reading(engine, subject.project_id) as connection:
        name = project_name(connection, subject.project_id)
        number = _model_number(connection, subject)
        measured = measurement_lines(connection, subject, number)
        lines = chain_lines(connection, subject.project_id, until=subject.known_by)
        about = _about(connection, subject, name, number)
    own = {MEASUREMENTS: b"".join(measured), **audit_parts(lines, name, signer)}
    taken = sorted(set(own) & set(parts))
    if taken:
        raise ValueError(f"the name {taken[0]!r} is the bundle's own; give the part another")
    return pack_bundle(
        {**parts, **own},
        signer=signer,
        product=f"inferwatch {version('inferwatch')}",
        about=about,
        queries={"measurements": _query_text(subject, number)},
    )


def measurement_lines(connection: Connection, subject: BundleSubject, model_id: int) -> list[bytes]:
    """Measurements of windows that begin in the span, as known then, one canonical line each."""
    found = connection.execute(_query(subject, model_id)).mappings()
    return [canonical(exact(dict(row))) + b"\n" for row in found]


def exact(value: Any) -> Any:
    """A value as canonical JSON can hold it: moments and large integers as text."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Mapping):
        return {str(key): exact(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [exact(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= LARGEST_EXACT:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def model_number(engine: Engine, subject: BundleSubject) -> int:
    """The model's number; UnknownSubject when there is none."""
    with reading(engine, subject.project_id) as connection:
        return _model_number(connection, subject)


def _model_number(connection: Connection, subject: BundleSubject) -> int:
    row = model.c
    found = connection.scalar(
        sa.select(row.id).where(row.project_id == subject.project_id, row.name == subject.model)
    )
    if found is None:
        raise UnknownSubject(f"no model {subject.model!r} in this project")
    return int(found)


def _query(subject: BundleSubject, model_id: int) -> sa.Select[Any]:
    row = measurement.c
    return (
        sa.select(*(column for column in row if column.name not in _LEFT_OUT))
        .where(row.project_id == subject.project_id, row.model_id == model_id)
        .where(row.window_start >= subject.window.start, row.window_start < subject.window.end)
        .where(row.known_at <= subject.known_by)
        .order_by(row.id)
    )


def _query_text(subject: BundleSubject, model_id: int) -> str:
    """The question with its values, as it was asked."""
    made = _query(subject, model_id).compile(
        dialect=postgresql.dialect(),  # type: ignore[no-untyped-call]
        compile_kwargs={"literal_binds": True},
    )
    return str(made)


def _about(
    connection: Connection, subject: BundleSubject, project: str, model_id: int
) -> dict[str, Any]:
    """The subject, and the hashes of what was in force at the moment of knowledge."""
    return {
        "project": project,
        "model": subject.model,
        "from": exact(subject.window.start),
        "to": exact(subject.window.end),
        "known_by": exact(subject.known_by),
        "configuration": {
            "contract": _in_force(connection, contract, subject, model_id),
            "rules": _in_force(connection, alert_config, subject, None),
        },
    }


def _in_force(
    connection: Connection, table: sa.Table, subject: BundleSubject, model_id: int | None
) -> dict[str, Any] | None:
    row = table.c
    query = sa.select(row.version, row.source, row.applied_by, row.applied_at).where(
        row.project_id == subject.project_id, row.applied_at <= subject.known_by
    )
    if model_id is not None:
        query = query.where(row.model_id == model_id)
    found = connection.execute(query.order_by(row.version.desc()).limit(1)).one_or_none()
    if found is None:
        return None
    return {
        "version": found.version,
        "sha256": sha256_hex(found.source.encode()),
        "applied_by": found.applied_by,
        "applied_at": exact(found.applied_at),
    }
