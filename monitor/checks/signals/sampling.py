"""Draws requests for review with known inclusion probabilities. Pure.

Every request has a permanent random number made of its id, its time and the seed, so that the same
seed draws the same requests however the rows arrive, and rows that come in later change little
(Ohlsson 1995).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from monitor.keys import KEY_LENGTH, keyed_hash
from monitor.profiles.arrays import Floats, Integers

MIN_OF_STRATUM = 2
LEAST_MEASURE = 0.1
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Places of the drawn rows, int64[k] ascending, and the probability that each was drawn."""

    rows: Integers
    probability: Floats


class TooSmall(ValueError):
    """The sample can't hold the least number of every stratum; `needed` would do."""

    def __init__(self, needed: int) -> None:
        super().__init__(f"{needed} needed")
        self.needed = needed


def random_numbers(request_ids: pa.Array, event_time: Integers, seed: int) -> Floats:
    """Permanent random numbers float64[n] in (0, 1): text[n] ids, int64[n] µs.

    SipHash of the id under a key made of the seed, the time mixed in by SplitMix64's finaliser
    (Steele, Lea and Flood 2014); 53 bits.
    """
    key = hashlib.blake2b(f"review {seed}".encode(), digest_size=KEY_LENGTH).digest()
    mixed = keyed_hash(request_ids, key).view(np.uint64) ^ event_time.astype(np.uint64)
    for shift, factor in zip((30, 27), _MIX, strict=True):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    found: Floats = ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return found


def allocation(population: Integers, size: int) -> Integers:
    """Rows of each stratum: in proportion, but at least two of each (or all it has).

    What is left after the least numbers goes by largest remainder; never more than a stratum has.
    Raises TooSmall when `size` can't hold the least numbers.
    """
    size = min(size, int(population.sum()))
    least = np.minimum(population, MIN_OF_STRATUM)
    if least.sum() > size:
        raise TooSmall(int(least.sum()))
    wanted = np.minimum(np.maximum(size * population / population.sum(), least), population)
    taken: Integers = np.maximum(np.floor(wanted).astype(np.int64), least)
    while taken.sum() > size:  # the least numbers took more than their share
        taken[int(np.argmax(np.where(taken > least, taken - wanted, -np.inf)))] -= 1
    while taken.sum() < size:
        taken[int(np.argmax(np.where(taken < population, wanted - taken, -np.inf)))] += 1
    return taken


def draw_stratified(random: Floats, strata: Integers, sizes: Integers) -> Drawn:
    """Simple random samples without replacement: the smallest random numbers of each stratum."""
    order = np.lexsort((random, strata))
    population = np.bincount(strata, minlength=len(sizes))
    starts = np.cumsum(population) - population
    place = np.arange(len(order)) - starts[strata[order]]
    rows = np.sort(order[place < sizes[strata[order]]])
    return Drawn(rows, (sizes / np.maximum(population, 1))[strata[rows]])


def draw_poisson(random: Floats, measure: Floats, size: int) -> Drawn:
    """Poisson sampling: row i is drawn when its random number is below its probability.

    π_i = min(1, λ m_i) with Σπ = size (or all rows, where there are no more); `measure` float64[n]
    is positive. The number drawn varies around `size`.
    """
    probability = inclusion(measure, size)
    rows = np.flatnonzero(random < probability)
    return Drawn(rows, probability[rows])


def inclusion(measure: Floats, size: int) -> Floats:
    """Probabilities in proportion to a measure that add up to `size`, each cut at 1.

    What is cut off goes to the others, until nothing is left to cut (Särndal, Swensson and Wretman
    1992, 3.6.2).
    """
    certain = np.zeros(len(measure), bool)
    if size >= len(measure):
        return np.ones(len(measure))
    while True:
        rest = measure[~certain]
        scaled = (size - certain.sum()) * measure / rest.sum()
        beyond = ~certain & (scaled > 1)
        if not beyond.any():
            found: Floats = np.where(certain, 1.0, scaled)
            return found
        certain |= beyond


def near_threshold(score: Floats, threshold: float) -> Floats:
    """A measure that is 1 at the threshold and falls off over 0.1 of score, never below 0.1."""
    near = LEAST_MEASURE + (1 - LEAST_MEASURE) * np.exp(-np.abs(score - threshold) / 0.1)
    found: Floats = np.where(np.isnan(score), LEAST_MEASURE, near)
    return found


def raters_of_items(
    n: int, raters: tuple[str, ...], double: float, rng: np.random.Generator
) -> list[tuple[str, ...]]:
    """Who rates each item: a share `double` of items by two, the work spread evenly."""
    twice = np.zeros(n, bool)
    twice[rng.permutation(n)[: round(n * double)]] = True
    order, turn = rng.permutation(len(raters)), 0
    found: list[tuple[str, ...]] = [()] * n
    for place in rng.permutation(n).tolist():
        count = 2 if twice[place] and len(raters) > 1 else 1
        found[place] = tuple(raters[order[(turn + k) % len(raters)]] for k in range(count))
        turn += count
    return found
