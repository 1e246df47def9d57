"""How often two sides choose the same: classes, and the heads of ranked lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from monitor.checks.intervals import LEVEL, wilson_limits
from monitor.measurement import Measured, Outcome, TooFew

MOST_SWAPS = 5
Choice = str | None


@dataclass(frozen=True)
class Agreement:
    """Pairs in which both chose the same, of `n` with a choice on at least one side.

    `one_missing` are counted as different; `swaps` are the commonest (first, second, pairs).
    """

    n: int
    equal: int
    both_missing: int
    one_missing: int
    swaps: tuple[tuple[str, str, int], ...]

    def outcome(self) -> Outcome:
        """The share of equal pairs with Wilson limits, from one pair on."""
        if self.n == 0:
            return TooFew(0, 1, "pairs with a choice")
        low, high = wilson_limits(self.equal, self.n)
        detail: dict[str, Any] = {"swaps": [list(swap) for swap in self.swaps]}
        if self.one_missing:
            detail["one_missing"] = self.one_missing
        return Measured(self.equal / self.n, self.n, low, high, LEVEL, detail=detail)

    def to_json(self) -> dict[str, Any]:
        """For storing."""
        return {
            "n": self.n,
            "equal": self.equal,
            "both_missing": self.both_missing,
            "one_missing": self.one_missing,
            "swaps": [list(swap) for swap in self.swaps],
        }


def agreement(first: Sequence[Choice], second: Sequence[Choice]) -> Agreement:
    """Compare the choices of the same n pairs; None is no choice."""
    counts = Counter(zip(first, second, strict=True))
    neither = counts.pop((None, None), 0)
    n = sum(counts.values())
    equal = sum(number for (one, two), number in counts.items() if one == two)
    missing = sum(number for (one, two), number in counts.items() if one is None or two is None)
    apart = [(pair, number) for pair, number in counts.items() if pair[0] != pair[1]]
    apart.sort(key=lambda each: (-each[1], str(each[0])))
    swaps = tuple((_name(one), _name(two), number) for (one, two), number in apart[:MOST_SWAPS])
    return Agreement(n, equal, neither, missing, swaps)


def top_overlap(
    first: Sequence[Sequence[str]], second: Sequence[Sequence[str]], k: int
) -> float | None:
    """Mean over pairs of |first k of one ∩ first k of the other| / min(k, longer list), in [0, 1].

    Pairs of two empty lists are left out; None when there are no others. It does not look at the
    order inside the first k.
    """
    if k < 1:
        raise AssertionError(f"the head of a list holds at least one item, not {k}")
    shares = []
    for one, two in zip(first, second, strict=True):
        size = min(k, max(len(one), len(two)))
        if size:
            shares.append(len(set(one[:k]) & set(two[:k])) / size)
    return sum(shares) / len(shares) if shares else None


def same_order(first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]) -> int:
    """Pairs whose whole lists are the same in the same order."""
    return sum(list(one) == list(two) for one, two in zip(first, second, strict=True))


def _name(choice: Choice) -> str:
    return "(none)" if choice is None else choice
