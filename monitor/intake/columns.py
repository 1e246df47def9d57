"""One value against one column's declared type: what is kept, what becomes NULL, and why.

The declared type decides, never a guess from the value:

number       JSON numbers become the nearest double. Text such as "1.5" and booleans: WRONG_TYPE.
             NaN: NOT_A_NUMBER. Infinity and numbers beyond a double's range: INFINITE; an integer
             beyond that range: INTEGER_TOO_LARGE.
integer      Whole numbers within ±2^53 (3.0 is 3). 3.5: WRONG_TYPE. Beyond: INTEGER_TOO_LARGE.
boolean      true, false, 1 and 0. Everything else, "true" included: WRONG_TYPE.
category     Text of at most 512 characters. A number or boolean is **kept** as its canonical text
             (77 and 77.0 are "77", true is "true") and counted as WRONG_TYPE: the declared type
             says text, and only the type is lost. No other violation keeps its value.
text         Text; numbers that describe it and its keyed hash are stored, with keep_text itself
             (at most 32,768 characters) for the hash. Everything else: WRONG_TYPE.
timestamp    RFC 3339 text with a zone (see times); without: TIME_WITHOUT_ZONE; else WRONG_TYPE.
vector       A list of exactly `size` finite numbers, else WRONG_LENGTH or the reason of an item.
class_scores A list in the order of the declared classes, or an object class → number with exactly
             these classes. Each in [0, 1] and the sum 1, both within 1e-6 a class, else
             NOT_A_DISTRIBUTION. Never rescaled.
ranked_list  A list of at most `size` category values, the best first; items as category.

U+0000 and lone surrogates: UNSTORABLE_TEXT. Except as said, a violation stores NULL; one cell has
one reason, the first that applies in the order type, number, length, range or categories. An absent
non-nullable column is MISSING, an explicit null NULL. Prediction and score may be absent when the
outcome says that there was none (abstained, refused, failed, timed out, cancelled).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from monitor.contract import Column, ColumnType
from monitor.records import MAX_SAFE_INTEGER, ViolationReason
from monitor.strictjson import HugeInteger, storable

MAX_CATEGORY_LENGTH = 512
MAX_KEPT_TEXT_LENGTH = 32_768
WHOLE_AS_DIGITS = 1e16


class Coerced(NamedTuple):
    """A value of the column's type (None = NULL) and the reason when it broke the contract."""

    value: Any
    reason: ViolationReason | None = None


def coerce(column: Column, value: Any) -> Coerced:
    """One non-null value into the column's type.

    Numbers, integers and booleans come back as float, int or bool; timestamps as their text, which
    is read later for all rows at once; vectors and class scores as lists of float.
    """
    return _RULES[column.type](column, value)


def canonical_text(value: Any) -> str | None:
    """A scalar's text as JSON writes it, whole numbers without a point; None for other values."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, HugeInteger)):
        return str(value)
    if isinstance(value, Decimal):
        return _plain_decimal(value) if value.is_finite() else None
    if isinstance(value, float) and math.isfinite(value):
        whole = value.is_integer() and abs(value) < WHOLE_AS_DIGITS
        return str(int(value)) if whole else repr(value)
    return None


def text_limit(column: Column) -> int | None:
    """Most characters a text of this column may have; None without limit."""
    if column.type is ColumnType.TEXT:
        return MAX_KEPT_TEXT_LENGTH if column.keep_text else None
    return MAX_CATEGORY_LENGTH


def _number(_: Column, value: Any) -> Coerced:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, HugeInteger)):
        return Coerced(None, ViolationReason.WRONG_TYPE)
    number = _as_double(value)
    if number is None:
        return Coerced(None, ViolationReason.INTEGER_TOO_LARGE)
    if math.isnan(number):
        return Coerced(None, ViolationReason.NOT_A_NUMBER)
    if math.isinf(number):
        return Coerced(None, ViolationReason.INFINITE)
    return Coerced(number)


def _integer(column: Column, value: Any) -> Coerced:
    read = _number(column, value)
    if read.value is None:
        return read
    if read.value != math.floor(read.value) or (isinstance(value, Decimal) and value % 1):
        return Coerced(None, ViolationReason.WRONG_TYPE)
    exact = value if isinstance(value, (int, Decimal)) else read.value
    if abs(exact) > MAX_SAFE_INTEGER:
        return Coerced(None, ViolationReason.INTEGER_TOO_LARGE)
    return Coerced(read.value)


def _boolean(_: Column, value: Any) -> Coerced:
    if isinstance(value, float) and math.isnan(value):
        return Coerced(None, ViolationReason.NOT_A_NUMBER)
    if isinstance(value, (bool, int, float, Decimal)) and value in (0, 1):
        return Coerced(float(value))
    return Coerced(None, ViolationReason.WRONG_TYPE)


def _category(_: Column, value: Any) -> Coerced:
    if isinstance(value, str):
        return _text_within(value, MAX_CATEGORY_LENGTH)
    if isinstance(value, float) and not math.isfinite(value):
        nan = math.isnan(value)
        return Coerced(None, ViolationReason.NOT_A_NUMBER if nan else ViolationReason.INFINITE)
    text = canonical_text(value)
    if text is not None and len(text) > MAX_CATEGORY_LENGTH:
        return Coerced(None, ViolationReason.TOO_LONG)
    return Coerced(text, ViolationReason.WRONG_TYPE)


def _text(column: Column, value: Any) -> Coerced:
    if not isinstance(value, str):
        return Coerced(None, ViolationReason.WRONG_TYPE)
    return _text_within(value, text_limit(column))


def _timestamp(_: Column, value: Any) -> Coerced:
    if not isinstance(value, str) or not storable(value):
        return Coerced(None, ViolationReason.WRONG_TYPE)
    return Coerced(value)


def _vector(column: Column, value: Any) -> Coerced:
    if not isinstance(value, (list, tuple)):
        return Coerced(None, ViolationReason.WRONG_TYPE)
    return _numbers(column, value, column.size or 0)


def _class_scores(column: Column, value: Any) -> Coerced:
    classes = column.categories or ()
    if isinstance(value, Mapping):
        if set(value) - set(classes):
            return Coerced(None, ViolationReason.UNKNOWN_CATEGORY)
        if len(value) != len(classes):
            return Coerced(None, ViolationReason.WRONG_LENGTH)
        value = [value[name] for name in classes]
    if not isinstance(value, (list, tuple)):
        return Coerced(None, ViolationReason.WRONG_TYPE)
    return _numbers(column, value, len(classes))


def _numbers(column: Column, values: list[Any] | tuple[Any, ...], size: int) -> Coerced:
    if len(values) != size:
        return Coerced(None, ViolationReason.WRONG_LENGTH)
    read = [_number(column, value) for value in values]
    for item in read:
        if item.reason is not None:
            return Coerced(None, item.reason)
    return Coerced([item.value for item in read])


def _ranked_list(column: Column, value: Any) -> Coerced:
    if not isinstance(value, (list, tuple)):
        return Coerced(None, ViolationReason.WRONG_TYPE)
    if len(value) > (column.size or 0):
        return Coerced(None, ViolationReason.WRONG_LENGTH)
    reason = None
    items = []
    for item in value:
        read = _category(column, item)
        if read.value is None:
            return Coerced(None, read.reason)
        reason = reason or read.reason
        items.append(read.value)
    return Coerced(items, reason)


def _text_within(text: str, limit: int | None) -> Coerced:
    if limit is not None and len(text) > limit:
        return Coerced(None, ViolationReason.TOO_LONG)
    if not storable(text):
        return Coerced(None, ViolationReason.UNSTORABLE_TEXT)
    return Coerced(text)


def _plain_decimal(value: Decimal) -> str:
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _as_double(value: int | float | Decimal | HugeInteger) -> float | None:
    """The nearest double; None for an integer beyond every double."""
    if isinstance(value, HugeInteger):
        number = value.as_float()
        return number if math.isfinite(number) else None
    try:
        return float(value)
    except OverflowError:
        return None


_RULES: Mapping[ColumnType, Callable[[Column, Any], Coerced]] = {
    ColumnType.NUMBER: _number,
    ColumnType.INTEGER: _integer,
    ColumnType.CATEGORY: _category,
    ColumnType.BOOLEAN: _boolean,
    ColumnType.TIMESTAMP: _timestamp,
    ColumnType.TEXT: _text,
    ColumnType.VECTOR: _vector,
    ColumnType.CLASS_SCORES: _class_scores,
    ColumnType.RANKED_LIST: _ranked_list,
}
