"""How mature a cohort is: the share of its labels that can be expected to have come by now.

A cohort is the requests of one window, by the time of the prediction. Knows counts, ages and delay
curves; no clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from monitor.checks.intervals import wilson_limits
from monitor.checks.maturity.delay_curve import DelayCurve

PARTIAL_FROM, PROVISIONAL_FROM, FINAL_FROM = 0.5, 0.8, 0.98


class MaturityState(StrEnum):
    """What a number of the cohort is worth. Rules judge provisional and final ones only."""

    TOO_EARLY = "too_early"
    PARTIAL = "partial"
    PROVISIONAL = "provisional"
    FINAL = "final"

    @property
    def is_judgeable(self) -> bool:
        """Whether a rule may fire or recover on it."""
        return self in (MaturityState.PROVISIONAL, MaturityState.FINAL)


@dataclass(frozen=True)
class Stratum:
    """Requests of one predicted class in one piece of a cohort: their age, how many there are, how
    many have a label, and the curve that tells how soon such labels come (None: none is learned).
    """

    predicted: int
    age_hours: float
    n: int
    labelled: int
    curve: DelayCurve | None

    @property
    def expected(self) -> float | None:
        """F(age): the share of these requests that has its label by now, as earlier ones did."""
        return None if self.curve is None else self.curve.known_by(self.age_hours)

    @property
    def ever(self) -> float | None:
        """The share that will ever have one: the curve's plateau once it is settled, else 1."""
        if self.curve is None:
            return None
        return self.curve.plateau if self.curve.settled else 1.0


@dataclass(frozen=True)
class Maturity:
    """State of a cohort, the share of its labels expected by now, the age of its youngest request
    and its coverage, the share that has a label. None where nothing is known.
    """

    state: MaturityState
    expected_share: float | None
    age_hours: float
    coverage: float | None

    def told(self) -> dict[str, Any]:
        """For the detail of a measurement. A final cohort is told without age: it has stopped."""
        found: dict[str, Any] = {"maturity": self.state.value, "coverage": self.coverage}
        if self.state is not MaturityState.FINAL:
            found |= {"expected_share": self.expected_share, "age_hours": self.age_hours}
        return found


def cohort_maturity(
    strata: Sequence[Stratum], age_hours: float, *, closed: bool, all_get_one: bool = True
) -> Maturity:
    """The maturity of a cohort from its strata.

    Expected share m = Σ n·F(age) / Σ n·F(∞), summed over predicted classes and pieces; F(∞) is the
    plateau, so that a cohort whose labels will never all come still becomes final. While no request
    is as old as a label may be the plateau is unknown and taken as 1. States: too early below 0.5,
    partial below 0.8, provisional below 0.98, else final. Final too: where 98 % have their label,
    and where `closed` says that labels and corrections are no longer taken. The coverage is a lower
    limit of m, whatever the curve says, and all that is known without one.

    Where every request is to get a label (`all_get_one`), a cohort is not more mature than the
    labels it has: labels that were lost on the way make it as immature as labels that are to come.
    The upper Wilson limit of its coverage over Σ n·F(∞)/n takes the place of m where it is lower.
    """
    n, labelled = sum(one.n for one in strata), sum(one.labelled for one in strata)
    coverage = labelled / n if n else None
    share = _expected_share(strata)
    if closed or (coverage is not None and coverage >= FINAL_FROM):
        state = MaturityState.FINAL
    else:
        judged = _at_most_there(share, strata, labelled, n) if all_get_one else share
        state = _state_of(max(judged or 0.0, coverage or 0.0))
    return Maturity(state, share, age_hours, coverage)


def _expected_share(strata: Sequence[Stratum]) -> float | None:
    by_now, in_the_end = 0.0, 0.0
    for one in strata:
        expected, ever = one.expected, one.ever
        if expected is None or ever is None:
            return None
        by_now += one.n * expected
        in_the_end += one.n * ever
    return min(1.0, by_now / in_the_end) if in_the_end > 0 else None


def _at_most_there(
    share: float | None, strata: Sequence[Stratum], labelled: int, n: int
) -> float | None:
    in_the_end = sum(one.n * (one.ever or 0.0) for one in strata)
    if share is None or in_the_end <= 0:
        return share
    return min(share, wilson_limits(labelled, n)[1] * n / in_the_end)


def _state_of(share: float) -> MaturityState:
    if share < PARTIAL_FROM:
        return MaturityState.TOO_EARLY
    if share < PROVISIONAL_FROM:
        return MaturityState.PARTIAL
    return MaturityState.PROVISIONAL if share < FINAL_FROM else MaturityState.FINAL
