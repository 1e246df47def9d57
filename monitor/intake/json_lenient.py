"""Records that the typed reader refused, read value by value, each column by itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from monitor.intake.columns import coerce
from monitor.intake.envelope import (
    ENVELOPE_FIELDS,
    MAX_OUTCOME_REASON_LENGTH,
    OUTCOMES,
    Refusal,
    id_refusal,
    outcome_refusal,
    time_refusal,
)
from monitor.intake.plan import SERVED, ColumnPlan, RowPlan
from monitor.records import RejectionReason, RequestOutcome, ViolationReason
from monitor.strictjson import JsonFault, StrictJsonError, loads, storable

MAX_UNKNOWN_PER_RECORD = 20
_ENVELOPE = frozenset(ENVELOPE_FIELDS)
_FAULTS = {JsonFault.TOO_DEEP: RejectionReason.TOO_DEEP}


@dataclass
class Notes:
    """Violations found while reading, by row of the rows read so far."""

    cells: list[tuple[int, ColumnPlan, ViolationReason, Any]] = field(default_factory=list)
    absent: list[tuple[int, ColumnPlan, ViolationReason]] = field(default_factory=list)
    outside: list[tuple[int, str, ViolationReason, Any]] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not (self.cells or self.absent or self.outside)


def parse_one(text: bytes) -> Any | Refusal:
    """One JSON value, or why it can't be read."""
    try:
        return loads(text)
    except StrictJsonError as error:
        reason = _FAULTS.get(error.fault, RejectionReason.UNREADABLE)
        return Refusal(reason, str(error))


def read_record(value: Any, plan: RowPlan, row: int, notes: Notes) -> tuple[Any, ...] | Refusal:
    """The record as a row (envelope fields, then columns, None = NULL), or why it is refused."""
    if not isinstance(value, Mapping):
        return Refusal(RejectionReason.NOT_AN_OBJECT, "a record is a JSON object {...}")
    refusal = (
        id_refusal(value.get("request_id"))
        or time_refusal(value.get("event_time"))
        or outcome_refusal(value.get("outcome"))
    )
    if refusal is not None:
        return refusal
    outcome = value.get("outcome")
    served = outcome is None or RequestOutcome(OUTCOMES[outcome]) in SERVED
    cells = [_cell(value, column, row, served, notes) for column in plan.columns]
    _note_unknown(value, plan, row, notes)
    return (
        value["request_id"],
        value["event_time"],
        value.get("deployment"),
        value.get("tags"),
        outcome,
        _outcome_reason(value.get("outcome_reason"), row, notes),
        *cells,
    )


def outcome_reason_violation(value: Any) -> ViolationReason | None:
    """What is wrong with an outcome reason; such a reason is left out, the record is kept."""
    if not isinstance(value, str):
        return ViolationReason.WRONG_TYPE
    if len(value) > MAX_OUTCOME_REASON_LENGTH:
        return ViolationReason.TOO_LONG
    return None if storable(value) else ViolationReason.UNSTORABLE_TEXT


def _outcome_reason(value: Any, row: int, notes: Notes) -> str | None:
    reason = None if value is None else outcome_reason_violation(value)
    if reason is None:
        return value  # type: ignore[no-any-return]
    notes.outside.append((row, "outcome_reason", reason, value))
    return None


def _cell(record: Mapping[str, Any], plan: ColumnPlan, row: int, served: bool, notes: Notes) -> Any:
    value = record.get(plan.name)
    if value is None:
        excused = plan.column.nullable or (plan.excused_when_not_served and not served)
        if not excused:
            missing = plan.name not in record
            reason = ViolationReason.MISSING if missing else ViolationReason.NULL
            notes.absent.append((row, plan, reason))
        return None
    read = coerce(plan.column, value)
    if read.reason is not None:
        notes.cells.append((row, plan, read.reason, value))
    return read.value


def _note_unknown(record: Mapping[str, Any], plan: RowPlan, row: int, notes: Notes) -> None:
    unknown = record.keys() - plan.by_name.keys() - _ENVELOPE
    for name in sorted(unknown)[:MAX_UNKNOWN_PER_RECORD]:
        notes.outside.append((row, name, ViolationReason.UNKNOWN_COLUMN, record[name]))
