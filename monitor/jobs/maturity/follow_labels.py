"""The daily job on labels, before the checks of days: curves, the feed, and what became mature."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.engine import Connection

from monitor.calendar import local_day
from monitor.contract_quality import Label
from monitor.jobs.base import JobContext, JobReport, run_claimed
from monitor.jobs.check_windows import save_measurements
from monitor.jobs.grouping import WHOLE
from monitor.jobs.maturity.due import LONGEST, mark_matured
from monitor.jobs.maturity.feed import feed_measurements
from monitor.jobs.maturity.known import LabelDelays, known_delays
from monitor.jobs.maturity.learn import learn_curves
from monitor.jobs.maturity.pieces import segment_pieces, whole_pieces
from monitor.jobs.names import MATURITY
from monitor.profiles.part import PartKind
from monitor.store.delay_curves import read_curves, save_curves
from monitor.store.engine import Role, transaction
from monitor.store.job_windows import Claim, finish, planned_windows, unfinished_windows
from monitor.store.profile_rows import last_served, read_profiles
from monitor.windows import Grain, Window

MOST_DAYS = 35
SEGMENTS_EVERY = timedelta(days=7)
LONGEST_LOOK_BACK = timedelta(days=400)


def follow_labels(context: JobContext) -> JobReport:
    """Once a day, for the days that have closed since: one look at labels for all of them."""
    label = context.contract.label
    if label is None:
        return JobReport()
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        starts = _days(connection, context)
    return run_claimed(context, MATURITY, starts, _follow, done_too=True) if starts else JobReport()


def _days(connection: Connection, context: JobContext) -> list[datetime]:
    """Closed days not yet looked at, or the last one again as long as there is no curve."""
    project, model, zone = context.project_id, context.model_id, context.contract.time_zone
    if last_served(connection, project, model) is None:
        return []
    last = local_day(local_day(context.now, zone).start - timedelta(hours=1), zone).start
    looked_at = planned_windows(connection, project, model, MATURITY)
    looked_at -= set(unfinished_windows(connection, project, model, MATURITY))
    days = [last]
    while len(days) < MOST_DAYS and looked_at and days[-1] > max(looked_at):
        days.append(local_day(days[-1] - timedelta(hours=1), zone).start)
    found = sorted(day for day in days if day not in looked_at)
    return found or ([last] if _has_its_first_labels(connection, context) else [])


def _has_its_first_labels(connection: Connection, context: JobContext) -> bool:
    """No curve is stored, and there are requests older than the newest label to learn one from."""
    label = context.contract.label
    delays = known_delays(connection, context)
    if label is None or delays.newest is None or delays.curves:
        return False
    span = _span(label, delays.newest, delays.newest, delays.newest)
    old = Window(
        span.start, max(span.start + timedelta(hours=1), delays.newest - timedelta(hours=1))
    )
    pieces = read_profiles(
        connection, context.project_id, context.model_id, PartKind.LABELS, Grain.HOUR, old
    )
    return bool(pieces)


def _follow(context: JobContext, held: Claim) -> None:
    label = context.contract.label
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        if label is not None:
            _look(connection, context, label, held)
        finish(connection, held, dict.fromkeys(held.starts, 0))


def _look(connection: Connection, context: JobContext, label: Label, held: Claim) -> None:
    project, model, zone = context.project_id, context.model_id, context.contract.time_zone
    delays = known_delays(connection, context)
    newest = delays.newest or context.now
    span = _span(label, held.starts[0], newest, context.now)
    pieces = whole_pieces(connection, context, span, newest)
    learned = {}
    if delays.newest is not None:
        learned = learn_curves(pieces, delays, label)
        if _segments_are_due(connection, context):
            recent = Window(max(span.start, newest - _reach(label) - LONGEST), span.end)
            learned |= learn_curves(segment_pieces(connection, context, recent), delays, label)
    days = [local_day(start, zone) for start in held.starts]
    found = list(feed_measurements(connection, context, label, days, pieces, learned))
    save_measurements(connection, context, found)
    if delays.newest is not None:
        save_curves(connection, project, model, context.now, delays.newest, learned)
        now_known = LabelDelays(delays.newest, {**delays.curves, **learned})
        mark_matured(connection, context, pieces, now_known, span.start + LONGEST)


def _reach(label: Label) -> timedelta:
    return label.max_age + label.correction_time


def _span(label: Label, first_day: datetime, newest: datetime, now: datetime) -> Window:
    """Requests whose labels may still come, those of a month before, and all since."""
    back = min(_reach(label) + 2 * LONGEST, LONGEST_LOOK_BACK)
    start = local_day(min(newest, first_day) - back, "UTC").start
    return Window(start, max(newest, now) + timedelta(hours=1))


def _segments_are_due(connection: Connection, context: JobContext) -> bool:
    known = read_curves(connection, context.project_id, context.model_id, context.now)
    learned = [one.known_at for key, one in known.items() if key.segment_id != WHOLE]
    return not learned or max(learned) <= context.now - SEGMENTS_EVERY
