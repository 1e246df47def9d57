"""The jobs of a model in the order in which one tick runs them. A new job is a line here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from monitor.jobs.base import JobContext, JobReport
from monitor.jobs.check_windows import check_due_windows
from monitor.jobs.estimates.run import estimate_due_days
from monitor.jobs.groups.worst import search_due_months
from monitor.jobs.hour_windows import check_due_hours
from monitor.jobs.join_labels import join_waiting_labels
from monitor.jobs.maturity.follow_labels import follow_labels
from monitor.jobs.names import (
    CHECKS_DAY,
    CHECKS_HOUR,
    CHECKS_MONTH,
    ESTIMATES,
    LABELS,
    MATURITY,
    PROFILE,
    SERVING,
    SIGNALS,
    WATCH,
    WORST_GROUPS,
)
from monitor.jobs.profile_windows import profile_due_windows
from monitor.jobs.promise.watch_hours import watch_due_hours
from monitor.jobs.serving_windows import serve_due_windows
from monitor.jobs.signals.measure import measure_due_signals

Job = Callable[[JobContext], JobReport]

JOBS: tuple[tuple[str, Job], ...] = (
    (SERVING, serve_due_windows),
    (PROFILE, profile_due_windows),
    (LABELS, join_waiting_labels),
    (CHECKS_HOUR, check_due_hours),
    (WATCH, watch_due_hours),
    (MATURITY, follow_labels),
    (CHECKS_DAY, partial(check_due_windows, job=CHECKS_DAY)),
    (ESTIMATES, estimate_due_days),
    (CHECKS_MONTH, partial(check_due_windows, job=CHECKS_MONTH)),
    (WORST_GROUPS, search_due_months),
    (SIGNALS, measure_due_signals),
)
