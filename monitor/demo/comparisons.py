"""Compares the demo's deployments in pairs: two of them differ in one factor, one pair in two."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import combinations

from monitor.compare_versions import Wanted
from monitor.demo.deployments import DEPLOYMENTS
from monitor.demo.orchestrate import AUTHOR, Installation
from monitor.demo.summary import ComparisonTold
from monitor.errors import UnknownSubject
from monitor.jobs.comparison.compare_deployments import compare_deployments


def compare_pairs(
    place: Installation, numbers: Sequence[int], now: datetime
) -> tuple[ComparisonTold, ...]:
    """Every pair, over the days on which both served; `numbers` in DEPLOYMENTS order."""
    return tuple(
        _compared(place, numbers, pair, now) for pair in combinations(range(len(DEPLOYMENTS)), 2)
    )


def _compared(
    place: Installation, numbers: Sequence[int], pair: tuple[int, int], now: datetime
) -> ComparisonTold:
    a, b = pair
    names = DEPLOYMENTS[a].name, DEPLOYMENTS[b].name
    wanted = Wanted((numbers[a],), (numbers[b],))
    try:
        stored = compare_deployments(place.engine, place.model(), wanted, by=AUTHOR, now=now)
    except UnknownSubject as absent:  # a replay that ends before the rollout
        return ComparisonTold(*names, (), None, str(absent))
    return ComparisonTold(
        *names, tuple(stored.body["factors"]), stored.verdict, str(stored.body["sentence"])
    )
