"""Burn rate: how many times faster than allowed the error budget of an objective is used up.

Pure. An objective of 0.99 leaves a budget of 0.01: a share of bad events of 0.144 burns it 14.4
times too fast. A long window makes sure that it matters, a short one that it still goes on; both
must burn beyond the factor (Site Reliability Workbook, chapter 5).

Promises:
- Shares of several base windows are weighted by their events, never averaged.
- A window of fewer than FEW_EVENTS events burns as fast as the exact lower 95 % limit of its share:
  one failure among three requests is no incident. While the alert fires the plain share decides:
  one failure among three requests is no recovery either.
- Where too much of a window was not measured, or its events could not tell, nothing is judged: the
  alert stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import comb

from alerts.durations import duration_text
from alerts.model import Reading, ReadingState

FEW_EVENTS = 100
CONFIDENCE = 0.95
UNIT = "times the budget"
_HALVINGS = 50


@dataclass(frozen=True)
class BurnWindow:
    """A pair of windows that must both burn more than `factor` times the budget."""

    long: timedelta
    short: timedelta
    factor: float

    def describe(self) -> str:
        """For people: `14.4 times over 1h and 5m`."""
        spans = f"{duration_text(self.long)} and {duration_text(self.short)}"
        return f"{self.factor:g} times over {spans}"


@dataclass(frozen=True)
class BurnRate:
    """The objective (share of good events), the pairs of windows, and how the base is read.

    Base readings hold the share of bad events, or of good ones where `counts_good`. At least
    `coverage` of the time of a window must have been measured.
    """

    objective: float
    windows: tuple[BurnWindow, ...]
    counts_good: bool = False
    coverage: float = 0.8

    @property
    def budget(self) -> float:
        """The share of events that may be bad."""
        return 1 - self.objective

    @property
    def longest(self) -> timedelta:
        """How far back readings are needed."""
        return max(each.long for each in self.windows)

    def describe(self) -> str:
        """For people: `burning the budget of 1% more than 14.4 times over 1h and 5m`."""
        pairs = ", or ".join(each.describe() for each in self.windows)
        return f"burning the budget of {self.budget:.3g} more than {pairs}"


@dataclass(frozen=True)
class _Burnt:
    """One window: events, bad ones (expected, not whole), what it burns, and surely burns."""

    n: int
    bad: float
    rate: float
    sure: float


def burn_reading(condition: BurnRate, newest: Reading, earlier: Sequence[Reading]) -> Reading:
    """What the newest base reading and those before it say about the burn rate.

    `earlier` are base readings of the same subject, each window once, in any order. The value is
    the burn rate of the worst pair of windows, `low` what it surely is at least. Not measured when
    a pair can't be judged and none of the others burns too fast.
    """
    base = [each for each in (*earlier, newest) if each.at <= newest.at]
    found: list[Reading] = []
    unknown: list[Reading] = []
    for pair in condition.windows:
        made = _of_pair(condition, pair, newest, base)
        (found if made.state is ReadingState.MEASURED else unknown).append(made)
    burning = [each for each in found if is_burning(each)]
    if not burning and unknown:
        return unknown[0]
    return max(burning, key=_sure) if burning else max(found, key=_seeming)


def is_burning(reading: Reading, *, firing: bool = False) -> bool:
    """Whether a reading made by `burn_reading` breaches, given whether the alert already fires."""
    return (_seeming(reading) if firing else _sure(reading)) > 1


def burn_excess(reading: Reading) -> float | None:
    """How far beyond its factor a reading made by `burn_reading` surely burns."""
    if reading.low is None:
        return None
    return max(reading.low - float(reading.evidence["factor"]), 0.0)


def _sure(reading: Reading) -> float:
    return (reading.low or 0.0) / float(reading.evidence["factor"])


def _seeming(reading: Reading) -> float:
    return (reading.value or 0.0) / float(reading.evidence["factor"])


def _of_pair(
    condition: BurnRate, pair: BurnWindow, newest: Reading, base: Sequence[Reading]
) -> Reading:
    parts: dict[str, _Burnt] = {}
    for name, span in (("long", pair.long), ("short", pair.short)):
        inside = [each for each in base if each.at > newest.at - span]
        reason = _gap(condition, inside, newest, span)
        burnt = _burnt(condition, inside)
        reason = reason or _too_few(condition, pair, burnt, span)
        if reason:
            return _unjudged(newest, pair, burnt.n, reason)
        parts[name] = burnt
    return _judged(newest, pair, parts)


def _gap(
    condition: BurnRate, inside: Sequence[Reading], newest: Reading, span: timedelta
) -> str | None:
    """What is missing of a window, in words. Base windows that reach out of it count in part."""
    begin = newest.at - span
    measured = sum(
        (
            each.at - max(each.window_start, begin)
            for each in inside
            if each.state is ReadingState.MEASURED
        ),
        timedelta(0),
    )
    share = min(measured / span, 1.0)
    if share >= condition.coverage:
        return None
    needed = f"{condition.coverage:.0%} needed"
    return f"{share:.0%} of the last {duration_text(span)} was measured, {needed}"


def _burnt(condition: BurnRate, inside: Sequence[Reading]) -> _Burnt:
    n, bad = 0, 0.0
    for each in inside:
        if each.value is not None:
            n += each.n
            bad += each.n * ((1 - each.value) if condition.counts_good else each.value)
    if n == 0:
        return _Burnt(0, 0.0, 0.0, 0.0)
    share = min(max(bad / n, 0.0), 1.0)
    sure = lowest_share(round(bad), n) if n < FEW_EVENTS else share
    return _Burnt(n, bad, share / condition.budget, sure / condition.budget)


def _too_few(condition: BurnRate, pair: BurnWindow, burnt: _Burnt, span: timedelta) -> str | None:
    """Why so few events can't show a breach however bad they are."""
    if burnt.n >= FEW_EVENTS:
        return None
    if burnt.n > 0 and lowest_share(burnt.n, burnt.n) > pair.factor * condition.budget:
        return None
    return f"{burnt.n} events in the last {duration_text(span)} can't tell"


def _unjudged(newest: Reading, pair: BurnWindow, n: int, reason: str) -> Reading:
    return Reading(
        labels=newest.labels,
        at=newest.at,
        window_start=newest.at - pair.short,
        state=ReadingState.TOO_FEW,
        n=n,
        unit=UNIT,
        text=reason,
        evidence=_evidence(pair, {}),
    )


def _judged(newest: Reading, pair: BurnWindow, parts: Mapping[str, _Burnt]) -> Reading:
    return Reading(
        labels=newest.labels,
        at=newest.at,
        window_start=newest.at - pair.short,
        state=ReadingState.MEASURED,
        value=min(each.rate for each in parts.values()),
        low=min(each.sure for each in parts.values()),
        n=parts["long"].n,
        unit=UNIT,
        evidence={**newest.evidence, **_evidence(pair, parts)},
    )


def _evidence(pair: BurnWindow, parts: Mapping[str, _Burnt]) -> dict[str, str | float]:
    told: dict[str, str | float] = {
        "factor": pair.factor,
        "long_window": duration_text(pair.long),
        "short_window": duration_text(pair.short),
    }
    for name, each in parts.items():
        told[f"{name}_burn"] = each.rate
        told[f"{name}_bad"] = each.bad
        told[f"{name}_events"] = float(each.n)
    return told


def lowest_share(bad: int, n: int) -> float:
    """The exact (Clopper-Pearson) lower 95 % limit of a share, one-sided: bad of n events.

    For at most a few hundred events; accurate to 1e-12.
    """
    if bad <= 0:
        return 0.0
    low, high = 0.0, bad / n
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _at_least(bad, n, middle) < 1 - CONFIDENCE:
            low = middle
        else:
            high = middle
    return low


def _at_least(bad: int, n: int, share: float) -> float:
    """The chance of `bad` or more bad events among n."""
    return sum(comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(bad, n + 1))
