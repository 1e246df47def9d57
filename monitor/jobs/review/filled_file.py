"""Reads a task file that a rater filled in; every mistake is told at once. Knows no database."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from monitor.contract_quality import Signal, SignalKind
from monitor.errors import Problem
from monitor.intake.signal_values import PREFERENCES, wanted_value
from monitor.jobs.review.task_files import ITEM, REQUEST, defused, question
from monitor.store.reviews import Item

DELIMITERS = (",", ";", "\t")
LONGEST_CELL = 65_536
"""Not left to the csv module: its limit belongs to the whole process, and others change it."""
_TRUE, _FALSE = ("true", "1", "yes", "pass"), ("false", "0", "no", "fail")
_SHOWN = 40


@dataclass(frozen=True)
class Answer:
    """One filled cell: a number, or win, loss, tie."""

    place: int
    signal: str
    value: float | str


@dataclass
class Filled:
    """Answers of a file, cells left empty, and what is wrong."""

    answers: list[Answer] = field(default_factory=list)
    empty: int = 0
    problems: list[Problem] = field(default_factory=list)


def read_filled(
    text: str, rater: str, items: Mapping[int, Item], signals: Sequence[Signal]
) -> Filled:
    """Answers of a rater. `items` are all items of the review, by place.

    A spreadsheet may have changed the separator to a semicolon or tab and the decimal point to a
    comma, and moved rows and columns; headings and item numbers must be as they were written.
    """
    found = Filled()
    separator = _separator(text)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        found.problems.append(Problem("file", f"can't be read as CSV: {error}"))
        return found
    if any(len(cell) > LONGEST_CELL for row in rows for cell in row):
        what = f"can't be read as CSV: a cell holds over {LONGEST_CELL:,} characters"
        found.problems.append(Problem("file", what))
        return found
    header = [cell.strip() for cell in rows[0]] if rows else []
    places = _columns(header, signals, found)
    if places is None:
        return found
    seen: dict[int, int] = {}
    for number, cells in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in cells):
            continue
        row = [*cells, *([""] * (len(header) - len(cells)))]
        item = _item(row, number, places, rater, items, seen, found)
        if item is not None:
            for signal in signals:
                _answer(row[places[signal.name]], signal, item, number, separator, found)
    return found


def _separator(text: str) -> str:
    first = text.partition("\n")[0]
    return next((one for one in DELIMITERS if ITEM in first.strip().split(one)), ",")


def _columns(
    header: Sequence[str], signals: Sequence[Signal], found: Filled
) -> dict[str, int] | None:
    wanted = {ITEM: ITEM, REQUEST: REQUEST, **{one.name: question(one) for one in signals}}
    there = {key: header.index(told) for key, told in _first(header, wanted).items()}
    for key, told in wanted.items():
        if key not in there:
            shown = told if key in (ITEM, REQUEST) else defused(told)
            found.problems.append(Problem("first row", f"the column {shown!r} is missing", 1))
    return there if len(there) == len(wanted) else None


def _first(header: Sequence[str], wanted: Mapping[str, str]) -> dict[str, str]:
    return {
        key: each
        for key, told in wanted.items()
        for each in (told, defused(told))
        if each in header
    }


def _item(
    row: Sequence[str],
    number: int,
    places: Mapping[str, int],
    rater: str,
    items: Mapping[int, Item],
    seen: dict[int, int],
    found: Filled,
) -> Item | None:
    told = row[places[ITEM]].strip()
    wrong = _wrong(told, row[places[REQUEST]].strip(), rater, items, seen)
    if wrong is not None:
        found.problems.append(Problem(ITEM, wrong, number))
        return None
    seen[int(told)] = number
    return items[int(told)]


def _wrong(
    told: str, request: str, rater: str, items: Mapping[int, Item], seen: Mapping[int, int]
) -> str | None:
    """Why a line's item can't be right; None when it can."""
    if not (told.isascii() and told.isdigit() and len(told) < 10):
        return f"{told[:_SHOWN]!r} is no item number"
    item = items.get(int(told))
    if item is None:
        return f"item {told} is not of this review"
    if rater not in item.raters:
        return f"item {told} is not {rater}'s but of {' and '.join(item.raters)}"
    if item.place in seen:
        return f"item {told} stands on line {seen[item.place]} already"
    if request not in (item.request_id.strip(), defused(item.request_id).strip()):
        return (
            f"item {told} is the request {item.request_id[:_SHOWN]!r}, not {request[:_SHOWN]!r};"
            " columns were sorted apart"
        )
    return None


def _answer(
    cell: str, signal: Signal, item: Item, number: int, separator: str, found: Filled
) -> None:
    told = cell.strip().removeprefix("'").strip()
    if not told:
        found.empty += 1
        return
    value = _value(told, signal, decimal_comma=separator != ",")
    if value is None:
        what = f"{told[:_SHOWN]!r} is not {wanted_value(signal)}"
        found.problems.append(Problem(signal.name, what, number))
    else:
        found.answers.append(Answer(item.place, signal.name, value))


def _value(told: str, signal: Signal, *, decimal_comma: bool) -> float | str | None:
    word = told.lower()
    if signal.kind is SignalKind.PREFERENCE:
        return word if word in PREFERENCES else None
    if signal.scale is None:
        return 1.0 if word in _TRUE else 0.0 if word in _FALSE else None
    try:
        number = float(word.replace(",", ".") if decimal_comma else word)
    except ValueError:
        return None
    low, high = signal.scale
    return number if math.isfinite(number) and low <= number <= high else None
