"""Which stage of a request to shorten, and what that saves at most.

The time of a request is its critical path (`profiles.critical_path`). What a stage saves at most
is the path's time less the time it would have if the stage took none, half, or a target's time.
It is an upper bound: a stage that is gone leaves its work to another, and time that the stages do
not explain stays. When the mean matters look at `mean`, for slow requests at `p95`: the stage that
is longest on average need not be the one that makes requests slow. Differences of percentiles are
those of whole distributions, not of the same requests, and carry no interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import wilson_limits
from monitor.checks.serving import MIN_ROWS, percentiles
from monitor.contract import Contract
from monitor.contract_stages import Stage
from monitor.measurement import Measured, Outcome, TooFew
from monitor.profiles.log_cells import REST_BITS, cell_bounds
from monitor.profiles.part import Part
from monitor.profiles.serving import log_totals, quantile
from monitor.profiles.serving_rows import LOG
from monitor.profiles.serving_stages import (
    column_milliseconds,
    on_path_count,
    stage_columns,
    stage_names,
)

TAIL = 0.95
TAIL_ROWS = 20
CELL_WIDTH = 1 / 64


@dataclass(frozen=True)
class StageTimes:
    """One stage over the requests of a part, in milliseconds.

    `n` requests ran it. `mean` is per request of all that have a path, 0 where the stage did not
    run. `on_path` requests would end sooner without it. `saves` and `saves_tail` are what the mean
    and the p95 of the path lose if the stage took no time, `halved` and `halved_tail` if it took
    half. `target`, `saves_at_target`: at most, on average, if it never took longer than that.
    """

    name: str
    column: str
    n: int
    mean: float
    p95: float | None
    on_path: int
    saves: float
    saves_tail: float | None
    halved: float
    halved_tail: float | None
    target: float | None = None
    saves_at_target: float | None = None


@dataclass(frozen=True)
class PathTimes:
    """The critical path of n requests in milliseconds, and its stages in declared order.

    `unexplained` is the mean of latency less path, over `unexplained_n` requests that have both.
    `left_out` requests have no stage time, or a negative one.
    """

    n: int
    left_out: int
    mean: float
    p50: float
    p95: float | None
    unexplained: float | None
    unexplained_n: int
    stages: tuple[StageTimes, ...]

    @property
    def tail_resolution(self) -> float | None:
        """Differences of the p95 below this can't be told from the width of the cells."""
        return None if self.p95 is None else self.p95 * CELL_WIDTH

    def most_saving(self, *, tail: bool = False) -> StageTimes | None:
        """The stage whose time costs most, on average or at the p95."""
        if tail:
            known = [each for each in self.stages if each.saves_tail is not None]
            return max(known, key=lambda each: each.saves_tail or 0.0, default=None)
        return max(self.stages, key=lambda each: each.saves, default=None)


def path_of(
    part: Part, contract: Contract, targets: dict[str, float] | None = None
) -> PathTimes | None:
    """The stages of a part; None where no request has a path with the contract's stages.

    `targets`: milliseconds by stage for `saves_at_target`.
    """
    names = stage_names(contract)
    whole = log_totals(part, names.path())
    median = quantile(part, names.path(), 0.5)
    if whole.n == 0 or median is None:
        return None
    unexplained = log_totals(part, names.unexplained())
    return PathTimes(
        n=whole.n,
        left_out=whole.missing,
        mean=whole.total / whole.n,
        p50=median.value,
        p95=_tail(part, names.path()),
        unexplained=unexplained.total / unexplained.n if unexplained.n else None,
        unexplained_n=unexplained.n,
        stages=tuple(
            _stage(part, contract, stage, (targets or {}).get(stage.name))
            for stage in contract.stages
        ),
    )


def _stage(part: Part, contract: Contract, stage: Stage, target: float | None) -> StageTimes:
    names, column = stage_names(contract), stage_columns(contract)[stage.name]
    factor = column_milliseconds(contract, column)
    own, whole = log_totals(part, column), log_totals(part, names.path())
    tail = _tail(part, names.path())
    own_tail = _tail(part, column)
    saves = _saved(part, names.path(), names.gone(stage))
    return StageTimes(
        name=stage.name,
        column=column,
        n=own.n,
        mean=own.total * factor / whole.n,
        p95=None if own_tail is None else own_tail * factor,
        on_path=on_path_count(part, contract, stage) or 0,
        saves=saves,
        saves_tail=_tail_saved(part, tail, names.gone(stage)),
        halved=_saved(part, names.path(), names.halved(stage)),
        halved_tail=_tail_saved(part, tail, names.halved(stage)),
        target=target,
        saves_at_target=(
            None
            if target is None
            else min(saves, time_above(part, column, target / factor) * factor / whole.n)
        ),
    )


def time_above(part: Part, column: str, limit: float) -> float:
    """Sum over rows of what a column has above a limit >= 0, in the column's unit.

    Cells above the limit count exactly (within 2⁻³⁶); the one that holds it as if all its rows had
    the cell's mean.
    """
    keys, values = part.sparse.get(
        LOG + column, (np.zeros(0, np.int64), np.zeros((0, 2), np.int64))
    )
    above = keys > 0
    low, high = cell_bounds(keys[above])
    rows, rest = values[above, 0], values[above, 1]
    sums = rows * low + rest * ((high - low) / 2.0**REST_BITS)
    return float(np.maximum(sums - rows * limit, 0.0).sum())


def stage_measurements(part: Part, contract: Contract) -> dict[tuple[str, str], Outcome]:
    """By (method, column): `path_p50`, `path_p95`, `path_p99` of all stages (no column), and of
    each stage's column `saves_mean`, `saves_p95` (milliseconds) and `on_path_share`.
    """
    found: dict[tuple[str, str], Outcome] = {}
    if not contract.stages:
        return found
    for method, outcome in percentiles(part, stage_names(contract).path()).items():
        found[f"path_{method}", ""] = outcome
    path = path_of(part, contract)
    for stage, column in stage_columns(contract).items():
        if path is None:
            for method in ("saves_mean", "saves_p95", "on_path_share"):
                found[method, column] = TooFew(0, MIN_ROWS, "requests with stage times")
            continue
        mine = next(each for each in path.stages if each.name == stage)
        found["saves_mean", column] = _enough(path.n, mine.saves)
        found["saves_p95", column] = _enough(path.n, mine.saves_tail, path.tail_resolution)
        found["on_path_share", column] = measured_above(
            (Floor(path.n, MIN_ROWS, "requests with stage times"),),
            mine.on_path / path.n,
            path.n,
            wilson_limits(mine.on_path, path.n),
            {"count": mine.on_path},
        )
    return found


def _enough(n: int, value: float | None, resolution: float | None = None) -> Outcome:
    if value is None or n < MIN_ROWS:
        detail = {} if value is None else {"provisional": value}
        return TooFew(n, MIN_ROWS, "requests with stage times", detail)
    fine = {} if resolution is None else {"resolution": resolution}
    return Measured(value, n, detail={"upper_bound": True, **fine})


def _saved(part: Part, before: str, after: str) -> float:
    """Mean milliseconds that a changed path is shorter; the same requests have both."""
    whole, changed = log_totals(part, before), log_totals(part, after)
    return (whole.total - changed.total) / whole.n


def _tail_saved(part: Part, tail: float | None, name: str) -> float | None:
    changed = _tail(part, name)
    return None if tail is None or changed is None else tail - changed


def _tail(part: Part, name: str) -> float | None:
    """p95 of times >= 0 as the mean of the cell that holds it, or None under 20 values.

    Less than a cell's width (1/64 of itself) off, and exact where a cell holds one value.
    """
    keys, values = part.sparse.get(LOG + name, (np.zeros(0, np.int64), np.zeros((0, 2), np.int64)))
    n = int(values[:, 0].sum())
    if n < TAIL_ROWS:
        return None
    at = int(np.searchsorted(np.cumsum(values[:, 0]), int(np.ceil(TAIL * n))))
    if keys[at] == 0:
        return 0.0
    low, high = cell_bounds(keys[at : at + 1])
    within = float(values[at, 1] / values[at, 0]) / 2.0**REST_BITS
    return float(low[0] + (high[0] - low[0]) * within)
