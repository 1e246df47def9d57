"""How much of a change of the output goes with the changed mix of each column.

Knows cell numbers and output values of sampled rows; no profile, no clock, no deployment. It finds
what a change is consistent with; a column that merely moves along with another gets the same share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations as pairs_of

import numpy as np

from monitor.checks.context.raking import (
    Combinations,
    effective_rows,
    raked_weights,
    unmatched_share,
)
from monitor.checks.context.resampling import DRAWS, drawn_rows, percentile_limits
from monitor.checks.intervals import LEVEL, normal_quantile
from monitor.measurement import Failed, Measured, Outcome, TooFew
from monitor.profiles.arrays import CellNumbers, Floats, Integers

MIN_ROWS = 100
MIN_EFFECTIVE_ROWS = 30
BEST_COLUMNS = 3


@dataclass(frozen=True, eq=False)
class SampledColumn:
    """Cell numbers of one column, 0 to n_cells - 1: reference int[n_reference], current int[n]."""

    name: str
    reference: CellNumbers | Integers
    current: CellNumbers | Integers
    n_cells: int


@dataclass(frozen=True)
class ExplainedShare:
    """What re-weighting by `columns` (one, or a pair) does to the change of the output.

    `share`: 1 - residual/total with a bootstrap interval. Below 0: the columns' change hides some
    of the shift; above 1: it would have moved the output further than it went. `mean`: output of
    current rows after re-weighting. `effective_rows`: rows the weights are worth. `unmatched`:
    share of rows (0 to 1) whose cells could not be brought to the reference.
    """

    columns: tuple[str, ...]
    share: Outcome
    mean: float | None
    effective_rows: float
    unmatched: float


@dataclass(frozen=True)
class OutputMoved:
    """`total`: mean output now minus then. Shares of it, largest lower limit first.

    `columns` overlap and don't add up to 1; `pairs` are those of the three best columns.
    """

    total: Measured
    columns: tuple[ExplainedShare, ...]
    pairs: tuple[ExplainedShare, ...]


@dataclass(frozen=True)
class OutputDidNotMove:
    """The interval of the change holds 0: there is nothing to explain."""

    total: Measured


def explain_output(
    columns: Sequence[SampledColumn],
    output_reference: Floats,
    output_current: Floats,
    *,
    seed: int,
    draws: int = DRAWS,
    entities: tuple[Integers, Integers] | None = None,
) -> OutputMoved | OutputDidNotMove | TooFew | Failed:
    """Share of the change of the mean output that goes with each column's changed mix.

    `output_*` float64[n]: a score, a predicted class as 0/1, or a number; one for each row of the
    columns. Current rows are re-weighted so that the column's cells have their reference shares
    (for a pair: both margins, by raking); residual = re-weighted mean - reference mean, share
    explained = 1 - residual/total. This is direct standardisation (Kitagawa 1955) on one column at
    a time. Percentile limits from `draws` bootstrap samples of the rows of both sides; 95 % for
    each column, not for all together. Total: difference of means with Welch's standard error.

    TooFew below 100 rows on a side; a share is TooFew below 30 effective rows. Failed when an
    output is not finite. `entities` int64[n] of both sides: whole entities are drawn instead of
    rows, for shares and total alike. Without them rows are taken as independent: with entities that
    repeat, intervals are too narrow. Shares say nothing about changes that leave the mean alone.
    """
    n, n_reference = len(output_current), len(output_reference)
    _require_rows(columns, n_reference, n)
    if min(n, n_reference) < MIN_ROWS:
        return TooFew(min(n, n_reference), MIN_ROWS, "sampled rows with an output")
    if not (np.isfinite(output_current).all() and np.isfinite(output_reference).all()):
        return Failed("outputs hold values that are not finite; leave rows without an output out")
    rows = _Outputs.of(output_reference, output_current, entities)
    total = _change_of_mean(output_reference, output_current)
    if entities is not None:
        total = _with_entity_limits(total, rows, seed, draws)
    if total.low is None or total.high is None or total.low <= 0 <= total.high:
        return OutputDidNotMove(total)
    singles = _explained([_Mix.of((column,)) for column in columns], rows, seed, draws)
    by_name = {column.name: column for column in columns}
    measured = [one for one in singles if isinstance(one.share, Measured)]
    best = [by_name[one.columns[0]] for one in measured[:BEST_COLUMNS]]
    mixes = [_Mix.of(pair) for pair in pairs_of(best, 2)]
    return OutputMoved(total, singles, _explained(mixes, rows, seed, draws))


@dataclass(frozen=True, eq=False)
class _Outputs:
    """Outputs of both sides; places of the rows' entities among `n_entities` of both, if given."""

    reference: Floats
    current: Floats
    entity: Integers | None = None
    n_entities: int = 0

    @classmethod
    def of(
        cls, reference: Floats, current: Floats, entities: tuple[Integers, Integers] | None
    ) -> _Outputs:
        if entities is None:
            return cls(reference, current)
        distinct, places = np.unique(np.concatenate(entities), return_inverse=True)
        return cls(reference, current, places.astype(np.int64), len(distinct))

    def drawn(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """How often each row of either side counts in one bootstrap sample."""
        n = len(self.reference)
        if self.entity is None:
            before, now = drawn_rows(rng, n), drawn_rows(rng, len(self.current))
        else:
            counts = drawn_rows(rng, self.n_entities)[self.entity]
            before, now = counts[:n], counts[n:]
        return before.astype(np.float64), now.astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Mix:
    """One column or a pair, ready to be re-weighted with any row counts."""

    names: tuple[str, ...]
    reference: tuple[CellNumbers | Integers, ...]
    current: Combinations

    @classmethod
    def of(cls, columns: Sequence[SampledColumn]) -> _Mix:
        sizes = [column.n_cells for column in columns]
        current = Combinations.of([np.asarray(c.current, np.int64) for c in columns], sizes)
        return cls(
            tuple(column.name for column in columns),
            tuple(column.reference for column in columns),
            current,
        )

    def targets(self, drawn: Floats) -> list[Floats]:
        """Reference shares of each margin, float64[n_cells] each."""
        return [
            np.bincount(cells, drawn, minlength=size) / drawn.sum()
            for cells, size in zip(self.reference, self.current.n_cells, strict=True)
        ]

    def counts(self, drawn: Floats) -> Integers:
        of_row, k = self.current.of_row, self.current.n
        return np.bincount(of_row, drawn, minlength=k).astype(np.int64)

    def mean(self, outputs: Floats, drawn: Floats, drawn_reference: Floats) -> float:
        """Re-weighted mean output of current rows; NaN when no row can be re-weighted."""
        counts = self.counts(drawn)
        weights = raked_weights(self.current, counts, self.targets(drawn_reference))
        sums = np.bincount(self.current.of_row, drawn * outputs, minlength=self.current.n)
        mass = float(weights @ counts)
        return float(weights @ sums) / mass if mass > 0 else float("nan")


def _explained(
    mixes: Sequence[_Mix], rows: _Outputs, seed: int, draws: int
) -> tuple[ExplainedShare, ...]:
    drawn = _drawn_shares(mixes, rows, seed, draws)
    found = [_explained_share(mix, rows, drawn[place]) for place, mix in enumerate(mixes)]
    return tuple(sorted(found, key=_by_lower_limit))


def _drawn_shares(mixes: Sequence[_Mix], rows: _Outputs, seed: int, draws: int) -> Floats:
    """Share explained of each mix in each bootstrap sample, float64[mixes, draws]."""
    rng = np.random.default_rng(seed)
    shares = np.full((len(mixes), draws), np.nan)
    for draw in range(draws if mixes else 0):
        before, now = rows.drawn(rng)
        mean_before = float(before @ rows.reference) / max(1.0, before.sum())
        total = float(now @ rows.current) / max(1.0, now.sum()) - mean_before
        if total == 0:
            continue
        for place, mix in enumerate(mixes):
            residual = mix.mean(rows.current, now, before) - mean_before
            shares[place, draw] = 1 - residual / total
    return shares


def _explained_share(mix: _Mix, rows: _Outputs, drawn: Floats) -> ExplainedShare:
    n, n_reference = len(rows.current), len(rows.reference)
    ones, ones_reference = np.ones(n), np.ones(n_reference)
    counts, targets = mix.counts(ones), mix.targets(ones_reference)
    weights = raked_weights(mix.current, counts, targets)
    rows_left = effective_rows(counts, weights)
    unmatched = unmatched_share(mix.current, counts, weights, targets)
    if rows_left < MIN_EFFECTIVE_ROWS:
        reason = "effective rows after re-weighting to the reference"
        few = TooFew(int(rows_left), MIN_EFFECTIVE_ROWS, reason)
        return ExplainedShare(mix.names, few, None, rows_left, unmatched)
    mean = mix.mean(rows.current, ones, ones_reference)
    total = rows.current.mean() - rows.reference.mean()
    value = 1 - (mean - float(rows.reference.mean())) / float(total)
    return ExplainedShare(
        mix.names, _with_limits(value, drawn, n, n_reference), mean, rows_left, unmatched
    )


def _with_limits(value: float, drawn: Floats, n: int, n_reference: int) -> Outcome:
    limits = percentile_limits(drawn, value)
    if limits is None:
        return Failed("too many bootstrap samples had no row left to re-weight")
    return Measured(value, n, *limits, LEVEL, n_reference, {"method": "percentile bootstrap"})


def _by_lower_limit(explained: ExplainedShare) -> tuple[float, tuple[str, ...]]:
    low = explained.share.low if isinstance(explained.share, Measured) else None
    return (-low if low is not None else np.inf), explained.columns


def _change_of_mean(reference: Floats, current: Floats) -> Measured:
    value = float(current.mean() - reference.mean())
    variance = current.var(ddof=1) / len(current) + reference.var(ddof=1) / len(reference)
    reach = normal_quantile() * float(np.sqrt(variance))
    means = {"mean_then": float(reference.mean()), "mean_now": float(current.mean())}
    return Measured(value, len(current), value - reach, value + reach, LEVEL, len(reference), means)


def _with_entity_limits(total: Measured, rows: _Outputs, seed: int, draws: int) -> Measured:
    """The change of the mean with limits from whole entities, ± 1.96 bootstrap deviations."""
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(draws):
        before, now = rows.drawn(rng)
        if before.sum() > 0 and now.sum() > 0:
            mean_now = float(np.average(rows.current, weights=now))
            values.append(mean_now - float(np.average(rows.reference, weights=before)))
    reach = normal_quantile() * float(np.std(values, ddof=1))
    return replace(total, low=total.value - reach, high=total.value + reach)


def _require_rows(columns: Sequence[SampledColumn], n_reference: int, n: int) -> None:
    for column in columns:
        if (len(column.reference), len(column.current)) != (n_reference, n):
            raise AssertionError(
                f"column {column.name} has {len(column.reference)} and {len(column.current)} rows, "
                f"but there are {n_reference} and {n} outputs"
            )
