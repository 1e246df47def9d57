"""Explanations of changed quality: each is a row that is never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.store.measurements import finite
from monitor.store.quality_tables import explanation
from monitor.windows import Window

MOST = 50


@dataclass(frozen=True)
class StoredExplanation:
    """Why the loss of `window` differs from that of `reference`; the body is what was found."""

    leg: str
    method: str
    window: Window
    reference: Window
    body: Mapping[str, Any]
    made_by: str
    known_at: datetime


def save_explanation(
    connection: Connection, project_id: int, model_id: int, made: StoredExplanation
) -> None:
    """Keep an explanation."""
    connection.execute(
        sa.insert(explanation).values(
            project_id=project_id,
            model_id=model_id,
            leg=made.leg,
            method=made.method,
            window_start=made.window.start,
            window_end=made.window.end,
            reference_start=made.reference.start,
            reference_end=made.reference.end,
            body=finite(made.body),
            made_by=made.made_by,
            known_at=made.known_at,
        )
    )


def read_explanations(
    connection: Connection,
    project_id: int,
    model_id: int,
    leg: str,
    known_by: datetime | None = None,
    limit: int = MOST,
) -> tuple[StoredExplanation, ...]:
    """The newest explanations of a leg first; `known_by`: only those made until then."""
    row = explanation.c
    query = (
        sa.select(explanation)
        .where(row.project_id == project_id, row.model_id == model_id, row.leg == leg)
        .order_by(row.known_at.desc(), row.id.desc())
        .limit(limit)
    )
    if known_by is not None:
        query = query.where(row.known_at <= known_by)
    return tuple(
        StoredExplanation(
            leg=found.leg,
            method=found.method,
            window=Window(found.window_start, found.window_end),
            reference=Window(found.reference_start, found.reference_end),
            body=found.body,
            made_by=found.made_by,
            known_at=found.known_at,
        )
        for found in connection.execute(query)
    )
