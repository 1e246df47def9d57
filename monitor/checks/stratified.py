"""Two groups compared within strata: Mantel-Haenszel, and rates and means on one common mix.

Knows counts only: `[k, 2, 2]` tables are stratum × (compared group, reference group) × (event, no
event). A stratum may be a traffic slice, an hour, a department: whatever both groups share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.checks.intervals import LEVEL, normal_quantile, wilson_limits
from monitor.profiles.arrays import Flags, Floats, Integers


@dataclass(frozen=True)
class MantelHaenszel:
    """The compared group against the reference group, held together over strata.

    `statistic`: chi-square on 1 df without continuity correction; `statistic_corrected`: with
    Yates' half, and `p_value` is its p-value (two-sided). `odds_ratio` in (0, ∞) or None where it
    is 0/0 or without limit. `risk_difference` in [-1, 1] with its 95 % interval `[low, high]`.
    """

    statistic: float
    statistic_corrected: float
    p_value: float
    odds_ratio: float | None
    risk_difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Standardised:
    """A rate or a mean on a common mix of strata, with its interval `[low, high]` at 95 %."""

    value: float
    low: float
    high: float


def informative(tables: Integers) -> Flags:
    """Strata in which both groups have rows, bool[k]; the others say nothing about a contrast."""
    flags: Flags = (np.asarray(tables).sum(axis=2) > 0).all(axis=1)
    return flags


def cmh(tables: Integers, level: float = LEVEL) -> MantelHaenszel:
    """Cochran-Mantel-Haenszel test, odds ratio and risk difference of `tables` int64[k, 2, 2].

    With a events among n1 compared rows, c among n0 reference rows, m events in N rows by stratum:
    chi-square = (|Σ(a - n1·m/N)| - h)² / Σ n1·n0·m(N - m)/(N²(N - 1)), h = 0 or at most 1/2
    (Cochran 1954; Mantel and Haenszel 1959); OR = Σ a(n0 - c)/N / Σ c(n1 - a)/N; risk
    difference = Σ (a·n0 - c·n1)/N / Σ n1·n0/N with the variance of Sato, Greenland and Robins
    (1989), which holds for few large and for many thin strata. Rows must be independent within
    strata; strata in which the difference changes its sign are averaged away: look at them too.
    Raises AssertionError when no stratum holds rows of both groups.
    """
    table = np.asarray(tables)
    if table.ndim != 3 or table.shape[1:] != (2, 2) or (table < 0).any():
        raise AssertionError(f"tables are counts of the shape [k, 2, 2], not {table.shape}")
    kept = table[informative(table)].astype(np.float64)
    if not len(kept):
        raise AssertionError("no stratum holds rows of both groups; ask informative() first")
    strata = _Strata(kept[:, 0, 0], kept[:, 0].sum(axis=1), kept[:, 1, 0], kept[:, 1].sum(axis=1))
    difference, reach = strata.risk_difference(), strata.standard_error() * normal_quantile(level)
    plain, corrected = strata.chi_square(0.0), strata.chi_square(0.5)
    return MantelHaenszel(
        plain,
        corrected,
        float(special.chdtrc(1, corrected)),
        strata.odds_ratio(),
        difference,
        max(-1.0, difference - reach),
        min(1.0, difference + reach),
    )


@dataclass(frozen=True, eq=False)
class _Strata:
    """Events and rows of both groups by stratum, float64[k] each, rows > 0."""

    events: Floats
    rows: Floats
    events_reference: Floats
    rows_reference: Floats

    @property
    def total(self) -> Floats:
        return self.rows + self.rows_reference

    @property
    def weight(self) -> float:
        return float(np.sum(self.rows * self.rows_reference / self.total))

    def chi_square(self, correction: float) -> float:
        total, events = self.total, self.events + self.events_reference
        apart = abs(float(np.sum(self.events - self.rows * events / total)))
        spread = self.rows * self.rows_reference * events * (total - events)
        variance = float(np.sum(spread / (total**2 * np.maximum(total - 1, 1))))
        if variance <= 0:
            return 0.0
        return float((apart - min(correction, apart)) ** 2 / variance)

    def odds_ratio(self) -> float | None:
        for_it = np.sum(self.events * (self.rows_reference - self.events_reference) / self.total)
        against = np.sum(self.events_reference * (self.rows - self.events) / self.total)
        return float(for_it / against) if for_it > 0 and against > 0 else None

    def risk_difference(self) -> float:
        crossed = self.events * self.rows_reference - self.events_reference * self.rows
        return float(np.sum(crossed / self.total)) / self.weight

    def standard_error(self) -> float:
        n1, n0, total = self.rows, self.rows_reference, self.total
        a, c = self.events, self.events_reference
        slope = np.sum((n1**2 * c - n0**2 * a + n1 * n0 * (n0 - n1) / 2) / total**2)
        level = np.sum((a * (n0 - c) + c * (n1 - a)) / (2 * total))
        variance = (self.risk_difference() * float(slope) + float(level)) / self.weight**2
        return float(np.sqrt(max(0.0, variance)))


def standardised_rate(
    events: Integers, n: Integers, weights: Integers | Floats, level: float = LEVEL
) -> Standardised:
    """Σ w·events/n over strata: the rate that a group would have on the mix `weights`.

    `events`, `n`, `weights` of shape [k]; weights >= 0 are scaled to add up to 1, and a stratum
    with weight needs rows. Direct standardisation (Kitagawa 1955); limits from the strata's Wilson
    limits by recovering variances (Zou and Donner 2008): value - sqrt(Σ w²(p - low)²). Too
    narrow where strata hold only a few rows each (0.87 at four): use `cmh` there.
    """
    mix = _mix(n, weights)
    x, rows, mix = np.asarray(events)[mix > 0], np.asarray(n)[mix > 0], mix[mix > 0]
    rates = x / rows
    limits = np.array(
        [wilson_limits(a, b, level) for a, b in zip(x.tolist(), rows.tolist(), strict=True)]
    )
    value = float(mix @ rates)
    down = float(np.sqrt(np.sum((mix * (rates - limits[:, 0])) ** 2)))
    up = float(np.sqrt(np.sum((mix * (limits[:, 1] - rates)) ** 2)))
    return Standardised(value, max(0.0, value - down), min(1.0, value + up))


def standardised_mean(
    sums: Floats, squares: Floats, n: Integers, weights: Integers | Floats, level: float = LEVEL
) -> Standardised:
    """Σ w·mean over strata, from the `sums` and `squares` of values and the rows `n`, all [k].

    Standard error sqrt(Σ w²·s²/n) with t on Welch-Satterthwaite degrees of freedom. A stratum with
    weight needs two rows. Rows must be independent: use a bootstrap by hour or entity otherwise.
    """
    mix = _mix(n, weights, least=2)
    rows = np.asarray(n, np.float64)[mix > 0]
    total, squared = np.asarray(sums)[mix > 0], np.asarray(squares)[mix > 0]
    mix = mix[mix > 0]
    value = float(mix @ (total / rows))
    variances = np.maximum(0.0, squared - total**2 / rows) / (rows - 1)
    parts = mix**2 * variances / rows
    if not parts.sum() > 0:
        return Standardised(value, value, value)
    degrees = float(parts.sum() ** 2 / np.sum(parts**2 / (rows - 1)))
    reach = float(special.stdtrit(degrees, 0.5 + level / 2) * np.sqrt(parts.sum()))
    return Standardised(value, value - reach, value + reach)


def standardised_difference(compared: Standardised, reference: Standardised) -> Standardised:
    """Compared - reference on the same mix; limits recovered from both (Newcombe 1998, method 10).

    The two groups' rows must be independent of each other.
    """
    value = compared.value - reference.value
    down = float(np.hypot(compared.value - compared.low, reference.high - reference.value))
    up = float(np.hypot(compared.high - compared.value, reference.value - reference.low))
    return Standardised(value, value - down, value + up)


def _mix(n: Integers, weights: Integers | Floats, least: int = 1) -> Floats:
    """Weights that add up to 1, float64[k]."""
    mix = np.asarray(weights, np.float64)
    rows = np.asarray(n)
    if mix.shape != rows.shape or not mix.sum() > 0 or (mix < 0).any():
        raise AssertionError(f"weights are not negative and not all 0, one a stratum, not {mix}")
    if (rows[mix > 0] < least).any():
        raise AssertionError(f"a stratum with weight needs {least} rows or more, not {rows}")
    scaled: Floats = mix / mix.sum()
    return scaled
