"""What the requests of a serving part used: sums of standard fields, of all and of each route."""

from __future__ import annotations

from collections.abc import Mapping

from monitor.checks.costs.bill import FieldSum, Usage
from monitor.contract import Contract
from monitor.fields import standard_field, unit_factor
from monitor.profiles.part import Part
from monitor.profiles.serving import log_totals, outcome_counts, serving_columns
from monitor.profiles.serving_splits import split_name


def usage_of(part: Part, contract: Contract, seconds: float) -> Usage:
    """The usage of a window of `seconds`; a route is known where the part is split by it."""
    routes = contract.cascade.routes if contract.cascade is not None else ()
    by_route = {route: _sums(part, contract, route) for route in routes}
    return Usage(
        requests=sum(outcome_counts(part).values()),
        seconds=seconds,
        sums=_sums(part, contract, None),
        by_route={route: sums for route, sums in by_route.items() if sums},
    )


def _sums(part: Part, contract: Contract, route: str | None) -> Mapping[str, FieldSum]:
    found = {}
    for name in serving_columns(contract):
        column = contract.column(name)
        wanted = standard_field(column.field or name)
        factor = unit_factor(wanted, column.unit) if wanted is not None else None
        if wanted is None or factor is None:
            continue
        place = name
        if route is not None and contract.cascade is not None:
            place = split_name(name, contract.cascade.route, route)
        totals = log_totals(part, place)
        if totals.n or totals.missing:
            found[wanted.name] = FieldSum(totals.total * factor, totals.n, totals.missing)
    return found
