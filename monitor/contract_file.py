"""The YAML file of a contract: read with every mistake and its line at once, and written.

Pure: texts in, texts out; it opens no file and knows no database.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from monitor.contract import Contract
from monitor.contract_reader import ContractReader
from monitor.errors import ConfigurationError

WIDTH = 100
HEAD, COLUMNS, LABEL = "", "columns", "label"
"""Keys of comments that stand at the top, above the columns and above the label."""


def read_contract(text: str, source: str) -> Contract:
    """The contract that a YAML text holds; `source` names the file in messages.

    Raises ConfigurationError with every mistake, in order of lines.
    """
    reader = ContractReader()
    contract = reader.read(text)
    if contract is None:
        problems = sorted(reader.problems, key=lambda each: each.line or 0)
        raise ConfigurationError(source, problems)
    return contract


def column_place(name: str) -> str:
    """The key of the comment that stands above a column."""
    return f"{COLUMNS}.{name}"


def write_contract(contract: Contract, comments: Mapping[str, str] | None = None) -> str:
    """The contract as YAML that `read_contract` reads back equal; defaults are left out.

    `comments` go above the part they are for: HEAD, COLUMNS, LABEL, `column_place(name)` or any
    other key of the top level. A key that is not in the contract has its comment at the end.
    """
    told = dict(comments or {})
    body = contract.model_dump(mode="json", exclude_defaults=True)
    lines = list(_comment(told.pop(HEAD, ""), ""))
    for key, value in body.items():
        lines += ["", *_comment(told.pop(key, ""), "")] if key in told or _is_long(value) else []
        lines += _columns(value, told) if key == COLUMNS else _entry(key, value, "")
    for comment in told.values():
        lines += ["", *_comment(comment, "")]
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_long(value: Any) -> bool:
    return isinstance(value, list | dict)


def _columns(columns: list[dict[str, Any]], told: dict[str, str]) -> Iterator[str]:
    yield f"{COLUMNS}:"
    for column in columns:
        yield from _comment(told.pop(column_place(column["name"]), ""), "  ")
        for place, (key, value) in enumerate(column.items()):
            mark = "  - " if place == 0 else "    "
            first, *rest = _entry(key, value, "    ")
            yield from (mark + first.strip(), *rest)


def _entry(key: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield f"{indent}{key}:"
        for name, part in value.items():
            yield from _entry(name, part, indent + "  ")
    elif isinstance(value, list) and len(line := f"{indent}{key}: {inline(value)}") > WIDTH:
        yield f"{indent}{key}:"
        yield from (f"{indent}  - {inline(item)}" for item in value)
    else:
        yield line if isinstance(value, list) else f"{indent}{key}: {inline(value)}"


def inline(value: Any) -> str:
    """One value in YAML's short form, on one line, with quotes only where they are needed."""
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    # Spaces of any kind at an end would be lost without quotes.
    quoted = isinstance(value, str) and value != value.strip()
    written: str = yaml.safe_dump(
        [value],
        default_flow_style=True,
        default_style='"' if quoted else None,
        allow_unicode=True,
        width=10_000_000,
    )
    return written.strip()[1:-1]


def _comment(text: str, indent: str) -> Iterator[str]:
    """Lines of a comment; control characters and line ends of values can't leave it."""
    for line in text.splitlines():
        shown = "".join(
            sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line
        )
        for part in textwrap.wrap(shown, WIDTH - len(indent) - 2) or [""]:
            yield f"{indent}# {part}".rstrip()
