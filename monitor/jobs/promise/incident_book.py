"""Keeps the incidents of one model while its hours pass: opens, grows, closes, and tells of it.

An incident is told once under what it is about: all deployments, or the ones that contrasts name.
When that changes, the former telling ends and a new one begins. The same column coming back within
14 days goes on quietly, unless a person has judged the incident in between: then it is a new one.
Nobody is told more of an open incident that a person called a false alarm or the new normal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.engine import Connection

from monitor.checks.promise.firing import Firing
from monitor.checks.promise.hours import HOUR
from monitor.checks.promise.incidents import RETURNS, Incident, incidents_of
from monitor.checks.registry import CheckName
from monitor.jobs.base import JobContext
from monitor.jobs.promise.measure import measurement
from monitor.measurement import Measured, Measurement
from monitor.records import LIVE_LEG
from monitor.store.incidents import (
    StoredIncident,
    Verdict,
    add_incident,
    read_incidents,
    update_incident,
)
from monitor.windows import Window

METHOD = "open"
Describe = Callable[[Incident, datetime], Mapping[str, Any]]


@dataclass
class IncidentBook:
    """The incidents as they stand, and what alert rules hear of them."""

    connection: Connection
    context: JobContext
    incidents: dict[int, StoredIncident]
    describe: Describe
    _said: dict[tuple[object, ...], Measurement] = field(default_factory=dict)
    _changed: set[int] = field(default_factory=set)

    @property
    def told(self) -> list[Measurement]:
        """What was said, in order; the last word of an hour on an incident counts."""
        return list(self._said.values())

    @classmethod
    def load(
        cls, connection: Connection, context: JobContext, since: datetime, describe: Describe
    ) -> IncidentBook:
        """All incidents that may still matter to hours after `since`."""
        found = read_incidents(
            connection, context.project_id, context.model_id, leg=LIVE_LEG,
            since=since - RETURNS - timedelta(weeks=26),
        )  # fmt: skip
        return cls(connection, context, {one.id: one for one in found}, describe)

    def pass_hour(self, end: datetime, firings: Iterable[Firing], serving: tuple[int, ...]) -> None:
        """One judged hour is over: what fired at its end, and who served."""
        fired = list(firings)
        if fired:
            self._take_in(end, fired, serving)
        for one in list(self.incidents.values()):
            if one.open and one.incident.until <= end:
                self._close(one, end, serving)

    def _take_in(self, end: datetime, fired: list[Firing], serving: tuple[int, ...]) -> None:
        takers = [replace(one.incident, number=one.id) for one in self.incidents.values()
                  if one.takes_more]  # fmt: skip
        for after in incidents_of(fired, takers):
            before = None if after.number is None else self.incidents[after.number]
            if before is None:
                self._open(after, end, serving)
            elif after.columns != before.incident.columns:
                self._grow(before, after, end, serving)

    def _open(self, made: Incident, end: datetime, serving: tuple[int, ...]) -> None:
        context = self.describe(made, end)
        stored = StoredIncident(0, LIVE_LEG, True, made, made.leading, context)
        stored = add_incident(
            self.connection, self.context.project_id, self.context.model_id, stored
        )
        self._tell(stored, end, serving)

    def _grow(
        self, before: StoredIncident, after: Incident, end: datetime, serving: tuple[int, ...]
    ) -> None:
        reopened = not before.open and after.until > end
        stored = replace(
            before,
            incident=after,
            open=before.open or reopened,
            closed_at=None if reopened else before.closed_at,
            quiet=before.quiet or reopened,
        )
        if set(after.columns) != set(before.incident.columns):
            stored = replace(stored, context=self.describe(after, end))
        named = after.deployments != before.incident.deployments
        settled = before.verdict in (Verdict.FALSE_ALARM, Verdict.ADOPT)
        if stored.open and not settled and (not stored.quiet or named):
            self._tell(replace(stored, quiet=False), end, serving)
        else:
            self._keep(stored)

    def _close(self, one: StoredIncident, end: datetime, serving: tuple[int, ...]) -> None:
        if one.told is not None and not one.quiet:
            self._say(one, one.told, serving, end, 0)
        self._keep(replace(one, open=False, closed_at=end))

    def _tell(self, one: StoredIncident, end: datetime, serving: tuple[int, ...]) -> None:
        about = one.incident.deployments
        if one.told is not None and one.told != about:
            self._say(one, one.told, serving, end, 0)
        firing = sum(part.until > end for part in one.incident.columns.values())
        self._say(one, about, serving, end, firing)
        self._keep(replace(one, told=about))

    def _keep(self, one: StoredIncident) -> None:
        self.incidents[one.id] = one
        self._changed.add(one.id)

    def save(self) -> None:
        """Store what changed; an incident that fires every hour is written once a run."""
        for number in sorted(self._changed):
            update_incident(self.connection, self.context.project_id, self.incidents[number])
        self._changed.clear()

    def _say(
        self, one: StoredIncident, named: tuple[int, ...], serving: tuple[int, ...], end: datetime,
        columns: int,
    ) -> None:  # fmt: skip
        deployments = named or serving
        if not deployments:
            return
        strongest = one.incident.columns[one.leading].strongest
        detail: dict[str, Any] = {
            "incident": str(one.id),
            "named": ", ".join(map(str, named)),
            "opened": one.incident.opened.isoformat(),
            "columns": ", ".join(sorted(one.incident.columns)),
            "view": strongest.view,
            "window_hours": strongest.scale,
            "effect_psi": strongest.effect,
            "p_value": strongest.p_value,
            **_sentences(one.context),
        }
        outcome = Measured(float(columns), strongest.n, detail=detail)
        window = Window(end - HOUR, end)
        said = measurement(
            self.context, CheckName.INCIDENT, METHOD, outcome, window, deployments, one.leading
        )
        self._said[(one.id, end, said.subject)] = said


def _sentences(context: Mapping[str, Any] | None) -> dict[str, str]:
    """The first sentences of the context, numbered, as evidence of a message."""
    said = list((context or {}).get("sentences", ()))[:5]
    return {f"context_{place + 1}": str(text) for place, text in enumerate(said)}
