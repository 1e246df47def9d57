"""Keeps the sample of each deployment's day while its windows are profiled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
from sqlalchemy.engine import Connection

from monitor.jobs.base import JobContext
from monitor.jobs.grouping import GroupKey
from monitor.profiles.rows import RequestRows
from monitor.profiles.sample import (
    merge_samples,
    sample_from_bytes,
    sample_rows,
    sample_to_bytes,
)
from monitor.store.profile_rows import read_samples, write_sample
from monitor.windows import Grain, Window

Integers = np.ndarray[Any, np.dtype[np.int64]]
SampleKey = tuple[datetime, int, str]


class SampleBuilder:
    """Collects samples by day, deployment and leg over chunks of rows."""

    def __init__(self, context: JobContext) -> None:
        self._context = context
        self._samples: dict[SampleKey, list[pa.Table]] = defaultdict(list)

    def add(self, rows: RequestRows, whole: Integers, keys: Sequence[GroupKey]) -> None:
        """Take in a chunk: `whole` int64[n] is each row's group."""
        by_key: dict[SampleKey, list[int]] = defaultdict(list)
        for group, key in enumerate(keys):
            day = Window.holding(key.window_start, Grain.DAY).start
            by_key[(day, key.deployment_id, key.leg)].append(group)
        for sample_key, groups in by_key.items():
            chosen = np.flatnonzero(np.isin(whole, groups))
            if len(chosen):
                hash_key = self._context.model.hash_key
                self._samples[sample_key].append(sample_rows(rows, hash_key, among=chosen))

    def write(self, connection: Connection) -> None:
        """Merge with what is stored of those days, and store."""
        if not self._samples:
            return
        context = self._context
        days = [day for day, _, _ in self._samples]
        span = Window(min(days), max(days) + Grain.DAY.length)
        for day, deployment, leg, body in read_samples(
            connection, context.project_id, context.model_id, span
        ):
            if (day, deployment, leg) in self._samples:
                self._samples[(day, deployment, leg)].append(sample_from_bytes(body))
        for (day, deployment, leg), samples in self._samples.items():
            merged = merge_samples(samples)
            write_sample(
                connection, context.project_id, context.model_id, day, deployment, leg,
                len(merged), sample_to_bytes(merged),
            )  # fmt: skip
