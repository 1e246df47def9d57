"""Whether labels still come: how long none did, and how many of those that were due. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import LEVEL
from monitor.checks.maturity.delay_curve import DelayCurve
from monitor.measurement import Measured, Outcome, TooFew

MIN_EXPECTED, MIN_DAYS = 20, 7
_MEDIAN = float(special.chdtri(1, 0.5))


def silence(hours: float, *, newest: str | None) -> Outcome:
    """Hours since the newest label was observed; since the first request where none ever was.

    `newest` is that moment as text, None without any label.
    """
    return Measured(max(0.0, hours), 0 if newest is None else 1, detail={"newest_label": newest})


def expected_labels(cohorts: Sequence[tuple[float, int]], curve: DelayCurve, hours: float) -> float:
    """Labels that a span of `hours` brings: Σ n·(F(age) - F(age - hours)).

    `cohorts` are (age at the end of the span, requests); ages below 0 are requests after it.
    """
    return sum(
        n * (curve.known_by(age) - curve.known_by(max(0.0, age - hours)))
        for age, n in cohorts
        if age > 0
    )


def arrival_ratio(
    observed: int, expected: float | None, earlier: Sequence[tuple[int, float]]
) -> Outcome:
    """Labels observed in a day / labels that the curve of earlier cohorts expects in it.

    `earlier` are (observed, expected) of the days before. Printed from 20 expected labels on. The
    limits are exact Poisson's (Garwood 1936) for observed/φ, times φ; φ ≥ 1 is how much more
    uneven the earlier days were than chance makes them. No limits before 7 earlier days. `expected`
    None: no request is as old as a label may be, so the curve is not known to its end.
    """
    if expected is None:
        return TooFew(0, 1, "cohorts as old as label.max_age")
    floors = (Floor(int(expected), MIN_EXPECTED, "labels expected"),)
    detail: dict[str, Any] = {"observed": observed, "expected": expected}
    days = [(o, e) for o, e in earlier if e >= MIN_EXPECTED]
    value = observed / expected if expected > 0 else None
    if len(days) < MIN_DAYS or value is None:
        return measured_above(floors, value, observed, None, detail, "no label is expected")
    excess = _excess(days)
    tail, worth = (1 - LEVEL) / 2, observed / excess
    low = float(special.gammaincinv(worth, tail)) if worth > 0 else 0.0
    high = float(special.gammaincinv(worth + 1, 1 - tail))
    told = {**detail, "unevenness": excess}
    limits = (min(value, low * excess / expected), max(value, high * excess / expected))
    return measured_above(floors, value, observed, limits, told)


def _excess(days: Sequence[tuple[int, float]]) -> float:
    """How many times more days differ from their common ratio than Poisson counts do, at least 1.

    By medians, so that days on which the feed already failed don't hide that it still does: the
    median of (o - ρe)²/(ρe) over that of χ² on 1 df, ρ the median ratio.
    """
    observed = np.array([float(o) for o, _ in days])
    expected = np.array([e for _, e in days])
    due = float(np.median(observed / expected)) * expected
    if due[0] <= 0:
        return 1.0
    freedom = len(days) / (len(days) - 1)
    return max(1.0, float(np.median((observed - due) ** 2 / due)) / _MEDIAN * freedom)
