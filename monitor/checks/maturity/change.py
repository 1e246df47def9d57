"""Whether quality changed: this cohort against earlier ones at equal age. Knows counts only.

A young cohort shows its fast labels first, and those may be easier or harder ones; so what earlier
cohorts showed when they were as young is what it is held against.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from monitor.checks.auc import AucEstimate, delong
from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import LEVEL, newcombe_limits
from monitor.checks.resampling import MIN_GROUPS
from monitor.measurement import Measured, Outcome
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.labels import ENTITY_GROUPS, SCORE_CELLS, BinaryCounts
from monitor.profiles.labels_multiclass import ConfusionCounts
from monitor.profiles.labels_regression import RegressionCounts

MIN_LABELS, MIN_EVENTS, MIN_COHORTS = 50, 5, 7
COHORTS = "earlier cohorts with labels"


@dataclass(frozen=True, eq=False)
class Cohort:
    """What a cohort's labels said by an age: labelled rows, and by name of a measure `shares` as
    (events, rows), `means` as (sum of losses, rows), `errors`, the standard error of a mean by the
    cohort alone; `cells` labelled rows by score cell where there are scores."""

    labelled: int
    shares: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    means: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    cells: tuple[Integers, Integers] | None = None


def binary_cohort(counts: BinaryCounts) -> Cohort:
    """accuracy, precision, recall, brier and the cells for auc."""
    tp, fp, fn, tn = counts.tp, counts.fp, counts.fn, counts.tn
    scored = int(counts.positives.sum() + counts.negatives.sum())
    return Cohort(
        labelled=counts.n_labelled,
        shares={
            "accuracy": (tp + tn, tp + fp + fn + tn),
            "precision": (tp, tp + fp),
            "recall": (tp, tp + fn),
        },
        means={"brier": ((counts.brier or 0.0) * scored, scored)},
        errors={"brier": _error_by_groups(*_squared_by_group(counts))},
        cells=(counts.positives, counts.negatives),
    )


def multiclass_cohort(counts: ConfusionCounts) -> Cohort:
    """accuracy."""
    n = int(counts.matrix.sum())
    return Cohort(n, shares={"accuracy": (int(np.trace(counts.matrix)), n)})


def regression_cohort(counts: RegressionCounts) -> Cohort:
    """mae and rmse, the latter as mean squared error."""
    total = counts.total
    sums = {"mae": total.absolute_error, "rmse": total.squared_error}
    rows = np.array([float(one.n) for one in counts.by_group])
    by_group = {
        "mae": np.array([one.absolute_error for one in counts.by_group]),
        "rmse": np.array([one.squared_error for one in counts.by_group]),
    }
    return Cohort(
        total.n,
        means={name: (loss, total.n) for name, loss in sums.items()},
        errors={name: _error_by_groups(rows, losses) for name, losses in by_group.items()},
    )


def _squared_by_group(counts: BinaryCounts) -> tuple[Floats, Floats]:
    """Rows with a score and their squared errors at the middle of their cells, by entity group."""
    middle = (np.arange(SCORE_CELLS) + 0.5) / SCORE_CELLS
    squares = counts.positives_by_group @ (1 - middle) ** 2 + counts.negatives_by_group @ middle**2
    rows = counts.positives_by_group.sum(axis=1) + counts.negatives_by_group.sum(axis=1)
    return rows.astype(np.float64), squares


def _error_by_groups(rows: Floats, losses: Floats) -> float:
    """Jackknife standard error of Σ losses / Σ rows over entity groups; 0 with fewer than 10."""
    rows, losses = rows[rows > 0], losses[rows > 0]
    groups = len(rows)
    if groups < MIN_GROUPS:
        return 0.0
    without = (losses.sum() - losses) / (rows.sum() - rows)
    return float(np.sqrt((groups - 1) / groups * np.sum((without - without.mean()) ** 2)))


def together(cohorts: Iterable[Cohort]) -> Cohort:
    """The cohort of all of them: several deployments of one day."""
    every = list(cohorts)
    shares, means = {}, {}
    for name in {name for one in every for name in one.shares}:
        pairs = [one.shares.get(name, (0, 0)) for one in every]
        shares[name] = (sum(events for events, _ in pairs), sum(rows for _, rows in pairs))
    for name in {name for one in every for name in one.means}:
        sums = [one.means.get(name, (0.0, 0)) for one in every]
        means[name] = (sum(loss for loss, _ in sums), sum(rows for _, rows in sums))
    cells = [one.cells for one in every if one.cells is not None]
    both = (np.sum([p for p, _ in cells], axis=0), np.sum([n for _, n in cells], axis=0))
    return Cohort(sum(one.labelled for one in every), shares, means, cells=both if cells else None)


def quality_change(this: Cohort, earlier: Sequence[Cohort]) -> dict[str, Outcome]:
    """The difference to earlier cohorts for each measure that the cohort allows.

    Smallest n: 50 labelled rows, 5 in a share's denominator (of the rarer class for auc), and 7
    earlier cohorts. Shares: Newcombe's limits (1998, method 10). The others: this cohort's own
    error (jackknife over entity groups, DeLong for auc) and that of the earlier ones. Both add the
    variance between earlier cohorts beyond chance, so that a cohort may differ as much as earlier
    ones did, with Student's t for how few of them there are. A season that the earlier cohorts
    don't hold is told as a change.
    """
    found = {
        name: _share_change(name, this, earlier, one, rows)
        for name, (one, rows) in this.shares.items()
    }
    for name in this.means:
        found[name] = _mean_change(name, this, earlier)
    if this.cells is not None:
        found["auc"] = _auc_change(this, earlier)
    return found


def _share_change(
    name: str, this: Cohort, earlier: Sequence[Cohort], events: int, rows: int
) -> Outcome:
    days = [one.shares[name] for one in earlier if one.shares.get(name, (0, 0))[1] > 0]
    before, of = sum(e for e, _ in days), sum(n for _, n in days)
    floors = (
        Floor(len(days), MIN_COHORTS, COHORTS),
        Floor(this.labelled, MIN_LABELS, "labelled rows"),
        Floor(rows, MIN_EVENTS, "rows in the ratio"),
    )
    if not rows or not of:
        return measured_above(floors, None, this.labelled, None, {}, "the ratio is 0/0")
    limits, wobble = _share_limits(events, rows, days)
    detail = {"value": events / rows, "earlier": before / of, "cohorts": len(days),
              "day_to_day": wobble}  # fmt: skip
    value = events / rows - before / of
    return _with_reference(measured_above(floors, value, this.labelled, limits, detail), of)


def _share_limits(
    events: int, rows: int, days: Sequence[tuple[int, int]]
) -> tuple[tuple[float, float], float]:
    """Newcombe's limits with the days' own wobble, and the wobble as a standard deviation.

    Both sides count as so many rows as have, by chance alone, the variance that they have.
    """
    sizes = np.array([float(n) for _, n in days])
    of, before = float(sizes.sum()), sum(e for e, _ in days)
    chance = before / of * (1 - before / of)
    values = np.array([e / n for e, n in days])
    wobble = _between(values, sizes, chance) if chance > 0 else 0.0
    if wobble <= 0:
        return newcombe_limits(events, rows, before, of), 0.0
    mine = 1 / (1 + rows * wobble / chance)
    theirs = 1 / (1 + float(sizes @ sizes) / of * wobble / chance)
    level = float(2 * special.ndtr(_t_quantile(len(days))) - 1)
    limits = newcombe_limits(events * mine, rows * mine, before * theirs, of * theirs, level)
    return limits, math.sqrt(wobble)


def _between(values: Floats, sizes: Floats, per_row: float) -> float:
    """Variance between days beyond chance, at least 0, by moments (DerSimonian and Laird 1986).

    (Σ nᵢ(xᵢ - x̄)² - (K - 1)·v)/(N - Σ nᵢ²/N), v the variance of one row.
    """
    total = float(sizes.sum())
    spare = total - float(sizes @ sizes) / total
    if len(values) < 2 or spare <= 0:
        return 0.0
    squares = float(sizes @ (values - float(values @ sizes) / total) ** 2)
    return max(0.0, (squares - (len(values) - 1) * per_row) / spare)


def _t_quantile(days: int) -> float:
    return float(special.stdtrit(days - 1, 0.5 + LEVEL / 2))


def _mean_change(name: str, this: Cohort, earlier: Sequence[Cohort]) -> Outcome:
    total, rows = this.means[name]
    days = [(s / n, float(n)) for s, n in (one.means.get(name, (0.0, 0)) for one in earlier) if n]
    floors = (
        Floor(len(days), MIN_COHORTS, COHORTS),
        Floor(rows, MIN_LABELS, "labelled rows"),
    )
    value = total / rows if rows else None
    worth = _Worth(float(rows), this.errors.get(name, 0.0))
    outcome = _against(floors, value, worth, days, rows, sum(int(n) for _, n in days))
    return _of_roots(outcome) if name == "rmse" else outcome


def _auc_change(this: Cohort, earlier: Sequence[Cohort]) -> Outcome:
    areas = [(one, area) for one in earlier if (area := _area(one)) is not None]
    mine = _area(this)
    rarer = min(int(side.sum()) for side in this.cells) if this.cells is not None else 0
    floors = (
        Floor(len(areas), MIN_COHORTS, COHORTS),
        Floor(this.labelled, MIN_LABELS, "labelled rows"),
        Floor(rarer, MIN_EVENTS, "labelled rows of the rarer class"),
    )
    value = mine.auc if mine is not None else None
    worth = _Worth(_harmonic(this), mine.standard_error if mine is not None else 0.0)
    days = [(area.auc, _harmonic(one)) for one, area in areas]
    return _against(floors, value, worth, days, this.labelled, sum(c.labelled for c in earlier))


def _area(cohort: Cohort) -> AucEstimate | None:
    if cohort.cells is None or min(int(side.sum()) for side in cohort.cells) < 2:
        return None
    return delong(*cohort.cells)


def _harmonic(cohort: Cohort) -> float:
    """The number of rows that the variance of an area goes by: n₁n₀/(n₁ + n₀)."""
    n1, n0 = (int(side.sum()) for side in cohort.cells) if cohort.cells is not None else (0, 0)
    return n1 * n0 / (n1 + n0) if n1 + n0 else 0.0


@dataclass(frozen=True)
class _Worth:
    """How well this cohort's value is known: rows that its variance goes by, and its own error."""

    rows: float
    own_error: float


def _against(
    floors: tuple[Floor, ...],
    value: float | None,
    worth: _Worth,
    days: Sequence[tuple[float, float]],
    n: int,
    n_reference: int,
) -> Outcome:
    """A value against those of days, each (value, rows), by the days' own spread.

    A cohort that changed may have become noisier too: its own error counts where it is larger.
    """
    if value is None or len(days) < 2 or worth.rows <= 0:
        return measured_above(floors, None, n, None, {}, "nothing to hold it against")
    values, sizes = np.array([x for x, _ in days]), np.array([m for _, m in days])
    mean = float(values @ sizes / sizes.sum())
    spread = float(sizes @ (values - mean) ** 2 / (len(days) - 1))
    # Without an own error the days' spread is taken for that of rows.
    own = worth.own_error**2
    per_row, total = own * worth.rows or spread, float(sizes.sum())
    wobble = _between(values, sizes, per_row)
    mine = own + wobble if own > 0 else spread / worth.rows
    theirs = per_row / total + wobble * float(sizes @ sizes) / total**2
    freedom = len(days) if wobble > 0 or own == 0 else max(len(days), ENTITY_GROUPS)
    reach = _t_quantile(freedom) * math.sqrt(mine + theirs)
    difference = value - mean
    detail = {"value": value, "earlier": mean, "cohorts": len(days)}
    limits = (difference - reach, difference + reach)
    return _with_reference(measured_above(floors, difference, n, limits, detail), n_reference)


def _of_roots(outcome: Outcome) -> Outcome:
    """A difference of mean squares as one of their roots: the limits move along (monotone)."""
    if not isinstance(outcome, Measured) or outcome.low is None or outcome.high is None:
        return outcome
    before = outcome.detail["earlier"]
    roots = [
        math.sqrt(max(0.0, before + change)) - math.sqrt(before)
        for change in (outcome.value, outcome.low, outcome.high)
    ]
    detail = {**outcome.detail, "value": math.sqrt(outcome.detail["value"]),
              "earlier": math.sqrt(before)}  # fmt: skip
    return Measured(roots[0], outcome.n, roots[1], roots[2], outcome.level, outcome.n_reference,
                    detail)  # fmt: skip


def _with_reference(outcome: Outcome, rows: int) -> Outcome:
    if not isinstance(outcome, Measured):
        return outcome
    return Measured(outcome.value, outcome.n, outcome.low, outcome.high, outcome.level, rows,
                    outcome.detail)  # fmt: skip
