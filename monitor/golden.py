"""A golden set: inputs with expected outputs and tolerances, to be answered by any deployment.

Pure values with their stored form. Reading a YAML file with line numbers is golden_file's work.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from monitor.contract import Column, ColumnRole, ColumnType, Contract

NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_REQUEST_ID = re.compile(
    rf"({NAME_PATTERN})@([0-9]{{1,9}})/({NAME_PATTERN})#([0-9]{{1,6}})", re.ASCII
)
_INPUT_ROLES = frozenset(
    {ColumnRole.FEATURE, ColumnRole.SEGMENT, ColumnRole.ENTITY, ColumnRole.PARENT,
     ColumnRole.WEIGHT}
)  # fmt: skip
_LATER_ROLES = frozenset({ColumnRole.TIMING, ColumnRole.HUMAN_ACTION, ColumnRole.USER_IMPACT})
NUMERIC_TYPES = frozenset(
    {ColumnType.NUMBER, ColumnType.INTEGER, ColumnType.VECTOR, ColumnType.CLASS_SCORES}
)
_ANSWER_TYPES = frozenset({ColumnType.CLASS_SCORES, ColumnType.RANKED_LIST})


class CaseKind(StrEnum):
    """Why a case is in the set. Every boundary and high-impact case must pass."""

    REPRESENTATIVE = "representative"
    BOUNDARY = "boundary"
    MALFORMED = "malformed"
    HIGH_IMPACT = "high_impact"


STRICT_KINDS = frozenset({CaseKind.BOUNDARY, CaseKind.HIGH_IMPACT})


class ExpectedOutcome(StrEnum):
    """How a request must end when no output is expected."""

    REFUSED = "refused"
    FAILED = "failed"
    ABSTAINED = "abstained"


@dataclass(frozen=True)
class Allowed:
    """How far a number may be from what is expected: absolute + relative · |expected|."""

    absolute: float = 0.0
    relative: float = 0.0

    def to_json(self) -> dict[str, float]:
        return {"absolute": self.absolute, "relative": self.relative}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Allowed:
        return cls(float(value["absolute"]), float(value["relative"]))


@dataclass(frozen=True)
class GoldenCase:
    """One input and what must come back: output columns, or how the request must end."""

    id: str
    kind: CaseKind
    inputs: Mapping[str, Any]
    expected: Mapping[str, Any] = field(default_factory=dict)
    outcome: ExpectedOutcome | None = None
    tolerances: Mapping[str, Allowed] = field(default_factory=dict)
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind.value,
            "inputs": dict(self.inputs),
            "expected": dict(self.expected),
            "outcome": self.outcome.value if self.outcome else None,
            "tolerances": {name: one.to_json() for name, one in self.tolerances.items()},
            "why": self.why,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> GoldenCase:
        return cls(
            id=value["id"],
            kind=CaseKind(value["kind"]),
            inputs=value["inputs"],
            expected=value["expected"],
            outcome=ExpectedOutcome(value["outcome"]) if value["outcome"] else None,
            tolerances={k: Allowed.from_json(v) for k, v in value["tolerances"].items()},
            why=value["why"],
        )


@dataclass(frozen=True)
class GoldenSet:
    """The cases of one model; `required_share` of representative and malformed ones must pass."""

    name: str
    model: str
    cases: tuple[GoldenCase, ...]
    tolerances: Mapping[str, Allowed] = field(default_factory=dict)
    required_share: float = 1.0
    why: str = ""

    def allowed(self, case: GoldenCase, column: str) -> Allowed:
        """The tolerance of a column: the case's own, else the set's; nothing is allowed else."""
        own = case.tolerances.get(column) or self.tolerances.get(column)
        return own if own is not None else Allowed()

    def to_json(self) -> dict[str, Any]:
        """The stored form, which `from_json` reads back."""
        return {
            "name": self.name,
            "model": self.model,
            "why": self.why,
            "required_share": self.required_share,
            "tolerances": {name: one.to_json() for name, one in self.tolerances.items()},
            "cases": [case.to_json() for case in self.cases],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> GoldenSet:
        return cls(
            name=value["name"],
            model=value["model"],
            why=value["why"],
            required_share=float(value["required_share"]),
            tolerances={k: Allowed.from_json(v) for k, v in value["tolerances"].items()},
            cases=tuple(GoldenCase.from_json(case) for case in value["cases"]),
        )

    def digest(self) -> str:
        """SHA-256 of the content: equal content is the same version."""
        text = json.dumps(self.to_json(), sort_keys=True, ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class CaseKey:
    """Which case of which version of which set a replayed request answers, and which repeat."""

    set_name: str
    version: int
    case_id: str
    repeat: int

    @property
    def request_id(self) -> str:
        """SET@VERSION/CASE#REPEAT."""
        return f"{self.set_name}@{self.version}/{self.case_id}#{self.repeat}"

    @classmethod
    def of(cls, request_id: str) -> CaseKey | None:
        """The key that a request id names, None when it is no id of a golden case."""
        found = _REQUEST_ID.fullmatch(request_id)
        return cls(found[1], int(found[2]), found[3], int(found[4])) if found else None


def replay_leg(run: str) -> str:
    """The leg that a replay's answers are stored on."""
    return f"replay:{run}"


def output_columns(contract: Contract) -> tuple[Column, ...]:
    """Columns that a model answers: prediction, score, class scores, ranked lists, flags, ….

    Timestamps are none: nothing here compares them.
    """
    return tuple(
        column
        for column in contract.columns
        if column.role not in _LATER_ROLES
        and column.type is not ColumnType.TIMESTAMP
        and (column.role not in _INPUT_ROLES or column.type in _ANSWER_TYPES)
    )


def numeric_outputs(contract: Contract) -> tuple[str, ...]:
    """Names of the output columns that hold numbers, for which a tolerance means something."""
    return tuple(c.name for c in output_columns(contract) if c.type in NUMERIC_TYPES)


def input_columns(contract: Contract) -> tuple[Column, ...]:
    """Columns that a request brings: features, segments, entity, parent and weight."""
    answered = {column.name for column in output_columns(contract)}
    return tuple(
        column
        for column in contract.columns
        if column.role in _INPUT_ROLES and column.name not in answered
    )
