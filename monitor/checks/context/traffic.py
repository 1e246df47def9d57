"""Deployments whose traffic changed near a moment: came, went, or took another share.

Knows requests by hour and deployment; tags are none of its business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import numpy as np
from scipy import special

from monitor.checks.intervals import LEVEL, newcombe_limits
from monitor.deployment import Tags
from monitor.measurement import Measured, Outcome, TooFew
from monitor.profiles.arrays import Floats, Integers

HOUR = timedelta(hours=1)
COMPARED_HOURS = 24
POINTS = 0.10
_SURELY_SEEN = 7


class TrafficChangeKind(StrEnum):
    """How the traffic of a deployment changed."""

    APPEARED = "appeared"
    DISAPPEARED = "disappeared"
    ROSE = "rose"
    FELL = "fell"


CAME = frozenset({TrafficChangeKind.APPEARED, TrafficChangeKind.ROSE})


@dataclass(frozen=True)
class ServedDeployment:
    """A deployment with the first and the last hour (their starts) in which it served at all.

    Both may lie outside the history's hours.
    """

    deployment_id: int
    tags: Tags
    first_hour: datetime
    last_hour: datetime


@dataclass(frozen=True, eq=False)
class TrafficHistory:
    """`requests` int64[hours, deployments]; row h is the hour that starts `first` + h hours."""

    first: datetime
    deployments: tuple[ServedDeployment, ...]
    requests: Integers

    def __post_init__(self) -> None:
        if self.requests.ndim != 2 or self.requests.shape[1] != len(self.deployments):
            raise AssertionError(
                f"requests of shape {self.requests.shape} are not hours x "
                f"{len(self.deployments)} deployments"
            )

    def hour_of(self, moment: datetime) -> int:
        """The number of the first hour that starts at or after the moment; may lie outside."""
        return -((self.first - moment) // HOUR)

    def moment(self, hour: int) -> datetime:
        return self.first + hour * HOUR

    def shares(self, begin: int, end: int) -> Floats:
        """Share of the requests of hours [begin, end) by deployment, all 0 without requests."""
        counts = self.requests[max(0, begin) : max(0, end)].sum(axis=0)
        shares: Floats = counts / max(1, int(counts.sum()))
        return shares


@dataclass(frozen=True)
class TrafficChange:
    """`at`: start of the first hour after the change; `hours_from_start` < 0 before the incident.

    `difference`: share of the model's requests in the 24 h after minus the 24 h before, TooFew when
    one of them holds no request.
    """

    deployment_id: int
    kind: TrafficChangeKind
    at: datetime
    hours_from_start: float
    difference: Outcome


@dataclass(frozen=True)
class Span:
    """Changes are looked for from `begin` to `end`, both included, around the incident's start."""

    start: datetime
    begin: datetime
    end: datetime


def traffic_changes(
    history: TrafficHistory, span: Span, points: float = POINTS
) -> tuple[TrafficChange, ...]:
    """All changes of the span, in order of time.

    Appeared: the first hour served lies in the span. Disappeared: the hour after the last one
    served does, and at least 7 requests were to be expected since (by chance none would come once
    in a thousand times). Rose or fell: at the hour that splits its requests best (binomial
    likelihood ratio of the 24 h before and after; hours of arrival and departure, served in part,
    are left out) the share changed by more than `points`, and the Newcombe interval of the
    difference, at 95 % for all hours of the span together, excludes 0.
    """
    found: list[TrafficChange] = []
    for place in range(len(history.deployments)):
        found += [
            *_appeared(history, place, span),
            *_disappeared(history, place, span),
            *_share_changed(history, place, span, points),
        ]
    return tuple(sorted(found, key=lambda change: (change.at, change.deployment_id)))


def _appeared(history: TrafficHistory, place: int, span: Span) -> list[TrafficChange]:
    first = history.deployments[place].first_hour
    if not span.begin <= first <= span.end:
        return []
    return [_change(history, place, span, TrafficChangeKind.APPEARED, history.hour_of(first))]


def _disappeared(history: TrafficHistory, place: int, span: Span) -> list[TrafficChange]:
    gone = history.deployments[place].last_hour + HOUR
    hour = history.hour_of(gone)
    if not span.begin <= gone <= span.end or hour <= 0:
        return []
    share = float(history.shares(hour - COMPARED_HOURS, hour)[place])
    if share * int(history.requests[hour:].sum()) < _SURELY_SEEN:
        return []
    return [_change(history, place, span, TrafficChangeKind.DISAPPEARED, hour)]


def _share_changed(
    history: TrafficHistory, place: int, span: Span, points: float
) -> list[TrafficChange]:
    bounds = _serving_hours(history, place)
    first, last = history.hour_of(span.begin), history.hour_of(span.end)
    hours = range(max(first, bounds[0] + 1), min(last, bounds[1] - 1) + 1)
    tables = {hour: _table(history, place, hour, bounds) for hour in hours}
    usable = {
        hour: table
        for hour, table in tables.items()
        if min(table[1], table[3]) > 0 and abs(_difference(table)) > points
    }
    if not usable:
        return []
    best = max(usable, key=lambda hour: _likelihood_ratio(usable[hour]))
    own, n, own_before, n_before = usable[best]
    low, high = newcombe_limits(own, n, own_before, n_before, 1 - (1 - LEVEL) / len(tables))
    if low <= 0 <= high:
        return []
    rose = _difference(usable[best]) > 0
    kind = TrafficChangeKind.ROSE if rose else TrafficChangeKind.FELL
    return [_change(history, place, span, kind, best, bounds)]


def _serving_hours(history: TrafficHistory, place: int) -> tuple[int, int]:
    """Hours [begin, end) of the history in which the deployment served in full."""
    deployment, end = history.deployments[place], len(history.requests)
    first, last = history.hour_of(deployment.first_hour), history.hour_of(deployment.last_hour)
    return (first + 1 if first >= 0 else 0), (last if last < end - 1 else end)


def _change(
    history: TrafficHistory,
    place: int,
    span: Span,
    kind: TrafficChangeKind,
    hour: int,
    bounds: tuple[int, int] | None = None,
) -> TrafficChange:
    table = _table(history, place, hour, bounds or (0, len(history.requests)))
    at = history.moment(hour)
    return TrafficChange(
        history.deployments[place].deployment_id,
        kind,
        at,
        (at - span.start) / HOUR,
        _measured(table),
    )


Table = tuple[int, int, int, int]


def _table(history: TrafficHistory, place: int, hour: int, bounds: tuple[int, int]) -> Table:
    """Own and all requests after the hour's start, own and all before it, within 24 h each."""
    after = history.requests[max(0, hour) : max(0, min(hour + COMPARED_HOURS, bounds[1]))]
    before = history.requests[max(bounds[0], hour - COMPARED_HOURS, 0) : max(0, hour)]
    return (
        int(after[:, place].sum()),
        int(after.sum()),
        int(before[:, place].sum()),
        int(before.sum()),
    )


def _difference(table: Table) -> float:
    own, n, own_before, n_before = table
    return own / n - own_before / n_before


def _measured(table: Table) -> Outcome:
    own, n, own_before, n_before = table
    if min(n, n_before) == 0:
        return TooFew(0, 1, "requests on both sides of the change")
    low, high = newcombe_limits(own, n, own_before, n_before)
    shares = {"share_before": own_before / n_before, "share_after": own / n}
    return Measured(_difference(table), n, low, high, LEVEL, n_before, shares)


def _likelihood_ratio(table: Table) -> float:
    own, n, own_before, n_before = table

    def fit(events: int, rows: int) -> float:
        return float(special.xlogy(events, events / rows)) + float(
            special.xlogy(rows - events, 1 - events / rows)
        )

    return fit(own, n) + fit(own_before, n_before) - fit(own + own_before, n + n_before)


def largest_other(history: TrafficHistory, hours: Sequence[int], deployment_id: int) -> int | None:
    """Place of the deployment other than this one with most requests in hours [begin, end)."""
    shares = history.shares(*hours)
    for place in np.argsort(-shares, kind="stable").tolist():
        other = history.deployments[place].deployment_id != deployment_id
        if other and shares[place] > 0:
            return int(place)
    return None
