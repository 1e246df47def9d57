"""Cells of a CSV file as JSON records, by declared types. Pure.

A cell is text; the contract says what it stands for. Numbers are passed on digit for digit, empty
cells are null, and what does not look like its type stays text and becomes a violation as it would
in JSON. Bytes that are not UTF-8 come as lone surrogates and become violations too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from monitor.contract import ColumnType, Contract, Task
from monitor.contract_quality import SignalKind
from monitor.intake.json_lenient import parse_one

Write = Callable[[str], str]

_JSON_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WORDS = {
    "nan": "NaN",
    "inf": "Infinity",
    "+inf": "Infinity",
    "infinity": "Infinity",
    "-inf": "-Infinity",
    "-infinity": "-Infinity",
}
MAX_NUMBER_LENGTH = 400


def request_writers(
    header: Sequence[str], contract: Contract
) -> Callable[[Sequence[str]], list[Write]]:
    """How to write the cells of one row as JSON in a request: the same way for every row."""
    declared: dict[str, Write] = {"deployment": write_number, "tags": write_json}
    for column in contract.columns:
        declared[column.name] = _BY_TYPE.get(column.type, write_text)
    writers = [declared.get(name, write_text) for name in header]
    return lambda _: writers


def label_writers(
    header: Sequence[str], contract: Contract
) -> Callable[[Sequence[str]], list[Write]]:
    """How to write the cells of one row as JSON in a label: by the name that the row gives."""
    positive = contract.label.positive if contract.label is not None else None
    as_text = contract.task is Task.MULTICLASS or isinstance(positive, str)
    of_label = _value_by(header, write_text if as_text else write_truth_or_number)
    kinds = {signal.name: signal.kind for signal in contract.signals}
    if "label" not in header or not kinds:
        return lambda _: of_label
    of_kind = {
        kind: _value_by(
            header, write_text if kind is SignalKind.PREFERENCE else write_truth_or_number
        )
        for kind in kinds.values()
    }
    place = list(header).index("label")
    of_name = {name: of_kind[kind] for name, kind in kinds.items()}
    return lambda cells: of_name.get(cells[place], of_label)


def _value_by(header: Sequence[str], value: Write) -> list[Write]:
    return [value if name == "value" else write_text for name in header]


def write_record(header: Sequence[str], writers: Sequence[Write], cells: Sequence[str]) -> str:
    """One row as a JSON object; empty cells are null."""
    parts = [
        f"{name}: {write(cell) if cell else 'null'}"
        for name, write, cell in zip(header, writers, cells, strict=True)
    ]
    return "{" + ", ".join(parts) + "}"


def write_text(cell: str) -> str:
    """The cell as a JSON string."""
    return json.dumps(cell)


def write_number(cell: str) -> str:
    """A number digit for digit, NaN and infinities as tokens, anything else as text."""
    text = cell.strip()
    if _JSON_NUMBER.fullmatch(text):
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.fullmatch(text) and len(text) < MAX_NUMBER_LENGTH:
        whole = text.lstrip("+-").isdigit()
        return str(int(text)) if whole else repr(float(text)).replace("inf", "Infinity")
    return write_text(cell)


def write_boolean(cell: str) -> str:
    """true, false, 1 or 0 in any case, anything else as text."""
    text = cell.strip().lower()
    return text if text in ("true", "false") else write_number(cell)


def write_truth_or_number(cell: str) -> str:
    """A label's value: a boolean word or a number, anything else as text."""
    return write_boolean(cell)


def write_json(cell: str) -> str:
    """A list or object written as JSON inside the cell, anything else as text."""
    value = parse_one(cell.encode("utf-8", "surrogatepass"))
    return cell if isinstance(value, (list, dict)) else write_text(cell)


_BY_TYPE: Mapping[ColumnType, Write] = {
    ColumnType.NUMBER: write_number,
    ColumnType.INTEGER: write_number,
    ColumnType.BOOLEAN: write_boolean,
    ColumnType.VECTOR: write_json,
    ColumnType.CLASS_SCORES: write_json,
    ColumnType.RANKED_LIST: write_json,
}
