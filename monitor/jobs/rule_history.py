"""Stored measurements as the past that burn rates look back on; read once a kind of measurement."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy.engine import Connection

from alerts.conditions.burn import BurnRate
from alerts.config import AlertConfig
from alerts.history import Timelines
from alerts.model import Labels, Reading
from monitor.jobs.base import JobContext
from monitor.jobs.readings import readings_of
from monitor.store.measurement_history import Wanted, newest_revisions

_SERIES = ("check", "method", "column")


def longest_burn(config: AlertConfig) -> timedelta:
    """How far back the burn rates of these rules look; 0 without any."""
    spans = [
        each.condition.longest for each in config.rules if isinstance(each.condition, BurnRate)
    ]
    return max(spans, default=timedelta(0))


class StoredHistory:
    """Measurements of one model, as `alerts.history.History` wants them.

    All subjects of a kind of measurement are read together, and once for every batch of windows:
    what is asked for inside of what was read costs nothing.
    """

    def __init__(self, connection: Connection, context: JobContext, config: AlertConfig) -> None:
        self._connection, self._context, self._config = connection, context, config
        self._reach = longest_burn(config)
        self._read: dict[tuple[str, ...], tuple[datetime, datetime]] = {}
        self._found = Timelines()

    def readings(self, labels: Labels, after: datetime, until: datetime) -> Sequence[Reading]:
        """Readings of a subject whose windows end in `(after, until]`, each window once."""
        self._ensure(tuple(labels.get(name, "") for name in _SERIES), after, until)
        return self._found.readings(labels, after, until)

    def _ensure(self, series: tuple[str, ...], after: datetime, until: datetime) -> None:
        begin, end = self._read.get(series, (until, until))
        if begin <= after and until <= end:
            return
        begin, end = min(begin, until - self._reach, after), max(end, until)
        self._read[series] = (begin, end)
        context, (check, method, column) = self._context, series
        wanted = Wanted((check,), (method,), (column,) if column else ())
        stored = newest_revisions(
            self._connection, context.project_id, context.model_id, begin, end, wanted
        )
        for each in readings_of(self._connection, context, self._config, stored):
            self._found.add(each)
