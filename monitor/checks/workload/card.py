"""A workload card: under which conditions a model's numbers were measured. Pure.

It holds what was assumed, what was seen, what is wanted, and what nobody measured. Read back from
its JSON it is what other numbers are held against (`comparable`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from monitor.checks.serving import quantile_of
from monitor.checks.workload.arrivals import Arrivals
from monitor.contract_workload import Target
from monitor.measurement import Measured, Outcome
from monitor.profiles.arrays import Floats, Integers

CARD_VERSION = 1
SHARES = (0.05, 0.5, 0.95, 0.99)


@dataclass(frozen=True)
class Spread:
    """Quantiles of one column over the requests that have a value; `of` is how many requests."""

    unit: str
    n: int
    of: int
    mean: float
    p5: float
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class TargetResult:
    """A target, what was measured with its limits, and the verdict: met, missed, undecided or
    not_measured.
    """

    column: str
    quantile: float
    limit: float
    at_most: bool
    value: float | None
    low: float | None
    high: float | None
    verdict: str
    reason: str = ""


@dataclass(frozen=True)
class Card:
    """One model's traffic in one span: see the module."""

    model: str
    start: str
    end: str
    leg: str
    n: int
    scenario: str | None
    deployments: tuple[int, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    differing_tags: tuple[str, ...] = ()
    assumed: Mapping[str, Any] = field(default_factory=dict)
    arrivals: Arrivals | None = None
    lengths: Mapping[str, Spread] = field(default_factory=dict)
    timings: Mapping[str, Spread] = field(default_factory=dict)
    outcomes: Mapping[str, float] = field(default_factory=dict)
    targets: tuple[TargetResult, ...] = ()
    missing: tuple[str, ...] = ()
    version: int = CARD_VERSION

    def as_json(self) -> dict[str, Any]:
        """The card as plain values."""
        return asdict(self)


def spread(values: Floats, counts: Integers, unit: str, of: int) -> Spread | None:
    """A column's quantiles from its cells (ascending values, rows); None without a value."""
    n = int(counts.sum())
    if n == 0:
        return None
    cumulated = counts.cumsum()
    ranks = [max(1, -int(-share * n // 1)) for share in SHARES]
    p5, p50, p95, p99 = (float(values[int((cumulated < rank).sum())]) for rank in ranks)
    return Spread(unit, n, of, float((values * counts).sum() / n), p5, p50, p95, p99)


def judge_target(target: Target, values: Floats, counts: Integers) -> TargetResult:
    """Whether a quantile keeps its limit. Only an interval wholly on one side decides."""
    limit = target.at_most if target.at_most is not None else target.at_least
    if limit is None:
        raise AssertionError("a target has one limit")
    known = quantile_of(values, counts, target.quantile)
    at_most = target.at_most is not None
    value, low, high, reason = _numbers(known)
    return TargetResult(
        target.column, target.quantile, limit, at_most, value, low, high,
        _verdict(limit, low, high, at_most=at_most) if value is not None else "not_measured",
        reason,
    )  # fmt: skip


def _numbers(outcome: Outcome) -> tuple[float | None, float | None, float | None, str]:
    if isinstance(outcome, Measured):
        return outcome.value, outcome.low, outcome.high, ""
    return None, None, None, str(outcome.reason)


def _verdict(limit: float, low: float | None, high: float | None, *, at_most: bool) -> str:
    below = high is not None and high <= limit
    above = low is not None and low > limit
    if at_most:
        return "met" if below else "missed" if above else "undecided"
    reached = low is not None and low >= limit
    under = high is not None and high < limit
    return "met" if reached else "missed" if under else "undecided"
