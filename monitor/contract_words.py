"""What is wrong with a part of a contract, in words that say what to write instead. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from alerts.yaml_source import did_you_mean

Path = tuple[str | int, ...]

# Fields whose parts pydantic reports one by one, or once for every way they could be read.
_WHOLE_FIELDS = {
    "range": "is two ends, [low, high]; write null for an open end",
    "categories": "is a list of texts, each in quotes where YAML would read something else",
    "segments": "is a list; each item is a column name or a list of column names",
    "sources": "is a list of texts",
    "positive": "is the text or the true/false that counts as positive",
}
_KINDS = {
    "string_type": "must be text; put it in quotes",
    "string_too_short": "must not be empty",
    "string_too_long": "is too long",
    "too_short": "must not be empty",
    "too_long": "holds too many items",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "date_from_datetime_parsing": "must be a day, such as 2026-12-24",
    "date_parsing": "must be a day, such as 2026-12-24",
    "greater_than": "must be above 0",
    "tuple_type": "must be a list",
    "dict_type": "must be keys and values",
    "model_type": "must be keys and values",
}
_PATTERNS = {
    "model": "is 1 to 55 characters a-z, 0-9, '.', '_' or '-', the first a letter or digit",
}
_JOINED = re.compile(
    r"; (?=column ['\"]|only one column may|segment (?:\[|column ['\"])|retention\.requests "
    r"|stage ['\"])"
)
_FIELDS_OF_RULES = re.compile(r"\b(range|categories|size|keep_text)\b")


@dataclass(frozen=True)
class Mistake:
    """Where (keys and places in lists, from 0) and what; `at_key` when the key itself is wrong."""

    path: Path
    message: str
    at_key: bool = False

    def under(self, *steps: str | int) -> Mistake:
        """The same mistake, seen from further out."""
        return replace(self, path=(*steps, *self.path))


def mistakes_of(error: ValidationError, model: type[BaseModel]) -> list[Mistake]:
    """One mistake a field; those of a whole part have an empty path, or the field they name."""
    found: dict[tuple[Path, str], Mistake] = {}
    for detail in error.errors(include_url=False):
        mistake = _mistake(detail, model)
        found.setdefault((mistake.path, mistake.message), mistake)
    return list(found.values())


def culprit(mistake: Mistake) -> str:
    """The key to take out so that the rest can be checked; empty for a rule of the whole."""
    return str(mistake.path[0]) if mistake.path else ""


def split_joined(mistake: Mistake) -> Iterator[Mistake]:
    """The single problems of a contract that were joined into one text."""
    if mistake.path:
        yield mistake
        return
    for message in _JOINED.split(mistake.message):
        yield replace(mistake, message=message)


def _model_at(model: type[BaseModel], path: Path) -> type[BaseModel]:
    """The model of the part at a path, through lists and optional parts."""
    for step in path:
        if isinstance(step, str) and step in model.model_fields:
            model = _inner_model(model.model_fields[step].annotation) or model
    return model


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for each in get_args(annotation) if (found := _inner_model(each))), None)


def _mistake(detail: ErrorDetails, model: type[BaseModel]) -> Mistake:
    path: Path = tuple(detail["loc"])
    kind, given = detail["type"], detail["input"]
    if not path:
        return _rule(detail["msg"].removeprefix("Value error, "))
    name = str(path[0])
    if kind == "extra_forbidden":
        key, known_keys = str(path[-1]), _model_at(model, path[:-1]).model_fields
        hint = did_you_mean(key, known_keys)
        known = "" if hint else f"; known are {', '.join(known_keys)}"
        return Mistake(path, f"unknown key {key!r}{hint or known}", at_key=True)
    if kind == "missing" and len(path) == 1:
        return Mistake(path, f"is missing; {_remedy(model, name)}")
    if name in _WHOLE_FIELDS:
        return Mistake(path[: 2 if name == "segments" else 1], _WHOLE_FIELDS[name])
    return Mistake(path, _words(detail, name, given))


def _rule(message: str) -> Mistake:
    """A rule between the fields of a column names its field; a rule of the contract names none."""
    if _JOINED.split("; " + message)[0] == "":
        return Mistake((), message)
    field = _FIELDS_OF_RULES.search(message)
    return Mistake((field[1],) if field else (), message)


def _words(detail: ErrorDetails, name: str, given: Any) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "enum":
        return _one_of(str(context.get("expected", "")), given)
    if kind == "value_error":
        return detail["msg"].removeprefix("Value error, ")
    if kind == "string_pattern_mismatch" and name in _PATTERNS:
        return f"{_PATTERNS[name]}; got {given!r}"
    if kind in _KINDS:
        return f"{_KINDS[kind]}{_got(given)}"
    return f"{detail['msg'].replace('Input should', 'should')}{_got(given)}"


def _one_of(expected: str, given: Any) -> str:
    words = re.findall(r"'([^']*)'", expected)
    hint = did_you_mean(given, words) if isinstance(given, str) else ""
    return f"must be one of {', '.join(words)}{_got(given)}{hint}"


def _remedy(model: type[BaseModel], name: str) -> str:
    description = model.model_fields[name].annotation
    words = getattr(description, "__members__", None)
    if words is not None:
        return f"one of {', '.join(word.value for word in words.values())}"
    return "write a list of columns" if name == "columns" else f"write `{name}: …`"


def _got(given: Any) -> str:
    if isinstance(given, dict | list):
        return f", got {'keys and values' if isinstance(given, dict) else 'a list'}"
    text = given if isinstance(given, str) else str(given).lower()
    return f", got {text[:60]!r}"
