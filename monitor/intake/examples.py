"""Examples and excerpts that may be shown: masked unless a column is declared public. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from monitor.contract import Column, Sensitivity
from monitor.records import ViolationExample, ViolationReason
from monitor.strictjson import HugeInteger, visible

MAX_EXAMPLES = 3
MAX_UNKNOWN_COLUMNS_SHOWN = 50
MAX_EXAMPLE_LENGTH = 80
MAX_EXCERPT_LENGTH = 200
MAX_NAME_SHOWN = 200


@dataclass(frozen=True)
class Opaque:
    """Stands for a value of a type that JSON does not have; only the type's name is shown."""

    kind: str


class ExampleBook:
    """Collects at most MAX_EXAMPLES examples for each column and reason of one body."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, ViolationReason], int] = {}
        self._unknown_names: set[str] = set()
        self._found: list[ViolationExample] = []

    def wants(self, name: str, reason: ViolationReason) -> bool:
        """Whether another example of this column and reason is still wanted."""
        if reason is ViolationReason.UNKNOWN_COLUMN and name not in self._unknown_names:
            return len(self._unknown_names) < MAX_UNKNOWN_COLUMNS_SHOWN
        return self._counts.get((name, reason), 0) < MAX_EXAMPLES

    def add(
        self, name: str, reason: ViolationReason, value: Any, column: Column | None = None
    ) -> None:
        """Keep an example, shown as it is only when the column is declared public."""
        name = visible(name, MAX_NAME_SHOWN)
        if not self.wants(name, reason):
            return
        if reason is ViolationReason.UNKNOWN_COLUMN:
            self._unknown_names.add(name)
        public = column is not None and column.sensitivity is Sensitivity.PUBLIC
        text = as_written(value) if public else mask(value)
        self._counts[name, reason] = self._counts.get((name, reason), 0) + 1
        self._found.append(ViolationExample(name, reason, text))

    def all(self) -> tuple[ViolationExample, ...]:
        """The examples, in the order they were found."""
        return tuple(self._found)


def mask(value: Any) -> str:
    """Type, size and kind of the first character: no letter or digit of the value itself."""
    if isinstance(value, str):
        first = _first_character(value)
        return f"<text of {len(value)} characters{first}>"
    if value is None or isinstance(value, bool):
        return "<null>" if value is None else "<boolean>"
    if isinstance(value, HugeInteger):
        return f"<integer of {len(value.digits.lstrip('-'))} digits>"
    if isinstance(value, (int, float, Decimal)):
        return _masked_number(value)
    if isinstance(value, Mapping):
        return f"<object of {len(value)} keys>"
    if isinstance(value, (list, tuple)):
        return f"<list of {len(value)}>"
    if isinstance(value, Opaque):
        return f"<{value.kind}>"
    return f"<{type(value).__name__}>"


def as_written(value: Any) -> str:
    """The value in JSON's notation, escapes visible, at most MAX_EXAMPLE_LENGTH characters."""
    if isinstance(value, Opaque):
        return mask(value)[:MAX_EXAMPLE_LENGTH]
    if isinstance(value, (Decimal, HugeInteger)):
        return str(value)[:MAX_EXAMPLE_LENGTH]
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return repr(value).removesuffix(".0")[:MAX_EXAMPLE_LENGTH]
    if isinstance(value, str):
        value = value[:MAX_EXAMPLE_LENGTH]
    return json.dumps(value, ensure_ascii=True, default=str)[:MAX_EXAMPLE_LENGTH]


def excerpt(record: Any) -> str:
    """Keys and value types of a record, without a value; at most MAX_EXCERPT_LENGTH characters."""
    if not isinstance(record, Mapping):
        return mask(record)
    parts = []
    for name, value in list(record.items())[:20]:
        parts.append(f"{visible(str(name), 40)}: {kind_of(value)}")
    return visible("{" + ", ".join(parts) + "}", MAX_EXCERPT_LENGTH)


def kind_of(value: Any) -> str:
    """One word for what a value is."""
    if value is None:
        return "null"
    for kinds, word in _WORDS:
        if isinstance(value, kinds):
            return word
    return type(value).__name__


_WORDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "boolean"),
    (str, "text"),
    ((int, float, Decimal, HugeInteger), "number"),
    (Mapping, "object"),
    ((list, tuple), "list"),
)


def _first_character(text: str) -> str:
    if not text:
        return ""
    first = text[0]
    kinds = ((str.isdigit, "a digit"), (str.isalpha, "a letter"), (str.isspace, "a space"))
    for test, word in kinds:
        if test(first):
            return f", begins with {word}"
    return ", begins with a sign"


def _masked_number(value: int | float | Decimal) -> str:
    if math.isnan(value):
        return "<not a number>"
    if value in (math.inf, -math.inf):
        return "<infinite number>"
    kind = "integer" if isinstance(value, int) else "number"
    return f"<{kind}, {'negative' if value < 0 else 'zero' if value == 0 else 'positive'}>"
