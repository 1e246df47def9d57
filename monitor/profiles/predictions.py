"""What a model said, read from stored rows by its contract: score, class, class scores, items.

Also turns label values into the same numbers, so that a label and a prediction can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from monitor.contract import Column, ColumnRole, ColumnType, Contract, Task
from monitor.keys import keyed_hash
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.labels import ENTITY_GROUPS
from monitor.profiles.rows import RequestRows
from monitor.profiles.view_values import best_class

MAX_CLASSES = 100
NO_CLASS = -1
NO_ITEM = -1
FIXED_BITS = 30
_ITEM_MASK = 2**52 - 1  # fits a float64 exactly, as label values are floats


def classes_of(contract: Contract) -> tuple[str, ...]:
    """The class names a multi-class model chooses from, in declared order.

    They are the categories of its class scores, or else of its prediction column; none when
    neither declares any: then classes have no number and labels can't be compared.
    """
    column = class_scores_column(contract) or contract.single(ColumnRole.PREDICTION)
    return (column.categories or ()) if column else ()


def class_scores_column(contract: Contract) -> Column | None:
    """The column of class scores: the one with the role score, else the first of that type."""
    columns = [c for c in contract.columns if c.type is ColumnType.CLASS_SCORES]
    return next((c for c in columns if c.role is ColumnRole.SCORE), columns[0] if columns else None)


def regression_column(contract: Contract) -> Column | None:
    """The number a regression model predicts: its prediction column, else its score."""
    return contract.single(ColumnRole.PREDICTION) or contract.single(ColumnRole.SCORE)


def scores_of(rows: RequestRows, contract: Contract) -> Floats:
    """The number that is judged, float64[n], NaN without one.

    Binary: score of the positive class. Multi-class: the largest class score, or the score column.
    Regression: the prediction. Ranking: none.
    """
    if contract.task is Task.REGRESSION:
        return _number_of(rows, regression_column(contract))
    column = contract.single(ColumnRole.SCORE)
    scores = class_scores_of(rows, contract)
    if scores.shape[1] and (column is None or column.type is ColumnType.CLASS_SCORES):
        if contract.task is Task.BINARY:
            return np.ascontiguousarray(scores[:, _positive_place(contract)])
        return np.asarray(np.max(scores, axis=1))
    return _number_of(rows, column)


def class_scores_of(rows: RequestRows, contract: Contract) -> Floats:
    """Class scores of the first 100 classes, float64[n, c], NaN for missing; c = 0 without any."""
    column = class_scores_column(contract)
    if column is None:
        return np.zeros((len(rows), 0))
    slot = rows.layout.slot(column.name)
    width = min(slot.number_width, MAX_CLASSES)
    places = range(slot.number_start, slot.number_start + width)
    return np.stack([rows.number_column(place) for place in places], axis=1)


def predicted_classes(
    rows: RequestRows, contract: Contract, scores: Floats
) -> npt.NDArray[np.int16]:
    """The class the model chose, int16[n], -1 when unknown.

    Binary: 1 positive, 0 negative; without a prediction column the score against the contract's
    decision threshold. Multi-class: place in `classes_of`; without a prediction column the class
    with the largest score. Other tasks: -1.
    """
    column = contract.single(ColumnRole.PREDICTION)
    if contract.task is Task.BINARY:
        chosen = _binary_classes(rows, contract, column, scores)
    elif contract.task is Task.MULTICLASS:
        chosen = _many_classes(rows, contract, column)
    else:
        chosen = np.full(len(rows), float(NO_CLASS))
    return np.where(np.isnan(chosen), NO_CLASS, chosen).astype(np.int16)


def ranked_items(rows: RequestRows, contract: Contract, key16: bytes) -> Integers:
    """Hashed items of a ranking model's list, int64[n, k] in rank order, -1 for none."""
    lists = [c for c in contract.columns if c.type is ColumnType.RANKED_LIST]
    column = next(
        (c for c in lists if c.role is ColumnRole.PREDICTION), lists[0] if lists else None
    )
    if contract.task is not Task.RANKING or column is None:
        return np.zeros((len(rows), 0), np.int64)
    slot = rows.layout.slot(column.name)
    places = range(slot.text_start, slot.text_start + slot.text_width)
    return np.stack([item_keys(rows.text_column(place), key16) for place in places], axis=1)


def item_keys(texts: pa.Array, key16: bytes) -> Integers:
    """Hashed items, text[n] -> int64[n] below 2^52; -1 for null."""
    present = texts.is_valid().to_numpy(zero_copy_only=False)
    keys = np.full(len(texts), NO_ITEM, np.int64)
    keys[present] = keyed_hash(texts.drop_null(), key16) & _ITEM_MASK
    return keys


def entity_groups(
    rows: RequestRows, contract: Contract, key16: bytes, request_keys: Integers
) -> npt.NDArray[np.int8]:
    """The entity's group, int8[n] in 0..19: rows of one entity always share a group.

    Rows without an entity are grouped by their request id, which keeps groups balanced.
    """
    hashed = request_keys.copy()
    column = contract.single(ColumnRole.ENTITY)
    if column is not None:
        texts = _texts_of(rows, column)
        present = texts.is_valid().to_numpy(zero_copy_only=False)
        hashed[present] = keyed_hash(texts.drop_null(), key16)
    return (hashed.view(np.uint64) % np.uint64(ENTITY_GROUPS)).astype(np.int8)


def label_numbers(values: pa.Array, texts: pa.Array, contract: Contract, key16: bytes) -> Floats:
    """Label values as numbers, float64[n]; NaN where one can't be compared with a prediction.

    Binary: 1 positive, 0 negative. Multi-class: place in `classes_of`. Regression: the value.
    Ranking: the hashed relevant item.
    """
    numbers = np.array(values.to_numpy(zero_copy_only=False), np.float64)
    if contract.task is Task.REGRESSION:
        return numbers
    if contract.task is Task.RANKING:
        written = texts.to_pylist()
        plain = [t if t is not None else _plain(v) for t, v in zip(written, numbers, strict=True)]
        items = item_keys(pa.array(plain, pa.string()), key16)
        return np.where(items == NO_ITEM, np.nan, items).astype(np.float64)
    lookup = _class_lookup(contract)
    if texts.null_count == len(texts):
        different, places = np.unique(numbers, return_inverse=True)
        return np.array([lookup(None, value) for value in different], np.float64)[places]
    return np.array(
        [lookup(text, value) for text, value in zip(texts.to_pylist(), numbers, strict=True)],
        np.float64,
    )


def _class_lookup(contract: Contract) -> Callable[[str | None, float], float]:
    """A function from a label's text or value to the number of its class."""
    positive = contract.label.positive if contract.label else None
    places = {name: float(k) for k, name in enumerate(classes_of(contract))}

    def many(text: str | None, value: float) -> float:
        name = text if text is not None else _plain(value)
        return places.get(name or "", np.nan)

    def named(text: str | None, value: float) -> float:
        name = text if text is not None else _plain(value)
        return np.nan if name is None else float(name == positive)

    def true_or_false(text: str | None, value: float) -> float:
        truth = value if text is None else _TRUTHS.get(text.lower(), np.nan)
        if truth not in (0.0, 1.0):
            return np.nan
        return 1.0 - truth if positive is False else truth

    if contract.task is not Task.BINARY:
        return many
    return named if isinstance(positive, str) else true_or_false


_TRUTHS = {"true": 1.0, "1": 1.0, "false": 0.0, "0": 0.0}


def _plain(value: float) -> str | None:
    """A number as a class name: 3.0 is "3"."""
    if np.isnan(value):
        return None
    return str(int(value)) if value == int(value) else repr(float(value))


def _number_of(rows: RequestRows, column: Column | None) -> Floats:
    if column is None or rows.layout.slot(column.name).number_width != 1:
        return np.full(len(rows), np.nan)
    return rows.number_column(rows.layout.slot(column.name).number_start)


def _texts_of(rows: RequestRows, column: Column) -> pa.Array:
    """An entity's values as texts, with nulls."""
    slot = rows.layout.slot(column.name)
    if slot.text_width:
        return rows.text_column(slot.text_start)
    numbers = rows.number_column(slot.number_start)
    return pa.array(numbers, mask=np.isnan(numbers)).cast(pa.string())


def _positive_place(contract: Contract) -> int:
    """Which class score is that of the positive class: the named one, else the last."""
    names = classes_of(contract)
    positive = contract.label.positive if contract.label else None
    return names.index(positive) if isinstance(positive, str) and positive in names else -1


def _binary_classes(
    rows: RequestRows, contract: Contract, column: Column | None, scores: Floats
) -> Floats:
    if column is None:
        chosen = (scores >= contract.decision_threshold).astype(np.float64)
        return np.where(np.isnan(scores), np.nan, chosen)
    positive = contract.label.positive if contract.label else None
    if rows.layout.slot(column.name).number_width == 0:
        return _matches(rows.text_column(rows.layout.slot(column.name).text_start), positive)
    values = _number_of(rows, column)
    if isinstance(positive, str) and _is_number(positive):
        chosen = (values == float(positive)).astype(np.float64)
    else:
        chosen = (values >= 0.5).astype(np.float64)
        chosen = 1.0 - chosen if positive is False else chosen
    return np.where(np.isnan(values), np.nan, chosen)


def _matches(texts: pa.Array, positive: str | bool | None) -> Floats:
    wanted = {str(positive)} if isinstance(positive, str) else {"true", "1"}
    encoded = texts.dictionary_encode(null_encoding="encode")
    names = encoded.dictionary.to_pylist()
    hits = np.array([np.nan if t is None else float(t in wanted) for t in names], np.float64)
    if positive is False:
        hits = 1.0 - hits
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    return hits[codes] if len(names) else np.zeros(0)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _many_classes(rows: RequestRows, contract: Contract, column: Column | None) -> Floats:
    if column is None:
        scores = class_scores_of(rows, contract)
        if scores.shape[1] == 0:
            return np.full(len(rows), np.nan)
        best, present = best_class(scores.T)
        return np.where(present, best, np.nan)
    places = {name: float(k) for k, name in enumerate(classes_of(contract))}
    encoded = _texts_of(rows, column).dictionary_encode(null_encoding="encode")
    numbers = np.array([places.get(t, np.nan) for t in encoded.dictionary.to_pylist()])
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    return numbers[codes] if len(numbers) else np.zeros(len(rows))
