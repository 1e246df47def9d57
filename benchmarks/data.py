"""The rows that both benchmarks use: 20 numbers and 5 categories of 12 values, 2 % NULL.

Made from a seed, as the columns a sender would have; nothing here knows a database.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from monitor.contract import Column, ColumnRole, ColumnType, Contract, Task
from monitor.records import TIMESTAMP

NUMBERS, CATEGORIES, CATEGORY_VALUES = 20, 5, 12
NULL_SHARE = 0.02
MODEL = "benchmark"
SCORE = f"number_{NUMBERS - 1:02d}"


def benchmark_contract() -> Contract:
    """25 columns; the last number is the score."""
    numbers = [
        Column(
            name=f"number_{place:02d}",
            type=ColumnType.NUMBER,
            role=ColumnRole.FEATURE if place < NUMBERS - 1 else ColumnRole.SCORE,
            nullable=True,
        )
        for place in range(NUMBERS)
    ]
    categories = [
        Column(name=f"category_{place}", type=ColumnType.CATEGORY, nullable=True)
        for place in range(CATEGORIES)
    ]
    return Contract(
        model=MODEL,
        owner="benchmarks",
        purpose="measuring speed",
        task=Task.BINARY,
        columns=(*numbers, *categories),
    )


def make_columns(n: int, seed: int, *, moved: float = 0.0) -> pa.Table:
    """n rows of the 25 columns. `moved` shifts the first number by so many standard deviations."""
    rng = np.random.default_rng(seed)
    columns: dict[str, pa.Array] = {}
    for place in range(NUMBERS):
        values = _numbers(rng, place, n)
        if place == 0:
            values = values + moved
        columns[f"number_{place:02d}"] = pa.array(values, mask=rng.random(n) < NULL_SHARE)
    words = pa.array([f"value {letter}" for letter in "abcdefghijkl"])
    shares = 1 / np.arange(1, CATEGORY_VALUES + 1)
    for place in range(CATEGORIES):
        chosen = rng.choice(CATEGORY_VALUES, n, p=shares / shares.sum())
        codes = pa.array(chosen, pa.int64(), mask=rng.random(n) < NULL_SHARE)
        columns[f"category_{place}"] = words.take(codes)
    return pa.table(columns)


def event_times(n: int, first: datetime, seconds: int) -> pa.Array:
    """n moments in ascending order, evenly over so many seconds from `first` on."""
    start = int(first.timestamp()) * 1_000_000
    moments = start + np.arange(n, dtype=np.int64) * (seconds * 1_000_000) // n
    return pa.array(moments).cast(TIMESTAMP)


def request_ids(n: int, seed: int) -> pa.Array:
    """n random ids of 36 characters, as most senders make them."""
    random = np.random.default_rng(seed).bytes(16 * n)
    return pa.array([str(uuid.UUID(bytes=random[k : k + 16])) for k in range(0, 16 * n, 16)])


def day_before(now: datetime, days: int) -> datetime:
    """Midnight in UTC so many days before."""
    midnight = datetime(now.year, now.month, now.day, tzinfo=UTC)
    return datetime.fromtimestamp(midnight.timestamp() - days * 86_400, UTC)


def _numbers(
    rng: np.random.Generator, place: int, n: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Normal, skewed, bounded and whole numbers in turn, as features are."""
    if place == NUMBERS - 1:
        return rng.beta(2.0, 3.0, n)
    match place % 4:
        case 0:
            return rng.normal(0.0, 1.0, n)
        case 1:
            return rng.lognormal(6.0, 0.6, n)
        case 2:
            return rng.gamma(2.0, 10.0, n)
        case _:
            return rng.poisson(30.0, n).astype(np.float64)
