"""Sums of two counts of the same requests, for shares whose limits need their spread. Exact.

`ratio/{a}` + line end + b int64[10] over requests that have both: n, left out, Σa, Σb, then Σa²,
Σab and Σb², each as two sums: of the products' low 31 bits and of the bits above. A product of two
counts below 2³¹ has 62 bits, so each sum holds at least 2³² requests without overflow, and the
reader puts the two together as whole numbers of any length. Values that are no whole numbers in
[0, 2³¹) can't be added up this way: their requests are counted as left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.contract import Contract
from monitor.profiles.arrays import Flags, Floats, Integers
from monitor.profiles.part import Part
from monitor.profiles.serving_rows import ServingRows
from monitor.profiles.standard_columns import column_holding

RATIO = "ratio/"
RATIO_PAIRS = (
    ("cached_tokens", "prompt_tokens"),
    ("accepted_draft_tokens", "draft_tokens"),
    ("accepted_draft_tokens", "draft_steps"),
    ("reasoning_tokens", "output_tokens"),
)
"""Standard fields (part, whole) whose sums are kept where a contract has both columns."""
_LARGEST = 2**31
_LOW = _LARGEST - 1


@dataclass(frozen=True)
class RatioSums:
    """Over n requests with both values: sums of a, b, a², ab, b² as exact integers."""

    n: int
    left_out: int
    a: int
    b: int
    aa: int
    ab: int
    bb: int


def ratio_columns(contract: Contract, measured: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The pairs of columns that a contract's serving parts add up."""
    found = []
    for pair in RATIO_PAIRS:
        first, second = (column_holding(contract, field) for field in pair)
        if first is not None and second is not None and {first.name, second.name} <= set(measured):
            found.append((first.name, second.name))
    return tuple(found)


def add_ratios(serving: ServingRows, contract: Contract, measured: tuple[str, ...]) -> None:
    """Add up every pair."""
    for a, b in ratio_columns(contract, measured):
        sums = _sums(serving, serving.number(a), serving.number(b))
        for group, found in enumerate(sums):
            serving.dense[group][_name(a, b)] = found


def ratio_sums(part: Part, a: str, b: str) -> RatioSums:
    """The sums of two columns; all 0 where the part has none."""
    found = [int(each) for each in part.dense.get(_name(a, b), np.zeros(10, np.int64))]
    aa, ab, bb = (found[k] + found[k + 1] * _LARGEST for k in (4, 6, 8))
    return RatioSums(found[0], found[1], found[2], found[3], aa, ab, bb)


def _name(a: str, b: str) -> str:
    return f"{RATIO}{a}\n{b}"


def _sums(serving: ServingRows, a: Floats, b: Floats) -> Integers:
    both = ~(np.isnan(a) | np.isnan(b))
    sound = both & _countable(a) & _countable(b)
    x, y = a[sound].astype(np.int64), b[sound].astype(np.int64)
    products = [part for p in (x * x, x * y, y * y) for part in (p & _LOW, p >> 31)]
    columns = [np.ones(len(x), np.int64), np.zeros(len(x), np.int64), x, y, *products]
    totals = np.zeros((serving.n_groups, len(columns)), np.int64)
    members = serving.members[sound]
    for place, column in enumerate(columns):
        np.add.at(totals[:, place], members, column)
    np.add.at(totals[:, 1], serving.members[both & ~sound], 1)
    return totals


def _countable(values: Floats) -> Flags:
    return np.asarray((values >= 0) & (values < _LARGEST) & (values == np.floor(values)), np.bool_)
