"""From what a peer said about windows to its alarms at a threshold. Knows no package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.alarms.contest import Alarm, false_rate
from benchmarks.alarms.metrics import tuned_threshold
from benchmarks.alarms.peers.registry import PeerContestant
from monitor.profiles.arrays import Flags, Floats


@dataclass(frozen=True, eq=False)
class Verdicts:
    """One contestant on one stream: arrays of the same length.

    `exact`: scores are settings, each run by itself; a row without a column says that its setting
    was run.
    """

    columns: np.ndarray
    ends: Floats
    scores: Floats
    shipped: Flags
    exact: bool

    @classmethod
    def of(cls, tables: Sequence[pa.Table], contestant: PeerContestant) -> Verdicts:
        """The verdicts of all its runs; of its own statistic where a run computes several."""
        table = pa.concat_tables(tables)
        frame = {name: table.column(name).to_numpy() for name in table.column_names}
        kept = np.ones(table.num_rows, bool)
        if contestant.statistic is not None:
            kept = frame["statistic"] == contestant.statistic
        ends = frame["end"][kept].astype(np.float64)
        return cls(
            frame["column"][kept], ends, frame["score"][kept], frame["alarm"][kept].astype(bool),
            contestant.exact,
        )  # fmt: skip

    def alarms(self, threshold: float | None) -> set[Alarm]:
        """Alarms as shipped (None) or at a threshold."""
        if threshold is None:
            chosen = self.shipped
        elif self.exact:
            chosen = self.scores == threshold
        else:
            chosen = self.scores >= threshold
        chosen = chosen & (self.columns != "")
        return set(zip(self.columns[chosen].tolist(), self.ends[chosen].tolist(), strict=True))


def tune(months: Sequence[Verdicts], allowed: float = 1.0) -> float:
    """The threshold at which clean months show at most `allowed` false incidents on average.

    Where a score fails, the threshold lies just above it; where settings were run one by one, it is
    the last one that passed. Infinity: never.
    """
    scores = np.unique(np.concatenate([month.scores for month in months]))
    scores = scores[np.isfinite(scores)]

    def rate_at(threshold: float) -> float:
        return false_rate([month.alarms(threshold) for month in months]).per_month

    passed = tuned_threshold(scores.tolist(), rate_at, allowed)
    failed = scores[scores < passed]
    if months[0].exact or not len(failed):
        return passed
    return float(np.nextafter(failed[-1], np.inf))
