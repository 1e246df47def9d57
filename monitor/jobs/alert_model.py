"""What a model's stored rows say around one of its alerts; each thing is asked for once a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from statistics import median

import numpy as np
from sqlalchemy.engine import Connection

from alerts.context import Changed, TrafficShare
from alerts.groups import Entry
from alerts.model import Alert
from alerts.rules import Subject
from monitor.checks.context.tags import TagChange, tag_changes
from monitor.checks.context.traffic import ServedDeployment, TrafficHistory
from monitor.checks.registry import CheckName
from monitor.deployment import Tags
from monitor.jobs.promise.quality_known import quality_known
from monitor.jobs.readings import segment_text
from monitor.records import LIVE_LEG
from monitor.server_surroundings import NO_SERVER_CONTEXT, ServerContext, server_context
from monitor.store.alert_context import (
    Series,
    data_until,
    earlier_values,
    model_numbers,
    requests_by_hour,
)
from monitor.store.baselines import baseline_names
from monitor.store.incidents import StoredIncident, read_incidents
from monitor.store.models import ModelContext, deployment_names, deployment_tags, model_context
from monitor.store.profile_rows import segments
from monitor.windows import Window

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SEEN_BEFORE, SEEN_AFTER = timedelta(days=30), timedelta(days=2)
"""A deployment that served in none of the 30 days before counts as new."""
SHORT_WINDOW, LONG_WINDOW = timedelta(days=30), timedelta(days=400)
MOST_CHANGES, MOST_COLUMNS = 10, 3
_NO_SERIES = (CheckName.INCIDENT.value, CheckName.GOLDEN.value, CheckName.SHADOW.value)
_ABOUT_QUALITY = (CheckName.QUALITY.value, CheckName.CALIBRATION.value)


def known_models(connection: Connection, project_id: int, now: datetime) -> dict[str, KnownModel]:
    """The models of a project, by name."""
    return {
        name: KnownModel(connection, project_id, number, name, now)
        for name, number in model_numbers(connection, project_id).items()
    }


@dataclass
class KnownModel:
    """One model, for the time of one transaction."""

    connection: Connection
    project_id: int
    model_id: int
    name: str
    now: datetime
    _asked: dict[Window, Mapping[int, Mapping[datetime, int]]] = field(default_factory=dict)

    @cached_property
    def data_until(self) -> datetime | None:
        """The end of the newest hour with live requests that was profiled."""
        return data_until(self.connection, self.project_id, self.model_id)

    def baseline_words(self, alert: Alert) -> str | None:
        """`baseline training; 0.021 in the median of the 28 windows before`."""
        named = alert.labels.get("baseline", "")
        parts = [f"baseline {named}"] if named else []
        earlier = self._earlier(alert)
        if earlier:
            count = f"the {len(earlier)} windows" if len(earlier) > 1 else "the one window"
            parts.append(f"{median(earlier):.4g} in the median of {count} before it began")
        return "; ".join(parts) or None

    def changed_before(self, alert: Alert) -> tuple[Changed, ...]:
        """Version tags that changed from a day before its first breaching window to its end.

        Nearness in time is all that is found; the nearest change stands first.
        """
        reading = alert.last_judged
        if reading is None:
            return ()
        end = alert.pending_since or reading.at
        start = end - (reading.at - reading.window_start)
        history = self._history(start, end)
        if history is None:
            return ()
        # What served when the first request came has not changed anything.
        begun = min(one.first_hour for one in history.deployments)
        found = tag_changes(history, start, before=DAY, after=end - start)
        later = (change for change in found if change.at > begun)
        return tuple(each for change in later for each in self._tags(change))[:MOST_CHANGES]

    def traffic_of(self, alert: Alert) -> TrafficShare | None:
        """The share that the alert's deployments had of the live requests of its window."""
        concerned, reading = _deployments(alert), alert.last_judged
        if not concerned or reading is None:
            return None
        window = Window(_full_hour(reading.window_start), reading.at)
        counts = self._requests(window)
        served = {number: sum(by_hour.values()) for number, by_hour in counts.items()}
        total = sum(served.values())
        return TrafficShare(sum(served.get(n, 0) for n in concerned), total) if total else None

    def servers_then(self, alert: Alert) -> ServerContext:
        """What its servers told of themselves then, and areas to measure when it is slow."""
        reading = alert.last_judged
        if reading is None:
            return NO_SERVER_CONTEXT
        return server_context(
            self.connection,
            self.project_id,
            self.model_id,
            self._model.contract if self._model is not None else None,
            alert.labels,
            Window(reading.window_start, reading.at),
            alert.pending_since,
        )

    def known_then(self, entry: Entry) -> str | None:
        """Of drift: the quality known then; of quality: the drift incidents open then."""
        reading = entry.alert.last_judged
        at = reading.at if reading is not None else self.now
        if is_about_quality(entry):
            return self._drift(at)
        if self._model is None:
            return None
        known = quality_known(
            self.connection, self.project_id, self.model_id, self._model.contract, at, self.now
        )
        return known or "nothing about quality: no labelled window had ended"

    def _drift(self, at: datetime) -> str:
        there = [
            one
            for one in self._incidents
            if one.incident.opened <= at and (one.open or one.incident.until >= at)
        ]
        if not there:
            return "no drift incident was open"
        named = ", ".join(f"{one.leading} (incident {one.id})" for one in there[:MOST_COLUMNS])
        more = f" and {len(there) - MOST_COLUMNS} more" if len(there) > MOST_COLUMNS else ""
        return f"drift of {named}{more} was open"

    def _earlier(self, alert: Alert) -> list[float]:
        reading, series = alert.last_judged, self._series(alert)
        if reading is None or series is None or reading.value is None:
            return []
        length = reading.at - reading.window_start
        end = (alert.pending_since or reading.at) - length
        reach = SHORT_WINDOW if length <= 2 * DAY else LONG_WINDOW
        return earlier_values(
            self.connection, self.project_id, self.model_id, series,
            Window(end - reach, end), length,
        )  # fmt: skip

    def _series(self, alert: Alert) -> Series | None:
        labels = alert.labels
        check, method = labels.get("check", ""), labels.get("method", "")
        if not check or not method or check in _NO_SERIES:
            return None
        segment = labels.get("segment", "")
        numbers = [number for number, text in self._segments.items() if text == segment]
        if segment and not numbers:
            return None
        baseline = labels.get("baseline")
        return Series(
            check=check,
            method=method,
            leg=labels.get("leg", LIVE_LEG),
            column=labels.get("column"),
            segment_id=numbers[0] if segment else 0,
            deployment_ids=_deployments(alert),
            baseline_ids=tuple(key for key, name in self._baselines.items() if name == baseline),
        )

    def _history(self, start: datetime, end: datetime) -> TrafficHistory | None:
        """Requests by hour from a month before; None when no deployment served."""
        first = _full_hour(start - SEEN_BEFORE)
        hours = (_full_hour(end + SEEN_AFTER) - first) // HOUR
        counts = self._requests(Window(first, first + hours * HOUR))
        if not counts:
            return None
        requests = np.zeros((hours, len(counts)), np.int64)
        served = []
        for place, (number, by_hour) in enumerate(sorted(counts.items())):
            for moment, n in by_hour.items():
                requests[(moment - first) // HOUR, place] += n
            tags = self._tags_of.get(number, Tags(()))
            served.append(ServedDeployment(number, tags, min(by_hour), max(by_hour)))
        return TrafficHistory(first, tuple(served), requests)

    def _requests(self, window: Window) -> Mapping[int, Mapping[datetime, int]]:
        """Live requests by deployment and hour; alerts of one window ask for the same."""
        if window not in self._asked:
            self._asked[window] = requests_by_hour(
                self.connection, self.project_id, self.model_id, window
            )
        return self._asked[window]

    def _tags(self, change: TagChange) -> list[Changed]:
        number = change.came if change.came is not None else change.went
        name = self._names.get(number, str(number)) if number is not None else "unknown"
        return [
            Changed(each.name, each.went, each.came, name, change.at) for each in change.differing
        ]

    @cached_property
    def _model(self) -> ModelContext | None:
        return model_context(self.connection, self.project_id, self.name, b"")

    @cached_property
    def _incidents(self) -> list[StoredIncident]:
        since = self.now - LONG_WINDOW
        return read_incidents(self.connection, self.project_id, self.model_id, since=since)

    @cached_property
    def _segments(self) -> dict[int, str]:
        found = segments(self.connection, self.project_id, self.model_id)
        return {number: segment_text(definition) for number, definition in found.items()}

    @cached_property
    def _baselines(self) -> dict[int, str]:
        return baseline_names(self.connection, self.project_id, self.model_id)

    @cached_property
    def _names(self) -> dict[int, str]:
        return deployment_names(self.connection, self.project_id, self.model_id)

    @cached_property
    def _tags_of(self) -> dict[int, Tags]:
        return deployment_tags(self.connection, self.project_id, self.model_id)


def is_about_quality(entry: Entry) -> bool:
    """Whether the alert is itself evidence about quality."""
    if entry.rule.about is not None:
        return entry.rule.about is Subject.QUALITY
    return entry.alert.labels.get("check") in _ABOUT_QUALITY


def _deployments(alert: Alert) -> tuple[int, ...]:
    """The numbers of the deployments that the alert names; none when it is about all."""
    named = alert.labels.get("deployment", "").split("+")
    return tuple(int(each) for each in named if each.isascii() and each.isdigit())


def _full_hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)
