"""A cascade or router: who answered how often, and whether the router keeps its threshold."""

from __future__ import annotations

from collections.abc import Mapping

from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import wilson_limits
from monitor.measurement import Outcome
from monitor.profiles.cascade import RouterCounts

MIN_ROWS = 20


def route_shares(routes: tuple[str, ...], counts: Mapping[str, int]) -> dict[str, Outcome]:
    """Share of each route among requests that name one; limits after Wilson (1927).

    Routes that the cascade does not declare count in the denominator and in the detail.
    """
    n = sum(counts.values())
    undeclared = {name: count for name, count in counts.items() if name not in routes}
    detail = {"undeclared": undeclared} if undeclared else {}
    return {route: _share(counts.get(route, 0), n, detail) for route in routes}


def escalated_share(routes: tuple[str, ...], counts: Mapping[str, int]) -> Outcome:
    """Share that another route than the first one answered."""
    n = sum(counts.values())
    return _share(n - counts.get(routes[0], 0), n, {"first": routes[0]})


def threshold_kept(counts: RouterCounts | None) -> Outcome:
    """Share of requests with a score that went where the declared threshold sends them.

    Below 1 the router uses another threshold or another rule than the contract says, or falls back:
    the detail tells in which direction.
    """
    found = counts or RouterCounts(0, 0, 0, 0)
    right = found.passed_rightly + found.kept_rightly
    detail = {"kept_against": found.kept_against, "passed_against": found.passed_against}
    return _share(right, found.n, detail, "requests with a router score and a declared route")


def _share(
    events: int, n: int, detail: Mapping[str, object], what: str = "requests with a route"
) -> Outcome:
    value, limits = (events / n, wilson_limits(events, n)) if n else (None, None)
    told = {"count": events, **detail}
    return measured_above((Floor(n, MIN_ROWS, what),), value, n, limits, told, f"no {what}")
