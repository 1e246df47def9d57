"""How a case is written for a model server, and how its answer is read. Pure.

Two forms: a plain JSON object in and out, and the Open Inference Protocol, version 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from monitor.contract import Column, ColumnRole, ColumnType, Contract
from monitor.golden import output_columns
from monitor.intake.columns import coerce
from monitor.strictjson import HugeInteger

_DATATYPES = {
    ColumnType.NUMBER: "FP64",
    ColumnType.VECTOR: "FP64",
    ColumnType.CLASS_SCORES: "FP64",
    ColumnType.INTEGER: "INT64",
    ColumnType.BOOLEAN: "BOOL",
}
_OTHER_ROLES = frozenset({ColumnRole.TIMING, ColumnRole.COUNT, ColumnRole.COST, ColumnRole.FLAG})
_SAID = ("abstained", "refused", "failed")


class WireForm(StrEnum):
    """How a model server is spoken to."""

    JSON = "json"
    V2 = "v2"


class MalformedAnswer(Exception):
    """The server's answer can't be used; the text says why."""


@dataclass(frozen=True)
class Answered:
    """What a server said: columns of the contract, or that there is no answer."""

    outputs: Mapping[str, Any] = field(default_factory=dict)
    outcome: str = "answered"
    reason: str | None = None


@dataclass(frozen=True)
class Wire:
    """One server's form. `renames` maps its output names to columns of the contract."""

    form: WireForm
    contract: Contract
    renames: Mapping[str, str] = field(default_factory=dict)

    def url(self, given: str) -> str:
        """The address to send to: for V2 without a path, that of the model."""
        bare = given.rstrip("/")
        if self.form is WireForm.V2 and bare.count("/") == 2:
            return f"{bare}/v2/models/{self.contract.model}/infer"
        return given

    def body(self, request_id: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON body of a case. A null is left out in V2, whose tensors can't hold one."""
        columns = {column.name: column for column in self.contract.columns}
        # In the contract's order, which a server that reads by place may rely on.
        ordered = {name: inputs[name] for name in columns if name in inputs} | dict(inputs)
        if self.form is WireForm.JSON:
            return ordered
        tensors = [
            _tensor(name, columns.get(name), value)
            for name, value in ordered.items()
            if value is not None
        ]
        return {"id": request_id, "inputs": tensors}

    def read(self, payload: Any, needed: frozenset[str]) -> Answered:
        """A body's JSON value as answer; `needed` outputs must be there.

        Raises MalformedAnswer when it is no answer: not an object, no output column, a needed one
        missing, a value of another type, NaN or infinity.
        """
        if not isinstance(payload, Mapping):
            raise MalformedAnswer("is not a JSON object")
        said = payload.get("outcome")
        if said in _SAID and self.form is WireForm.JSON:
            reason = payload.get("outcome_reason") or payload.get("reason")
            return Answered(outcome=str(said), reason=str(reason) if reason else None)
        named = dict(payload) if self.form is WireForm.JSON else _v2_outputs(payload)
        named = {self.renames.get(name, name): value for name, value in named.items()}
        outputs = {column.name for column in output_columns(self.contract)}
        found = self._columns(named)
        missing = sorted(name for name in needed if found.get(name) is None)
        there = sorted(name for name in outputs if found.get(name) is not None)
        if not there:
            if outputs & set(named):
                return Answered(found, "abstained", "every output is null")
            told = ", ".join(sorted(map(str, named))[:10]) or "nothing"
            raise MalformedAnswer(f"has no output column of the contract; it holds {told}")
        if missing:
            raise MalformedAnswer(f"lacks {', '.join(missing)}")
        return Answered(found)

    def _columns(self, named: Mapping[str, Any]) -> dict[str, Any]:
        """Outputs, timings, counts, costs and flags that the contract knows, checked."""
        wanted = {column.name: column for column in output_columns(self.contract)}
        wanted |= {c.name: c for c in self.contract.columns if c.role in _OTHER_ROLES}
        found = {}
        for name, value in named.items():
            if name in wanted:
                found[name] = _checked(wanted[name], _single(wanted[name], value))
        return found


def _tensor(name: str, column: Column | None, value: Any) -> dict[str, Any]:
    values = value if isinstance(value, list) else [value]
    kind = _DATATYPES.get(column.type, "BYTES") if column is not None else _guessed(values)
    if kind != "BYTES" and column is not None and coerce(column, value).value is None:
        kind = _guessed(values)  # a malformed value goes as what it is
    if kind == "BYTES":
        values = [each if isinstance(each, str) else str(each) for each in values]
    return {"name": name, "shape": [1, len(values)], "datatype": kind, "data": values}


def _guessed(values: list[Any]) -> str:
    if all(isinstance(each, bool) for each in values):
        return "BOOL"
    numeric = all(isinstance(each, int | float) and not isinstance(each, bool) for each in values)
    return "FP64" if numeric and values else "BYTES"


def _v2_outputs(payload: Mapping[str, Any]) -> dict[str, Any]:
    outputs = payload.get("outputs")
    if not isinstance(outputs, list):
        raise MalformedAnswer("has no list `outputs`")
    found: dict[str, Any] = {}
    for each in outputs:
        name = each.get("name") if isinstance(each, Mapping) else None
        if not isinstance(name, str) or not isinstance(each.get("data"), list):
            raise MalformedAnswer("holds an output without name or data")
        found[name] = _flat(each["data"])
    return found


def _flat(values: list[Any]) -> list[Any]:
    """Nested rows as one list; a tensor is the same with and without its shape."""
    while any(isinstance(value, list) for value in values):
        values = [
            inner for value in values for inner in (value if isinstance(value, list) else [value])
        ]
    return values


def _single(column: Column, value: Any) -> Any:
    """A list of one as its value, where the column holds one."""
    lists = (ColumnType.VECTOR, ColumnType.CLASS_SCORES, ColumnType.RANKED_LIST)
    if isinstance(value, list) and len(value) == 1 and column.type not in lists:
        return value[0]
    return value


def _checked(column: Column, value: Any) -> Any:
    if value is None:
        return None
    kept = coerce(column, value)
    if kept.value is None and kept.reason is not None:
        raise MalformedAnswer(f"{column.name} is {kept.reason.name.lower().replace('_', ' ')}")
    if isinstance(value, HugeInteger):
        return kept.value
    if isinstance(value, float) and not math.isfinite(value):
        raise MalformedAnswer(f"{column.name} is not a number")
    return value
