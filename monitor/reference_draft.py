"""A first draft of a contract from reference rows: types and roles, and comments on what was seen.

A draft makes no rule out of what happened to be seen: ranges and categories stand in comments, for
a person to confirm. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from monitor.contract import (
    RESERVED_NAMES,
    Column,
    ColumnRole,
    ColumnType,
    Contract,
    Task,
)
from monitor.contract_base import MAX_NAME_LENGTH
from monitor.contract_file import COLUMNS, HEAD, LABEL, column_place, inline
from monitor.errors import ConfigurationError, Problem
from monitor.reference_columns import Seen, look_at

FILL_IN = "FILL IN"
_LABEL = re.compile(
    r"label|target|y|y_true|truth|ground_truth|actual|actual_value|.*_(label|target|truth|actual)"
)
_SCORE = re.compile(r"(.*_)?(score|prob|proba|probability|confidence)(_.*)?")
_PREDICTION = re.compile(r"prediction|predicted|pred|y_pred|y_hat|decision|pred(icted)?_.*|.*_pred")
_IDENTIFIER = re.compile(r"(.*_)?(id|uuid|guid|key)")
_CLASSES_OF_SCORES = 2


@dataclass
class _Draft:
    """What the draft consists of so far."""

    columns: list[Column] = field(default_factory=list)
    comments: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def has(self, role: ColumnRole) -> bool:
        return any(column.role is role for column in self.columns)


def draft_contract(table: pa.Table, model: str) -> tuple[Contract, dict[str, str]]:
    """A contract for rows like these, and comments for `write_contract`.

    Request ids and event times belong to the envelope and are left out, as are columns that look
    like labels and those of a type that no column can have; a comment says so. Raises
    ConfigurationError when no column is left, or the model's name can't be used.
    """
    draft = _Draft()
    for name in table.column_names:
        _take(draft, name, table.column(name))
    if not draft.columns:
        why = "; ".join(draft.left_out) or "it has none"
        raise ConfigurationError("reference", [Problem("file", f"no column can be used: {why}")])
    task, because = _task(draft, table)
    draft.comments[HEAD] = _head(table, because)
    draft.comments[COLUMNS] = "\n".join(
        ["What was seen stands above each column. A range or categories make a rule of it:",
         "whatever is outside is then counted as a violation.", *draft.left_out]
    )  # fmt: skip
    draft.comments[LABEL] = _label_comment(draft.labels)
    contract = _checked(model, task, draft.columns)
    return contract, draft.comments


def model_name(text: str) -> str:
    """A model's name made from another name, such as that of a file."""
    name = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")[:55]
    return name or "model"


def _checked(model: str, task: Task, columns: list[Column]) -> Contract:
    if model != model_name(model):
        what = f"{model!r} can't be a model's name; write for example {model_name(model)!r}"
        raise ConfigurationError("command", [Problem("--model", what)])
    return Contract(model=model, owner=FILL_IN, purpose=FILL_IN, task=task, columns=tuple(columns))


def _take(draft: _Draft, name: str, values: pa.ChunkedArray) -> None:
    low = name.lower()
    if name in RESERVED_NAMES:
        draft.left_out.append(f"{name}: left out, requests carry it in their envelope.")
    elif not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        draft.left_out.append(f"{name[:40]!r}: left out, no usable name for a column.")
    elif _LABEL.fullmatch(low):
        draft.labels.append(name)
        draft.left_out.append(f"{name}: left out, it looks like a label (it is sent later).")
    else:
        seen = look_at(values)
        if seen.type is None:
            draft.left_out.append(f"{name}: left out, {seen.note}.")
            return
        role = _role(draft, low, seen)
        draft.columns.append(_column(name, seen, role))
        draft.comments[column_place(name)] = "\n".join(_told(low, seen, role))


def _role(draft: _Draft, name: str, seen: Seen) -> ColumnRole:
    if (
        seen.type is ColumnType.NUMBER
        and _SCORE.fullmatch(name)
        and seen.lies_within(0.0, 1.0)
        and not draft.has(ColumnRole.SCORE)
    ):
        return ColumnRole.SCORE
    scalar = seen.type not in (ColumnType.VECTOR, ColumnType.RANKED_LIST, ColumnType.TEXT)
    if _PREDICTION.fullmatch(name) and scalar and not draft.has(ColumnRole.PREDICTION):
        return ColumnRole.PREDICTION
    return ColumnRole.FEATURE


def _column(name: str, seen: Seen, role: ColumnRole) -> Column:
    if seen.type is None:
        raise AssertionError("columns without a type are left out before")
    return Column(
        name=name,
        type=seen.type,
        role=role,
        range=(0.0, 1.0) if role is ColumnRole.SCORE else None,
        size=seen.size,
        nullable=seen.missing > 0,
    )


def _told(name: str, seen: Seen, role: ColumnRole) -> Iterator[str]:
    yield seen.sentence()
    if seen.low is not None and role is not ColumnRole.SCORE and seen.is_numeric:
        yield f"range: {inline([seen.low, seen.high])}"
    if seen.values:
        yield f"categories: {inline(list(seen.values))}"
    if seen.note:
        yield f"Look: {seen.note}."
    if _IDENTIFIER.fullmatch(name) and role is ColumnRole.FEATURE:
        yield "Look: if this names a person or thing, set type category and role entity."


def _task(draft: _Draft, table: pa.Table) -> tuple[Task, str]:
    if draft.has(ColumnRole.SCORE):
        return Task.BINARY, "there is a score between 0 and 1"
    predictions = [each for each in draft.columns if each.role is ColumnRole.PREDICTION]
    if not predictions:
        return Task.BINARY, "nothing says otherwise"
    kind, name = predictions[0].type, predictions[0].name
    if kind is ColumnType.CATEGORY:
        classes = pc.count_distinct(table.column(name)).as_py()
        binary = classes <= _CLASSES_OF_SCORES
        return (Task.BINARY if binary else Task.MULTICLASS), f"{name} has {classes} values"
    if kind in (ColumnType.NUMBER, ColumnType.INTEGER) and not look_at(
        table.column(name)
    ).lies_within(0.0, 1.0):
        return Task.REGRESSION, f"{name} is a number"
    return Task.BINARY, f"{name} has two values"


def _head(table: pa.Table, because: str) -> str:
    return (
        f"Draft made from {table.num_rows:,} reference rows. Fill in owner and purpose, read the"
        f" comments, then: inferwatch contract check FILE\nThe task is a guess ({because})."
    )


def _label_comment(labels: list[str]) -> str:
    name = labels[0] if labels else "outcome"
    return (
        "What turns out to be true is sent later, as labels; declare it like this:\n"
        f"label:\n  name: {name}\n  positive: true\n  max_age: 30d\n  correction_time: 14d"
    )
