"""A producer's records into the request records of one model's contract. Pure.

A column is filled from the first of these that says something:

1. its embedding of a text, where the collector computes one;
2. its `taken_from`, a place in the record: `inputs.NAME`, `outputs.NAME`, `fields.NAME` or
   `attributes.NAME`, deeper by further dots (`outputs.probabilities.1`);
3. its `field`, or its own name where that is a standard field, in the column's unit;
4. an input, output or attribute of its own name;
5. for features, an unnamed input by its position, where the payload has as many values as the
   contract has features (or features that are no standard field); for the prediction or the
   score, an output that is the only one.

Inputs that no column takes stay in the record under their names, so that they are counted as
columns that the contract does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from monitor.contract import Column, ColumnRole, Contract
from monitor.fields import StandardField, standard_field, unit_factor
from monitor.intake.producer_record import ProducerRecord
from monitor.intake.text_cells import TextCell, typed_cell
from monitor.intake.text_signals import text_signals
from monitor.records import RequestOutcome

_ABSENT = object()
_OUTPUT_ROLES = frozenset({ColumnRole.PREDICTION, ColumnRole.SCORE})


def to_request(
    record: ProducerRecord,
    contract: Contract,
    tags: Mapping[str, str] | None = None,
    vectors: Mapping[str, Sequence[float]] | None = None,
) -> dict[str, Any]:
    """The record as a producer of our own format would send it; absent values are left out.

    `vectors`: embeddings of its texts, by the columns that take them.
    """
    told: dict[str, Any] = {
        "request_id": record.request_id,
        "event_time": None if record.event_time is None else record.event_time.isoformat(),
        "outcome": record.outcome.name.lower(),
    }
    if record.outcome_reason:
        told["outcome_reason"] = record.outcome_reason[:512]
    if tags:
        told["tags"] = dict(tags)
    refusals = contract.language.refusals if contract.language is not None else ()
    signals = text_signals(record.fields, refusals)
    if signals:
        record = replace(record, fields={**record.fields, **signals})
    taken: set[str] = set()
    features = _positions(record.inputs, contract)
    only_output = _only_output(record.outputs, contract)
    for column in contract.columns:
        value = (vectors or {}).get(column.name, _ABSENT)
        if value is _ABSENT:
            value = _value(record, column, taken)
        if value is _ABSENT and column.name in features:
            value = record.inputs[features[column.name]]
            taken.add(features[column.name])
        if value is _ABSENT and column.name == only_output:
            value = next(iter(record.outputs.values()))
        if value is not _ABSENT:
            told[column.name] = typed_cell(value, column) if isinstance(value, TextCell) else value
        if column.embedding is not None and column.embedding.of.startswith("inputs."):
            _at(record, column.embedding.of, taken)
    for name, value in record.inputs.items():
        if name not in taken and name not in told:
            told[name] = typed_cell(value, None) if isinstance(value, TextCell) else value
    if record.outcome is RequestOutcome.ANSWERED:
        del told["outcome"]
    return told


def _value(record: ProducerRecord, column: Column, taken: set[str]) -> Any:
    if column.taken_from is not None:
        return _at(record, column.taken_from, taken)
    wanted = field_of(column)
    if wanted is not None and wanted.name in record.fields:
        return in_unit(record.fields[wanted.name], wanted, column.unit)
    for part in (record.inputs, record.outputs, record.attributes):
        if column.name in part:
            if part is record.inputs:
                taken.add(column.name)
            return part[column.name]
    return _ABSENT


def text_at(record: ProducerRecord, place: str) -> str | None:
    """The text of a standard field or at a place of a record; None where there is none."""
    value = record.fields.get(place, _ABSENT)
    if value is _ABSENT and "." in place:
        value = _at(record, place, set())
    return value if isinstance(value, str) and value.strip() else None


def field_of(column: Column) -> StandardField | None:
    """The standard field that a column holds: the one it names, or the one of its own name."""
    return standard_field(column.field or column.name)


def in_unit(value: Any, wanted: StandardField, unit: str | None) -> Any:
    """A field's value in a column's unit; values that are no numbers stay as they are."""
    factor = unit_factor(wanted, unit)
    if factor is None or factor == 1.0 or isinstance(value, bool):
        return value
    return value / factor if isinstance(value, (int, float)) else value


def _at(record: ProducerRecord, place: str, taken: set[str]) -> Any:
    part, _, rest = place.partition(".")
    value: Any = getattr(record, part)
    if part == "inputs":
        taken.update(name for name in record.inputs if rest == name or rest.startswith(f"{name}."))
    return _deeper(value, rest)


def _deeper(value: Any, rest: str) -> Any:
    """The value at a dotted place; names that hold dots themselves are tried whole first."""
    if not rest:
        return value
    if isinstance(value, Mapping):
        if rest in value:
            return value[rest]
        for end in (place for place, sign in enumerate(rest) if sign == "."):
            if rest[:end] in value:
                found = _deeper(value[rest[:end]], rest[end + 1 :])
                if found is not _ABSENT:
                    return found
        return _ABSENT
    head, _, tail = rest.partition(".")
    if isinstance(value, Sequence) and not isinstance(value, str) and head.isdigit():
        return _deeper(value[int(head)], tail) if int(head) < len(value) else _ABSENT
    return _ABSENT


def _positions(inputs: Mapping[str, Any], contract: Contract) -> dict[str, str]:
    """Feature columns by the position of an unnamed input; empty when the counts differ.

    Features that are standard fields (`variant`) need not be among the inputs.
    """
    if not inputs or any(name != str(place) for place, name in enumerate(inputs)):
        return {}
    for features in _features(contract):
        if len(features) == len(inputs):
            return {column: str(place) for place, column in enumerate(features)}
    return {}


@lru_cache(maxsize=256)
def _features(contract: Contract) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of features that no place is given for: all, and those that are no standard field."""
    free = [c for c in contract.with_role(ColumnRole.FEATURE) if c.taken_from is None]
    return tuple(c.name for c in free), tuple(c.name for c in free if field_of(c) is None)


def _only_output(outputs: Mapping[str, Any], contract: Contract) -> str | None:
    """The one column that an only output fills: the prediction, or the score without one."""
    if len(outputs) != 1:
        return None
    wanted = [c for c in contract.columns if c.role in _OUTPUT_ROLES and c.taken_from is None]
    named = [c for c in wanted if c.role is ColumnRole.PREDICTION] or wanted
    return named[0].name if len(named) == 1 else None
