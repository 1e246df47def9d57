"""Cohorts whose labels are still coming: delay curve, weights, positive-only rates, change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.interval_worlds.base import (
    GROUPS,
    Draw,
    Floats,
    Reading,
    Rng,
    World,
    all_printed,
    between,
    printed,
)
from benchmarks.interval_worlds.quality import CLOSED, LARGE_DRAW, Scored, binary_truth
from benchmarks.interval_worlds.rows import binary_rows, regression_rows
from monitor.checks.maturity.bounds import accuracy_bounds, bound_outcomes
from monitor.checks.maturity.change import (
    Cohort,
    binary_cohort,
    quality_change,
    regression_cohort,
)
from monitor.checks.maturity.cohort import MaturityState, Stratum
from monitor.checks.maturity.delay_curve import DelayCurve, Followed, learn_curve
from monitor.checks.maturity.positive_only import corrected_outcomes, told_by_class
from monitor.checks.maturity.weighting import (
    Weighed,
    Weight,
    weight_of,
    weighted_mean_outcome,
    weighted_share_outcome,
)
from monitor.measurement import Measured
from monitor.profiles.delays import DELAY_BUCKETS, delay_buckets
from monitor.profiles.labels import ENTITY_GROUPS

DAY, HOUR_MICROSECONDS = 24.0, 3_600_000_000
DAYS = 30
GREENWOOD = "Greenwood on the log-log scale"
WEIGHTED = "Wilson on the effective number of weighted rows"
CORRECTED = "Wilson of the known positives, divided by the known share"
CHANGE = "earlier days' own spread (shares: Newcombe)"
MANSKI = "Manski bounds with Wilson limits"
LOOKED_AT = 3 * DAY  # age of the cohorts


def _followed(age: float, delays: Floats) -> Followed:
    """A window of one age; labels that take longer are not there yet."""
    told = delays < age
    buckets = delay_buckets((delays[told] * HOUR_MICROSECONDS).astype(np.int64))
    labelled = np.bincount(buckets, minlength=DELAY_BUCKETS).astype(np.int64)
    return Followed(age, labelled, int((~told).sum()))


def _learned(rng: Rng, a_day: int, mean: float, ever: float) -> DelayCurve:
    """Learned from daily windows of exponential delays; a share `ever` gets a label at all."""
    windows = []
    for day in range(DAYS):
        delays = rng.exponential(mean, a_day)
        delays[rng.random(a_day) >= ever] = np.inf
        windows.append(_followed((day + 0.5) * DAY, delays))
    curve = learn_curve(windows, DAYS * DAY)
    if curve is None:
        raise AssertionError("windows of a positive age give a curve")
    return curve


def _delay_curve(a_day: int) -> Draw:
    ages = {1.2: "1 day", 7: "7 days", 20: "20 days"}
    truth = {days: -0.9 * np.expm1(-days / 7) for days in ages}

    def draw(rng: Rng) -> Iterator[Reading]:
        curve = _learned(rng, a_day, 7 * DAY, 0.9)
        for days, name in ages.items():
            limits = curve.limits(days * DAY)
            yield between(f"delay curve at {name}", *limits, float(truth[days]), GREENWOOD)

    return draw


_MEANS = {1: 2 * DAY, 0: 6 * DAY}  # mean delay by predicted class
_RIGHT = {1: 0.75, 0: 0.9}


def _weighted(n: int, history: int, rows_an_entity: int) -> Draw:
    """Labels of predicted positives come sooner, and those are right less often; all labelled rows
    of an entity are right or wrong together and have one loss."""
    right = sum(_RIGHT.values()) / 2

    def draw(rng: Rng) -> Iterator[Reading]:
        weighed, sums, labelled = [], {}, 0
        positives = int(rng.binomial(n, 0.5))
        for kind, size in ((1, positives), (0, n - positives)):
            curve = _learned(rng, history, _MEANS[kind], 1.0)
            known = int((rng.exponential(_MEANS[kind], size) < LOOKED_AT).sum())
            stratum = Stratum(kind, LOOKED_AT, size, known, curve)
            weight = weight_of(stratum, MaturityState.PARTIAL, None)
            if weight is None:
                raise AssertionError("a stratum with a curve has a weight")
            entity = np.arange(known) // rows_an_entity
            entities = known // rows_an_entity + 1
            events = (rng.random(entities) < _RIGHT[kind])[entity]
            group = rng.integers(0, ENTITY_GROUPS, entities)[entity]
            by_group = (
                np.bincount(group, minlength=ENTITY_GROUPS),
                np.bincount(group[events], minlength=ENTITY_GROUPS),
            )
            weighed.append(Weighed(kind, weight, known, int(events.sum()), by_group))
            sums[kind] = [_losses(rng, weight, known, 1 - _RIGHT[kind], rows_an_entity)]
            labelled += known
        outcome = weighted_share_outcome(weighed, labelled, "labelled rows")
        yield from printed("weighted accuracy", outcome, right, WEIGHTED)
        yield from printed("weighted mean loss", weighted_mean_outcome(sums, "rows"), 1 - right)

    return draw


def _losses(
    rng: Rng, weight: Weight, rows: int, mean: float, rows_an_entity: int
) -> tuple[Weight, Floats, Floats]:
    """Exponential losses by entity group, the same for all rows of an entity."""
    entity = np.arange(rows) // rows_an_entity
    entities = rows // rows_an_entity + 1
    group = rng.integers(0, GROUPS, entities)[entity]
    losses = rng.exponential(mean, entities)[entity]
    by_group = np.bincount(group, losses, GROUPS).astype(np.float64)
    return weight, np.bincount(group, minlength=GROUPS).astype(np.float64), by_group


def _positive_only(n: int, history: int) -> Draw:
    """Half of the predicted positives are positive and a tenth of the others; negatives are never
    told. Positives take 4 days on average."""
    rate, chosen, mean = {1: 0.5, 0: 0.1}, 0.3, 4 * DAY
    found, missed = chosen * rate[1], (1 - chosen) * rate[0]
    truth = {
        "precision": rate[1],
        "recall": found / (found + missed),
        "accuracy": found + (1 - chosen) * (1 - rate[0]),
    }

    def draw(rng: Rng) -> Iterator[Reading]:
        strata, positives = [], {}
        first = int(rng.binomial(n, chosen))
        for kind, size in ((1, first), (0, n - first)):
            curve = _learned(rng, history, mean, rate[kind])
            known = int(rng.binomial(size, -rate[kind] * np.expm1(-LOOKED_AT / mean)))
            strata.append(Stratum(kind, LOOKED_AT, size, known, curve))
            positives[kind] = known
        outcomes = corrected_outcomes(told_by_class(strata, positives, MaturityState.PARTIAL))
        named = {f"positive-only {name}": one for name, one in outcomes.items()}
        yield from all_printed(
            named, {f"positive-only {name}": one for name, one in truth.items()}, CORRECTED
        )

    return draw


_CHANGED = ("accuracy", "precision", "recall", "auc", "brier")


def _change(days: int, n: int, before: Scored, after: Scored, wobble: float) -> Draw:
    """Days of 300 rows, then one of n rows. `wobble`: how far the base logit wanders by day."""
    old, new = binary_truth(before), binary_truth(after)
    truth = {f"change of {name}": new[name] - old[name] for name in _CHANGED}

    def draw(rng: Rng) -> Iterator[Reading]:
        def day(world: Scored, rows: int) -> Cohort:
            moved = replace(world, base=world.base + rng.normal(0, wobble))
            return binary_cohort(binary_rows(*moved.rows(rng, rows)))

        found = quality_change(day(after, n), [day(before, 300) for _ in range(days)])
        yield from all_printed(
            {f"change of {name}": one for name, one in found.items()}, truth, CHANGE
        )

    return draw


def _error_change(days: int, n: int) -> Draw:
    """Errors of days N(0, 1), of 300 rows; then N(0, 1.2²)."""
    truth = {"change of mae": 0.2 * np.sqrt(2 / np.pi), "change of rmse": 0.2}

    def draw(rng: Rng) -> Iterator[Reading]:
        cohorts = []
        for rows, scale in (*[(300, 1.0)] * days, (n, 1.2)):
            label, group = rng.normal(20, 4, rows), rng.integers(0, GROUPS, rows)
            error = rng.normal(0, scale, rows)
            cohorts.append(regression_cohort(regression_rows(label, label + error, group)))
        found = quality_change(cohorts[-1], cohorts[:-1])
        named = {f"change of {name}": one for name, one in found.items()}
        yield from all_printed(named, {k: float(v) for k, v in truth.items()}, CHANGE)

    return draw


def _bounds(n: int) -> Draw:
    """Half of the requests have a label; those without are right as often as those with one."""

    def draw(rng: Rng) -> Iterator[Reading]:
        known = int(rng.binomial(n, 0.5))
        right = int(rng.binomial(known, 0.8))
        found = bound_outcomes("accuracy", accuracy_bounds(right, known - right, n - known), known)
        low, high = found["accuracy_lowest"], found["accuracy_highest"]
        if isinstance(low, Measured) and isinstance(high, Measured):
            yield between("accuracy within bounds", low.low, high.high, 0.8, MANSKI)

    return draw


def maturity_worlds() -> Iterator[World]:
    """All of this file."""
    for a_day in (5, 40):
        name = f"{DAYS} daily windows of {a_day}"
        prepare = partial(_delay_curve, a_day)
        yield World("maturity", name, DAYS * a_day, CLOSED, prepare, share=0.5)
    prepare = partial(_weighted, 1_000, 100, 5)
    yield World("maturity", "weighted, 5 rows an entity", 1_000, CLOSED, prepare, share=0.5)
    for n, history in ((120, 20), (1_000, 100)):
        name = f"curves of {DAYS * history:,} requests a class"
        prepare = partial(_weighted, n, history, 1)
        yield World("maturity", f"weighted, {name}", n, CLOSED, prepare, share=0.5)
        prepare = partial(_positive_only, n, history)
        yield World("maturity", f"positive-only, {name}", n, CLOSED, prepare, share=0.5)
    for n in (120, 1_000):
        prepare = partial(_bounds, n)
        yield World("maturity", "half unlabelled", n, CLOSED, prepare, conservative=True)
    same, worse = Scored(0.0, 0.5), Scored(0.0, 0.5, 1, 0.3)
    entities = Scored(0.0, 0.5, 10, 0.5)
    for name, days, n, before, after, wobble in (
        ("7 earlier days, no change", 7, 60, same, same, 0.0),
        ("28 earlier days, quality lost", 28, 1_000, same, worse, 0.0),
        ("7 earlier days that wander", 7, 300, same, same, 0.4),
        ("28 earlier days that wander", 28, 1_000, same, same, 0.4),
        ("14 earlier days, 10 rows an entity", 14, 300, entities, entities, 0.0),
    ):
        prepare = partial(_change, days, n, before, after, wobble)
        yield World("maturity", name, n, LARGE_DRAW, prepare, share=0.5)
    for days, n in ((7, 60), (28, 1_000)):
        prepare = partial(_error_change, days, n)
        name = f"{days} earlier days, errors grow"
        yield World("maturity", name, n, CLOSED, prepare, share=0.5)
