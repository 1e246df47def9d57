"""Looking at a canary as often as one likes: e-processes for harm and for "no worse than ε". Pure.

Hour by hour, losses (1: wrong, failed or too slow; 0: fine) of both sides are paired at random
within a slice of the traffic. A pair gives b's loss minus a's, -1, 0 or 1, and a bet is laid on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from monitor.profiles.arrays import Floats, Integers

ALPHA = 0.05
BETS = 16


class CanaryVerdict(StrEnum):
    """What the canary has shown so far."""

    HARM = "harm"
    NO_WORSE = "no worse"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class CanaryStep:
    """After a slot of time: pairs in it and the capital of both bets so far (log10)."""

    slot: int
    pairs: int
    worse: int
    better: int
    harm_log10: float
    no_worse_log10: float


@dataclass(frozen=True)
class Canary:
    """How the canary ended: the first slot at which a bet held 1/α, or UNDECIDED.

    `mean` is the mean difference of the pairs up to there (b - a), None without pairs.
    """

    verdict: CanaryVerdict
    stopped_at: int | None
    tolerance: float
    alpha: float
    pairs: int
    mean: float | None
    steps: tuple[CanaryStep, ...]


@dataclass(frozen=True, eq=False)
class LossCells:
    """Losses and rows by cell and side, int64[C, 2], with the slot int64[C] each belongs to."""

    slot: Integers
    losses: Integers
    n: Integers


def run_canary(
    cells: LossCells, tolerance: float, rng: np.random.Generator, alpha: float = ALPHA
) -> Canary:
    """Bet on pairs in time order until either bet has multiplied its stake by 1/alpha.

    d = loss of b - loss of a of a pair, m = tolerance. Harm: the capital K = mean over λ of
    Π (1 + λ(d - m)) is an e-process of "the mean of d is at most m in every slot": E K <= 1 when
    one stops, whenever that is, so P(K ever >= 1/alpha) <= alpha (Ville 1939). "No worse" bets the
    other way, Π (1 - λ(d - m)), against "the mean of d is at least m". λ runs from 0.5 % to 50 % of
    what keeps the capital positive, evenly in its logarithm: a mixture of constant bets (Robbins
    1970; for bounded losses Waudby-Smith and Ramdas 2024, "Estimating means of bounded random
    variables by betting"; for canaries Lindon, Sanden and Shirikian 2022).
    Valid when the split is random within each cell. Rows without a partner are left out, so with
    an uneven split only as many rows of the larger side count as the smaller one has.
    Raises AssertionError for a tolerance outside [0, 1) or an alpha outside (0, 1).
    """
    if not 0 <= tolerance < 1 or not 0 < alpha < 1:
        raise AssertionError(f"tolerance lies in [0, 1) and alpha in (0, 1): {tolerance}, {alpha}")
    harm, fine = Bets.against_harm(tolerance), Bets.against_worse(tolerance)
    steps: list[CanaryStep] = []
    for slot in np.unique(cells.slot).tolist():
        worse, better, pairs = _paired(cells, slot, rng)
        if not pairs:
            continue
        harm = harm.after(worse, better, pairs)
        fine = fine.after(worse, better, pairs)
        steps.append(CanaryStep(slot, pairs, worse, better, harm.log10, fine.log10))
        if max(harm.log10, fine.log10) >= -math.log10(alpha):
            break
    return _ended(steps, tolerance, alpha)


@dataclass(frozen=True, eq=False)
class Bets:
    """Constant bets side by side: log of the factor of a pair that is worse, equal or better for b,
    float64[BETS] each, and the log of each bet's capital so far."""

    worse: Floats
    equal: Floats
    better: Floats
    capital: Floats

    @classmethod
    def against_harm(cls, tolerance: float) -> Bets:
        """Bets that win when b loses more than a by over `tolerance`."""
        sizes = _sizes() / (1 + tolerance)
        return cls._of([1 + sizes * (d - tolerance) for d in (1, 0, -1)])

    @classmethod
    def against_worse(cls, tolerance: float) -> Bets:
        """Bets that win when b loses no more than a plus `tolerance`."""
        sizes = _sizes() / (1 - tolerance)
        return cls._of([1 - sizes * (d - tolerance) for d in (1, 0, -1)])

    @classmethod
    def _of(cls, factors: Sequence[Floats]) -> Bets:
        worse, equal, better = (np.log(each) for each in factors)
        return cls(worse, equal, better, np.zeros(len(worse)))

    def after(self, worse: int, better: int, pairs: int) -> Bets:
        """The bets after some more pairs."""
        won = worse * self.worse + better * self.better + (pairs - worse - better) * self.equal
        return Bets(self.worse, self.equal, self.better, self.capital + won)

    @property
    def log10(self) -> float:
        """log10 of the mean capital; the stake was 1."""
        highest = float(self.capital.max())
        mean = math.log(float(np.mean(np.exp(self.capital - highest))))
        return (highest + mean) / math.log(10)


def sprt_limits(alpha: float, beta: float) -> tuple[float, float]:
    """Limits (ln B, ln A) of Wald's sequential test (1945): ln(β/(1-α)), ln((1-β)/α).

    For two simple hypotheses only; an e-process needs no alternative and holds without beta.
    """
    if not (0 < alpha < 1 and 0 < beta < 1):
        raise AssertionError(f"alpha and beta lie in (0, 1): {alpha}, {beta}")
    return math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)


def _sizes() -> Floats:
    """Shares of the largest bet, from small to a half, evenly in the logarithm."""
    sizes: Floats = np.geomspace(0.005, 0.5, BETS)
    return sizes


def _paired(cells: LossCells, slot: int, rng: np.random.Generator) -> tuple[int, int, int]:
    """(worse, better, all) pairs of a slot: rows of both sides paired at random within cells."""
    worse = better = pairs = 0
    for place in np.flatnonzero(cells.slot == slot).tolist():
        n, losses = cells.n[place], cells.losses[place]
        k = int(n.min())
        if k == 0:
            continue
        a, b = (int(rng.hypergeometric(losses[s], n[s] - losses[s], k)) for s in (0, 1))
        both = int(rng.hypergeometric(a, k - a, b)) if b else 0
        worse, better, pairs = worse + b - both, better + a - both, pairs + k
    return worse, better, pairs


def _ended(steps: Sequence[CanaryStep], tolerance: float, alpha: float) -> Canary:
    pairs = sum(step.pairs for step in steps)
    worse, better = sum(step.worse for step in steps), sum(step.better for step in steps)
    limit = -math.log10(alpha)
    verdict = CanaryVerdict.UNDECIDED
    if steps and steps[-1].harm_log10 >= limit:
        verdict = CanaryVerdict.HARM
    elif steps and steps[-1].no_worse_log10 >= limit:
        verdict = CanaryVerdict.NO_WORSE
    stopped = None if verdict is CanaryVerdict.UNDECIDED else steps[-1].slot
    mean = (worse - better) / pairs if pairs else None
    return Canary(verdict, stopped, tolerance, alpha, pairs, mean, tuple(steps))
