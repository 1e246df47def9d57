"""Two versions side by side, pairs of answers, percentiles, signals, and the split of a loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
from scipy import sparse, special, stats

from benchmarks.interval_worlds.base import (
    GROUPS,
    Draw,
    Floats,
    Integers,
    Reading,
    Rng,
    World,
    all_printed,
    between,
    entities_of,
    printed,
)
from benchmarks.interval_worlds.quality import CLOSED
from monitor.checks.comparison.cells import (
    Cells,
    Control,
    Metric,
    RateTable,
    Strata,
    ValueTable,
    strata_of,
)
from monitor.checks.comparison.rates import compare_rates
from monitor.checks.comparison.values import compare_values
from monitor.checks.context.disde import loss_parts
from monitor.checks.context.loss_split import NAMES, JudgedRows, LossSplit, loss_split
from monitor.checks.paired.bootstrap import mean_difference
from monitor.checks.paired.shares import PairedCounts, paired_difference_limits
from monitor.checks.serving import PERCENTILES, percentiles_of
from monitor.checks.signals.outcomes import event_rate, mean_rating, win_rate
from monitor.checks.signals.review import ReviewSample, agreement, estimate
from monitor.checks.signals.spread import GroupedScores, grouped
from monitor.contract_quality import Signal, SignalDirection, SignalKind
from monitor.measurement import Direction

MILLION = 1_000_000
DRAWN = "a draw of 1,000,000 rows"
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
PAIRED = "Newcombe (1998, method 10)"
BOOTSTRAP = "bootstrap-t"
ORDER = "order statistics"
WILSON = "Wilson on the effective number of rows"
T_MEAN = "t, by entity groups where they repeat"
STRATIFIED = "stratified sample"
POISSON = "Poisson sample"
DIRICHLET = "quantiles over Dirichlet draws of the table"
DISDE = "bootstrap of entities, domain classifier refitted"
_SHARE = Metric("accuracy", "share", Direction.LOWER_IS_WORSE, "labelled requests")
_MEAN = Metric("mean", "ms", Direction.HIGHER_IS_WORSE, "requests with a value", "total_ms")


def _rates(slots: int, rows: int, own: float) -> Draw:
    """Accuracy 0.80 against 0.75 in hours of about so many rows a side and slice; `own`: how far
    the log-odds of each side wander by hour for itself."""
    odds = special.logit([0.80, 0.75])
    wandering = np.random.default_rng(3).normal(0, own, (MILLION, 2))
    truth = float(np.diff(special.expit(odds + wandering).mean(axis=0))[0])
    slot = np.repeat(np.arange(slots, dtype=np.int64), 2)
    strata = Strata(np.arange(2 * slots, dtype=np.int64), 2 * slots, Control.MATCHED)

    def draw(rng: Rng) -> Iterator[Reading]:
        n = rng.poisson(rows, (2 * slots, 2))
        chance = special.expit(odds + np.repeat(rng.normal(0, own, (slots, 2)), 2, axis=0))
        table = RateTable(_SHARE, rng.binomial(n, chance), n)
        yield from printed(
            "share difference", compare_rates(table, strata, slot=slot).outcome, truth
        )

    return draw


_GRID = np.exp(np.linspace(-6, 6, 800))


def _on_grid(values: Floats) -> Floats:
    return _GRID[np.clip(np.searchsorted(_GRID, values), 0, len(_GRID) - 1)]


def _times(rng: Rng, n: int, side: int, moved: float, heavy: float) -> Floats:
    return _on_grid(np.exp(rng.normal(moved + np.log(1.1) * side + heavy, 0.5, n)))


def _values(slots: int, rows: int, quantiles: tuple[float, ...], wander: float) -> Draw:
    """Log-normal times in two slices; an hour moves both sides by `wander`, each by half of it."""
    rng, sides = np.random.default_rng(4), []
    for side in (0, 1):
        moved = rng.normal(0, wander * np.sqrt(1.25), MILLION)
        heavy = 0.7 * (rng.random(MILLION) < 0.5)
        sides.append(_on_grid(np.exp(rng.normal(moved + np.log(1.1) * side + heavy, 0.5))))
    truths = {"mean": float(sides[1].mean() - sides[0].mean())}
    for q in quantiles:
        apart = np.quantile(sides[1], q) - np.quantile(sides[0], q)
        truths[f"p{round(100 * q)}"] = float(apart)

    def draw(rng: Rng) -> Iterator[Reading]:
        made = []
        for _ in range(slots):
            both, own = rng.normal(0, wander), rng.normal(0, wander / 2, 2)
            for heavy in (0.0, 0.7):
                made.append([
                    _times(rng, rng.poisson(rows), side, both + own[side], heavy) for side in (0, 1)
                ])  # fmt: skip
        cells, table = _cells(made, slots), _table(made, quantiles)
        strata = strata_of(cells, np.zeros(slots, np.int64))
        for metric, compared in compare_values(cells, table, strata, rng):
            yield from printed(f"{metric.name} difference", compared.outcome, truths[metric.name])

    return draw


def _cells(made: Sequence[Sequence[Floats]], slots: int) -> Cells:
    n = np.array([[len(a), len(b)] for a, b in made], np.int64)
    total = n.sum(axis=0).tolist()
    return Cells(
        slots=tuple(FIRST + timedelta(hours=hour) for hour in range(slots)),
        slices=("light", "heavy"),
        slot=np.repeat(np.arange(slots, dtype=np.int64), 2),
        slice=np.tile(np.array([0, 1], np.int64), slots),
        context=np.zeros(len(made), np.int64),
        requests=n,
        rates=(),
        values=(),
        labelled=((total[0], total[0]), (total[1], total[1])),
    )


def _table(made: Sequence[Sequence[Floats]], quantiles: tuple[float, ...]) -> ValueTable:
    every = np.unique(np.concatenate([side for cell in made for side in cell]))
    counts = []
    for side in (0, 1):
        dense = np.array([
            np.bincount(np.searchsorted(every, cell[side]), minlength=len(every)) for cell in made
        ], np.float64)  # fmt: skip
        counts.append(sparse.csr_array(dense))
    sums = np.array([[float(side.sum()) for side in cell] for cell in made])
    return ValueTable(_MEAN, every, (counts[0], counts[1]), sums, quantiles)


def _percentiles(n: int) -> Draw:
    """Log-normal times, each a cell of its own."""
    truths = {name: float(np.exp(0.5 * stats.norm.ppf(q))) for name, q in PERCENTILES.items()}

    def draw(rng: Rng) -> Iterator[Reading]:
        values = np.sort(rng.lognormal(0, 0.5, n))
        yield from all_printed(percentiles_of(values, np.ones(n, np.int64)), truths, ORDER)

    return draw


_PAIRS = (0.8, 0.06, 0.04, 0.1)  # both, only first, only second, neither


def _paired_shares(n: int) -> Draw:
    def draw(rng: Rng) -> Iterator[Reading]:
        counts = PairedCounts(*rng.multinomial(n, _PAIRS).tolist())
        low, high = paired_difference_limits(counts)
        yield between("paired share difference", low, high, _PAIRS[2] - _PAIRS[1], PAIRED)

    return draw


def _paired_means(n: int, rows_an_entity: int) -> Draw:
    """Skewed differences: Exp(1) - Exp(1.2), half of it alike in an entity's rows."""

    def draw(rng: Rng) -> Iterator[Reading]:
        entity, _ = entities_of(rng, n, rows_an_entity)

        def skewed(rows: int) -> Floats:
            return rng.exponential(1, rows) - rng.exponential(1.2, rows)

        if rows_an_entity == 1:
            outcome = mean_difference(skewed(n), rng)
        else:
            change = (skewed(n) + skewed(n // rows_an_entity)[entity]) / 2
            outcome = mean_difference(change, rng, entity)
        yield from printed("paired mean difference", outcome, -0.2, BOOTSTRAP)

    return draw


_RATINGS, _RATED = np.array([1.0, 2, 3, 4, 5]), np.array([0.1, 0.1, 0.2, 0.3, 0.3])


def _signals(n: int, repeats: int) -> Draw:
    """All rows of an entity say the same."""

    def draw(rng: Rng) -> Iterator[Reading]:
        entities = n // repeats
        group = np.repeat(rng.integers(0, GROUPS, entities), repeats)

        def spread(values: Floats) -> GroupedScores:
            return grouped(np.repeat(values, repeats), group, GROUPS, clustered=repeats > 1)

        event = spread((rng.random(entities) < 0.1).astype(np.float64))
        yield from printed("event rate", event_rate(event, {}), 0.1, WILSON)
        rating = spread(rng.choice(_RATINGS, entities, p=_RATED))
        yield from printed("mean rating", mean_rating(rating, (1, 5), {}), 3.6, T_MEAN)
        preference = spread(rng.choice([1.0, 0.5, 0.0], entities, p=[0.5, 0.3, 0.2]))
        yield from printed("win rate", win_rate(preference, {}), 0.65, WILSON)

    return draw


_RUBRIC = Signal(name="right", kind=SignalKind.RUBRIC, direction=SignalDirection.LOWER_IS_WORSE)
_STARS = Signal(name="stars", kind=SignalKind.RATING, direction=SignalDirection.LOWER_IS_WORSE,
                scale=(1, 5))  # fmt: skip
_POPULATION = np.array([3_000, 1_000, 400], np.int64)


def _review(n: int, *, stratified: bool) -> Draw:
    """A fixed population in three strata, of which n items are drawn and rated."""
    made = np.random.default_rng(5)
    strata = np.repeat(np.arange(3, dtype=np.int64), _POPULATION)
    passed = (made.random(len(strata)) < np.array([0.1, 0.3, 0.6])[strata]).astype(np.float64)
    stars = np.clip(np.round(made.normal(np.array([4.7, 4.1, 3.2])[strata], 1.2)), 1, 5)
    sizes = np.maximum(2, np.round(n * _POPULATION / _POPULATION.sum())).astype(np.int64)
    weight = np.array([0.5, 1.0, 2.0])[strata]
    probability = n * weight / weight.sum()

    def drawn(rng: Rng) -> Integers:
        if not stratified:
            return np.flatnonzero(rng.random(len(strata)) < probability)
        parts = [rng.choice(np.flatnonzero(strata == k), sizes[k], False) for k in range(3)]
        return np.concatenate(parts)

    def draw(rng: Rng) -> Iterator[Reading]:
        taken = drawn(rng)
        sample = ReviewSample(strata[taken], probability[taken], _POPULATION, stratified)
        how, name = (STRATIFIED, "stratified") if stratified else (POISSON, "weighted")
        for signal, values in ((_RUBRIC, passed), (_STARS, stars)):
            ratings = [{"ann": float(value)} for value in values[taken]]
            outcome = estimate(signal, sample, ratings)
            what = "pass rate" if signal is _RUBRIC else "mean rating"
            yield from printed(f"{name} review {what}", outcome, float(values.mean()), how)

    return draw


def _agreement(n: int, share: float, wrong: float) -> Draw:
    """Two raters see the truth, but guess by the shares in a part of the cases."""
    agree = (1 - wrong) ** 2
    chance = share**2 + (1 - share) ** 2
    same = agree + (1 - agree) * chance
    uneven = 2 * share * (1 - share)
    kappa = (same - chance) / (1 - chance)
    truths = {"agreement": same, "kappa": kappa, "alpha": kappa,
              "ac1": (same - uneven) / (1 - uneven)}  # fmt: skip

    def draw(rng: Rng) -> Iterator[Reading]:
        truth = rng.random(n) < share
        both = []
        for _ in range(2):
            guess, seen = rng.random(n) < share, rng.random(n) >= wrong
            both.append(np.where(seen, truth, guess).astype(float).tolist())
        ratings = [{"ann": one, "ben": two} for one, two in zip(*both, strict=True)]
        found = agreement(_RUBRIC, ratings, rng)
        named = {f"raters' {name}": found[name] for name in truths}
        yield from all_printed(
            named, {f"raters' {name}": value for name, value in truths.items()}, DIRICHLET
        )

    return draw


_ONE, _TWO = (axis.ravel() for axis in np.meshgrid(np.arange(4), np.arange(4), indexing="ij"))
_THEN = np.outer([0.4, 0.3, 0.2, 0.1], [0.25] * 4).ravel()
_NOW = np.outer([0.15, 0.25, 0.3, 0.3], [0.4, 0.3, 0.2, 0.1]).ravel()
_LOSS_THEN: Floats = (0.10 + 0.05 * _ONE).astype(np.float64)
_LOSS_NOW: Floats = (0.12 + 0.07 * _ONE + 0.03 * _TWO).astype(np.float64)


def _judged(rng: Rng, shares: Floats, loss: Floats, n: int, repeats: int) -> JudgedRows:
    """n rows in 16 cells; an entity's rows have one input, and one luck in half of the cases."""
    entities = n // repeats
    cell, luck = rng.choice(16, entities, p=shares), rng.random(entities)
    drawn = [
        np.where(rng.random(entities) < 0.5 * (repeats > 1), luck, rng.random(entities))
        < loss[cell]
        for _ in range(repeats)
    ]
    return JudgedRows(
        np.tile(np.array([_ONE[cell], _TWO[cell]]), repeats).astype(np.int64),
        np.concatenate(drawn).astype(np.float64),
        np.tile(rng.integers(1, 2**60, entities), repeats),
    )


def _split(n: int, repeats: int) -> Draw:
    truth = loss_parts(_THEN, _NOW, _LOSS_THEN, _LOSS_NOW)
    if truth is None:
        raise AssertionError("all inputs are shared")

    def draw(rng: Rng) -> Iterator[Reading]:
        then = _judged(rng, _THEN, _LOSS_THEN, n, repeats)
        now = _judged(rng, _NOW, _LOSS_NOW, n, repeats)
        found = loss_split(then, now, [4, 4], seed=int(rng.integers(2**31)))
        if isinstance(found, LossSplit):
            for name in NAMES:
                yield from printed(
                    f"DISDE {name}", getattr(found, name), getattr(truth, name), DISDE
                )

    return draw


def side_worlds() -> Iterator[World]:
    """All of this file."""
    for slots, rows, own in ((1, 35, 0.0), (24, 20, 0.0), (20, 40, 0.4)):
        name = f"{slots} hours" + (", each side wanders by hour" if own else ", independent rows")
        n = 2 * slots * rows
        yield World("comparison", name, n, DRAWN, partial(_rates, slots, rows, own), share=0.5)
    for slots, rows, quantiles, wander in (
        (2, 35, (), 0.0),
        (12, 5, (), 0.1),
        (24, 3, (0.5,), 0.1),
        (24, 22, (0.5, 0.95), 0.1),
        (24, 100, (0.5, 0.95), 0.1),
    ):
        name = f"times, {slots} hours" + (" that wander" if wander else ", independent rows")
        prepare = partial(_values, slots, rows, quantiles, wander)
        yield World("comparison", name, 2 * slots * rows, DRAWN, prepare, share=0.5)
    for n in (20, 100, 1_000):
        prepare = partial(_percentiles, n)
        yield World("serving", "log-normal times", n, CLOSED, prepare, conservative=True)
    for n in (50, 1_000):
        yield World("paired", "right or wrong", n, CLOSED, partial(_paired_shares, n))
    for n, repeats in ((50, 1), (500, 1), (300, 5)):
        name = "skewed, " + ("pairs" if repeats == 1 else f"{repeats} pairs an entity")
        yield World("paired", name, n, CLOSED, partial(_paired_means, n, repeats), share=0.5)
    for n, repeats in ((50, 1), (1_000, 1), (60, 4), (600, 4)):
        name = "independent rows" if repeats == 1 else f"{repeats} rows an entity"
        yield World("signals", name, n, CLOSED, partial(_signals, n, repeats))
    for n in (60, 400):
        for stratified in (True, False):
            name = "review, " + ("stratified draw" if stratified else "Poisson draw")
            prepare = partial(_review, n, stratified=stratified)
            yield World("signals", name, n, "the population itself", prepare)
    for n, share, wrong in ((30, 0.5, 0.2), (30, 0.2, 0.1), (300, 0.2, 0.1)):
        name = f"raters, {share:.0%} yes, {wrong:.0%} guessed"
        prepare = partial(_agreement, n, share, wrong)
        yield World("signals", name, n, CLOSED, prepare, share=0.5)
    for n, repeats in ((150, 1), (1_000, 1), (330, 3)):
        name = "independent rows" if repeats == 1 else f"{repeats} rows an entity"
        yield World("DISDE", name, n, CLOSED, partial(_split, n, repeats), share=0.1)
