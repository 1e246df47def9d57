"""One group's rate as it is told, and drawn towards the mean of all groups for ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from monitor.checks.groups.counts import Group, Rate
from monitor.checks.intervals import wilson_limits
from monitor.checks.shrinkage import empirical_bayes_shrunk


def told_rate(name: str, rate_name: str, groups: Sequence[Group]) -> dict[str, Any]:
    """`rate` with Wilson's limits, `events`, `denominator`, and `shrunk` for ranking.

    `rate_name` is a property of Group: favourable, accuracy, true_positive or false_positive. All
    groups with rows take part in the shrinkage, also those too small to be shown.
    """
    rates = {group.name: _rate(group, rate_name) for group in groups}
    rate = rates[name]
    told: dict[str, Any] = {"group": name, "events": rate.events, "denominator": rate.n}
    if rate.n == 0:
        return told
    low, high = wilson_limits(rate.events, rate.n)
    told |= {"rate": rate.value, "rate_low": low, "rate_high": high}
    filled = {key: one for key, one in rates.items() if one.n > 0}
    if len(filled) < 2:
        return told
    shrunk = empirical_bayes_shrunk(
        [one.events for one in filled.values()], [one.n for one in filled.values()]
    )
    return told | {"shrunk": shrunk.rates[list(filled).index(name)]}


def _rate(group: Group, rate_name: str) -> Rate:
    rate = getattr(group, rate_name)
    if not isinstance(rate, Rate):
        raise AssertionError(f"a group has no rate {rate_name!r}")
    return rate
