"""Streams of rows that every contestant reads: a clean month, and the shifts planted in it.

A peer judges each column by itself, so a shift stream holds only the shifted columns, each named
`SHIFT.COLUMN`; the twenty clean columns of the same seed are in the null stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.alarms.binning import hour_numbers
from benchmarks.alarms.scene import (
    REFERENCE_DAYS,
    REFERENCE_HOURS,
    TEST_DAYS,
    TIME,
    Scene,
)
from benchmarks.alarms.shifts import SHIFTS, Shift, column_of, shifted
from benchmarks.alarms.worlds.base import World
from benchmarks.alarms.worlds.seasonal import SEASONS, Season, mixed_scene

ROWS_AN_HOUR = 120
ONSET_WITHIN_HOURS = 168
WATCHED_HOURS = 168
SHIFT_TEST_DAYS = (ONSET_WITHIN_HOURS + WATCHED_HOURS) // 24


def mixed_world(name: str, season: Season) -> World:
    """A world of mixed columns with about 72 rows an hour."""
    season = replace(season, rows_an_hour=ROWS_AN_HOUR)

    def generate(rng: np.random.Generator, days: int) -> Scene:
        return mixed_scene(season, rng, days)

    return World(f"{name} mixed", "mixed columns, about 72 rows an hour", generate)


COMPARED = mixed_world("S3", SEASONS["S3"])


@dataclass(frozen=True)
class Planted:
    """One shift in one stream. `onset` counts hours from the start of the stream."""

    shift: Shift
    column: str
    onset: float

    @property
    def name(self) -> str:
        """The shifted column's name in a shift stream."""
        return f"{self.shift.name}.{self.column}"


@dataclass(frozen=True)
class Stream:
    """The rows of one seed. `purpose` keeps the seeds for tuning apart from those for judging."""

    world: World
    seed: int
    purpose: str

    @cached_property
    def clean(self) -> pa.Table:
        """86 days without a shift."""
        rng = self.world.random(self.seed, 0, self.purpose)
        return self.world.generate(rng, REFERENCE_DAYS + TEST_DAYS).table(rng)

    @cached_property
    def planted(self) -> tuple[Planted, ...]:
        """Every shift of the catalogue with its column and onset."""
        return tuple(self._plant(shift) for shift in SHIFTS.values())

    def _plant(self, shift: Shift) -> Planted:
        rng = self._chance(shift, 0)
        column = column_of(shift, self.clean, rng)
        return Planted(shift, column, REFERENCE_HOURS + float(rng.uniform(0, ONSET_WITHIN_HOURS)))

    def values(self, planted: Planted) -> pa.Array:
        """The shifted column, over all rows."""
        rng = self._chance(planted.shift, 1)
        return shifted(self.clean, planted.shift, planted.column, planted.onset, rng)

    def _chance(self, shift: Shift, step: int) -> np.random.Generator:
        return self.world.random(self.seed, 1 + step, f"{self.purpose} {shift.name}")

    def shift_table(self, *, whole: bool = False) -> pa.Table:
        """The shifted columns side by side, up to the last hour in which delays are counted; the
        clean ones too if `whole`."""
        columns = {planted.name: self.values(planted) for planted in self.planted}
        if whole:
            columns = {name: self.clean.column(name) for name in self.clean.column_names} | columns
        table = pa.table({TIME: self.clean.column(TIME), **columns})
        kept = hour_numbers(table) < (REFERENCE_DAYS + SHIFT_TEST_DAYS) * 24
        return table.filter(pa.array(kept))


@lru_cache(maxsize=1)
def compared(seed: int, purpose: str) -> Stream:
    """The stream of a seed in the compared world; the last one is kept in memory."""
    return Stream(COMPARED, seed, purpose)


def write_stream(table: pa.Table, path: Path) -> None:
    """An Arrow file that every peer can read; words as dictionaries."""
    words = [name for name in table.column_names if pa.types.is_string(table.field(name).type)]
    for name in words:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, pc.dictionary_encode(table.column(name)))
    table = table.combine_chunks()
    partial = path.with_suffix(".partial")
    with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    partial.replace(path)


def onsets(streams: Sequence[Stream]) -> Mapping[tuple[str, int], Planted]:
    """Every planted shift by its name and seed."""
    return {
        (planted.shift.name, stream.seed): planted
        for stream in streams
        for planted in stream.planted
    }
