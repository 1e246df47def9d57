"""The bill of one window: usage, retries, review and idle capacity, and the energy. Pure.

Sums come from the serving part of a profile: a request's tokens, times and declared costs are
added up exactly, so a bill has no sampling error. What no column tells is left out and named, never
guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from monitor.contract_costs import Costs, Price

MS_AN_HOUR = 3.6e6
TIMES = frozenset({"latency", "compute_time", "review_time"})


@dataclass(frozen=True)
class FieldSum:
    """Sum of a standard field in its own unit, over n requests; `missing` had no value."""

    total: float
    n: int
    missing: int = 0


@dataclass(frozen=True)
class Usage:
    """What requests of one window used: sums by standard field, of all and of each route."""

    requests: int
    seconds: float
    sums: Mapping[str, FieldSum]
    by_route: Mapping[str, Mapping[str, FieldSum]] = field(default_factory=dict)


@dataclass(frozen=True)
class Bill:
    """Costs of a window by component, in the contract's currency; energy in joules.

    `left_out` names what could not be counted, with how many requests lack a value.
    """

    requests: int
    components: Mapping[str, float]
    energy: float | None = None
    energy_idle: float = 0.0
    left_out: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """All components together."""
        return sum(self.components.values())


def bill(costs: Costs, usage: Usage) -> Bill:
    """The bill of a window.

    usage    the cost column, plus Σ price · amount / per. Cached prompt tokens are taken out of
             prompt tokens where they have a price of their own.
    retries  usage per request · retry_share · retries.
    review   review time · review_per_hour.
    used, idle  the paid capacity, by the share of its slots' time that was busy.
    """
    left_out: list[str] = []
    components = {"usage": _usage(costs, usage, left_out)}
    if costs.retry_share is not None and usage.requests:
        retries = _total(usage.sums, "retries", left_out)
        components["retries"] = components["usage"] / usage.requests * costs.retry_share * retries
    if costs.review_per_hour is not None:
        hours = _total(usage.sums, "review_time", left_out) / MS_AN_HOUR
        components["review"] = hours * costs.review_per_hour
    if costs.capacity is not None:
        paid = costs.capacity.per_hour * usage.seconds / 3600
        busy = _busy_share(usage, costs.capacity.slots, left_out)
        components["used capacity"], components["idle capacity"] = paid * busy, paid * (1 - busy)
    energy, idle = _energy(costs, usage, left_out)
    return Bill(usage.requests, components, energy, idle, tuple(dict.fromkeys(left_out)))


def _usage(costs: Costs, usage: Usage, left_out: list[str]) -> float:
    declared = _total(usage.sums, "cost", left_out) if "cost" in usage.sums else 0.0
    return declared + sum(_priced(costs, price, usage, left_out) for price in costs.prices)


def _priced(costs: Costs, price: Price, usage: Usage, left_out: list[str]) -> float:
    sums: Mapping[str, FieldSum] = usage.sums
    if price.route is not None:
        sums = usage.by_route.get(price.route, {})
        if not sums:
            return 0.0
    amount = _total(sums, price.field, left_out)
    if price.field == "prompt_tokens" and _has_cached_price(costs, price.route):
        amount -= _total(sums, "cached_tokens", left_out)
    if price.field in TIMES:
        amount /= MS_AN_HOUR
    return price.price * amount / price.per


def _has_cached_price(costs: Costs, route: str | None) -> bool:
    return any(each.field == "cached_tokens" and each.route == route for each in costs.prices)


def _total(sums: Mapping[str, FieldSum], name: str, left_out: list[str]) -> float:
    found = sums.get(name)
    if found is None:
        left_out.append(f"{name}: not told for this window")
        return 0.0
    if found.missing:
        left_out.append(f"{name}: {found.missing:,} of {found.n + found.missing:,} requests")
    return found.total


def _busy_share(usage: Usage, slots: float, left_out: list[str]) -> float:
    """Share of the slots' time that was spent on requests, at most 1."""
    name = "compute_time" if "compute_time" in usage.sums else "latency"
    busy = _total(usage.sums, name, left_out) / 1000
    return min(1.0, busy / (slots * usage.seconds))


def _energy(costs: Costs, usage: Usage, left_out: list[str]) -> tuple[float | None, float]:
    """Joules of requests and of idle machines; a told energy goes before the declared power."""
    if "energy" in usage.sums:
        return _total(usage.sums, "energy", left_out), 0.0
    if costs.power is None:
        return None, 0.0
    busy = _busy_share(usage, costs.power.slots, left_out)
    return (
        costs.power.busy_watts * usage.seconds * busy,
        costs.power.idle_watts * usage.seconds * (1 - busy),
    )
