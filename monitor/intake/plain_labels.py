"""Labels of a body in which nothing is wrong, judged a distinct value at a time. Pure.

Most bodies hold few different names, values, sources and legs, and readable times: each different
one is judged once, by the very rules that judge a single label. Where anything at all is in doubt
the answer is None, and the body is judged label by label (`judge_labels`), which finds the reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.intake.arrow_values import byte_lengths, is_text, rows_longer_than, rows_with_nul
from monitor.intake.base import IntakeContext
from monitor.intake.envelope import Refusal
from monitor.intake.labels import LabelTimes, label_reader
from monitor.intake.times import MICROSECOND, micros_of
from monitor.records import LABEL_SCHEMA, MAX_ID_LENGTH, LabelBatch

FEW = 1_000
"""So many different values are judged one by one; of more, numbers are judged by their range."""

Judged = tuple[str, str, str, tuple[float | None, str | None]]
Reader = Callable[[Any, Any, Any, Any], Judged | Refusal]
Places = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class PlainColumns:
    """n labels as sent, a column each; a column that nobody sent is null throughout."""

    request_ids: pa.Array
    names: pa.Array
    values: pa.Array
    sources: pa.Array
    legs: pa.Array
    observed: LabelTimes
    event: LabelTimes


@dataclass(frozen=True)
class _Distinct:
    """The different values of a column, None among them, and the place of each row's value."""

    values: list[Any]
    places: Places


def plain_labels(columns: PlainColumns, context: IntakeContext) -> LabelBatch | None:
    """The batch when every label can be stored, None when one may not."""
    if not _ids_are_good(columns.request_ids) or not _times_are_good(columns, context):
        return None
    texts = [_distinct_texts(one) for one in (columns.names, columns.sources, columns.legs)]
    if any(one is None for one in texts):
        return None
    names, sources, legs = (one for one in texts if one is not None)
    read = label_reader(context.contract)
    judged = _judge_values(columns.values, names, read)
    if judged is None:
        return None
    values, sample = judged
    by_source = _accepted(read(*sample, source, None) for source in sources.values)
    by_leg = _accepted(read(*sample, None, leg) for leg in legs.values)
    if by_source is None or by_leg is None:
        return None
    labels = {
        "source": _taken([one[1] for one in by_source], sources),
        "leg": _taken([one[2] for one in by_leg], legs),
        **values,
    }
    return _batch(columns, labels, context)


def _accepted(judged: Iterable[Judged | Refusal]) -> list[Judged] | None:
    """All of them, None when one was refused."""
    found: list[Judged] = []
    for one in judged:
        if isinstance(one, Refusal):
            return None
        found.append(one)
    return found


def _ids_are_good(ids: pa.Array) -> bool:
    if not is_text(ids.type) or ids.null_count or not byte_lengths(ids).all():
        return False
    return not len(rows_longer_than(ids, MAX_ID_LENGTH)) and not len(rows_with_nul(ids))


def _times_are_good(columns: PlainColumns, context: IntakeContext) -> bool:
    low, high = micros_of(context.earliest), micros_of(context.latest)
    if any(columns.observed.missing):
        return False
    for field in (columns.observed, columns.event):
        micros, there = field.times.micros, ~np.asarray(field.missing, np.bool_)
        inside = (micros >= low) & (micros < high) & (field.times.faults == 0)
        if any(field.unreadable) or not inside[there].all():
            return False
    return True


def _distinct_texts(array: pa.Array) -> _Distinct | None:
    if array.null_count == len(array):
        return _Distinct([None], np.zeros(len(array), np.int64))
    return _distinct(array) if is_text(array.type) else None


def _distinct(array: pa.Array) -> _Distinct:
    encoded = array.dictionary_encode(null_encoding="encode")
    places = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return _Distinct(encoded.dictionary.to_pylist(), places)


def _judge_values(
    values: pa.Array, names: _Distinct, read: Reader
) -> tuple[dict[str, pa.Array], tuple[Any, Any]] | None:
    """The columns that name and value give, and one good pair of them."""
    kind = values.type
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if values.null_count or not (number or pa.types.is_boolean(kind) or is_text(kind)):
        return None
    if number and len(names.values) == 1 and pc.count_distinct(values).as_py() > FEW:
        return _judge_range(values, names.values[0], read)
    found = _distinct(values)
    width = len(found.values)
    pairs, places = np.unique(names.places * width + found.places, return_inverse=True)
    sent = [(names.values[pair // width], found.values[pair % width]) for pair in pairs.tolist()]
    judged = _accepted(read(name, value, None, None) for name, value in sent)
    if judged is None:
        return None
    columns = {
        "label_name": pa.array([one[0] for one in judged], pa.string()),
        "value": pa.array([one[3][0] for one in judged], pa.float64()),
        "text": pa.array([one[3][1] for one in judged], pa.string()),
    }
    return {name: column.take(pa.array(places)) for name, column in columns.items()}, sent[0]


def _judge_range(
    values: pa.Array, name: Any, read: Reader
) -> tuple[dict[str, pa.Array], tuple[Any, Any]] | None:
    """Many different numbers: good when the least, the middle one and the largest are.

    A number must be finite and in a range, or one of two, and the middle one of many never is that.
    """
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    different = np.unique(numbers)  # NaN would come last
    some = [float(different[place]) for place in (0, len(different) // 2, -1)]
    judged = _accepted(read(name, value, None, None) for value in some)
    if judged is None or any(one[3][1] is not None for one in judged):
        return None
    n = len(values)
    columns = {
        "label_name": pa.repeat(pa.scalar(judged[0][0]), n),
        "value": pa.array(numbers),
        "text": pa.nulls(n, pa.string()),
    }
    return columns, (name, some[0])


def _taken(values: Sequence[str], found: _Distinct) -> pa.Array:
    return pa.array(values, pa.string()).take(pa.array(found.places))


def _batch(
    columns: PlainColumns, labels: dict[str, pa.Array], context: IntakeContext
) -> LabelBatch:
    n = len(columns.request_ids)
    no_time = np.asarray(columns.event.missing, np.bool_)
    arrived = pa.repeat(pa.scalar(micros_of(context.received_at), pa.int64()), n)
    found = {
        "project_id": pa.repeat(pa.scalar(context.project_id, pa.int32()), n),
        "model_id": pa.repeat(pa.scalar(context.model_id, pa.int32()), n),
        "request_id": columns.request_ids,
        "observed_at": pa.array(columns.observed.times.micros).cast(MICROSECOND),
        "arrived_at": arrived.cast(MICROSECOND),
        "event_time": pa.array(columns.event.times.micros, mask=no_time).cast(MICROSECOND),
        **labels,
    }
    table = pa.table({name: found[name] for name in LABEL_SCHEMA.names}, schema=LABEL_SCHEMA)
    return LabelBatch(table, range(n))
