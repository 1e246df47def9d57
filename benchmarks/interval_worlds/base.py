"""What a world is: it draws rows, lets the product print intervals, and knows what is true."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.measurement import Measured, Outcome

Rng = np.random.Generator
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
GROUPS = 20
_TINY = 1e-9  # limits and truths that are equal but for rounding


@dataclass(frozen=True)
class Reading:
    """One interval as printed: whether it held the truth; `width` None where a side is open."""

    interval: str
    method: str
    held: bool
    width: float | None


Draw = Callable[[Rng], Iterator[Reading]]


@dataclass(frozen=True)
class World:
    """Rows of one kind and size. `prepare` finds the truth and gives the function that draws once.

    `n`: rows a cohort (a side, where two are compared). `truth`: how it is known. `share`: how many
    draws this world gets of those that a cheap one gets. `conservative`: its method is named so.
    """

    part: str
    name: str
    n: int
    truth: str
    prepare: Callable[[], Draw]
    share: float = 1.0
    conservative: bool = False

    @property
    def key(self) -> str:
        """Unique among all worlds."""
        return f"{self.part}: {self.name}, n = {self.n}"


def between(
    interval: str, low: float | None, high: float | None, truth: float, method: str
) -> Reading:
    """Whether these limits hold the truth; None is an open side."""
    held = (low is None or low - _TINY <= truth) and (high is None or truth <= high + _TINY)
    return Reading(interval, method, held, None if low is None or high is None else high - low)


def printed(
    interval: str, outcome: Outcome, truth: float, method: str = "unnamed"
) -> Iterator[Reading]:
    """The reading of an outcome; nothing where no interval was printed (too few, undefined)."""
    if isinstance(outcome, Measured) and (outcome.low is not None or outcome.high is not None):
        told = str(outcome.detail.get("interval_method", method))
        yield between(interval, outcome.low, outcome.high, truth, told)


def all_printed(
    outcomes: Mapping[str, Outcome], truths: Mapping[str, float], method: str = "unnamed"
) -> Iterator[Reading]:
    """Readings of every outcome whose truth is known."""
    for name, truth in truths.items():
        yield from printed(name, outcomes[name], truth, method)


def entities_of(rng: Rng, n: int, rows_an_entity: int) -> tuple[Integers, Integers]:
    """Entity of each row, and its group of twenty, int64[n] each."""
    entities = n // rows_an_entity
    entity = np.repeat(np.arange(entities, dtype=np.int64), rows_an_entity)
    return entity, rng.integers(0, GROUPS, entities)[entity]
