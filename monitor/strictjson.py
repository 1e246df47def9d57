"""JSON from strangers: everything a sender may write is seen, nothing blows up, nothing is guessed.

The standard decoder with hooks. NaN and Infinity tokens stay what they are (callers make them
violations), integers of any length are read without converting them, a key written twice is a
fault, and nesting is measured before anything recurses. Knows no contract and no record.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MAX_DEPTH = 32
MAX_PLAIN_DIGITS = 40
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_STRUCTURE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},]|"', re.DOTALL)
_CONSTANTS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_SURROGATE = re.compile("[\ud800-\udfff]")


class JsonFault(StrEnum):
    """Why a text is not JSON that can be read."""

    SYNTAX = "syntax"
    ENCODING = "encoding"
    TOO_DEEP = "too_deep"
    DUPLICATE_KEY = "duplicate_key"


class StrictJsonError(ValueError):
    """The text can't be read; `fault` says why. The message holds no value of the text."""

    def __init__(self, fault: JsonFault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


@dataclass(frozen=True)
class HugeInteger:
    """An integer of more than MAX_PLAIN_DIGITS digits, kept as it was written."""

    digits: str

    def as_float(self) -> float:
        """The nearest double; infinite when there is none."""
        return float(self.digits)

    def __str__(self) -> str:
        return self.digits


def loads(body: bytes, *, max_depth: int = MAX_DEPTH) -> Any:
    """Read one JSON value; raises StrictJsonError.

    Values are None, bool, int, HugeInteger, float (with NaN and infinities), str (lone surrogates
    possible, see `storable`), list and dict.
    """
    if nests_deeper_than(body, max_depth):
        raise StrictJsonError(JsonFault.TOO_DEEP, f"nested deeper than {max_depth} levels")
    try:
        return _DECODER.decode(body.removeprefix(BYTE_ORDER_MARK).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise StrictJsonError(
            JsonFault.ENCODING, f"byte {error.start} is not UTF-8; send UTF-8"
        ) from None
    except json.JSONDecodeError as error:
        raise StrictJsonError(
            JsonFault.SYNTAX, f"{error.msg} at character {error.pos}; send strict JSON"
        ) from None


def storable(text: str) -> bool:
    """False for text that Postgres can't hold: U+0000 or half of a surrogate pair."""
    return "\0" not in text and (text.isascii() or _SURROGATE.search(text) is None)


def visible(text: str, limit: int) -> str:
    """Storable form of any text: what can't be stored is written as an escape; cut to `limit`."""
    cut = text[:limit]
    if storable(cut):
        return cut
    escaped = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", cut)
    return escaped.replace("\0", "\\u0000")[:limit]


def nests_deeper_than(body: bytes, limit: int) -> bool:
    """Whether brackets outside strings nest deeper than `limit`. Linear, no recursion."""
    if body.count(b"[") + body.count(b"{") <= limit:
        return False
    depth = 0
    for found in _STRUCTURE.finditer(body):
        token = found[0]
        if token in (b"[", b"{"):
            depth += 1
            if depth > limit:
                return True
        elif token in (b"]", b"}"):
            depth -= 1
    return False


def split_array(body: bytes) -> list[bytes]:
    """The elements of a JSON array as written, so that a broken one does not cost its neighbours.

    Only brackets, commas and strings are looked at; raises StrictJsonError when they don't balance.
    """
    text = body.removeprefix(BYTE_ORDER_MARK).strip()
    if not text.startswith(b"[") or not text.endswith(b"]"):
        raise StrictJsonError(JsonFault.SYNTAX, "the body is not a whole JSON array")
    elements, start, depth = [], 1, 0
    for found in _STRUCTURE.finditer(text):
        token = found[0]
        if token in (b"[", b"{"):
            depth += 1
        elif token in (b"]", b"}"):
            depth -= 1
        closed = depth == 0 and token == b"]"
        if (token == b"," and depth == 1) or closed:
            elements.append(text[start : found.start()].strip())
            start = found.end()
        if token == b'"' or depth <= 0:
            break
    if depth != 0 or start != len(text):
        raise StrictJsonError(
            JsonFault.SYNTAX, "brackets or quotes of the JSON array don't balance; was it cut off?"
        )
    return [] if elements == [b""] else elements


def _integer(token: str) -> int | HugeInteger:
    return int(token) if len(token) <= MAX_PLAIN_DIGITS else HugeInteger(token)


def _constant(word: str) -> float:
    return _CONSTANTS[word]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise StrictJsonError(
            JsonFault.DUPLICATE_KEY,
            f"key {visible(twice, 80)!r} is written twice; which value counts can't be known",
        )
    return found


_DECODER = json.JSONDecoder(parse_int=_integer, parse_constant=_constant, object_pairs_hook=_object)
