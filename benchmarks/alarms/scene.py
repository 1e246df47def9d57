"""One simulated stretch of a model's traffic, as hourly cell counts or as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

import numpy as np
import pyarrow as pa

from benchmarks.alarms.laws import Law
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.cells import ViewCells

FIRST = datetime(2024, 1, 1, tzinfo=UTC)  # a Monday
HOUR_SECONDS = 3_600
REFERENCE_DAYS, TEST_DAYS = 56, 30
REFERENCE_HOURS, TEST_HOURS = REFERENCE_DAYS * 24, TEST_DAYS * 24
TIME = "ts"


@dataclass(frozen=True, eq=False)
class Counted:
    """Hourly counts of one column, int64[n_hours, n_cells], on cells of its reference."""

    name: str
    cells: ViewCells
    counts: Integers


class Scene(Protocol):
    """Traffic that can be shown either way."""

    def counted(self, rng: np.random.Generator) -> tuple[Counted, ...]:
        """Every column in cells that its reference hours decided."""

    def table(self, rng: np.random.Generator) -> pa.Table:
        """One row a request: `ts` in UTC and the columns."""


@dataclass(frozen=True, eq=False)
class LawScene:
    """Rows that are independent given their hour.

    `volumes` int64[n_hours]; `laws` by column; `repeated` float64[n_hours] is the share of an
    hour's rows that arrive twice.
    """

    volumes: Integers
    laws: Mapping[str, Law]
    reference_hours: int = REFERENCE_HOURS
    repeated: Floats | None = field(default=None)

    def counted(self, rng: np.random.Generator) -> tuple[Counted, ...]:
        """See Scene."""
        return tuple(self._count(rng, name, law) for name, law in self.laws.items())

    def _count(self, rng: np.random.Generator, name: str, law: Law) -> Counted:
        cells = law.fit(rng, self.volumes[: self.reference_hours])
        counts = rng.multinomial(self.volumes, law.shares(cells))
        if self.repeated is not None:
            counts = counts + rng.binomial(counts, self.repeated[:, None])
        return Counted(name, cells, counts)

    def table(self, rng: np.random.Generator) -> pa.Table:
        """See Scene."""
        hours = np.repeat(np.arange(len(self.volumes)), self.volumes)
        columns = {name: law.draw(rng, hours) for name, law in self.laws.items()}
        table = pa.table({TIME: times(rng, hours), **columns})
        if self.repeated is None:
            return table
        twice = rng.random(len(hours)) < self.repeated[hours]
        return table.take(np.repeat(np.arange(len(hours)), 1 + twice))


def times(rng: np.random.Generator, hours: Integers) -> pa.Array:
    """A moment for each row inside its hour, in order; hours are ascending."""
    seconds = np.sort(hours * HOUR_SECONDS + rng.random(len(hours)) * HOUR_SECONDS)
    micros = int(FIRST.timestamp()) * 1_000_000 + (seconds * 1e6).astype(np.int64)
    return pa.array(micros, pa.timestamp("us", tz="UTC"))


def hour_of_day(n_hours: int) -> Integers:
    """0 to 23, int64[n_hours]."""
    return np.arange(n_hours) % 24


def is_weekend(n_hours: int) -> Integers:
    """1 on Saturday and Sunday, int64[n_hours]."""
    return (np.arange(n_hours) // 24 % 7 >= 5).astype(np.int64)
