"""Values of a golden case: what is written in the file as what the model is sent and must answer.

A column's type decides how a value is read: 1 in a category column is the text 1. The inputs of a
malformed case are taken as written, because being wrong is what they are for. Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from alerts.yaml_source import (
    Problems,
    Section,
    describe,
    did_you_mean,
    is_null,
    plain_text,
    section,
)
from monitor.contract import RESERVED_NAMES, Column, ColumnType, Contract
from monitor.golden import input_columns, output_columns
from monitor.strictjson import storable

_INTEGER = re.compile(r"[-+]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)
MOST_TEXT = 32_768
_INPUT_REMEDY = "inputs are columns with the role feature, segment, entity, parent or weight"
_UNSTORABLE = "holds U+0000 or a lone surrogate, which can't be stored"


def read_inputs(part: Section, contract: Contract, *, malformed: bool) -> dict[str, Any]:
    """The inputs of a case by column; mistakes are added to the section's problems."""
    node = part.get("inputs")
    if node is None:
        part.missing("inputs", "write the columns that the model is sent and their values")
        return {}
    inner = section(node, part.at("inputs"), part.problems)
    if inner is None:
        return {}
    if malformed:
        return _as_written(inner)
    columns = input_columns(contract)
    found = _columns(inner, columns, "input", _INPUT_REMEDY)
    for column in columns:
        absent = column.name not in inner.nodes
        if not column.nullable and (absent or is_null(inner.nodes[column.name])):
            inner.missing(column.name, "the contract does not allow it to be null")
    return found


def read_expected(part: Section, contract: Contract) -> dict[str, Any]:
    """The expected outputs of a case by column; at least one."""
    node = part.get("expect")
    inner = section(node, part.at("expect"), part.problems) if node is not None else None
    if inner is None:
        return {}
    if not inner.nodes:
        part.complain("expect", "names no output column; write for example {score: 0.2}")
    names = ", ".join(column.name for column in output_columns(contract)) or "none"
    return _columns(inner, output_columns(contract), "output", f"output columns are: {names}")


def _columns(inner: Section, columns: tuple[Column, ...], what: str, remedy: str) -> dict[str, Any]:
    known = {column.name: column for column in columns}
    found: dict[str, Any] = {}
    for name, node in inner.nodes.items():
        if name not in known:
            hint = did_you_mean(name, known) or f"; {remedy}"
            inner.complain(name, f"is no {what} column of the contract{hint}")
            continue
        found[name] = None if is_null(node) else _value(inner, known[name], node)
    return found


def _value(inner: Section, column: Column, node: yaml.Node) -> Any:
    value = _READERS[column.type](node, column)
    if isinstance(value, _Wrong):
        inner.complain(column.name, f"{value.message}, got {describe(node)}")
        return None
    wrong = _outside(column, value)
    if wrong:
        inner.complain(column.name, wrong)
    return value


class _Wrong:
    """Why a node is no value of its column."""

    def __init__(self, message: str) -> None:
        self.message = message


def _number(node: yaml.Node, _: Column) -> Any:
    text = plain_text(node)
    if text is None or not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        return _Wrong("must be a finite number")
    return int(text) if _INTEGER.fullmatch(text) else float(text)


def _integer(node: yaml.Node, column: Column) -> Any:
    value = _number(node, column)
    if isinstance(value, float) and not value.is_integer():
        return _Wrong("must be a whole number")
    return value if isinstance(value, _Wrong) else int(value)


def _boolean(node: yaml.Node, _: Column) -> Any:
    text = plain_text(node)
    return text == "true" if text in ("true", "false") else _Wrong("must be true or false")


def _text(node: yaml.Node, _: Column) -> Any:
    if not isinstance(node, yaml.ScalarNode) or len(node.value) > MOST_TEXT:
        return _Wrong(f"must be text of at most {MOST_TEXT:,} characters")
    return str(node.value) if storable(node.value) else _Wrong(_UNSTORABLE)


def _list(node: yaml.Node, column: Column, size: int, read: Callable[..., Any]) -> Any:
    if not isinstance(node, yaml.SequenceNode):
        return _Wrong(f"must be a list of {size} values")
    values = [read(item, column) for item in node.value]
    return next((value for value in values if isinstance(value, _Wrong)), values)


def _vector(node: yaml.Node, column: Column) -> Any:
    found = _list(node, column, column.size or 0, _number)
    if isinstance(found, list) and len(found) != column.size:
        return _Wrong(f"must be a list of {column.size} numbers")
    return found


def _class_scores(node: yaml.Node, column: Column) -> Any:
    """In the order of the classes, however they are written."""
    classes = column.categories or ()
    if isinstance(node, yaml.MappingNode):
        named = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
        if set(named) != set(classes):
            return _Wrong(f"must name exactly the classes {', '.join(classes)}")
        values = [_number(named[name], column) for name in classes]
        return next((value for value in values if isinstance(value, _Wrong)), values)
    found = _list(node, column, len(classes), _number)
    if isinstance(found, list) and len(found) != len(classes):
        return _Wrong(f"must be {len(classes)} numbers, one for each of {', '.join(classes)}")
    return found


def _ranked(node: yaml.Node, column: Column) -> Any:
    found = _list(node, column, column.size or 0, _text)
    if isinstance(found, list) and len(found) > (column.size or 0):
        return _Wrong(f"must be a list of at most {column.size} items")
    return found


def _outside(column: Column, value: Any) -> str | None:
    """What the contract says against a value of the right type."""
    if column.range is not None:
        low, high = column.range
        if (low is not None and value < low) or (high is not None and value > high):
            return f"{value} is outside the contract's range {_ends(low)} to {_ends(high)}"
    listed = column.type is ColumnType.CATEGORY and column.categories is not None
    if listed and value not in (column.categories or ()):
        hint = did_you_mean(value, column.categories or ())
        return f"{value!r} is not among the contract's categories{hint}"
    return None


def _ends(end: float | None) -> str:
    return "any" if end is None else f"{end:g}"


_READERS: Mapping[ColumnType, Callable[[yaml.Node, Column], Any]] = {
    ColumnType.NUMBER: _number,
    ColumnType.INTEGER: _integer,
    ColumnType.BOOLEAN: _boolean,
    ColumnType.CATEGORY: _text,
    ColumnType.TEXT: _text,
    ColumnType.TIMESTAMP: _text,
    ColumnType.VECTOR: _vector,
    ColumnType.CLASS_SCORES: _class_scores,
    ColumnType.RANKED_LIST: _ranked,
}


def _as_written(inner: Section) -> dict[str, Any]:
    found = {}
    for name, node in inner.nodes.items():
        if name in RESERVED_NAMES:
            inner.complain(name, "is a word of the request envelope; no input may have it")
            continue
        found[name] = _plain(node, inner.at(name), inner.problems)
    return found


def _plain(node: yaml.Node, place: str, problems: Problems) -> Any:
    """A JSON value as it stands in the file: only unquoted numbers, true, false, null are that."""
    if not _is_storable(node):
        problems.add(node, place, _UNSTORABLE)
        return None
    if isinstance(node, yaml.MappingNode):
        return {
            str(key.value): _plain(value, f"{place}.{key.value}", problems)
            for key, value in node.value
        }
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, f"{place}[{i}]", problems) for i, item in enumerate(node.value)]
    if is_null(node):
        return None
    text = plain_text(node)
    if text in ("true", "false"):
        return text == "true"
    if text is not None and _INTEGER.fullmatch(text):
        return int(text)
    if text is not None and _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return str(node.value)


def _is_storable(node: yaml.Node) -> bool:
    """Whether a text, or every key of a mapping, can be stored."""
    if isinstance(node, yaml.MappingNode):
        return all(isinstance(key.value, str) and storable(key.value) for key, _ in node.value)
    return not isinstance(node, yaml.ScalarNode) or storable(node.value)
