"""Labels as arrays, ready to be joined with prediction blocks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from monitor.contract import Contract
from monitor.keys import keyed_hash
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.predictions import label_numbers

NO_TIME = 0


@dataclass(frozen=True, eq=False)
class LabelArrays:
    """m labels of one model and label name.

    `keys` int64[m]: keyed hashes of request ids. `value` float64[m]: binary 1 or 0, multi-class the
    place of the class, regression the value, ranking the hashed item; NaN can't be used.
    `observed_at`, `arrived_at` int64[m] in microseconds; `source_rank` int16[m], 0 is trusted most;
    `event_time` int64[m]: the request's time where the label names it, else 0.
    """

    keys: Integers
    value: Floats
    observed_at: Integers
    arrived_at: Integers
    source_rank: npt.NDArray[np.int16]
    event_time: Integers

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def from_table(cls, table: pa.Table, contract: Contract, key16: bytes) -> Self:
        """Labels of a table with LABEL_SCHEMA's columns, in its order."""
        one = {name: table.column(name).combine_chunks() for name in table.column_names}
        sources = contract.label.sources if contract.label else ()
        return cls(
            keys=keyed_hash(one["request_id"], key16),
            value=label_numbers(one["value"], one["text"], contract, key16),
            observed_at=_microseconds(one["observed_at"]),
            arrived_at=_microseconds(one["arrived_at"]),
            source_rank=_ranks_of(one["source"], sources),
            event_time=_microseconds(one["event_time"]),
        )

    def take(self, places: Integers) -> LabelArrays:
        """Some of the labels, in the given order."""
        return LabelArrays(
            self.keys[places],
            self.value[places],
            self.observed_at[places],
            self.arrived_at[places],
            self.source_rank[places],
            self.event_time[places],
        )


def one_that_counts(
    places: Integers,
    source_rank: Integers | npt.NDArray[np.int16],
    observed_at: Integers,
    arrived_at: Integers,
    value: Floats,
    revision: Integers | None = None,
) -> Integers:
    """Of several labels of a place (all [m]) the index of the one that counts, [places] ascending.

    The most trusted source, then the later observation, then the later arrival, then the later
    revision where there is one; labels equal in all of that are decided by the larger value.
    """
    late = (value,) if revision is None else (value, revision)
    order = np.lexsort((*late, arrived_at, observed_at, -source_rank.astype(np.int64), places))
    ordered = places[order]
    last = np.concatenate((ordered[1:] != ordered[:-1], np.ones(min(1, len(ordered)), bool)))
    chosen: Integers = order[last]
    return chosen


def source_ranks(sources: Sequence[str], trusted: Sequence[str]) -> npt.NDArray[np.int16]:
    """Place of each source in the contract's order; sources it does not list come last."""
    ranks = {source: rank for rank, source in enumerate(trusted)}
    return np.array([ranks.get(source, len(trusted)) for source in sources], np.int16)


def _ranks_of(sources: pa.Array, trusted: Sequence[str]) -> npt.NDArray[np.int16]:
    different = sources.dictionary_encode()
    ranks = source_ranks(different.dictionary.to_pylist(), trusted)
    found: npt.NDArray[np.int16] = ranks[different.indices.to_numpy()]
    return found


def _microseconds(times: pa.Array) -> Integers:
    plain = times.cast(pa.timestamp("us", tz="UTC")).view(pa.int64()).fill_null(NO_TIME)
    return np.asarray(plain.to_numpy(zero_copy_only=False), np.int64)
