"""Stored delay curves: a row each time one was learned, never changed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection

from monitor.checks.maturity.delay_curve import DelayCurve
from monitor.store.arrays import insert_rows
from monitor.store.tables import delay_curve

KEPT_IN_USE = timedelta(days=60)
"""A curve that was not learned again for so long is no longer used."""

_COLUMNS = ("project_id", "model_id", "leg", "segment_id", "predicted", "known_at", "n", "body")


@dataclass(frozen=True, order=True)
class CurveKey:
    """Whose curve: leg, segment (0 is all requests), predicted class (-1 is all classes)."""

    leg: str
    segment_id: int
    predicted: int


@dataclass(frozen=True)
class StoredCurve:
    """A curve, when it was learned, and the newest label that was known then."""

    curve: DelayCurve
    known_at: datetime
    newest_label: datetime


def save_curves(
    connection: Connection,
    project_id: int,
    model_id: int,
    known_at: datetime,
    newest_label: datetime,
    learned: Mapping[CurveKey, DelayCurve],
) -> None:
    """Store what was learned at one moment; the same moment again replaces it."""
    rows = [
        (project_id, model_id, key.leg, key.segment_id, key.predicted, known_at, curve.n,
         _body(curve, newest_label))
        for key, curve in learned.items()
    ]  # fmt: skip
    insert_rows(connection, delay_curve, _COLUMNS, rows, replace=True)


def read_curves(
    connection: Connection,
    project_id: int,
    model_id: int,
    known_by: datetime | None,
    *,
    segment_id: int | None = None,
) -> dict[CurveKey, StoredCurve]:
    """The newest curves known by a moment and still in use then, of one segment or of all.

    Without a moment the newest there are, however old.
    """
    row = delay_curve.c
    key = (row.leg, row.segment_id, row.predicted)
    query = (
        sa.select(delay_curve)
        .ext(distinct_on(*key))
        .where(row.project_id == project_id, row.model_id == model_id)
        .order_by(*key, row.known_at.desc())
    )
    if known_by is not None:
        query = query.where(row.known_at <= known_by, row.known_at > known_by - KEPT_IN_USE)
    if segment_id is not None:
        query = query.where(row.segment_id == segment_id)
    return {
        CurveKey(found.leg, found.segment_id, found.predicted): StoredCurve(
            _curve(found.n, found.body),
            found.known_at,
            datetime.fromisoformat(found.body["newest_label"]),
        )
        for found in connection.execute(query)
    }


def _body(curve: DelayCurve, newest_label: datetime) -> str:
    body = {
        # JSON knows no infinity: null is the hazard of a bucket in which all that were left came.
        "rates": [None if math.isinf(rate) else rate for rate in curve.rates],
        "variances": list(curve.variances),
        "at_risk": list(curve.at_risk),
        "events": list(curve.events),
        "follow_up_hours": curve.follow_up_hours,
        "settled": curve.settled,
        "newest_label": newest_label.isoformat(),
    }
    return json.dumps(body, allow_nan=False)


def _curve(n: int, body: Mapping[str, Any]) -> DelayCurve:
    return DelayCurve(
        rates=tuple(math.inf if rate is None else float(rate) for rate in body["rates"]),
        variances=tuple(float(variance) for variance in body["variances"]),
        at_risk=tuple(body["at_risk"]),
        events=tuple(body["events"]),
        n=n,
        follow_up_hours=float(body["follow_up_hours"]),
        settled=bool(body["settled"]),
    )
