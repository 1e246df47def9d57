"""The catalogue of shifts: what a planted fault does to the rows of one column. Knows no check.

Every shift acts on rows of the mixed world from its onset on; all other columns stay as they were,
and rows before the onset too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.alarms.binning import as_floats, hour_numbers, is_number
from benchmarks.alarms.scene import REFERENCE_HOURS, TIME
from benchmarks.alarms.worlds.seasonal import FEW_WORDS, MANY_WORDS, PAIR, PARTIAL
from monitor.profiles.arrays import Floats, Integers

RAMP_HOURS = 168
SUBGROUP_WORD = "v03"  # holds 11 % of the rows
FREQUENT_WORD, NEW_WORD = "v08", "never seen"
ANY_NUMBER = "any number"


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows a shift acts on: those from the onset on.

    `age` float64[n] counts hours since the onset; `usual_mean`, `usual_sd` and `usual_top` (99.9 %
    point) are of the column's reference rows; `last` is its last value before the onset.
    """

    values: Floats | pa.Array
    age: Floats
    hours: Integers
    subgroup: np.ndarray
    usual_mean: float
    usual_sd: float
    usual_top: float
    last: float


Change = Callable[[Rows, np.random.Generator], Floats | pa.Array]


@dataclass(frozen=True)
class Shift:
    """A cell of the catalogue. `column` is a column's name, or ANY_NUMBER."""

    name: str
    tells: str
    column: str
    change: Change


def _mean(size: float) -> Change:
    return lambda rows, _: rows.values + size * rows.usual_sd


def _spread(factor: float) -> Change:
    return lambda rows, _: rows.usual_mean + factor * (rows.values - rows.usual_mean)


def _tail(share: float) -> Change:
    def change(rows: Rows, rng: np.random.Generator) -> Floats:
        beyond = rows.usual_top + rng.exponential(0.3 * rows.usual_sd, len(rows.age))
        return np.where(_some(rng, rows, share), beyond, rows.values)

    return change


def _twice_as_frequent(rows: Rows, rng: np.random.Generator) -> pa.Array:
    words = np.asarray(rows.values.to_pylist(), object)
    usual = float(np.mean(words == FREQUENT_WORD))
    words[_some(rng, rows, usual / (1 - usual))] = FREQUENT_WORD
    return pa.array(words.tolist(), pa.string())


def _new_word(share: float) -> Change:
    def change(rows: Rows, rng: np.random.Generator) -> pa.Array:
        words = np.asarray(rows.values.to_pylist(), object)
        words[_some(rng, rows, share)] = NEW_WORD
        return pa.array(words.tolist(), pa.string())

    return change


def _missing(share: float) -> Change:
    """`share` of all rows in addition; those missing already don't count."""

    def change(rows: Rows, rng: np.random.Generator) -> Floats:
        usual = float(np.mean(np.isnan(rows.values)))
        return np.where(_some(rng, rows, share / (1 - usual)), np.nan, rows.values)

    return change


def _fahrenheit(share: float) -> Change:
    def change(rows: Rows, rng: np.random.Generator) -> Floats:
        return np.where(_some(rng, rows, share), rows.values * 1.8 + 32, rows.values)

    return change


def _subgroup(size: float) -> Change:
    return lambda rows, _: rows.values + size * rows.usual_sd * rows.subgroup


def _ramp(size: float) -> Change:
    def change(rows: Rows, _: np.random.Generator) -> Floats:
        return rows.values + size * rows.usual_sd * np.minimum(rows.age / RAMP_HOURS, 1.0)

    return change


def _turned_round(rows: Rows, _: np.random.Generator) -> Floats:
    """Ranks inside each hour reversed: the same values in every hour, the correlation negated."""
    climbing = np.lexsort((rows.values, rows.hours))
    falling = np.lexsort((-rows.values, rows.hours))
    turned = np.empty_like(rows.values)
    turned[climbing] = rows.values[falling]
    return turned


def _stale(rows: Rows, _: np.random.Generator) -> Floats:
    return np.full(len(rows.age), rows.last)


def _some(rng: np.random.Generator, rows: Rows, share: float) -> np.ndarray:
    return rng.random(len(rows.age)) < share


SHIFTS: Mapping[str, Shift] = {
    shift.name: shift
    for shift in (
        Shift("mean_10", "mean +.1 sd", ANY_NUMBER, _mean(0.1)),
        Shift("mean_25", "mean +.25 sd", ANY_NUMBER, _mean(0.25)),
        Shift("mean_50", "mean +.5 sd", ANY_NUMBER, _mean(0.5)),
        Shift("spread", "sd ×1.25", ANY_NUMBER, _spread(1.25)),
        Shift("tail", "2 % of rows beyond the 99.9 % point", ANY_NUMBER, _tail(0.02)),
        Shift("category", "one of 50 categories ×2", MANY_WORDS, _twice_as_frequent),
        Shift("new", "a new category on 1 % of rows", MANY_WORDS, _new_word(0.01)),
        Shift("missing", "missing +3 pp", PARTIAL, _missing(0.03)),
        Shift("unit", "Fahrenheit instead of Celsius on 5 %", ANY_NUMBER, _fahrenheit(0.05)),
        Shift("subgroup", "a subgroup of 11 % by .5 sd", ANY_NUMBER, _subgroup(0.5)),
        Shift("ramp", "mean +.5 sd within 7 days", ANY_NUMBER, _ramp(0.5)),
        Shift("correlation", "correlation of a pair .7 to -.7", PAIR[1], _turned_round),
        Shift("stale", "a column repeats its last value", ANY_NUMBER, _stale),
    )
}


def column_of(shift: Shift, table: pa.Table, rng: np.random.Generator) -> str:
    """The column the shift acts on; one of the plain numbers where any will do."""
    if shift.column != ANY_NUMBER:
        return shift.column
    numbers = [name for name in table.column_names if name[0] == "n" and name[1:].isdigit()]
    return str(rng.choice(numbers))


def shifted(
    table: pa.Table, shift: Shift, column: str, onset: float, rng: np.random.Generator
) -> pa.Array:
    """The column's values with the shift from `onset` on (hours since the first full hour)."""
    moments = table.column(TIME).cast(pa.int64()).to_numpy()
    ages = (moments - moments.min() // 3_600_000_000 * 3_600_000_000) / 3.6e9 - onset
    after = ages >= 0
    values = table.column(column).combine_chunks()
    hours = hour_numbers(table)
    words = table.column(FEW_WORDS).combine_chunks()
    subgroup = np.asarray(words.to_pylist(), object)[after] == SUBGROUP_WORD
    if not is_number(values.type):
        rows = Rows(values.filter(pa.array(after)), ages[after], hours[after], subgroup, 0, 0, 0, 0)
        return pa.concat_arrays([values.filter(pa.array(~after)), shift.change(rows, rng)])
    numbers = as_floats(values)
    reference = numbers[hours < REFERENCE_HOURS]
    rows = Rows(
        numbers[after],
        ages[after],
        hours[after],
        subgroup,
        float(np.nanmean(reference)),
        float(np.nanstd(reference)),
        float(np.nanquantile(reference, 0.999)),
        float(numbers[~after][-1]),
    )
    changed = np.concatenate((numbers[~after], shift.change(rows, rng)))
    return pa.array(changed, from_pandas=True)
