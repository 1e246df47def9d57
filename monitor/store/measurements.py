"""Measurements: written once, never changed; a revision is a new row with a later known_at."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from sqlalchemy.engine import Connection

from monitor.measurement import Failed, Measured, Measurement, TooFew
from monitor.store.arrays import array_literal, insert_rows
from monitor.store.tables import measurement

_COLUMNS = (
    *("project_id", "model_id", "check_name", "method", "method_version", "deployment_ids", "leg"),
    *("segment_id", "column_name", "window_start", "window_end", "baseline_id", "state", "value"),
    *(
        "low",
        "high",
        "level",
        "n",
        "n_reference",
        "unit",
        "direction",
        "reason",
        "detail",
        "known_at",
    ),
)


def write_measurements(
    connection: Connection, project_id: int, model_id: int, found: Sequence[Measurement]
) -> None:
    """Store outcomes. What was too few or failed is stored like any number: there is no silence."""
    rows = [(project_id, model_id, *_identity(one), *_outcome(one), one.known_at) for one in found]
    insert_rows(connection, measurement, _COLUMNS, rows)


def _identity(one: Measurement) -> tuple[Any, ...]:
    subject = one.subject
    return (
        *(one.check, one.method, one.method_version, array_literal(subject.deployment_ids)),
        *(subject.leg, subject.segment_id, subject.column),
        *(one.window.start, one.window.end, one.baseline_id),
    )


def _outcome(one: Measurement) -> tuple[Any, ...]:
    outcome = one.outcome
    tail = (one.unit, one.direction.value)
    detail = json.dumps(finite(outcome.detail), allow_nan=False, ensure_ascii=False)
    match outcome:
        case Measured():
            return (
                *("measured", outcome.value, outcome.low, outcome.high, outcome.level, outcome.n),
                *(outcome.n_reference, *tail, None, detail),
            )
        case TooFew():
            reason = f"{outcome.n} {outcome.reason}, {outcome.needed} needed"
            return ("too_few", None, None, None, None, outcome.n, None, *tail, reason, detail)
        case Failed():
            return ("failed", None, None, None, None, 0, None, *tail, outcome.reason, detail)


def finite(value: Any) -> Any:
    """A JSON value without NaN, infinities and NUL: what is not finite becomes null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(key).replace("\0", ""): finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    if isinstance(value, str):
        return value.replace("\0", "�")
    return value
