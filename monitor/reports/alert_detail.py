"""All that is known of one alert: its history, its deliveries, the measurements behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from alerts.actions import ActionState
from alerts.model import ResolvedReason
from monitor.checks.registry import CheckName
from monitor.records import LIVE_LEG
from monitor.reports.alert_sends import SendLine, sends_of
from monitor.reports.alerts import FIRING_STATES, Finding, open_of_model, read_finding
from monitor.reports.database import reading
from monitor.reports.measurements import REPLAYS, Filter, MeasurementRow, read_measurements
from monitor.server_surroundings import NO_SERVER_CONTEXT, ServerContext, server_context
from monitor.store.actions import StoredAction, list_actions
from monitor.store.models import model_context
from monitor.store.tables import alert_transition, baseline, model, segment
from monitor.windows import Window

__all__ = ["AlertDetail", "Event", "StoredAction", "alert_detail", "series_filter", "span_of"]

BEFORE, AFTER = timedelta(days=14), timedelta(days=14)
WINDOWS_BEFORE = 12  # of the judged length, where that reaches further back: months, weeks
HISTORY = timedelta(days=30)
MAX_POINTS = 400
MAX_EVENTS = 100
MAX_ACTIONS = 50


@dataclass(frozen=True)
class Event:
    """One line of an alert's timeline: a transition, a deed, an action or an attempt to deliver.

    `kind` is transition, delivery, attempt or action; `by` and `comment` are a person's words.
    """

    at: datetime
    kind: str
    what: str
    by: str | None = None
    comment: str | None = None


@dataclass(frozen=True)
class AlertDetail:
    """One alert with its surroundings. `series` is what the rule looked at, oldest window first.

    `sends` are the newest messages owed for it, `actions` what was asked of deployment systems,
    `servers` what the model's servers told of themselves when it began.
    """

    finding: Finding
    model_id: int | None
    series: tuple[MeasurementRow, ...]
    timeline: tuple[Event, ...]
    fired_in_30_days: int
    told_false_in_30_days: int
    sends: tuple[SendLine, ...]
    actions: tuple[StoredAction, ...]
    others: tuple[Finding, ...]
    servers: ServerContext = NO_SERVER_CONTEXT

    @property
    def deliveries_waiting(self) -> int:
        """Messages about it that are still to be sent."""
        return sum(each.state == "waiting" for each in self.sends)

    @property
    def deliveries_dead(self) -> int:
        """Messages about it that were given up."""
        return sum(each.state == "dead" for each in self.sends)


def alert_detail(engine: Engine, project_id: int, alert_id: int) -> AlertDetail:
    """Everything about one alert; raises UnknownSubject when the project has none."""
    with reading(engine, project_id) as connection:
        found = read_finding(connection, project_id, alert_id)
        model_id = _model_id(connection, project_id, found.model)
        sends = sends_of(connection, project_id, alert_id)
        actions = list_actions(connection, project_id, alert_number=alert_id, limit=MAX_ACTIONS)
        fired, told_false = _fired(connection, project_id, found)
        return AlertDetail(
            finding=found,
            model_id=model_id,
            series=_series(connection, project_id, model_id, found),
            timeline=_timeline(_transitions(connection, project_id, alert_id), sends, actions),
            fired_in_30_days=fired,
            told_false_in_30_days=told_false,
            sends=sends,
            actions=tuple(actions),
            others=open_of_model(connection, project_id, found.model, alert_id),
            servers=_servers(connection, project_id, model_id, found),
        )


def _servers(
    connection: Connection, project_id: int, model_id: int | None, found: Finding
) -> ServerContext:
    judged = found.judged
    if model_id is None or judged is None:
        return NO_SERVER_CONTEXT
    context = model_context(connection, project_id, found.model, b"")
    return server_context(
        connection, project_id, model_id, context.contract if context is not None else None,
        found.labels, Window(judged.window_start, judged.at), found.fired_at or found.since,
    )  # fmt: skip


def span_of(found: Finding) -> Window:
    """The range a page of this alert shows: from two weeks, or twelve windows, before it began."""
    newest = found.judged.at if found.judged is not None else found.since
    before = max(BEFORE, WINDOWS_BEFORE * judged_length(found))
    first = min(found.since, found.fired_at or found.since)
    end = max(newest, min(found.since + AFTER, found.resolved_at or newest))
    return Window(first - before, end + timedelta(seconds=1))


def judged_length(found: Finding) -> timedelta:
    """How long the windows are that the rule looks at; 0 where it has judged none."""
    judged = found.judged
    return judged.at - judged.window_start if judged is not None else timedelta()


def series_filter(
    labels: Mapping[str, str], segment_id: int = 0, baseline_id: int | None = None
) -> Filter:
    """The measurements that carry these labels; a label that is absent limits nothing.

    Segment and baseline are labels by name; their numbers come as arguments.
    """
    numbers = labels.get("deployment", "").split("+")
    return Filter(
        checks=(labels["check"],) if "check" in labels else (),
        methods=(labels["method"],) if "method" in labels else (),
        column=labels.get("column"),
        deployment_ids=tuple(int(number) for number in numbers if _is_number(number)),
        baseline_id=baseline_id,
        scale=labels.get("scale") if labels.get("leg") != REPLAYS else None,
        leg=labels.get("leg", LIVE_LEG),
        segment_id=segment_id,
        widest=labels.get("scope") == "all" and labels.get("check") != CheckName.INCIDENT,
    )


def labelled_filter(
    connection: Connection, project_id: int, model_id: int, labels: Mapping[str, str]
) -> Filter:
    """The measurements that carry these labels, segment and baseline looked up by their names."""
    segment_id = _segment_id(connection, project_id, model_id, labels.get("segment", ""))
    baseline_id = _baseline_id(connection, project_id, model_id, labels.get("baseline"))
    return series_filter(labels, segment_id, baseline_id)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def _segment_id(connection: Connection, project_id: int, model_id: int, text: str) -> int:
    """The segment that a label names (`country=DE, sex=f`); 0, all requests, for none."""
    if not text:
        return 0
    query = sa.select(segment.c.id, segment.c.definition).where(
        segment.c.project_id == project_id, segment.c.model_id == model_id
    )
    for row in connection.execute(query):
        if ", ".join(f"{name}={value}" for name, value in sorted(row.definition.items())) == text:
            return int(row.id)
    return 0


def _baseline_id(
    connection: Connection, project_id: int, model_id: int, name: str | None
) -> int | None:
    """The newest version of the baseline that a label names."""
    if name is None:
        return None
    row = baseline.c
    found: int | None = connection.scalar(
        sa.select(sa.func.max(row.id)).where(
            row.project_id == project_id, row.model_id == model_id, row.name == name
        )
    )
    return found


def _model_id(connection: Connection, project_id: int, name: str) -> int | None:
    return connection.scalar(
        sa.select(model.c.id).where(model.c.project_id == project_id, model.c.name == name)
    )


def _series(
    connection: Connection, project_id: int, model_id: int | None, found: Finding
) -> tuple[MeasurementRow, ...]:
    if model_id is None or "check" not in found.labels:
        return ()
    wanted = labelled_filter(connection, project_id, model_id, found.labels)
    rows = read_measurements(
        connection, project_id, model_id, span_of(found), wanted, limit=MAX_POINTS
    )
    return tuple(reversed(rows))


def _timeline(
    transitions: list[Event], sends: Sequence[SendLine], actions: Sequence[StoredAction]
) -> tuple[Event, ...]:
    events = [*transitions, *_of_sends(sends), *_of_actions(actions)]
    return tuple(sorted(events, key=lambda event: event.at, reverse=True)[:MAX_EVENTS])


def _of_sends(sends: Sequence[SendLine]) -> list[Event]:
    """Messages owed for the alert, and every attempt to send them."""
    events = []
    for each in sends:
        owed = f"{each.event} owed to {each.receiver}: {each.state}"
        events.append(Event(each.created_at, "delivery", owed))
        for tried in each.attempts:
            told = f"attempt {tried.number} to {each.receiver}: {tried.outcome} {tried.detail}"
            events.append(Event(tried.at, "attempt", told.strip()))
    return events


def _of_actions(actions: Sequence[StoredAction]) -> list[Event]:
    """What was asked of deployment systems, and what they answered."""
    events = []
    for each in actions:
        what = f"action {each.number}, {each.action.value.replace('_', ' ')}"
        kind = " (drill)" if each.drill else " (dry run)" if each.dry_run else ""
        asked = "refused" if each.state is ActionState.REFUSED else "asked for"
        events.append(
            Event(
                each.requested_at, "action", f"{what}{kind}: {asked}", each.requested_by, each.text
            )
        )
        if each.outcome_at is not None and each.outcome is not None:
            done = f"{what}{kind}: {each.outcome.value.replace('_', ' ')}"
            events.append(Event(each.outcome_at, "action", done, each.outcome_by, each.detail))
    return events


def _transitions(connection: Connection, project_id: int, alert_id: int) -> list[Event]:
    query = (
        sa.select(alert_transition)
        .where(alert_transition.c.project_id == project_id, alert_transition.c.alert_id == alert_id)
        .order_by(alert_transition.c.id.desc())
        .limit(MAX_EVENTS)
    )
    found = []
    for row in connection.execute(query):
        same = row.from_state == row.to_state
        change = row.to_state if same else f"{row.from_state} → {row.to_state}"
        what = f"{change}: {row.reason.replace('_', ' ')}"
        found.append(Event(row.at, "transition", what, row.by, row.comment))
    return found


def _fired(connection: Connection, project_id: int, found: Finding) -> tuple[int, int]:
    """How often it fired in the 30 days up to its newest judged window, and how often it ended as
    a false alarm in those up to its newest end: people's deeds have times of their own."""
    until = found.judged.at if found.judged is not None else found.since
    ended = found.resolved_at or until
    row = alert_transition.c
    fired = sa.and_(
        row.to_state == "firing", row.from_state.not_in(FIRING_STATES), row.at > until - HISTORY
    )
    false = sa.and_(row.reason == ResolvedReason.FALSE_ALARM, row.at > ended - HISTORY)
    query = sa.select(sa.func.count().filter(fired), sa.func.count().filter(false)).where(
        row.project_id == project_id, row.alert_id == found.id
    )
    counts = connection.execute(query).one()
    return int(counts[0]), int(counts[1])
