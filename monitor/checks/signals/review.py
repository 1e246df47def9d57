"""What the ratings of a review say of all requests, and how far raters agree. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import LEVEL, wilson_limits
from monitor.checks.signals.agreement import (
    Agreement,
    ac1,
    alpha_of_pairs,
    distances,
    kappa,
    pair_table,
    with_limits,
)
from monitor.checks.signals.design import Estimate, stratified_mean, weighted_mean
from monitor.contract_quality import Signal, SignalKind
from monitor.measurement import Measured, Outcome, TooFew
from monitor.profiles.arrays import Floats, Integers

MIN_RATED = 50
MIN_PAIRS = 30
MISLEADS_FROM = 0.8
"""Kappa misleads where raters agree on so many items and so many answers are the same."""


@dataclass(frozen=True, eq=False)
class ReviewSample:
    """n drawn items: stratum number int64[n], inclusion probability float64[n]; the population of
    each stratum int64[h]. `stratified`: drawn by stratum, else each for itself (Poisson)."""

    strata: Integers
    probability: Floats
    population: Integers
    stratified: bool


@dataclass(frozen=True)
class Disagreement:
    """An item that two raters answered differently, by place of the item."""

    place: int
    answers: Mapping[str, float]


Ratings = Sequence[Mapping[str, float]]
"""Of each drawn item the answers by rater, a tie 0.5."""


def estimate(signal: Signal, sample: ReviewSample, ratings: Ratings) -> Outcome:
    """The population's mean rating, win rate or pass rate, weighted, with design-based limits.

    An item that two people rated counts once, with their mean. Printed from 50 rated items on.
    """
    rated = np.array([len(one) > 0 for one in ratings], bool)
    values = np.array([np.mean(list(one.values())) for one in ratings if one])
    n = len(values)
    if n < 2:
        return TooFew(n, MIN_RATED, "rated items")
    found = _estimate(sample, rated, values)
    detail = {
        "unweighted": float(values.mean()),
        "covered": found.covered,
        "drawn": len(ratings),
        "population": int(sample.population.sum()),
        "interval": "stratified sample" if sample.stratified else "Poisson sample",
    }
    limits = found.mean_limits(*signal.scale) if signal.scale is not None else found.share_limits()
    return measured_above((Floor(n, MIN_RATED, "rated items"),), found.mean, n, limits, detail)


def _estimate(sample: ReviewSample, rated: np.ndarray, values: Floats) -> Estimate:
    if sample.stratified:
        return stratified_mean(values, sample.strata[rated], sample.population)
    return weighted_mean(values, sample.probability[rated], float(rated.mean()))


def agreement(signal: Signal, ratings: Ratings, rng: np.random.Generator) -> dict[str, Outcome]:
    """`agreement` (share of equal answers), `kappa`, `alpha` and, for categories, `ac1`.

    Of items that two people rated, in the order of the raters' names. Kappa is Cohen's where it is
    always the same two people, and has squared weights for ratings.
    """
    pairs = [sorted(one.items()) for one in ratings if len(one) == 2]
    n = len(pairs)
    kinds = ("agreement", "kappa", "alpha") + (() if signal.scale else ("ac1",))
    if n < MIN_PAIRS:
        return {kind: TooFew(n, MIN_PAIRS, "items rated by two people") for kind in kinds}
    first = np.array([one[0][1] for one in pairs])
    second = np.array([one[1][1] for one in pairs])
    table, values = pair_table(first, second)
    apart = distances(values, squared=signal.kind is SignalKind.RATING)
    same = int(np.trace(table))
    low, high = wilson_limits(same, n)
    found: dict[str, Outcome] = {"agreement": Measured(same / n, n, low, high, LEVEL)}
    two = len({name for one in pairs for name, _ in one}) == 2
    if two:
        found["kappa"] = _told(with_limits(table, apart, kappa, rng), n)
    else:
        found["kappa"] = TooFew(0, 1, "pair of raters for all items; see alpha")
    found["alpha"] = _told(with_limits(table, apart, alpha_of_pairs, rng), n)
    if signal.scale is None:
        found["ac1"] = _told(with_limits(table, apart, ac1, rng), n)
    return found


def kappa_misleads(ratings: Ratings) -> bool:
    """Whether nearly all answers are the same: kappa and alpha are then low for no fault."""
    pairs = [list(one.values()) for one in ratings if len(one) == 2]
    if not pairs:
        return False
    answers = np.array(pairs)
    _, counts = np.unique(answers, return_counts=True)
    agreed = float(np.mean(answers[:, 0] == answers[:, 1]))
    return agreed >= MISLEADS_FROM and float(counts.max() / counts.sum()) >= MISLEADS_FROM


def disagreements(ratings: Ratings) -> list[Disagreement]:
    """Items with different answers, the widest apart first."""
    found = [
        Disagreement(place, dict(one))
        for place, one in enumerate(ratings)
        if len(one) > 1 and len(set(one.values())) > 1
    ]
    return sorted(found, key=lambda one: (-np.ptp(list(one.answers.values())), one.place))


def _told(found: Agreement | None, n: int) -> Outcome:
    if found is None:
        return TooFew(1, 2, "different answers")
    return Measured(found.value, n, found.low, found.high, LEVEL)
