"""Conditions about the work itself: windows not done, messages not taken, actions not answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from monitor.calendar import local_day, local_month
from monitor.jobs.conditions.base import Finding, Look
from monitor.jobs.names import CHECKS_HOUR, CHECKS_MONTH, PROFILE, SERVING, WATCH, WORST_GROUPS
from monitor.store.conditions import (
    Backlog,
    OpenWindows,
    actions_without_outcome,
    dead_letters,
    disabled_receivers,
    failed_windows,
    overdue_windows,
    undelivered,
    unread_windows,
)
from monitor.store.models import ModelContext
from monitor.windows import Grain, Window

GRACE = timedelta(minutes=15)
"""A closed window is overdue when it could have been done for this long."""
DAY = timedelta(days=1)
EVIDENCE_TEXT = 400


def failed(look: Look) -> Iterator[Finding]:
    """Windows whose last run failed, by job. They are tried again by themselves."""
    for each in look.models:
        for one in failed_windows(look.connection, each.project_id, each.model_id):
            yield _windows(each, one)


def overdue(look: Look) -> Iterator[Finding]:
    """Closed windows that were not done in time, by job, requests nobody has read among them."""
    for each in look.models:
        closed, day = _closed_before(each, look.now)
        for one in overdue_windows(
            look.connection, each.project_id, each.model_id, closed, day, GRACE
        ):
            yield _windows(each, one)
        yield from _unread(look, each)


def undelivered_age(look: Look) -> Iterator[Finding]:
    """Hours for which the oldest message to a receiver has waited; 0 when none waits."""
    waiting = {one.receiver: one for one in undelivered(look.connection, look.project_id)}
    for name in sorted({*waiting, *(each.name for each in look.config.receivers)}):
        one = waiting.get(name, Backlog(name, 0, 0.0))
        yield Finding({"receiver": name}, max(one.hours, 0.0), one.count)


def dead_deliveries(look: Look) -> Iterator[Finding]:
    """Messages to a receiver that were given up in the last 24 hours."""
    for one in dead_letters(look.connection, look.project_id, DAY):
        evidence = {"hours_since_the_last": round(one.hours, 2)}
        yield Finding({"receiver": one.receiver}, float(one.count), one.count, evidence=evidence)


def receiver_disabled(look: Look) -> Iterator[Finding]:
    """1 for a receiver that is sent nothing until a person enables it."""
    for name, reason in disabled_receivers(look.connection, look.project_id).items():
        yield Finding({"receiver": name}, 1.0, 1, text=reason[:EVIDENCE_TEXT])


def without_outcome(look: Look) -> Iterator[Finding]:
    """Actions asked for whose outcome is overdue, by model and response."""
    late = actions_without_outcome(look.connection, look.project_id, look.now)
    for (model, response), numbers in late.items():
        listed = ", ".join(str(number) for number in numbers[:10])
        labels = {"model": model, "defined_response": response}
        yield Finding(labels, float(len(numbers)), len(numbers), evidence={"actions": listed})


def _windows(model: ModelContext, one: OpenWindows) -> Finding:
    evidence: dict[str, str | float] = {"oldest_window": one.oldest.isoformat()}
    if one.error:
        evidence["error"] = one.error[:EVIDENCE_TEXT]
    labels = {"model": model.contract.model, "job": one.job}
    return Finding(labels, float(one.count), one.count, evidence=evidence)


def _unread(look: Look, model: ModelContext) -> Iterator[Finding]:
    lateness = model.contract.lateness
    for job, grain, wait in (
        (SERVING, Grain.FIVE_MINUTES, lateness.serving),
        (PROFILE, Grain.HOUR, lateness.profiles),
    ):
        count, oldest = unread_windows(
            look.connection, model.project_id, model.model_id, grain, look.now - wait - GRACE
        )
        if oldest is not None:
            yield _windows(model, OpenWindows(job, count, oldest))


def _closed_before(model: ModelContext, now: datetime) -> tuple[Mapping[str, datetime], datetime]:
    """By job, and of other jobs: windows that start before this moment are closed."""
    moment, zone = now - model.contract.lateness.profiles, model.contract.time_zone
    hour, month = Window.holding(moment, Grain.HOUR).start, local_month(moment, zone).start
    named = {CHECKS_HOUR: hour, WATCH: hour, CHECKS_MONTH: month, WORST_GROUPS: month}
    return named, local_day(moment, zone).start
