"""Measurements: written once, never changed; a revision is a new row with a later known_at.

What comes out as it did before is no revision: a late label makes new rows of exactly the numbers
that it touches, however many are measured again beside them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
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
PASSING = frozenset({"expected_share", "age_hours"})
"""Entries of a detail that change while a cohort gets older, whether or not a label came."""

_IDENTITY = (
    *("check_name", "method", "column_name", "segment_id", "leg", "deployment_ids"),
    *("window_start", "window_end", "baseline_id"),
)
_CONTENT = (
    *("method_version", "state", "value", "low", "high", "level", "n", "n_reference"),
    *("unit", "direction", "reason"),
)


def write_measurements(
    connection: Connection, project_id: int, model_id: int, found: Sequence[Measurement]
) -> None:
    """Store outcomes that differ from the newest revision of the same measurement.

    What was too few or failed is stored like any number: there is no silence.
    """
    if not found:
        return
    known = _newest(connection, project_id, model_id, found)
    rows = [
        (project_id, model_id, *_identity(one), *_outcome(one), one.known_at)
        for one in found
        if known.get(_key(one)) != _content(one)
    ]
    insert_rows(connection, measurement, _COLUMNS, rows)


def _newest(
    connection: Connection, project_id: int, model_id: int, found: Sequence[Measurement]
) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Content of the newest revision of everything stored for the windows and checks of `found`."""
    row = measurement.c
    query = (
        sa.select(measurement)
        .ext(distinct_on(*(row[name] for name in _IDENTITY)))
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.check_name.in_({one.check for one in found}))
        .where(row.window_end.in_({one.window.end for one in found}))
        .where(row.window_start.in_({one.window.start for one in found}))
        .order_by(*(row[name] for name in _IDENTITY), row.known_at.desc())
    )
    stored = {}
    for one in connection.execute(query):
        key = tuple(getattr(one, name) for name in _IDENTITY)
        content = tuple(getattr(one, name) for name in _CONTENT)
        stored[_plain(key)] = (*content, _lasting(one.detail))
    return stored


def _key(one: Measurement) -> tuple[Any, ...]:
    subject, window = one.subject, one.window
    return (
        *(one.check, one.method, subject.column, subject.segment_id, subject.leg),
        *(tuple(subject.deployment_ids), window.start, window.end, one.baseline_id),
    )


def _plain(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(tuple(part) if isinstance(part, list) else part for part in key)


def _content(one: Measurement) -> tuple[Any, ...]:
    """An outcome as it reads back from the database."""
    state, value, low, high, level, n, n_reference, unit, direction, reason, detail = _outcome(one)
    numbers = (None if number is None else float(number) for number in (value, low, high, level))
    return (
        *(one.method_version, state, *numbers, int(n)),
        *(None if n_reference is None else int(n_reference), unit, direction, reason),
        _lasting(json.loads(detail)),
    )


def _lasting(detail: Mapping[str, Any]) -> dict[str, Any]:
    """What of a detail makes it another one: not what only time passing changes."""
    return {name: value for name, value in detail.items() if name not in PASSING}


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
