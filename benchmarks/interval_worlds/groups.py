"""Estimates without labels, groups of people, and two groups held together over strata."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy import special

from benchmarks.interval_worlds.base import (
    Draw,
    Floats,
    Integers,
    Reading,
    Rng,
    World,
    between,
    printed,
)
from benchmarks.interval_worlds.quality import CLOSED
from benchmarks.interval_worlds.rows import binary_part, binary_rows, score_cells_of
from monitor.checks.estimation.binary import VALUES, BinaryOutcomes, binary_estimates
from monitor.checks.estimation.calibrator import LabelledScores, fit_with_draws
from monitor.checks.estimation.served import ServedScores
from monitor.checks.groups.counts import Group, Rate
from monitor.checks.groups.gaps import gap_outcomes
from monitor.checks.groups.reversal import adjusted_gap
from monitor.checks.groups.selection import selection_ratios
from monitor.checks.stratified import (
    cmh,
    standardised_difference,
    standardised_mean,
    standardised_rate,
)
from monitor.measurement import Measured, Outcome

REALISED = "the realised value of the drawn rows"
CBPE = "normal, calibrator drawn anew and chance of the labels"
LOG_RATIO = "log method, or recovered from Wilson where counts are small"
NEWCOMBE = "Newcombe (1998), all groups together"
WELCH = "normal of two means"
SATO = "Sato, Greenland and Robins (1989)"
RECOVERED = "recovered from Wilson limits by stratum"
SATTERTHWAITE = "t on Welch-Satterthwaite degrees"


def _scores(rng: Rng, n: int, shift: float) -> tuple[Floats, Integers]:
    """Scores that are wrong by a power, and labels; `shift` moves who asks, not P(y | x)."""
    chance = special.expit(rng.normal(-0.5 + shift, 1.2, n))
    return chance**1.5, (rng.random(n) < chance).astype(np.int64)


def _estimates(n_reference: int, n: int, shift: float) -> Draw:
    def draw(rng: Rng) -> Iterator[Reading]:
        score, label = _scores(rng, n_reference, 0.0)
        counts = binary_rows(score, label, (score >= 0.35).astype(np.int64))
        fitted = fit_with_draws(LabelledScores.of_cells(counts.positives, counts.negatives), rng)
        score, label = _scores(rng, n, shift)
        chosen = (score >= 0.35).astype(np.int64)
        served = ServedScores.of_part(binary_part(score, label, chosen))
        place = np.unique(score_cells_of(score), return_inverse=True)[1]
        size = len(served.score)
        happened = (chosen * label, (1 - chosen) * label)
        seen = BinaryOutcomes(
            *(np.bincount(place, one, size).astype(np.float64) for one in happened)
        )
        found = binary_estimates(served, fitted, rng, n_reference=n_reference)
        for name, outcome in found.items():
            truth = VALUES[name](served, seen)
            if truth is not None:
                yield from printed(f"estimated {name.value}", outcome, float(truth), CBPE)

    return draw


def _answers(name: str, favourable: int, n: int) -> Group:
    return Group(name, Rate(favourable, n), 0, 0, 0, 0)


def _together(
    interval: str, found: dict[str, Outcome], truths: dict[str, float], method: str
) -> Iterator[Reading]:
    """One reading of all groups: held when every interval held; nothing when one is not printed."""
    readings: list[Reading] = []
    for name, outcome in found.items():
        if not isinstance(outcome, Measured):
            return
        if outcome.low is not None:
            readings += printed(interval, outcome, truths[name], method)
    widths = [one.width for one in readings if one.width is not None]
    width = float(np.mean(widths)) if widths else None
    yield Reading(interval, method, all(one.held for one in readings), width)


def _selection(rates: tuple[float, ...], n: int) -> Draw:
    names = [str(place) for place in range(len(rates))]
    interval = "selection ratio" + ("" if len(rates) == 2 else f" ({len(rates)} groups together)")

    def draw(rng: Rng) -> Iterator[Reading]:
        events = rng.binomial(n, rates).tolist()
        groups = [_answers(name, x, n) for name, x in zip(names, events, strict=True)]
        found = selection_ratios(groups, 0.8)
        truths = {
            name: rates[int(name)] / rates[int(str(one.detail["reference"]))]
            for name, one in found.items()
            if isinstance(one, Measured)
        }
        yield from _together(interval, dict(found), truths, LOG_RATIO)

    return draw


def _group(rng: Rng, name: str, n: int, shift: float) -> Group:
    """Rows with calibrated scores, but for `shift` on the logit of the label's chance."""
    logit = rng.normal(0, 1.2, n)
    score, truth = special.expit(logit), rng.random(n) < special.expit(logit + shift)
    predicted, error = score >= 0.5, truth - score
    pairs = ((predicted, truth), (predicted, ~truth), (~predicted, truth), (~predicted, ~truth))
    tp, fp, fn, tn = (int((one & other).sum()) for one, other in pairs)
    return Group(
        name,
        Rate(int(predicted.sum()), n),
        *(tp, fp, fn, tn),
        scored=n,
        positives=int(truth.sum()),
        error_sum=float(error.sum()),
        error_square_sum=float((error**2).sum()),
    )


def _gaps(groups: int, n: int) -> Draw:
    """All groups are alike: every gap is 0."""
    names = [str(place) for place in range(groups)]
    truths = dict.fromkeys(names, 0.0)
    many = "" if groups == 2 else f" ({groups} groups together)"

    def draw(rng: Rng) -> Iterator[Reading]:
        found = gap_outcomes([_group(rng, name, n + int(name), 0.0) for name in names])
        for method, outcomes in found.items():
            how = WELCH if method == "calibration_gap" else NEWCOMBE
            yield from _together(f"{method}{many}", dict(outcomes), truths, how)

    return draw


_GAP = 0.08


def _tables(rng: Rng, strata: int, n: int) -> Integers:
    """Strata of n rows a side (reference: twice as many) whose rates differ; the gap is 0.08."""
    base = np.linspace(0.1, 0.5, strata)
    rows = np.full(strata, n)
    compared, reference = rng.binomial(rows, base + _GAP), rng.binomial(2 * rows, base)
    return np.stack(
        [np.stack([compared, rows - compared], 1), np.stack([reference, 2 * rows - reference], 1)],
        axis=1,
    ).astype(np.int64)


def _adjusted(strata: int, n: int) -> Draw:
    def draw(rng: Rng) -> Iterator[Reading]:
        tables = _tables(rng, strata, n)
        yield from printed("adjusted gap", adjusted_gap(tables, by="department"), _GAP, SATO)
        held = cmh(tables)
        yield between("CMH risk difference", held.low, held.high, _GAP, SATO)
        mix, n_each = tables.sum(axis=(1, 2)), tables.sum(axis=2)
        one, two = (standardised_rate(tables[:, k, 0], n_each[:, k], mix) for k in (0, 1))
        apart = standardised_difference(one, two)
        base = float(np.linspace(0.1, 0.5, strata).mean())
        yield between(
            "standardised rate (limits not shown)", one.low, one.high, base + _GAP, RECOVERED
        )
        yield between(
            "standardised difference (limits not shown)", apart.low, apart.high, _GAP, RECOVERED
        )

    return draw


def _means(n: tuple[int, ...]) -> Draw:
    """Normal values whose deviation grows with the mean."""
    means, mix = np.array([1.0, 2.0, 4.0]), np.array([1, 2, 1])
    truth = float(mix @ means) / 4

    def draw(rng: Rng) -> Iterator[Reading]:
        parts = [rng.normal(mean, mean, rows) for mean, rows in zip(means, n, strict=True)]
        found = standardised_mean(
            np.array([part.sum() for part in parts]),
            np.array([(part**2).sum() for part in parts]),
            np.array(n, np.int64),
            mix,
        )
        yield between("standardised mean", found.low, found.high, truth, SATTERTHWAITE)

    return draw


def group_worlds() -> Iterator[World]:
    """All of this file."""
    for n_reference, n, shift in ((500, 50, 0.0), (2_000, 1_000, 0.0), (2_000, 1_000, 0.6)):
        name = f"{n_reference:,} labels, " + ("nothing moved" if not shift else "inputs moved")
        prepare = partial(_estimates, n_reference, n, shift)
        yield World("estimates", name, n, REALISED, prepare, share=0.5)
    for rates, n in (((0.3, 0.3), 50), ((0.05, 0.2), 100), ((0.6, 0.8), 1_000)):
        name = f"rates {', '.join(str(rate) for rate in rates)}"
        yield World("groups", name, n, CLOSED, partial(_selection, rates, n))
    for n in (50, 1_000):
        prepare = partial(_selection, (0.4,) * 4, n)
        yield World("groups", "4 groups of equal rates", n, CLOSED, prepare)
    for many, n in ((2, 50), (2, 500), (4, 50), (4, 1_000)):
        prepare = partial(_gaps, many, n)
        yield World("groups", f"{many} groups alike", n, CLOSED, prepare)
    for strata, each in ((2, 25), (12, 5), (40, 4), (6, 200)):
        name = f"{strata} strata of {each} rows"
        yield World("stratified", name, strata * each, CLOSED, partial(_adjusted, strata, each))
    for sizes in ((10, 25, 50), (100, 250, 500)):
        yield World("stratified", "values, 3 strata", sum(sizes), CLOSED, partial(_means, sizes))
