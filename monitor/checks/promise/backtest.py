"""What the alarms would have done in healthy weeks: each judged by a baseline without it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from monitor.checks.promise.baseline import GOOD_WEEKS, MIN_WEEKS
from monitor.checks.promise.budget import Budget
from monitor.checks.promise.column import ColumnHours
from monitor.checks.promise.firing import Firing
from monitor.checks.promise.fit import FitOptions, fit_seasonal
from monitor.checks.promise.hours import HOUR, WEEK_HOURS, Hours
from monitor.checks.promise.incidents import Incident, incidents_of
from monitor.checks.promise.watch import watch
from monitor.profiles.arrays import Integers

WATCHED_P = (0.01, 0.001)


@dataclass(frozen=True)
class Backtest:
    """`incidents` in `days` of healthy weeks, all of them false if those weeks are healthy.

    `upper` is their 95 % upper limit a 30 days (exact Poisson, Garwood 1936). `p_values` were
    computed, `below` of them at most 1 % and 0.1 %: about that share is right.
    """

    days: float
    incidents: tuple[Incident, ...]
    upper: float
    p_values: int
    below: tuple[int, ...]

    @property
    def a_month(self) -> float:
        """Incidents in 30 days."""
        return len(self.incidents) * 30 / self.days if self.days else 0.0


def upper_limit(events: int, months: float, confidence: float = 0.95) -> float:
    """Exact Poisson upper limit of a rate a month: χ²_{2k+2}(confidence) / (2 · months).

    Infinite when nothing was seen: 0 months.
    """
    if months <= 0:
        return float("inf")
    return float(special.chdtri(2 * events + 2, 1 - confidence)) / 2 / months


def leave_one_week_out(
    columns: Sequence[ColumnHours],
    hours: Hours,
    weeks: Integers,
    budget: Budget | None = None,
    *,
    options: FitOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Backtest:
    """Judge each of the healthy `weeks` (from 0) by a baseline of the 8 nearest others.

    AssertionError with fewer than 5 weeks: 4 must be left to learn from.
    """
    if len(weeks) <= MIN_WEEKS:
        raise AssertionError(f"{len(weeks)} weeks to test; {MIN_WEEKS + 1} needed")
    firings: list[Firing] = []
    counted, below = 0, np.zeros(len(WATCHED_P), np.int64)
    for done, week in enumerate(weeks.tolist()):
        others = _nearest(weeks, week)
        learned = {column.key: others for column in columns}
        baseline = fit_seasonal(columns, hours, accepted=learned, options=options)
        inside = hours.part(week * WEEK_HOURS, (week + 1) * WEEK_HOURS)
        seen = [_hours_of(column, week) for column in columns]
        # Counted from the week's own start: it holds one window of seven days in any time zone.
        judged = watch(baseline, seen, inside, budget, origin=inside.epoch_hour)
        firings += judged.firings
        for scores in judged.scores:
            p = scores.p_value[~np.isnan(scores.p_value)]
            counted += len(p)
            below += [int((p <= level).sum()) for level in WATCHED_P]
        if progress is not None:
            progress(done + 1, len(weeks))
    excluded = hours.without[: hours.n_weeks * WEEK_HOURS].reshape(-1, WEEK_HOURS)[weeks]
    days = len(weeks) * 7 - float(excluded.sum()) / 24
    found = incidents_of(firings)
    return Backtest(days, found, upper_limit(len(found), days / 30), counted, tuple(below.tolist()))


def _nearest(weeks: Integers, week: int) -> Integers:
    others = weeks[weeks != week]
    order = np.argsort(np.abs(others - week), kind="stable")[:GOOD_WEEKS]
    return np.sort(others[order])


def _hours_of(column: ColumnHours, week: int) -> ColumnHours:
    return replace(column, counts=column.counts[week * WEEK_HOURS : (week + 1) * WEEK_HOURS])


def clean_days(hours: Hours, incidents: Iterable[Incident]) -> float:
    """Days of these hours outside of incidents and exclusions."""
    clean = ~hours.without
    for one in incidents:
        for part in one.columns.values():
            for span in part.spans:
                start = max(0, int((span.start - hours.first) / HOUR))
                clean[start : max(0, int((span.until - hours.first) / HOUR))] = False
    return float(clean.sum()) / 24
