"""Which weeks a model's columns are learned from, and the baseline they make.

Before the first hour of a week is judged, its baseline is made once and for all: from the last 8
healthy weeks of each column that ended two weeks ago. The guard band keeps a creeping fault from
teaching the baseline; weeks touched by an incident of the column are left out until a person says
that it is the new normal or was a false alarm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from monitor.checks.promise.baseline import GOOD_WEEKS, MIN_WEEKS, SeasonalBaseline, carried_over
from monitor.checks.promise.fit import fit_seasonal
from monitor.checks.promise.hours import HOUR, WEEK_HOURS, Hours
from monitor.checks.promise.scales import DAILY
from monitor.checks.promise.views import View
from monitor.jobs.promise.series import ModelHours
from monitor.profiles.arrays import Integers
from monitor.store.incidents import StoredIncident, Verdict
from monitor.store.seasonal import StoredSeasonal

GUARD_WEEKS = 2
LOOK_BACK_WEEKS = 16
LEFT_OUT_ASKS = 3


@dataclass(frozen=True)
class Lessons:
    """Weeks to learn from by (segment, column), from the first of the hours; and how many of the
    last 8 candidate weeks each column has to leave out."""

    accepted: Mapping[tuple[str, str], Integers]
    left_out: Mapping[str, int]


def learn_week(
    history: ModelHours,
    incidents: Sequence[StoredIncident],
    week_start: datetime,
    binning_id: int,
    before: SeasonalBaseline | None = None,
) -> StoredSeasonal:
    """The baseline for the week that begins where `history` ends; history holds whole weeks.

    `before` is the week before's: columns with too few healthy weeks keep what it knew of them.
    """
    lessons = lessons_of(history, incidents)
    n_weeks = history.hours.n_weeks
    if n_weeks < MIN_WEEKS:
        known = _starts(history.hours, range(n_weeks))
        return StoredSeasonal(week_start, binning_id, None, known, {"columns": {}})
    baseline = fit_seasonal(history.columns, history.hours, accepted=lessons.accepted)
    used = sorted({week for one in baseline.columns for week in one.weeks})
    if before is not None:
        baseline = carried_over(baseline, before)
    weeks = _starts(history.hours, used)
    return StoredSeasonal(week_start, binning_id, baseline, weeks, summary_of(baseline, lessons))


def _starts(hours: Hours, weeks: Iterable[int]) -> tuple[datetime, ...]:
    return tuple(hours.first + week * WEEK_HOURS * HOUR for week in weeks)


def weeks_to_learn_from(whole_weeks: int) -> int:
    """How many of a history's first weeks may be learned from: all but the guard band, but never
    fewer than 8 of those there are, so that no week knows less than the one before."""
    return whole_weeks if whole_weeks <= GOOD_WEEKS else max(GOOD_WEEKS, whole_weeks - GUARD_WEEKS)


def lessons_of(history: ModelHours, incidents: Sequence[StoredIncident]) -> Lessons:
    """Healthy weeks of every column: at most 8, ending two weeks ago if history is long enough."""
    n = history.hours.n_weeks
    candidates = np.arange(weeks_to_learn_from(n))
    served = _weeks_with_rows(history)
    accepted, left_out = {}, {}
    for column in history.columns:
        bad = rejected_weeks(column.name, incidents, history.hours)
        healthy = candidates[~np.isin(candidates, bad) & served[candidates]]
        accepted[column.key] = healthy[-GOOD_WEEKS:]
        if not column.segment:
            left_out[column.name] = int(np.isin(candidates[-GOOD_WEEKS:], bad).sum())
    return Lessons(accepted, left_out)


def _weeks_with_rows(history: ModelHours) -> np.ndarray[Any, np.dtype[np.bool_]]:
    n = history.hours.n_weeks
    rows = np.zeros(n * WEEK_HOURS)
    for column in history.columns[:1]:
        rows += column.counts[: n * WEEK_HOURS].sum(axis=1)
    return np.asarray(rows.reshape(n, WEEK_HOURS).sum(axis=1) > 0)


def rejected_weeks(column: str, incidents: Sequence[StoredIncident], hours: Hours) -> Integers:
    """Weeks that an incident of the column touches and nobody has cleared, int64[k]."""
    found: set[int] = set()
    for one in incidents:
        if one.verdict in (Verdict.ADOPT, Verdict.FALSE_ALARM):
            continue
        for name, part in one.incident.columns.items():
            if name == column or name.startswith(f"{column} ("):
                for span in part.spans:
                    first = _week_of(span.start, hours)
                    found.update(range(first, _week_of(span.last, hours) + 1))
    return np.array(sorted(found), np.int64)


def _week_of(moment: datetime, hours: Hours) -> int:
    """The week that holds the last hour before a moment."""
    return int(((moment - hours.first).total_seconds() / 3600 - 1) // WEEK_HOURS)


def summary_of(baseline: SeasonalBaseline, lessons: Lessons) -> dict[str, Any]:
    """What was learned, for people: by column its class, season, wobble and what is withheld."""
    columns = {}
    for place, one in enumerate(baseline.columns):
        if one.segment:
            continue
        columns[one.name] = {
            "class": one.column_class.value,
            "season": one.season.value,
            "n": one.n,
            "weeks": len(one.weeks),
            "wobble_a_day": float(baseline.calibrations.tau[place, View.OMNIBUS, DAILY]),
            "withheld": one.withheld,
            "left_out": lessons.left_out.get(one.name, 0),
            "decide": lessons.left_out.get(one.name, 0) >= LEFT_OUT_ASKS,
        }
    watched = {one.segment for one in baseline.columns if one.segment}
    return {"columns": columns, "segments": sorted(watched)}
