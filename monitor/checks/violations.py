"""Share of rows whose value in a column breaks the contract, in all and by reason."""

from __future__ import annotations

from collections.abc import Mapping

from monitor.checks.intervals import LEVEL, poisson_limits, wilson_limits
from monitor.measurement import Measured, Outcome, TooFew
from monitor.profiles.columns import ColumnCounts
from monitor.records import ViolationReason

ANY = "any"


def method_of(reason: ViolationReason) -> str:
    """The method name under which a reason's share is stored, e.g. `out_of_range`."""
    return reason.name.lower()


def violation_shares(column: ColumnCounts) -> dict[str, Outcome]:
    """Outcome of `any` violation, always, and of each reason that occurred, by method name."""
    return shares_of(column.violations, column.n)


def shares_of(violations: Mapping[ViolationReason, int], n: int) -> dict[str, Outcome]:
    """The same from counts by reason and the number of rows n.

    A row has at most one violation a column, so the share of `any` is the sum over reasons.
    Columns the contract does not know may be several in a row: their number is per row, may
    exceed 1 and has Poisson limits.
    """
    counted = {reason: count for reason, count in sorted(violations.items()) if count}
    by_reason = {method_of(reason): count for reason, count in counted.items()}
    total = sum(counted.values())
    unknown = ViolationReason.UNKNOWN_COLUMN in counted
    outcomes: dict[str, Outcome] = {ANY: _share(total, n, unknown, by_reason)}
    for reason, count in counted.items():
        several = reason is ViolationReason.UNKNOWN_COLUMN
        outcomes[method_of(reason)] = _share(count, n, several, {method_of(reason): count})
    return outcomes


def _share(count: int, n: int, several_a_row: bool, by_reason: Mapping[str, int]) -> Outcome:
    if n == 0:
        return TooFew(0, 1, detail={"by_reason": dict(by_reason)})
    detail = {"count": count, "by_reason": dict(by_reason)}
    if several_a_row or count > n:
        low, high = poisson_limits(count)
        return Measured(count / n, n, low / n, high / n, LEVEL, detail=detail)
    low, high = wilson_limits(count, n)
    return Measured(count / n, n, low, high, LEVEL, detail=detail)
