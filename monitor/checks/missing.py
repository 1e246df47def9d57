"""Share of rows without a value, against the baseline's. Apart from value drift on purpose."""

from __future__ import annotations

from typing import Any

from monitor.checks.intervals import (
    LEVEL,
    equal_shares_p_value,
    newcombe_limits,
    wilson_limits,
)
from monitor.measurement import Measured, Outcome, TooFew
from monitor.profiles.columns import ColumnCounts


def missing_share(current: ColumnCounts, reference: ColumnCounts | None = None) -> Outcome:
    """Missing rows / rows with Wilson limits; TooFew only when there is no row at all.

    With a baseline the detail holds its share, the difference with Newcombe's limits and the
    p-value of "both shares are the same" (`equal_shares_p_value`).
    """
    n, missing = current.n, current.n_missing
    if n == 0:
        return TooFew(0, 1)
    low, high = wilson_limits(missing, n)
    detail: dict[str, Any] = {"missing": missing}
    if reference is None or reference.n == 0:
        return Measured(missing / n, n, low, high, LEVEL, detail=detail)
    detail |= _against(missing, n, reference.n_missing, reference.n)
    return Measured(missing / n, n, low, high, LEVEL, reference.n, detail)


def _against(missing: int, n: int, missing_then: int, n_then: int) -> dict[str, Any]:
    low, high = newcombe_limits(missing, n, missing_then, n_then)
    return {
        "share_then": missing_then / n_then,
        "difference": missing / n - missing_then / n_then,
        "difference_low": low,
        "difference_high": high,
        "p_value": equal_shares_p_value(missing, n, missing_then, n_then),
    }
