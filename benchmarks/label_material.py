"""Requests of a month, and what turned out to be true for each of them a month later.

Made from a seed; nothing here knows a database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.data import SCORE, benchmark_contract, event_times, make_columns, request_ids
from monitor.contract import Contract
from monitor.contract_quality import Label
from monitor.records import TIMESTAMP

LABEL = "came_true"
SEGMENT = "category_4"
DELAY, LONGEST_DELAY = timedelta(days=30), timedelta(days=45)
MEAN_EXTRA, MOST_EXTRA = timedelta(hours=12), timedelta(hours=36)
WITHOUT_SCORE = 0.4
DAY_SECONDS = 86_400
CANARY_SHARE = 0.1
_MICRO = 1_000_000


@dataclass(frozen=True)
class Month:
    """Labelled days, with as many requests a day on the day before and after them."""

    first: datetime
    days: int
    a_day: int

    @property
    def end(self) -> datetime:
        """The end of the last labelled day."""
        return self.first + timedelta(days=self.days)

    @property
    def labelled(self) -> int:
        """Requests of the labelled days."""
        return self.days * self.a_day

    @property
    def stored(self) -> int:
        """All requests, those of the two days beside included."""
        return (self.days + 2) * self.a_day


def labelled_contract() -> Contract:
    """The benchmarks' 25 columns, one of them a segment of 12 values, and a label."""
    plain = benchmark_contract()
    label = Label(name=LABEL, max_age=LONGEST_DELAY, sources=("register", "default"))
    return Contract(**{**dict(plain), "label": label, "segments": (SEGMENT,)})


def make_requests(month: Month, deployments: Sequence[int]) -> pa.Table:
    """All requests in order of time. Deployments follow each other; the next one is a canary with a
    tenth of the traffic while one serves.
    """
    n = month.stored
    columns = make_columns(n, seed=1)
    start = month.first - timedelta(days=1)
    times = event_times(n, start, (month.days + 2) * DAY_SECONDS)
    envelope = {
        "request_id": request_ids(n, seed=2),
        "event_time": times,
        "deployment": pa.array(served_by(n, deployments), pa.int64()),
    }
    return pa.table({**envelope, **dict(zip(columns.column_names, columns.columns, strict=True))})


def served_by(n: int, deployments: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The deployment of each of n requests in order of time."""
    place = np.arange(n) * len(deployments) // n
    canary = np.random.default_rng(4).random(n) < CANARY_SHARE
    chosen = np.minimum(place + canary, len(deployments) - 1)
    return np.asarray(deployments, np.int64)[chosen]


def make_labels(requests: pa.Table, month: Month) -> pa.Table:
    """A label for every request of the labelled days, in the order in which they are observed.

    Positive with the request's score as chance, observed 30 days after the request and another
    half day on average. No label names its request's time: the harder case.
    """
    mine = requests.slice(month.a_day, month.labelled)
    n = mine.num_rows
    extra = np.random.default_rng(6).exponential(MEAN_EXTRA.total_seconds(), n)
    later = np.minimum(extra, MOST_EXTRA.total_seconds()) + DELAY.total_seconds()
    observed = mine["event_time"].cast(pa.int64()).to_numpy() + (later * _MICRO).astype(np.int64)
    labels = _labels(mine["request_id"], came_true(requests, month), observed)
    return labels.take(pa.array(np.argsort(observed, kind="stable")))


def corrections(requests: pa.Table, month: Month, day: int, share: float) -> pa.Table:
    """The opposite of a share of all labels: those of the first requests of one day (and, if they
    are more than a day has, of the days after it). Observed after every other label.
    """
    n = min(max(1, round(month.labelled * share)), month.labelled - day * month.a_day)
    mine = requests.slice((day + 1) * month.a_day, n)
    turned = ~came_true(requests, month)[day * month.a_day :][:n]
    last = month.end + DELAY + MOST_EXTRA + timedelta(minutes=10)
    return _labels(mine["request_id"], turned, np.full(n, int(last.timestamp()) * _MICRO))


def came_true(requests: pa.Table, month: Month) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """What turned out for each request of the labelled days, in order of time."""
    score = requests.slice(month.a_day, month.labelled)[SCORE].combine_chunks()
    chance = score.fill_null(WITHOUT_SCORE).to_numpy()
    return np.asarray(np.random.default_rng(3).random(len(chance)) < chance)


def _labels(
    ids: pa.ChunkedArray, values: np.ndarray[Any, Any], observed: np.ndarray[Any, Any]
) -> pa.Table:
    return pa.table(
        {
            "request_id": ids.combine_chunks(),
            "value": pa.array(values),
            "observed_at": pa.array(observed).cast(TIMESTAMP),
        }
    )
