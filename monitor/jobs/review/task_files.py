"""Task files: one CSV a rater, safe to open in a spreadsheet, without the model's answer.

A rater sees what the model was asked, not what it said (unless --show-output), and nothing of the
other raters. Personal and special columns are masked. Text that a spreadsheet would take for a
formula gets an apostrophe before it.
"""

from __future__ import annotations

import csv
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from monitor.contract import Column, ColumnRole, ColumnType, Contract, Sensitivity
from monitor.contract_quality import Signal
from monitor.errors import ConfigurationError, Problem
from monitor.intake.signal_values import wanted_value
from monitor.jobs.review.wanted import Wanted
from monitor.profiles.rows import RequestRows
from monitor.store.reviews import Item

ITEM, REQUEST, TIME = "item", "request_id", "event_time"
DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n")
MASKED = "(hidden)"
_ASKED = (ColumnRole.FEATURE, ColumnRole.SEGMENT, ColumnRole.ENTITY, ColumnRole.PARENT)
_SAID = (ColumnRole.PREDICTION, ColumnRole.SCORE)
_HIDDEN = (Sensitivity.PERSONAL, Sensitivity.SPECIAL)
_EPOCH_YEARS = 253_402_300_800


@dataclass(frozen=True, eq=False)
class Task:
    """An item and where its request's values are."""

    item: Item
    rows: RequestRows
    place: int


def question(signal: Signal) -> str:
    """The heading of a signal's column: its name, and what may be written into it."""
    return f"{signal.name} [{wanted_value(signal)}]"


def write_tasks(
    contract: Contract,
    wanted: Wanted,
    signals: Sequence[Signal],
    tasks: Sequence[Task],
    folder: Path,
) -> dict[str, Path]:
    """Write a file a rater, items in an order of its own; the files by rater."""
    roles = (*_ASKED, *_SAID) if wanted.show_output else _ASKED
    columns = [column for column in contract.columns if column.role in roles]
    questions = [question(signal) for signal in signals]
    header = [ITEM, REQUEST, TIME, *(column.name for column in columns), *questions]
    files: dict[str, Path] = {}
    for rater in wanted.raters:
        mine = [task for task in tasks if rater in task.item.raters]
        mine.sort(key=lambda task: task.item.place)
        order = np.random.default_rng([wanted.seed, zlib.crc32(rater.encode())])
        lines = [_line(mine[k], columns, len(questions)) for k in order.permutation(len(mine))]
        files[rater] = folder / f"{wanted.name}-{rater}.csv"
        _write(files[rater], [[defused(cell) for cell in header], *lines])
    return files


def defused(text: str) -> str:
    """Text that a spreadsheet shows and never runs."""
    return f"'{text}" if text.lstrip(" ").startswith(DANGEROUS) or text[:1] in DANGEROUS else text


def _line(task: Task, columns: Sequence[Column], questions: int) -> list[str]:
    item = task.item
    moment = item.event_time.astimezone(UTC).isoformat(timespec="seconds")
    cells = [_cell(task, column) for column in columns]
    return [str(item.place), defused(item.request_id), moment, *cells, *([""] * questions)]


def _cell(task: Task, column: Column) -> str:
    if column.sensitivity in _HIDDEN:
        return MASKED
    rows, slot = task.rows, task.rows.layout.slot(column.name)
    texts = [
        rows.text_column(slot.text_start + k, task.place, task.place + 1)[0].as_py()
        for k in range(slot.text_width)
    ]
    width = rows.layout.number_width
    first = task.place * width + slot.number_start
    numbers = [rows.slots[first + k].as_py() for k in range(slot.number_width)]
    return _shown(column, numbers, texts)


def _shown(column: Column, numbers: Sequence[float | None], texts: Sequence[str | None]) -> str:
    match column.type:
        case ColumnType.TEXT if not column.keep_text:
            return "(text is not kept)" if texts and texts[0] is not None else ""
        case ColumnType.CATEGORY | ColumnType.TEXT:
            return defused(texts[0] or "")
        case ColumnType.RANKED_LIST:
            return defused(" > ".join(text for text in texts if text is not None))
        case ColumnType.VECTOR:
            return f"(vector of {len(numbers)})" if numbers and numbers[0] is not None else ""
        case ColumnType.CLASS_SCORES:
            pairs = zip(column.categories or (), numbers, strict=False)
            return defused(" ".join(f"{name}={_number(value)}" for name, value in pairs))
        case _:
            return _scalar(column.type, numbers[0])


def _scalar(kind: ColumnType, value: float | None) -> str:
    if value is None:
        return ""
    if kind is ColumnType.BOOLEAN:
        return "true" if value else "false"
    if kind is ColumnType.TIMESTAMP and 0 <= value < _EPOCH_YEARS:
        return datetime.fromtimestamp(value, UTC).isoformat(timespec="seconds")
    return _number(value)


def _number(value: Any) -> str:
    """A number; a minus before digits is no formula."""
    if value is None or not math.isfinite(value):
        return ""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)


def _write(path: Path, lines: Sequence[Sequence[str]]) -> None:
    try:
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file).writerows(lines)
    except OSError as error:
        what = f"can't be written: {error.strerror or error}"
        raise ConfigurationError(str(path), [Problem("--output", what)]) from error


def files_there(wanted: Wanted, folder: Path) -> Mapping[str, Path]:
    """Task files that are there already: somebody may have filled them in."""
    paths = {rater: folder / f"{wanted.name}-{rater}.csv" for rater in wanted.raters}
    return {rater: path for rater, path in paths.items() if path.exists()}
