"""Contracts and alert rules in force, with who applied which version when and what it changed."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.reports.database import reading
from monitor.store.tables import alert_config, contract

VERSIONS_SHOWN = 100


@dataclass(frozen=True)
class Applied:
    """One version of a file as it was applied; its text is asked for apart."""

    version: int
    by: str
    at: datetime


def contract_versions(engine: Engine, project_id: int, model_id: int) -> tuple[Applied, ...]:
    """The newest versions of a model's contract, the one in force first."""
    row = contract.c
    return _versions(engine, project_id, contract, row.model_id == model_id)


def rule_versions(engine: Engine, project_id: int) -> tuple[Applied, ...]:
    """The newest versions of the project's alert rules, the one in force first."""
    return _versions(engine, project_id, alert_config)


def contract_text(engine: Engine, project_id: int, model_id: int, version: int) -> str | None:
    """The contract as it was applied; None when there is no such version."""
    return _text(engine, project_id, contract, version, contract.c.model_id == model_id)


def rules_text(engine: Engine, project_id: int, version: int) -> str | None:
    """The rules as they were applied; None when there is no such version."""
    return _text(engine, project_id, alert_config, version)


def changes(before: str, after: str, names: tuple[str, str]) -> str:
    """What the second text changes in the first, line by line; empty when they are the same."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="", n=2)
    return "\n".join(lines)


def _versions(
    engine: Engine, project_id: int, table: sa.Table, *conditions: sa.ColumnElement[bool]
) -> tuple[Applied, ...]:
    row = table.c
    query = (
        sa.select(row.version, row.applied_by, row.applied_at)
        .where(row.project_id == project_id, *conditions)
        .order_by(row.version.desc())
        .limit(VERSIONS_SHOWN)
    )
    with reading(engine, project_id) as connection:
        return tuple(Applied(*found) for found in connection.execute(query))


def _text(
    engine: Engine,
    project_id: int,
    table: sa.Table,
    version: int,
    *conditions: sa.ColumnElement[bool],
) -> str | None:
    row: Any = table.c
    query = sa.select(row.source).where(
        row.project_id == project_id, row.version == version, *conditions
    )
    with reading(engine, project_id) as connection:
        found: str | None = connection.scalar(query)
        return found
