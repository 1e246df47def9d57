"""The job that judges hours: learns a week's baseline when it begins, scores, keeps incidents.

Hours are judged in order of time, a week at a time, each by the baseline made for that week; a
backlog of months gives what the months themselves would have given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.engine import Connection

from monitor.calendar import local_week
from monitor.checks.promise.baseline import MIN_WEEKS, SeasonalBaseline
from monitor.checks.promise.budget import Budget
from monitor.checks.promise.firing import Firing
from monitor.checks.promise.governor import governor_factor
from monitor.checks.promise.hours import HOUR, WEEK_HOURS
from monitor.checks.promise.watch import watch
from monitor.checks.registry import CheckName
from monitor.jobs.base import JobContext, JobReport, run_claimed
from monitor.jobs.check_windows import save_measurements
from monitor.jobs.hour_windows import due_hours
from monitor.jobs.names import WATCH
from monitor.jobs.promise.contrasts import contrast_excess, contrast_firings
from monitor.jobs.promise.describe import Describer
from monitor.jobs.promise.incident_book import IncidentBook
from monitor.jobs.promise.learn import LOOK_BACK_WEEKS, learn_week
from monitor.jobs.promise.measure import METHOD, measurement, seasonal_measurements
from monitor.jobs.promise.series import ModelHours, load_hours
from monitor.jobs.promise.together import DAY, Together
from monitor.measurement import Measurement, TooFew
from monitor.records import LIVE_LEG
from monitor.store.baselines import StoredBinning, current_binning
from monitor.store.engine import Role, transaction
from monitor.store.incidents import told_false
from monitor.store.job_windows import Claim, finish
from monitor.store.locks import incidents_locked
from monitor.store.seasonal import (
    StoredSeasonal,
    first_profiled_hour,
    learned_weeks,
    newest_seasonal,
    save_seasonal,
    seasonal_of_week,
)
from monitor.windows import Window

WINDOWS_AT_ONCE = WEEK_HOURS * 8
DAY_HOURS = 24


@dataclass(frozen=True, eq=False)
class _Run:
    """One run of the job: everything the weeks in it share."""

    connection: Connection
    context: JobContext
    binning: StoredBinning
    seen: ModelHours
    book: IncidentBook
    describe: Describer
    together: Together

    def hour(self, moment: datetime) -> int:
        """Place of the hour that begins at a moment."""
        return (moment - self.seen.hours.first) // HOUR


def watch_due_hours(context: JobContext) -> JobReport:
    """Judge the closed hours that are due, oldest first."""
    starts = due_hours(context, WATCH, WINDOWS_AT_ONCE)
    return run_claimed(context, WATCH, starts, _watch) if starts else JobReport()


def _watch(context: JobContext, held: Claim) -> None:
    project, model = context.project_id, context.model_id
    with transaction(context.engine, project, Role.WORKER) as connection:
        incidents_locked(connection, model)
        binning = current_binning(connection, project, model)
        found: list[Measurement] = []
        if binning is not None:
            first = first_profiled_hour(connection, project, model, LIVE_LEG, binning.id)
            if first is not None:
                found = _judge(connection, context, binning, first, held.starts)
        save_measurements(connection, context, found)
        finish(connection, held, dict.fromkeys(held.starts, 0))


def _judge(
    connection: Connection,
    context: JobContext,
    binning: StoredBinning,
    first: datetime,
    starts: Sequence[datetime],
) -> list[Measurement]:
    by_week: dict[datetime, list[datetime]] = defaultdict(list)
    for start in starts:
        by_week[local_week(start, context.contract.time_zone).start].append(start)
    begin = _history_from(connection, context, binning, first, by_week)
    seen = load_hours(connection, context, binning, Window(begin, starts[-1] + HOUR))
    describe = Describer(connection, context, binning, seen)
    book = IncidentBook.load(connection, context, starts[0], describe)
    together = Together(connection, context, binning, seen)
    run = _Run(connection, context, binning, seen, book, describe, together)
    found: list[Measurement] = []
    for week_start, mine in sorted(by_week.items()):
        found += _judge_week(run, week_start, first, mine)
    book.save()
    return [*found, *book.told]


def _history_from(
    connection: Connection,
    context: JobContext,
    binning: StoredBinning,
    first: datetime,
    by_week: Mapping[datetime, Sequence[datetime]],
) -> datetime:
    """How far back to read: the week that the longest window holds, or, where a week has to be
    learned or a day is judged as a whole, all the weeks that can be learned from."""
    project, model = context.project_id, context.model_id
    known = learned_weeks(connection, project, model, LIVE_LEG, binning.id)
    starts = [start for mine in by_week.values() for start in mine]
    days = any((start + HOUR).hour == 0 for start in starts)
    if by_week.keys() <= known and not days:
        return min(starts) - WEEK_HOURS * HOUR
    week = min(by_week)
    whole = max(0, (week - first) // (WEEK_HOURS * HOUR))
    return week - max(min(LOOK_BACK_WEEKS, whole), 1) * WEEK_HOURS * HOUR


def _judge_week(
    run: _Run, week_start: datetime, first: datetime, starts: Sequence[datetime]
) -> list[Measurement]:
    learned = _learned(run, week_start, first)
    run.describe.baseline = learned.baseline
    low = max(0, run.hour(starts[0]) - WEEK_HOURS)
    part = run.seen.part(low, run.hour(starts[-1]) + 1)
    ends = {run.hour(start) + 1 - low for start in starts}
    budget = budget_of(run.connection, run.context, starts[0], len(part.deployment_ids) > 1)
    if learned.baseline is None:
        _keep_incidents(run, week_start, part, (), ends, budget)
        return list(_waiting(run, part, learned, ends))
    since = min(ends) - 1
    watched = watch(learned.baseline, part.columns, part.hours, budget, since=since)
    joint = _judge_days(run, week_start, learned.baseline, starts, budget)
    _keep_incidents(run, week_start, part, (*watched.firings, *joint), ends, budget)
    return list(seasonal_measurements(run.context, part, learned.baseline, watched, ends))


def _judge_days(
    run: _Run,
    week_start: datetime,
    baseline: SeasonalBaseline,
    starts: Sequence[datetime],
    budget: Budget,
) -> list[Firing]:
    """Columns together, for every UTC day that ends with one of these hours."""
    told, firings = [], []
    incidents = list(run.book.incidents.values())
    for start in starts:
        end = start + HOUR
        if end.hour or end - DAY < run.seen.hours.first:
            continue
        for one, firing in run.together.judge_day(
            end - DAY, week_start, baseline, incidents, budget
        ):
            told.append(one)
            firings += [firing] if firing is not None else []
    # Stored at once: the weeks that follow in this run learn from these days.
    save_measurements(run.connection, run.context, told)
    return firings


def _keep_incidents(
    run: _Run,
    week_start: datetime,
    part: ModelHours,
    fired: Iterable[Firing],
    ends: set[int],
    budget: Budget,
) -> None:
    judged = sorted(ends)
    named: list[Firing] = []
    if budget.contrast:
        span = Window(part.hours.end_of(judged[0] - 2), part.hours.end_of(judged[-1] - 1))
        columns = sorted({one.name for one in part.columns if not one.segment})
        incidents = list(run.book.incidents.values())
        excess = contrast_excess(run.connection, run.context, week_start, incidents)
        named = contrast_firings(
            run.connection, run.context, span, columns, budget.contrast_level, excess
        )
    at: dict[datetime, list[Firing]] = defaultdict(list)
    for firing in (*fired, *named):
        at[firing.end].append(firing)
    for end in judged:
        moment = part.hours.end_of(end - 1)
        run.book.pass_hour(moment, at.get(moment, ()), part.serving(end - DAY_HOURS, end))


def _learned(run: _Run, week_start: datetime, first: datetime) -> StoredSeasonal:
    """The baseline made for a week; made now when this is its first hour."""
    project, model = run.context.project_id, run.context.model_id
    known = seasonal_of_week(run.connection, project, model, LIVE_LEG, week_start, run.binning.id)
    if known is not None:
        return known
    weeks = max(0, (week_start - max(first, run.seen.hours.first)) // (WEEK_HOURS * HOUR))
    weeks = min(weeks, LOOK_BACK_WEEKS)
    stop = run.hour(week_start)
    history = run.seen.part(stop - weeks * WEEK_HOURS, stop) if stop > 0 else run.seen.part(0, 0)
    incidents = list(run.book.incidents.values())
    before = newest_seasonal(run.connection, project, model, LIVE_LEG, week_start)
    usable = before if before is not None and before.binning_id == run.binning.id else None
    made = learn_week(
        history, incidents, week_start, run.binning.id, usable.baseline if usable else None
    )
    save_seasonal(run.connection, project, model, LIVE_LEG, made)
    return made


def budget_of(connection: Connection, context: JobContext, at: datetime, several: bool) -> Budget:
    """The budget in force: the contract's promise, lowered by false alarms that people told of."""
    promise = context.contract.alarms.false_incidents_a_month
    told = told_false(connection, context.project_id, context.model_id)
    governor = governor_factor(told, max(context.now, at), promise)
    return Budget(
        promise=promise,
        contrast=several,
        pairs=True,
        classifier=context.contract.alarms.classifier,
        governor=governor,
    )


def _waiting(
    run: _Run, part: ModelHours, learned: StoredSeasonal, ends: set[int]
) -> Iterator[Measurement]:
    """Before there are enough healthy weeks, every column says so once a day."""
    known = len(learned.weeks)
    for end in sorted(ends):
        moment = part.hours.end_of(end - 1)
        serving = part.serving(end - DAY_HOURS, end)
        if moment.hour or not serving:
            continue
        span = Window(moment - timedelta(days=1), moment)
        outcome = TooFew(known, MIN_WEEKS, "healthy weeks of history")
        for column in part.columns:
            if not column.segment:
                yield measurement(
                    run.context, CheckName.DRIFT, METHOD, outcome, span, serving, column.name
                )
