"""Operation of a service: how requests ended, retries, cold starts, good answers.

Shares have Wilson (1927) limits, rates exact Poisson limits. Both take requests as independent; an
outage makes them fail together, so limits of one window are too narrow for what the next will be.
"""

from __future__ import annotations

from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import wilson_limits
from monitor.checks.serving import percentiles, request_rate
from monitor.contract import Contract
from monitor.contract_quality import ServiceObjective
from monitor.measurement import Outcome, TooFew
from monitor.profiles.part import Part
from monitor.profiles.serving import (
    good_counts,
    outcome_counts,
    serving_columns,
    value_counts,
)
from monitor.profiles.serving_splits import cold_columns, split_name
from monitor.profiles.serving_words import flag_counts
from monitor.profiles.standard_columns import column_holding, flag_columns
from monitor.records import RequestOutcome

SHARES = {
    "answered_share": RequestOutcome.ANSWERED,
    "refused_share": RequestOutcome.REFUSED,
    "failed_share": RequestOutcome.FAILED,
    "timed_out_share": RequestOutcome.TIMED_OUT,
    "cancelled_share": RequestOutcome.CANCELLED,
    "fell_back_share": RequestOutcome.FELL_BACK,
    "cached_share": RequestOutcome.CACHED,
}
"""Methods and the outcome that each counts; abstentions have a rate of their own."""
GOOD_SHARES = frozenset({"answered_share", "cached_share"})
"""Of these less is worse; of the others more is."""
COLD_METHODS = {"cold": "true", "warm": "false"}


def outcome_shares(part: Part) -> dict[str, Outcome]:
    """Each outcome's share of all requests of the window."""
    counts = outcome_counts(part)
    n = sum(counts.values())
    return {method: _share(counts[outcome], n, "requests") for method, outcome in SHARES.items()}


def retry_share(part: Part, contract: Contract) -> Outcome | None:
    """Share of requests that took more than one attempt, among those that tell their retries.

    None without a served column that holds `retries`.
    """
    column = column_holding(contract, "retries")
    if column is None or column.name not in serving_columns(contract):
        return None
    values, rows = value_counts(part, column.name)
    return _share(int(rows[values > 0].sum()), int(rows.sum()), "requests that tell their retries")


def cold_start_share(part: Part, contract: Contract) -> Outcome | None:
    """Share of requests that waited for the model to be loaded, among those that say so or not."""
    column = column_holding(contract, "cold_start")
    if column is None or column.name not in flag_columns(contract):
        return None
    counts = flag_counts(part, column.name)
    return _share(counts.yes, counts.n, "requests that tell whether they began cold")


def cold_and_warm(part: Part, contract: Contract) -> dict[tuple[str, str], Outcome]:
    """By (method, column): `cold_p95`, `warm_p95` and so on of latency and first-token time.

    Each is TooFew by itself: a service that is seldom cold has no cold p99.
    """
    by = column_holding(contract, "cold_start")
    found: dict[tuple[str, str], Outcome] = {}
    if by is None:
        return found
    for name in cold_columns(contract, serving_columns(contract)):
        for word, value in COLD_METHODS.items():
            for method, outcome in percentiles(part, split_name(name, by.name, value)).items():
                found[f"{word}_{method}", name] = outcome
    return found


def objective_rates(part: Part, objective: ServiceObjective, seconds: float) -> dict[str, Outcome]:
    """`goodput`, good answers per second, and `objective_missed`, the share that is not good.

    Good is answered (also from a cache) within the objective. Everything else counts as missed: a
    failure, a refusal, a cancelled request, an answer without a time. TooFew where the part was
    counted with another objective.
    """
    good = good_counts(part, objective)
    if good is None:
        reason = "requests counted with this objective"
        return {name: TooFew(0, 1, reason) for name in ("goodput", "objective_missed")}
    n = sum(outcome_counts(part).values())
    return {
        "goodput": request_rate(good, seconds),
        "objective_missed": _share(n - good, n, "requests"),
    }


def operation_rates(part: Part, contract: Contract, seconds: float) -> dict[str, Outcome]:
    """Every rate of the whole service in one window, by method."""
    found = outcome_shares(part)
    for method, outcome in (
        ("retry_share", retry_share(part, contract)),
        ("cold_start_share", cold_start_share(part, contract)),
    ):
        if outcome is not None:
            found[method] = outcome
    if contract.objective is not None:
        found |= objective_rates(part, contract.objective, seconds)
    return found


def _share(events: int, n: int, what: str) -> Outcome:
    value, limits = (events / n, wilson_limits(events, n)) if n else (None, None)
    return measured_above((Floor(n, 1, what),), value, n, limits, {"count": events}, f"no {what}")
