"""Sentences with `{names}` in them, filled from labels and numbers.

The notation is that of `str.format`, reduced to plain names and, for numbers, a short format:
attributes, indices, conversions and widths are refused, because they reach into objects or make a
sentence of any length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Formatter

from alerts.yaml_source import did_you_mean

NUMBERS = ("value", "low", "high", "n")
TEXTS = ("state", "unit", "threshold", "text", "rule", "severity", "window_start", "window_end")
ABSENT = "(none)"
_FORMAT = re.compile(r"[+]?,?(\.\d)?[efg%d]?")

Field = str | float | None


def template_mistakes(template: str, labels: Sequence[str]) -> list[str]:
    """What is wrong with a template; an empty list when nothing is."""
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        return [f"can't be read: {error}; write {{{{ and }}}} for braces"]
    known = (*NUMBERS, *TEXTS, *labels)
    mistakes: list[str] = []
    for _, name, form, conversion in parts:
        if name is None:
            continue
        if name not in known:
            mistakes.append(f"unknown name {{{name}}}{did_you_mean(name, known)}")
        elif conversion:
            mistakes.append(f"{{{name}!{conversion}}}: a conversion is not supported")
        elif form and not _is_usable(name, form):
            mistakes.append(f"{{{name}:{form}}}: this format is not supported for {name}")
    return mistakes


def _is_usable(name: str, form: str) -> bool:
    if name not in NUMBERS or not _FORMAT.fullmatch(form):
        return False
    try:
        format(3 if name == "n" else 0.5, form)
    except ValueError:
        return False
    return True


def fill(template: str, fields: Mapping[str, Field]) -> str:
    """The sentence. A name without a value becomes `(none)`.

    The template must have passed `template_mistakes`.
    """
    pieces: list[str] = []
    for literal, name, form, _ in Formatter().parse(template):
        pieces.append(literal)
        if name is not None:
            pieces.append(_show(fields.get(name), form or ""))
    return "".join(pieces)


def _show(value: Field, form: str) -> str:
    if value is None or value == "":
        return ABSENT
    if isinstance(value, str):
        return value
    if form:
        return format(value, form)
    return str(value) if isinstance(value, int) else f"{value:.4g}"
