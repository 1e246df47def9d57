"""Labels of one model, judged by its contract. Both JSON and Arrow bring theirs here. Pure.

What a value may be follows the task: binary true, false, 1 or 0 (or text, when the contract names
its positive class as text); multiclass text (numbers and booleans as their canonical text);
regression a finite number; ranking a finite number or text. A signal comes the same way under its
own name; its kind says what its value may be. What can't be read is rejected, never stored as
something else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.contract import Contract, Task
from monitor.intake.base import IntakeContext
from monitor.intake.columns import MAX_CATEGORY_LENGTH, canonical_text
from monitor.intake.envelope import TIME_REMEDY, Refusal, id_refusal, out_of_range
from monitor.intake.legs import is_leg
from monitor.intake.signal_values import read_signal, unknown_name
from monitor.intake.times import MICROSECOND, TimeFault, Times, micros_of
from monitor.records import LABEL_SCHEMA, LIVE_LEG, LabelBatch, Rejection, RejectionReason
from monitor.strictjson import storable

LABEL_FIELDS = ("request_id", "label", "value", "source", "observed_at", "event_time", "leg")
DEFAULT_SOURCE = "default"
MAX_SOURCE_LENGTH = 200

Describe = Callable[[int], tuple[str | None, str]]
Value = tuple[float | None, str | None]


@dataclass(frozen=True)
class LabelTimes:
    """One time field of n labels: what could be read, which rows have none, which no time."""

    times: Times
    missing: Sequence[bool]
    unreadable: Sequence[bool]


@dataclass(frozen=True)
class LabelParts:
    """n labels as sent. `refusals` names rows that failed before (not UTF-8, say)."""

    request_ids: Sequence[Any]
    names: Sequence[Any]
    values: Sequence[Any]
    sources: Sequence[Any]
    legs: Sequence[Any]
    observed: LabelTimes
    event: LabelTimes
    places: Sequence[int]
    describe: Describe
    refusals: dict[int, Refusal]


def judge_labels(parts: LabelParts, context: IntakeContext) -> LabelBatch:
    """The batch of the labels that can be stored, and a rejection for each other one."""
    read = label_reader(context.contract)
    refusals = dict(parts.refusals)
    kept: list[tuple[int, str, str, str, Value]] = []
    for row, request_id in enumerate(parts.request_ids):
        found = refusals.get(row) or id_refusal(request_id) or _time_refusal(parts, row, context)
        if found is None:
            judged = read(parts.names[row], parts.values[row], parts.sources[row], parts.legs[row])
            if not isinstance(judged, Refusal):
                kept.append((row, *judged))
                continue
            found = judged
        refusals[row] = found
    rejections = tuple(_rejection(parts, row, refusals[row]) for row in sorted(refusals))
    places: tuple[int, ...] | range = tuple(parts.places[row] for row, *_ in kept)
    if not refusals and isinstance(parts.places, range):
        places = parts.places
    return LabelBatch(_table(parts, kept, context), places, rejections)


def read_value(contract: Contract, value: Any) -> Value | Refusal:
    """A label's value as (number, None) or (None, text), by the contract's task."""
    if value is None:
        return Refusal(
            RejectionReason.MISSING_LABEL, "value is missing; a label says what was true"
        )
    wanted = _WANTED[contract.task]
    if contract.task is Task.BINARY and isinstance(_positive(contract), str):
        wanted = "text"
    if isinstance(value, str):
        return _text(value) if "text" in wanted else _refused(wanted)
    text = canonical_text(value)
    if text is None:  # not a finite number either
        return _refused(wanted)
    if wanted == "text":
        return _text(text)
    number = float(value) if len(text) < MAX_NUMBER_LENGTH else math.inf
    return (number, None) if _number_fits(value, number, wanted) else _refused(wanted)


def _number_fits(value: Any, number: float, wanted: str) -> bool:
    if wanted == _TRUTH:
        return number in (0.0, 1.0)
    return math.isfinite(number) and not isinstance(value, bool)


_TRUTH = "true, false, 1 or 0"
MAX_NUMBER_LENGTH = 300
_WANTED = {
    Task.BINARY: _TRUTH,
    Task.MULTICLASS: "text",
    Task.REGRESSION: "a number",
    Task.RANKING: "a number or text",
}


def _positive(contract: Contract) -> str | bool | None:
    return contract.label.positive if contract.label is not None else None


def _text(text: str) -> Value | Refusal:
    if len(text) > MAX_CATEGORY_LENGTH:
        return Refusal(RejectionReason.TOO_LONG, f"value has over {MAX_CATEGORY_LENGTH} characters")
    if not storable(text):
        return Refusal(
            RejectionReason.BAD_LABEL,
            "value holds U+0000 or a lone surrogate, which can't be stored",
        )
    return None, text


def _refused(wanted: str) -> Refusal:
    return Refusal(RejectionReason.BAD_LABEL, f"value is {wanted} for this model's labels")


def label_reader(
    contract: Contract,
) -> Callable[[Any, Any, Any, Any], tuple[str, str, str, Value] | Refusal]:
    """Judges name, value, source and leg of one label: the four as they are stored, or why not."""
    default = None if contract.label is None else contract.label.name
    signals = {signal.name: signal for signal in contract.signals}

    def read(name: Any, value: Any, source: Any, leg: Any) -> tuple[str, str, str, Value] | Refusal:
        chosen = default if name is None else name
        signal = signals.get(chosen) if isinstance(chosen, str) else None
        if chosen is None or (signal is None and chosen != default):
            return unknown_name(name, contract)
        if source is not None and not _usable(source):
            return Refusal(
                RejectionReason.BAD_LABEL, f"source is text of 1 to {MAX_SOURCE_LENGTH} characters"
            )
        if leg is not None and not (isinstance(leg, str) and is_leg(leg)):
            return Refusal(
                RejectionReason.BAD_LABEL, "leg is live, batch, shadow:NAME or replay:RUN"
            )
        judged = read_value(contract, value) if signal is None else read_signal(signal, value)
        if isinstance(judged, Refusal):
            return judged
        return chosen, source or DEFAULT_SOURCE, leg or LIVE_LEG, judged

    return read


def _usable(source: Any) -> bool:
    return isinstance(source, str) and 0 < len(source) <= MAX_SOURCE_LENGTH and storable(source)


def _time_refusal(parts: LabelParts, row: int, context: IntakeContext) -> Refusal | None:
    if parts.observed.missing[row]:
        return Refusal(RejectionReason.MISSING_TIME, "observed_at is missing")
    for name, field in (("observed_at", parts.observed), ("event_time", parts.event)):
        if field.missing[row]:
            continue
        fault = field.times.faults[row]
        if field.unreadable[row] or fault == TimeFault.BAD:
            return Refusal(RejectionReason.BAD_TIME, f"{name} {TIME_REMEDY}")
        if fault == TimeFault.WITHOUT_ZONE:
            return Refusal(
                RejectionReason.TIME_WITHOUT_ZONE, f"{name} has no zone; it {TIME_REMEDY}"
            )
        low, high = micros_of(context.earliest), micros_of(context.latest)
        if not low <= field.times.micros[row] < high:
            return out_of_range(name, context)
    return None


def _rejection(parts: LabelParts, row: int, refusal: Refusal) -> Rejection:
    request_id, excerpt = parts.describe(row)
    return Rejection(parts.places[row], refusal.reason, refusal.message, request_id, excerpt)


def _table(
    parts: LabelParts, kept: Sequence[tuple[int, str, str, str, Value]], context: IntakeContext
) -> pa.Table:
    n = len(kept)
    rows = np.array([row for row, *_ in kept], np.intp)
    no_time = np.array([parts.event.missing[row] for row in rows.tolist()], np.bool_)
    columns = {
        "project_id": pa.repeat(pa.scalar(context.project_id, pa.int32()), n),
        "model_id": pa.repeat(pa.scalar(context.model_id, pa.int32()), n),
        "label_name": pa.array([name for _, name, *_ in kept], pa.string()),
        "request_id": pa.array([parts.request_ids[row] for row in rows.tolist()], pa.string()),
        "source": pa.array([one[2] for one in kept], pa.string()),
        "observed_at": pa.array(parts.observed.times.micros[rows]).cast(MICROSECOND),
        "arrived_at": pa.repeat(pa.scalar(micros_of(context.received_at), pa.int64()), n).cast(
            MICROSECOND
        ),
        "event_time": pa.array(parts.event.times.micros[rows], mask=no_time).cast(MICROSECOND),
        "leg": pa.array([one[3] for one in kept], pa.string()),
        "value": pa.array([one[4][0] for one in kept], pa.float64()),
        "text": pa.array([one[4][1] for one in kept], pa.string()),
    }
    return pa.table(columns, schema=LABEL_SCHEMA)
