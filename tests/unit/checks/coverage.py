"""Judges how often 95 % limits held the truth in a simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from scipy import stats

from monitor.measurement import Measured, Outcome

LEAST, MOST = 0.93, 0.98


class Held:
    """Counts, by name, how many limits were printed and how many of them held the truth."""

    def __init__(self) -> None:
        self.printed: Counter[str] = Counter()
        self.held: Counter[str] = Counter()

    def add(self, name: str, low: float | None, high: float | None, truth: float) -> None:
        assert low is not None
        assert high is not None
        self.printed[name] += 1
        self.held[name] += low - 1e-9 <= truth <= high + 1e-9

    def add_outcomes(self, outcomes: Mapping[str, Outcome], truths: Mapping[str, float]) -> None:
        """Those that are printed; what is too few says nothing."""
        for name, truth in truths.items():
            outcome = outcomes[name]
            if isinstance(outcome, Measured):
                self.add(name, outcome.low, outcome.high, truth)

    def require(self, *, at_most: float = MOST, least_printed: int = 100) -> None:
        """Coverage between 0.93 and 0.98, but for what 1 of 1,000 simulations shows by chance."""
        assert self.printed
        for name, printed in self.printed.items():
            low = stats.binom.ppf(0.001, printed, LEAST)
            high = stats.binom.ppf(0.999, printed, at_most)
            assert printed >= least_printed, name
            assert low <= self.held[name] <= high, f"{name}: {self.held[name]} of {printed}"
