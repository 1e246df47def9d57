"""Worlds that somebody brings in a file: `python -m benchmarks.alarms --world FILE.py`.

The file defines `generate(seed: int, days: int) -> pyarrow.Table` (a UTC column `ts` and feature
columns, one row a request) and `SHIFT`: None, or `{"start_hour": ..., "columns": [...]}` with
hours from the start of the table; rows before it are clean.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.alarms.binning import (
    HOUR_MICROS,
    MICROS,
    counted_rows,
    is_category,
    is_number,
)
from benchmarks.alarms.scene import REFERENCE_DAYS, REFERENCE_HOURS, TEST_DAYS, TIME, Counted

DAYS = REFERENCE_DAYS + TEST_DAYS


class WorldRefused(ValueError):
    """A world file lacks something; the message names the file and what it needs."""


@dataclass(frozen=True)
class FileShift:
    """A shift from `start_hour` on in these columns."""

    start_hour: float
    columns: tuple[str, ...]


@dataclass(frozen=True)
class FileWorld:
    """A world from a file."""

    path: Path
    generate: Callable[[int, int], Any]
    shift: FileShift | None

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.stem

    def counted(self, seed: int) -> tuple[datetime, tuple[Counted, ...]]:
        """The first full hour, and every column on the product's cells of the first 56 days."""
        table = self._checked(self.generate(seed, DAYS))
        hours = table.column(TIME).cast(MICROS, safe=False).cast(pa.int64())
        first = min(hours.to_pylist()) // HOUR_MICROS
        start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=first)
        return start, counted_rows(table, REFERENCE_HOURS, DAYS * 24)

    def _checked(self, table: Any) -> pa.Table:
        if not isinstance(table, pa.Table):
            self._refuse(f"generate returns a {type(table).__name__}; it must be a pyarrow.Table")
        self._check_time(table)
        features = [name for name in table.column_names if name != TIME]
        if not features:
            self._refuse(f"the table has no column besides {TIME!r}; it needs feature columns")
        for name in features:
            kind = table.schema.field(name).type
            if not (is_number(kind) or is_category(kind)):
                self._refuse(
                    f"column {name!r} is {kind}; numbers, booleans and strings can be watched"
                )
        for name in self.shift.columns if self.shift else ():
            if name not in features:
                self._refuse(f"SHIFT names column {name!r}, which the table does not have")
        return table

    def _check_time(self, table: pa.Table) -> None:
        if TIME not in table.column_names:
            self._refuse(f"the table has no column {TIME!r} with the UTC time of each row")
        kind = table.schema.field(TIME).type
        if not pa.types.is_timestamp(kind) or kind.tz not in ("UTC", "Etc/UTC", "+00:00"):
            self._refuse(f'column {TIME!r} is {kind}; it must be pyarrow.timestamp("us", tz="UTC")')
        column = table.column(TIME)
        if column.null_count:
            self._refuse(
                f"column {TIME!r} has {column.null_count} empty values; every row needs one"
            )
        moments = column.cast(MICROS, safe=False).cast(pa.int64()).to_numpy()
        n_hours = (
            int(moments.max() // HOUR_MICROS - moments.min() // HOUR_MICROS) + 1
            if len(moments)
            else 0
        )
        if not (DAYS - 1) * 24 < n_hours <= DAYS * 24:
            self._refuse(
                f"generate(seed, {DAYS}) covers {n_hours} hours; {DAYS * 24} are asked for"
                f" ({REFERENCE_DAYS} days of reference, {TEST_DAYS} of test)"
            )

    def _refuse(self, what: str) -> None:
        raise WorldRefused(f"{self.path}: {what}")


def load_world(path: Path) -> FileWorld:
    """Run the file and take `generate` and `SHIFT` from it; its own errors pass through."""
    if not path.is_file():
        raise WorldRefused(f"{path}: there is no such file")
    spec = importlib.util.spec_from_file_location(f"alarm_world_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise WorldRefused(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    generate = getattr(module, "generate", None)
    if not callable(generate):
        raise WorldRefused(
            f"{path}: defines no function generate(seed: int, days: int) -> pyarrow.Table"
        )
    if not hasattr(module, "SHIFT"):
        raise WorldRefused(
            f'{path}: defines no SHIFT; None, or {{"start_hour": ..., "columns": [...]}}'
        )
    return FileWorld(path, generate, _shift(path, module.SHIFT))


def _shift(path: Path, said: Any) -> FileShift | None:
    if said is None:
        return None
    if not isinstance(said, Mapping) or set(said) != {"start_hour", "columns"}:
        raise WorldRefused(
            f'{path}: SHIFT is {said!r}; None, or {{"start_hour": ..., "columns": [...]}}'
        )
    start, columns = said["start_hour"], said["columns"]
    if isinstance(start, bool) or not isinstance(start, int | float):
        raise WorldRefused(f"{path}: SHIFT's start_hour is {start!r}; it must be a number")
    if not REFERENCE_HOURS <= start < DAYS * 24:
        raise WorldRefused(
            f"{path}: SHIFT starts at hour {start:g}; the first {REFERENCE_HOURS} hours are"
            f" reference and must be clean, and there are {DAYS * 24} in all"
        )
    if (
        isinstance(columns, str)
        or not columns
        or not all(isinstance(name, str) for name in columns)
    ):
        raise WorldRefused(f"{path}: SHIFT's columns are {columns!r}; a list of column names")
    return FileShift(float(start), tuple(columns))
