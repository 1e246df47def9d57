"""Which version tags changed near an incident's start, by what came and what went.

Knows deployments, their tags and their requests by hour. Nearness in time is all it finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.checks.context.traffic import (
    CAME,
    COMPARED_HOURS,
    POINTS,
    Span,
    TrafficChange,
    TrafficHistory,
    largest_other,
    traffic_changes,
)
from monitor.deployment import TAG_NAMES, Tags, differing_groups
from monitor.windows import require_utc

BEFORE, AFTER = timedelta(hours=24), timedelta(hours=1)


@dataclass(frozen=True)
class TagDifference:
    """One tag with its value in what went and in what came; None is unknown."""

    group: str
    name: str
    went: str | None
    came: str | None


@dataclass(frozen=True)
class TagChange:
    """A change of traffic, or a pair (what came, what went), and the tags that differ in it.

    `came`, `went`: deployment ids; None where no other deployment served. `unknown`: tags that
    neither side knows; they may differ as well. `changes` holds one or two, the deciding one first.
    """

    at: datetime
    hours_from_start: float
    came: int | None
    went: int | None
    changes: tuple[TrafficChange, ...]
    differing: tuple[TagDifference, ...]
    unknown: tuple[str, ...]


def tag_changes(
    history: TrafficHistory,
    start: datetime,
    *,
    before: timedelta = BEFORE,
    after: timedelta = AFTER,
    points: float = POINTS,
) -> tuple[TagChange, ...]:
    """Changes of deployments from `before` the incident's start to `after` it, nearest first.

    What came (appeared, or rose by more than `points` of the traffic) is compared with what went
    nearest to it in time; without such a one, with the deployment that served most in the 24 h
    before. What went and is no such partner is compared likewise with what came, or with what
    served most afterwards. Of equally near changes the earlier stands first.
    """
    start = require_utc(start)
    changes = traffic_changes(history, Span(start, start - before, start + after), points)
    came = [change for change in changes if change.kind in CAME]
    went = [change for change in changes if change.kind not in CAME]
    found: list[TagChange] = []
    partners: list[TrafficChange] = []
    for change in came:
        partner = _nearest(change, went)
        found.append(_tag_change(history, change, partner))
        partners += [] if partner is None else [partner]
    alone = [change for change in went if change not in partners]
    found += [_tag_change(history, change, _nearest(change, came)) for change in alone]
    return tuple(sorted(found, key=lambda change: (abs(change.hours_from_start), change.at)))


def _nearest(change: TrafficChange, others: list[TrafficChange]) -> TrafficChange | None:
    distinct = [other for other in others if other.deployment_id != change.deployment_id]
    return min(distinct, key=lambda other: abs(other.at - change.at), default=None)


def _tag_change(
    history: TrafficHistory, change: TrafficChange, partner: TrafficChange | None
) -> TagChange:
    other = partner.deployment_id if partner is not None else _standing(history, change)
    own = change.deployment_id
    came, went = (own, other) if change.kind in CAME else (other, own)
    differing, unknown = _compared(history, came, went)
    changes = (change,) if partner is None else (change, partner)
    return TagChange(change.at, change.hours_from_start, came, went, changes, differing, unknown)


def _standing(history: TrafficHistory, change: TrafficChange) -> int | None:
    """The deployment that served most on the other side of the change."""
    hour = history.hour_of(change.at)
    hours = (hour - COMPARED_HOURS, hour) if change.kind in CAME else (hour, hour + COMPARED_HOURS)
    place = largest_other(history, hours, change.deployment_id)
    return None if place is None else history.deployments[place].deployment_id


def _compared(
    history: TrafficHistory, came: int | None, went: int | None
) -> tuple[tuple[TagDifference, ...], tuple[str, ...]]:
    tags = {deployment.deployment_id: deployment.tags for deployment in history.deployments}
    if came is None or went is None:
        return (), ()
    return tag_differences(tags[went], tags[came])


def tag_differences(went: Tags, came: Tags) -> tuple[tuple[TagDifference, ...], tuple[str, ...]]:
    """Tags that differ, and those that neither side knows: two unknowns are never equal."""
    then, now = went.as_dict(), came.as_dict()
    differing = tuple(
        TagDifference(group, name, then.get(name), now.get(name))
        for group, names in differing_groups(went, came).items()
        for name in names
    )
    return differing, tuple(sorted(TAG_NAMES - then.keys() - now.keys()))
