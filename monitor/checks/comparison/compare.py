"""Compares two sets of deployments: what differs, what can be told apart, which is better. Pure.

The rule: b is compared with a metric by metric on common support; intervals hold for all metrics
together (Bonferroni). More than one differing factor that can't be told apart is *confounded*, and
so is traffic that the two sides share nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np

from monitor.checks.comparison.canary import Canary, LossCells, run_canary
from monitor.checks.comparison.cells import (
    Cells,
    Metric,
    Overlap,
    RateTable,
    Strata,
    overlap,
    strata_for,
    strata_of,
)
from monitor.checks.comparison.factors import Contrast
from monitor.checks.comparison.metrics import ACCURACY, ERROR_RATE, GOODPUT, MIN_RATIO_ROWS
from monitor.checks.comparison.rates import (
    MIN_ROWS,
    Compared,
    common_rows,
    compare_rates,
)
from monitor.checks.comparison.values import compare_values
from monitor.checks.comparison.verdicts import Reach, Verdict, overall, verdict_of, widened
from monitor.checks.gates import Floor
from monitor.measurement import Direction, Measured
from monitor.profiles.arrays import Integers

EPSILON = 0.02
"""Differences up to 2 points of a share, or 2 % of a's value, count as no difference."""
SATURDAY = 5
_CANARY_METRICS = (ACCURACY, GOODPUT, ERROR_RATE)


@dataclass(frozen=True)
class Line:
    """One metric: both sides, the tolerance in its own unit, and what follows.

    `reach` and `epsilon` are None where the outcome is not measured.
    """

    metric: Metric
    compared: Compared
    epsilon: float | None
    reach: Reach | None
    verdict: Verdict


@dataclass(frozen=True)
class CanaryLine:
    """The canary of one metric, and the start of the slot at which it stopped."""

    metric: Metric
    canary: Canary
    stopped_at: datetime | None


@dataclass(frozen=True)
class FactorResult:
    """The comparison for one factor, or for all that differs together (`factor` None).

    `a`, `b`: deployments that entered. `labelled`: (with label, all) of each side in slots whose
    labels are mature; `immature`: slots left out of quality. `unsliced`: the share of requests
    that the contract's segments don't part; 1 leaves the mix of the traffic open.
    """

    factor: str | None
    a: tuple[int, ...]
    b: tuple[int, ...]
    overlap: Overlap
    lines: tuple[Line, ...]
    verdict: Verdict
    labelled: tuple[tuple[int, int], tuple[int, int]]
    immature: int
    unsliced: float = 0.0
    canaries: tuple[CanaryLine, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Everything: which tags differ, one result a factor, and the verdict over all."""

    contrast: Contrast
    results: tuple[FactorResult, ...]
    verdict: Verdict
    epsilon: float


@dataclass(frozen=True)
class Options:
    """`epsilon`: the largest difference that doesn't matter; `zone`: the contract's.

    `unsliced`: the slice of requests that were counted before the contract's segments could be;
    None where the contract declares no segments.
    """

    epsilon: float = EPSILON
    canary: bool = False
    zone: str = "UTC"
    unsliced: str | None = None


def compare(
    contrast: Contrast,
    gathered: Mapping[str | None, Cells],
    options: Options,
    rng: np.random.Generator,
) -> Comparison:
    """Compare b with a. `gathered`: cells of every identified factor, or of None when confounded.

    Over several identified factors the verdicts are put together as those of metrics are.
    """
    results = tuple(
        _factor(contrast, factor, cells, options, rng) for factor, cells in gathered.items()
    )
    if contrast.confounded:
        return Comparison(contrast, results, Verdict.CONFOUNDED, options.epsilon)
    verdict = overall([result.verdict for result in results])
    return Comparison(contrast, results, verdict, options.epsilon)


def _factor(
    contrast: Contrast,
    factor: str | None,
    cells: Cells,
    options: Options,
    rng: np.random.Generator,
) -> FactorResult:
    strata = strata_of(cells, season_slots(cells.slots, options.zone))
    shared = overlap(cells, strata)
    compared = _compared(cells, strata, rng)
    confounded = factor is None or shared.is_empty
    lines = tuple(_judged(compared, options.epsilon, confounded=confounded))
    unsliced = _unsliced(cells, options.unsliced)
    verdict = Verdict.CONFOUNDED if confounded else _overall(lines)
    if unsliced == 1 and not confounded:
        verdict = Verdict.INCONCLUSIVE
    identified = {one.factor: one for one in contrast.identified}.get(factor or "")
    sides = (contrast.a, contrast.b) if identified is None else (identified.a, identified.b)
    return FactorResult(
        factor=factor,
        a=sides[0],
        b=sides[1],
        overlap=shared,
        lines=lines,
        verdict=verdict,
        labelled=cells.labelled,
        immature=cells.immature,
        unsliced=unsliced,
        canaries=tuple(_canaries(cells, options, rng)) if options.canary else (),
    )


def _unsliced(cells: Cells, name: str | None) -> float:
    if name is None or name not in cells.slices or not cells.requests.sum():
        return 0.0
    mine = cells.slice == cells.slices.index(name)
    return float(cells.requests[mine].sum() / cells.requests.sum())


def _compared(
    cells: Cells, strata: Strata, rng: np.random.Generator
) -> list[tuple[Metric, Compared]]:
    found = []
    floors = _labelled_floors(cells, strata)
    for rate in cells.rates:
        least = MIN_RATIO_ROWS.get(rate.metric.name)
        also = () if least is None else floors
        held = strata_for(cells, rate.n, strata)
        one = compare_rates(rate, held, least or MIN_ROWS, also, cells.slot)
        found.append((rate.metric, one))
    for values in cells.values:
        found += compare_values(cells, values, strata_for(cells, values.n, strata), rng)
    return found


def _labelled_floors(cells: Cells, strata: Strata) -> tuple[Floor, ...]:
    """Ratios within labelled rows need MIN_ROWS labelled ones a side, as quality does."""
    tables = [rate for rate in cells.rates if rate.metric == ACCURACY]
    rows = [common_rows(table, strata_for(cells, table.n, strata)) for table in tables]
    return tuple(Floor(n, MIN_ROWS, f"{ACCURACY.of} a side on common support") for n in rows)


def _judged(
    compared: Sequence[tuple[Metric, Compared]], epsilon: float, *, confounded: bool
) -> list[Line]:
    measured = sum(isinstance(each.outcome, Measured) for _, each in compared)
    return [_line(metric, each, epsilon, measured, confounded) for metric, each in compared]


def _line(
    metric: Metric, compared: Compared, epsilon: float, metrics: int, confounded: bool
) -> Line:
    outcome = compared.outcome
    if not isinstance(outcome, Measured) or outcome.low is None or outcome.high is None:
        verdict = Verdict.CONFOUNDED if confounded else Verdict.INCONCLUSIVE
        return Line(metric, compared, None, None, verdict)
    own = epsilon if metric.unit == "share" else epsilon * abs(compared.adjusted[0] or 0.0)
    reach = widened(outcome.value, outcome.low, outcome.high, metrics)
    verdict = Verdict.CONFOUNDED if confounded else verdict_of(reach, own, metric.direction)
    return Line(metric, compared, own, reach, verdict)


def _overall(lines: Sequence[Line]) -> Verdict:
    return overall([one.verdict for one in lines if one.metric.direction != Direction.TWO_SIDED])


def season_slots(slots: Sequence[datetime], zone: str) -> Integers:
    """Weekday or weekend × hour of the day in the contract's zone, int64[len(slots)]."""
    local = [start.astimezone(ZoneInfo(zone)) for start in slots]
    return np.array([(at.weekday() >= SATURDAY) * 24 + at.hour for at in local], np.int64)


def _canaries(cells: Cells, options: Options, rng: np.random.Generator) -> list[CanaryLine]:
    """A canary for each loss there is: wrong answers, missed objective, errors."""
    found = []
    for metric in _CANARY_METRICS:
        table = next((rate for rate in cells.rates if rate.metric == metric), None)
        if table is None or not table.n.sum():
            continue
        canary = run_canary(_losses(cells, table), options.epsilon, rng)
        at = canary.stopped_at
        found.append(CanaryLine(metric, canary, None if at is None else cells.slots[at]))
    return found


def _losses(cells: Cells, table: RateTable) -> LossCells:
    good = table.metric.direction is Direction.LOWER_IS_WORSE
    losses = table.n - table.events if good else table.events
    return LossCells(cells.slot, losses, table.n)
