"""Two lists of answers to the same inputs, column by column. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.checks.paired.choices import Agreement, agreement, same_order, top_overlap
from monitor.checks.paired.numbers import NumberDifference, number_difference
from monitor.jobs.golden.answers import Answers
from monitor.profiles.arrays import Floats

HEAD = 5


@dataclass(frozen=True)
class ListComparison:
    """Ranked lists: pairs, those in the same order, and the mean overlap of the first five."""

    n: int
    same_order: int
    overlap: float | None


@dataclass(frozen=True)
class ColumnComparison:
    """What the two sides of one column differ in; one of the three is there.

    `pairs` are the places of the pairs with the worst differences, or none.
    """

    column: str
    numbers: NumberDifference | None = None
    choices: Agreement | None = None
    lists: ListComparison | None = None
    pairs: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For storing and printing."""
        found: dict[str, Any] = {"column": self.column, "worst_pairs": list(self.pairs)}
        if self.numbers is not None:
            found["numbers"] = self.numbers.to_json()
        if self.choices is not None:
            found["choices"] = self.choices.to_json()
        if self.lists is not None:
            found["lists"] = vars(self.lists).copy()
        return found


def compare(
    first: Answers, second: Answers, allowed: Mapping[str, Floats]
) -> tuple[ColumnComparison, ...]:
    """Every output column of pairs: answer i of `first` beside answer i of `second`.

    `allowed[column]` float64[n, width] is the difference allowed in each; 0 for columns left out.
    """
    if len(first) != len(second):
        raise AssertionError(f"pairs are of equal number, not {len(first)} and {len(second)}")
    found = []
    for name, reference in first.numbers.items():
        limits = allowed.get(name, np.zeros(reference.shape))
        found.append(_numbers(name, reference, second.numbers[name], limits))
    for name, words in first.words.items():
        found.append(ColumnComparison(name, choices=agreement(words, second.words[name])))
    for name, lists in first.lists.items():
        there = second.lists[name]
        made = ListComparison(len(lists), same_order(lists, there), top_overlap(lists, there, HEAD))
        found.append(ColumnComparison(name, lists=made))
    return tuple(found)


def _numbers(name: str, reference: Floats, second: Floats, limits: Floats) -> ColumnComparison:
    width = reference.shape[1]
    wide = np.broadcast_to(limits, reference.shape)
    made = number_difference(reference.ravel(), second.ravel(), np.ascontiguousarray(wide).ravel())
    pairs = tuple(dict.fromkeys(place // width for place in made.worst)) if width else ()
    return ColumnComparison(name, numbers=made, pairs=pairs)
