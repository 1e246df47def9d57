"""What a model answered, read from stored rows: a column of numbers, words or lists each. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from monitor.contract import Column, ColumnRole, ColumnType, Contract
from monitor.golden import NUMERIC_TYPES, output_columns
from monitor.keys import keyed_hash
from monitor.layout import Layout
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.predictions import predicted_classes, scores_of
from monitor.profiles.rows import RequestRows
from monitor.store.models import ModelContext

Words = Sequence[str | None]
Lists = Sequence[tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Answers:
    """n stored answers.

    `numbers[column]` float64[n, width] (NaN missing), `words[column]` text or None,
    `lists[column]` ranked items. `score` float64[n] and `predicted` int16[n] are what the task is
    judged by (NaN and -1 without one). `latency` float64[n] in the unit of its column, NaN unknown.
    `keys`, `entities` int64[n]: keyed hashes of the request id and of the entity (of the request
    id where there is none).
    """

    ids: Sequence[str]
    keys: Integers
    entities: Integers
    event_time: Integers
    deployment_id: Integers
    outcome: Integers
    reasons: Words
    numbers: Mapping[str, Floats]
    words: Mapping[str, Words]
    lists: Mapping[str, Lists]
    score: Floats
    predicted: Integers
    latency: Floats

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, places: Integers) -> Answers:
        """Some of the answers, in the order of `places` int64[m]."""
        chosen = [int(place) for place in places]
        return Answers(
            ids=[self.ids[i] for i in chosen],
            keys=self.keys[places],
            entities=self.entities[places],
            event_time=self.event_time[places],
            deployment_id=self.deployment_id[places],
            outcome=self.outcome[places],
            reasons=[self.reasons[i] for i in chosen],
            numbers={name: held[places] for name, held in self.numbers.items()},
            words={name: [held[i] for i in chosen] for name, held in self.words.items()},
            lists={name: [held[i] for i in chosen] for name, held in self.lists.items()},
            score=self.score[places],
            predicted=self.predicted[places],
            latency=self.latency[places],
        )


def answers_of(chunks: Iterable[pa.Table], model: ModelContext) -> Answers:
    """All answers of some chunks of request rows; only outputs are kept of each row."""
    pieces = [answers_of_table(table, model) for table in chunks]
    return joined(pieces or [no_answers(model)])


def joined(pieces: Sequence[Answers]) -> Answers:
    """Answers of several pieces, one after the other."""
    first = pieces[0]
    return Answers(
        ids=[name for piece in pieces for name in piece.ids],
        keys=np.concatenate([piece.keys for piece in pieces]),
        entities=np.concatenate([piece.entities for piece in pieces]),
        event_time=np.concatenate([piece.event_time for piece in pieces]),
        deployment_id=np.concatenate([piece.deployment_id for piece in pieces]),
        outcome=np.concatenate([piece.outcome for piece in pieces]),
        reasons=[reason for piece in pieces for reason in piece.reasons],
        numbers={k: np.concatenate([p.numbers[k] for p in pieces]) for k in first.numbers},
        words={k: [word for p in pieces for word in p.words[k]] for k in first.words},
        lists={k: [items for p in pieces for items in p.lists[k]] for k in first.lists},
        score=np.concatenate([piece.score for piece in pieces]),
        predicted=np.concatenate([piece.predicted for piece in pieces]),
        latency=np.concatenate([piece.latency for piece in pieces]),
    )


def latency_column(contract: Contract, wanted: str | None = None) -> Column | None:
    """The timing column that a whole answer's time goes to.

    The wanted one, else `total_ms` or `latency_ms`, else the only timing column; else none.
    """
    timings = contract.with_role(ColumnRole.TIMING)
    for name in (wanted,) if wanted else ("total_ms", "latency_ms"):
        for column in timings:
            if column.name == name:
                return column
    return timings[0] if len(timings) == 1 and not wanted else None


def answers_of_table(table: pa.Table, model: ModelContext) -> Answers:
    """The answers of one table of request rows."""
    layout, contract = model.layout, model.contract
    rows = RequestRows.from_table(table, layout, contract)
    numbers, words, lists = {}, {}, {}
    for column in output_columns(contract):
        slot = layout.slot(column.name)
        if column.type in NUMERIC_TYPES:
            places = range(slot.number_start, slot.number_start + slot.number_width)
            numbers[column.name] = np.stack([rows.number_column(p) for p in places], axis=1)
        elif column.type is ColumnType.BOOLEAN:
            words[column.name] = _truths(rows.number_column(slot.number_start))
        elif column.type is ColumnType.RANKED_LIST:
            lists[column.name] = _lists(rows, slot.text_start, slot.text_width)
        else:
            words[column.name] = rows.text_column(slot.text_start).to_pylist()
    timing, score = latency_column(contract), scores_of(rows, contract)
    keys = keyed_hash(rows.request_ids, model.hash_key)
    return Answers(
        ids=rows.request_ids.to_pylist(),
        keys=keys,
        entities=_entities(rows, model, keys),
        event_time=rows.event_time,
        deployment_id=rows.deployment_id,
        outcome=rows.outcome,
        reasons=rows.outcome_reason.to_pylist(),
        numbers=numbers,
        words=words,
        lists=lists,
        score=score,
        predicted=predicted_classes(rows, contract, score).astype(np.int64),
        latency=_timing(rows, timing, layout),
    )


def _timing(rows: RequestRows, column: Column | None, layout: Layout) -> Floats:
    if column is None:
        return np.full(len(rows), np.nan)
    return rows.number_column(layout.slot(column.name).number_start)


def _truths(values: Floats) -> list[str | None]:
    return [None if np.isnan(v) else ("true" if v else "false") for v in values]


def _lists(rows: RequestRows, start: int, width: int) -> list[tuple[str, ...]]:
    columns = [rows.text_column(place).to_pylist() for place in range(start, start + width)]
    return [
        tuple(item for item in items if item is not None) for items in zip(*columns, strict=True)
    ]


def _entities(rows: RequestRows, model: ModelContext, keys: Integers) -> Integers:
    column = model.contract.single(ColumnRole.ENTITY)
    if column is None:
        return keys
    slot = model.layout.slot(column.name)
    if slot.text_width:
        texts = rows.text_column(slot.text_start)
    else:
        numbers = rows.number_column(slot.number_start)
        texts = pa.array(numbers, mask=np.isnan(numbers)).cast(pa.string())
    present = texts.is_valid().to_numpy(zero_copy_only=False)
    found = keys.copy()
    found[present] = keyed_hash(texts.drop_null(), model.hash_key)
    return found


def no_answers(model: ModelContext) -> Answers:
    """Answers of nobody, with the columns of the contract."""
    layout, contract = model.layout, model.contract
    columns = output_columns(contract)
    none = np.zeros(0, np.int64)
    numeric = [column for column in columns if column.type in NUMERIC_TYPES]
    ranked = [column.name for column in columns if column.type is ColumnType.RANKED_LIST]
    known = {column.name for column in numeric} | set(ranked)
    return Answers(
        ids=[],
        keys=none,
        entities=none,
        event_time=none,
        deployment_id=none,
        outcome=none,
        reasons=[],
        numbers={c.name: np.zeros((0, layout.slot(c.name).number_width)) for c in numeric},
        words={column.name: [] for column in columns if column.name not in known},
        lists={name: [] for name in ranked},
        score=np.zeros(0),
        predicted=none,
        latency=np.zeros(0),
    )
