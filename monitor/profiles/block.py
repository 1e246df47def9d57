"""The prediction block: what one deployment said in one window, kept small for late labels.

Labels join it by a sorted merge; the labels part of a profile is counted from it, so that raw rows
are never read again. Knows no database: the caller loads, joins and saves.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from monitor.contract import Contract, Task
from monitor.keys import keyed_hash
from monitor.profiles.arrays import AnyArray, Flags, Floats, Integers
from monitor.profiles.packing import pack, unpack
from monitor.profiles.predictions import (
    FIXED_BITS,
    class_scores_of,
    entity_groups,
    predicted_classes,
    ranked_items,
    regression_column,
    scores_of,
)
from monitor.profiles.rows import RequestRows

_MAGIC = b"IWB1"
NO_RANK = 32_767
_ARRAYS = {
    "keys": "<i8",
    "event_time": "<i8",
    "score": "<f8",
    "predicted": "<i2",
    "group": "|i1",
    "segment_ids": "<i4",
    "class_scores": "<i4",
    "items": "<i8",
    "label": "<f8",
    "observed_at": "<i8",
    "arrived_at": "<i8",
    "source_rank": "<i2",
}


@dataclass(frozen=True, eq=False)
class PredictionBlock:
    """n predictions in ascending order of (key, event time), with the label each has so far.

    `keys` int64[n] keyed hashes of request ids; `event_time` int64[n] µs; `score` float64[n] (NaN
    none); `predicted` int16[n] (-1 unknown); `group` int8[n] entity groups; `segment_ids`
    int32[n, k] (negative: none); `class_scores` int32[n, c] in units of 2⁻³⁰ (-1 missing);
    `items` int64[n, r] hashed ranked items (-1 none).
    Label state: `label` float64[n] (NaN unlabelled), `observed_at`, `arrived_at` int64[n] µs,
    `source_rank` int16[n].
    """

    task: Task
    keys: Integers
    event_time: Integers
    score: Floats
    predicted: npt.NDArray[np.int16]
    group: npt.NDArray[np.int8]
    segment_ids: npt.NDArray[np.int32]
    class_scores: npt.NDArray[np.int32]
    items: Integers
    label: Floats
    observed_at: Integers
    arrived_at: Integers
    source_rank: npt.NDArray[np.int16]
    view: str = ""

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def labelled(self) -> Flags:
        """Which rows have a label, bool[n]."""
        return np.asarray(~np.isnan(self.label))

    @property
    def ambiguous(self) -> Flags:
        """Rows whose request id occurs at another time too: a label must name the time."""
        same = self.keys[1:] == self.keys[:-1]
        return np.concatenate(([False], same)) | np.concatenate((same, [False]))

    @property
    def delay(self) -> Integers:
        """Microseconds from the request to its label's observation, int64[n]; 0 if unlabelled."""
        return np.where(self.labelled, self.observed_at - self.event_time, 0)

    @classmethod
    def from_rows(
        cls,
        rows: RequestRows,
        key16: bytes,
        segment_ids: AnyArray,
        contract: Contract,
        previous: PredictionBlock | None = None,
    ) -> PredictionBlock:
        """The block of a window's rows; labels already joined to `previous` are carried over.

        `segment_ids` int[n, k] (or int[n]) says which segments each row belongs to.
        """
        keys = keyed_hash(rows.request_ids, key16)
        scores = scores_of(rows, contract)
        wide = (
            np.asarray(segment_ids, np.int32).reshape(len(rows), -1)
            if len(rows)
            else np.zeros((0, 1), np.int32)
        )
        order = np.lexsort((rows.event_time, keys))
        n = len(rows)
        block = cls(
            task=contract.task,
            keys=keys[order],
            event_time=rows.event_time[order],
            score=scores[order],
            predicted=predicted_classes(rows, contract, scores)[order],
            group=entity_groups(rows, contract, key16, keys)[order],
            segment_ids=wide[order],
            class_scores=_fixed_class_scores(rows, contract)[order],
            items=ranked_items(rows, contract, key16)[order],
            label=np.full(n, np.nan),
            observed_at=np.zeros(n, np.int64),
            arrived_at=np.zeros(n, np.int64),
            source_rank=np.full(n, NO_RANK, np.int16),
            view=_judged_view(contract),
        )
        return block if previous is None else block._carrying_over(previous)

    def _carrying_over(self, previous: PredictionBlock) -> PredictionBlock:
        there = previous.labelled
        rows = self.rows_at(previous.keys[there], previous.event_time[there])
        found = rows >= 0
        return self.with_labels(
            rows[found],
            previous.label[there][found],
            previous.observed_at[there][found],
            previous.arrived_at[there][found],
            previous.source_rank[there][found],
        )

    def with_labels(
        self,
        rows: Integers,
        label: Floats,
        observed_at: Integers,
        arrived_at: Integers,
        source_rank: npt.NDArray[np.int16],
    ) -> PredictionBlock:
        """This block with the label state of some rows replaced."""
        changes: dict[str, AnyArray] = {
            "label": label,
            "observed_at": observed_at,
            "arrived_at": arrived_at,
            "source_rank": source_rank,
        }
        changed = {}
        for name, values in changes.items():
            changed[name] = getattr(self, name).copy()
            changed[name][rows] = values
        return replace(self, **changed)

    def rows_at(self, keys: Integers, event_time: Integers) -> Integers:
        """Row of each (key, event time), int64[m]; -1 where there is none."""
        first = np.searchsorted(self.keys, keys, "left")
        last = np.searchsorted(self.keys, keys, "right")
        rows = np.full(len(keys), -1, np.int64)
        most = int((last - first).max()) if len(keys) else 0
        for step in range(most):
            place = np.minimum(first + step, len(self) - 1)
            hit = (first + step < last) & (self.event_time[place] == event_time)
            rows[hit] = place[hit]
        return rows

    def to_bytes(self) -> bytes:
        """The stored form, under zstd."""
        arrays = {
            name: np.ascontiguousarray(getattr(self, name), kind) for name, kind in _ARRAYS.items()
        }
        header: dict[str, Any] = {
            "task": str(self.task),
            "view": self.view,
            "arrays": [[name, list(array.shape)] for name, array in arrays.items()],
        }
        text = json.dumps(header, separators=(",", ":")).encode()
        body = b"".join(array.tobytes() for array in arrays.values())
        whole = _MAGIC + len(text).to_bytes(4, "little") + text + body
        return pack(whole)

    @classmethod
    def from_bytes(cls, stored: bytes) -> Self:
        """Read what `to_bytes` wrote; AssertionError when it is something else."""
        whole = unpack(stored)
        if whole[:4] != _MAGIC:
            raise AssertionError("stored block bytes begin otherwise; they are of another version")
        at = 8 + int.from_bytes(whole[4:8], "little")
        header = json.loads(whole[8:at])
        arrays: dict[str, AnyArray] = {}
        for name, shape in header["arrays"]:
            kind, count = np.dtype(_ARRAYS[name]), math.prod(shape)
            arrays[name] = np.frombuffer(whole, kind, count, at).reshape(shape)
            at += count * kind.itemsize
        return cls(task=Task(header["task"]), view=header["view"], **arrays)


def _judged_view(contract: Contract) -> str:
    column = regression_column(contract)
    return column.name if contract.task is Task.REGRESSION and column else ""


def _fixed_class_scores(rows: RequestRows, contract: Contract) -> npt.NDArray[np.int32]:
    if contract.task is not Task.MULTICLASS:
        return np.zeros((len(rows), 0), np.int32)
    scores = class_scores_of(rows, contract)
    fixed = np.floor(np.clip(scores, 0.0, 1.0) * 2**FIXED_BITS)
    return np.where(np.isnan(fixed), -1, fixed).astype(np.int32)
