"""Labels as an Arrow IPC stream or as a table from a file. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from monitor.errors import RequestRefused
from monitor.intake.arrow_envelope import Getter, python_values, read_ids
from monitor.intake.arrow_requests import describer, getter
from monitor.intake.arrow_values import read_times
from monitor.intake.base import IntakeContext
from monitor.intake.envelope import Refusal
from monitor.intake.grid import is_null
from monitor.intake.ipc import read_stream, refuse_columns
from monitor.intake.labels import LABEL_FIELDS, LabelParts, LabelTimes, judge_labels
from monitor.intake.plain_labels import PlainColumns, plain_labels
from monitor.intake.times import Times
from monitor.records import LABEL_SCHEMA, LabelBatch, RejectionReason
from monitor.strictjson import visible


class ArrowLabels:
    """Labels in an Arrow IPC stream; columns have the names of a JSON record's keys."""

    def parse(self, body: bytes, context: IntakeContext) -> LabelBatch:
        """Every row ends as a row of the batch or as a rejection; places count rows from 0."""
        return labels_of_table(read_stream(body, context.max_records, context.max_bytes), context)


def labels_of_table(table: pa.Table, context: IntakeContext) -> LabelBatch:
    """The same for a table that is already in memory."""
    refuse_columns(table.schema)
    unknown = sorted(set(table.column_names) - set(LABEL_FIELDS))
    if unknown:
        raise RequestRefused(
            422,
            "unknown_columns",
            f"unknown column {visible(unknown[0], 80)!r}; labels have {', '.join(LABEL_FIELDS)}",
        )
    if table.num_rows == 0:
        return LabelBatch(LABEL_SCHEMA.empty_table(), ())
    get = getter(table, context.max_bytes)
    batch = _plain_batch(get, context)
    return batch if batch is not None else judge_labels(_parts(table, get), context)


def _plain_batch(get: Getter, context: IntakeContext) -> LabelBatch | None:
    refusals: dict[int, Refusal] = {}
    ids = read_ids("request_id", *get("request_id"), refusals)
    observed, event = _times(get, "observed_at", refusals), _times(get, "event_time", refusals)
    if refusals or any(len(get(name)[1]) for name in _JUDGED):
        return None
    names, values, sources, legs = (get(name)[0] for name in _JUDGED)
    return plain_labels(PlainColumns(ids, names, values, sources, legs, observed, event), context)


def _parts(table: pa.Table, get: Getter) -> LabelParts:
    refusals: dict[int, Refusal] = {}
    ids = read_ids("request_id", *get("request_id"), refusals)
    values = [_values(get, name, refusals) for name in _JUDGED]
    return LabelParts(
        request_ids=ids.to_pylist(),
        names=values[0],
        values=values[1],
        sources=values[2],
        legs=values[3],
        observed=_times(get, "observed_at", refusals),
        event=_times(get, "event_time", refusals),
        places=range(table.num_rows),
        describe=describer(table, ids),
        refusals=refusals,
    )


_JUDGED = ("label", "value", "source", "leg")


def _values(get: Getter, name: str, refusals: dict[int, Refusal]) -> list[Any]:
    array, broken = get(name)
    for row in broken.tolist():
        refusals.setdefault(row, Refusal(RejectionReason.BAD_LABEL, f"{name} is not UTF-8 text"))
    return python_values(array)


def _times(get: Getter, name: str, refusals: dict[int, Refusal]) -> LabelTimes:
    array, broken = get(name)
    for row in broken.tolist():
        refusals.setdefault(row, Refusal(RejectionReason.BAD_TIME, f"{name} is not UTF-8 text"))
    missing = is_null(array)
    times = read_times(array)
    if times is None:
        nothing = Times(np.zeros(len(array), "i8"), np.zeros(len(array), "u1"))
        return LabelTimes(nothing, missing.tolist(), (~missing).tolist())
    return LabelTimes(times, missing.tolist(), [False] * len(array))


ARROW_LABELS = ArrowLabels()
