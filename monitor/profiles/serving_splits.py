"""Logarithmic cells of one column for the requests of one word, flag or outcome.

A split is a column of the serving part by the name `split_name(column, by, value)`: everything that
reads a column reads it as well (`value_counts`, `log_totals`, `quantile`, percentiles). Kept are

- first_token_time by first_token_from: times that begin elsewhere are never mixed;
- latency and first_token_time by cold_start (`true`, `false`);
- latency by outcome (`answered`, `cached`);
- every measured column by each declared route of a cascade; without a cascade latency,
  first_token_time and cost by the route.

A word column is split by its named words (see `serving_words`), at most 50.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from monitor.contract import Contract
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.log_cells import log_tables
from monitor.profiles.part import Part
from monitor.profiles.serving_rows import LOG, MISSING, ServingRows
from monitor.profiles.standard_columns import column_holding, flag_columns, word_columns
from monitor.records import RequestOutcome

OUTCOME_SPLIT = "outcome"
MAX_SPLITS = 50
_BY_FLAG: Mapping[str, tuple[str, ...]] = {"cold_start": ("latency", "first_token_time")}
_BY_WORD: Mapping[str, tuple[str, ...]] = {
    "first_token_from": ("first_token_time",),
    "route": ("latency", "first_token_time", "cost"),
}
_OUTCOMES = {RequestOutcome.ANSWERED: "answered", RequestOutcome.CACHED: "cached"}
_FLAG_VALUES = ("false", "true")


def split_name(column: str, by: str, value: str) -> str:
    """The name of the column for requests with this value (column names hold no line ends)."""
    return f"{column}\n{by}\n{value}"


def split_values(part: Part, column: str, by: str) -> tuple[str, ...]:
    """Values of `by` for which the part splits the column, in order."""
    prefix = f"{LOG}{column}\n{by}\n"
    return tuple(
        sorted(name.removeprefix(prefix) for name in part.sparse if name.startswith(prefix))
    )


def cold_columns(contract: Contract, measured: tuple[str, ...]) -> tuple[str, ...]:
    """The measured columns that are split by `cold_start`; empty without such a flag."""
    if _held(contract, "cold_start") not in flag_columns(contract):
        return ()
    return tuple(_columns(contract, _BY_FLAG["cold_start"], measured))


def add_splits(serving: ServingRows, contract: Contract, measured: tuple[str, ...]) -> None:
    """Split the columns that the contract measures."""
    for columns, by, names, codes in _splits(serving, contract, measured):
        for column in columns:
            _add(serving, serving.number(column), codes, [split_name(column, by, n) for n in names])


def _splits(
    serving: ServingRows, contract: Contract, measured: tuple[str, ...]
) -> Iterator[tuple[list[str], str, tuple[str, ...], Integers]]:
    for field, fields in _BY_FLAG.items():
        by, columns = _held(contract, field), _columns(contract, fields, measured)
        if columns and by in flag_columns(contract):
            values = serving.number(by)
            codes = np.where(np.isnan(values), -1, values != 0).astype(np.int64)
            yield columns, by, _FLAG_VALUES, codes
    for field, fields in _BY_WORD.items():
        by, columns = _held(contract, field), _columns(contract, fields, measured)
        if field == "route" and contract.cascade is not None:
            routes = contract.cascade.routes
            yield (
                list(measured),
                contract.cascade.route,
                routes,
                serving.places_of(contract.cascade.route, routes),
            )
        elif columns and by in word_columns(contract):
            words = serving.words(by, MAX_SPLITS)
            yield (
                columns,
                by,
                words.names,
                np.where(words.codes == len(words.names), -1, words.codes),
            )
    columns = _columns(contract, ("latency",), measured)
    if columns:
        outcome = serving.rows.outcome[serving.places]
        codes = np.full(len(outcome), -1, np.int64)
        for code, wanted in enumerate(_OUTCOMES):
            codes[outcome == wanted] = code
        yield columns, OUTCOME_SPLIT, tuple(_OUTCOMES.values()), codes


def _held(contract: Contract, field: str) -> str:
    column = column_holding(contract, field)
    return column.name if column is not None else ""


def _columns(contract: Contract, fields: tuple[str, ...], measured: tuple[str, ...]) -> list[str]:
    return [name for name in (_held(contract, field) for field in fields) if name in measured]


def _add(serving: ServingRows, values: Floats, codes: Integers, names: list[str]) -> None:
    given = (codes >= 0) & ~np.isnan(values)
    members = serving.members[given] * len(names) + codes[given]
    used = np.unique(members)
    tables = log_tables(values[given], np.searchsorted(used, members), len(used))
    for place, table in zip(used, tables, strict=True):
        group, code = divmod(int(place), len(names))
        serving.sparse[group][LOG + names[code]] = table
    absent = np.where(np.isnan(values), codes, -1)
    for group, code, rows in zip(*serving.count_codes(absent, len(names)), strict=True):
        serving.dense[group][MISSING + names[code]] = np.array([rows], np.int64)
