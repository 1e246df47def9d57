"""What a request costs, and what a successful task costs under a stated condition. Pure.

Cost per success = total / (requests that count · share of successes). The total is a sum over all
requests of the window and has no sampling error; the interval is that of the share, turned round.
Never told without the condition: a cheaper model that fails more often is not cheaper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from monitor.checks.costs.bill import Bill
from monitor.measurement import Failed, Measured, Outcome, TooFew


@dataclass(frozen=True)
class Successes:
    """How many requests could succeed, and the measured share of them that did.

    `condition` says what success is, for people; `among` requests were answered, the share is of
    those whose result is known.
    """

    condition: str
    among: int
    share: Outcome


def answered(requests: int, answers: int) -> Successes:
    """Success is an answer: known of every request, so the share has no interval."""
    share: Outcome = TooFew(0, 1, "requests")
    if requests:
        value = answers / requests
        share = Measured(value, requests, value, value, 0.95)
    return Successes("an answer was given, right or wrong", requests, share)


def costs_of(bill: Bill, successes: Successes) -> dict[str, Outcome]:
    """per_request and per_success in the currency, and the same of energy where it is known."""
    shares = {name: part / bill.total for name, part in bill.components.items() if bill.total}
    detail: dict[str, Any] = {"components": dict(bill.components), "shares": shares}
    if bill.left_out:
        detail["left_out"] = list(bill.left_out)
    found = {
        "per_request": _each(bill.total, bill.requests, detail),
        "per_success": _per_success(bill.total, bill.requests, successes, detail),
    }
    if bill.energy is not None:
        joules = bill.energy + bill.energy_idle
        told = {"idle_joules": bill.energy_idle}
        found["energy_per_request"] = _each(joules, bill.requests, told)
        found["energy_per_success"] = _per_success(joules, bill.requests, successes, told)
    return found


def _each(total: float, n: int, detail: Mapping[str, Any]) -> Outcome:
    return Measured(total / n, n, detail=dict(detail)) if n else TooFew(0, 1, "requests")


def _per_success(
    total: float, requests: int, successes: Successes, detail: Mapping[str, Any]
) -> Outcome:
    share = successes.share
    told = {**detail, "condition": successes.condition, "requests": requests}
    if isinstance(share, TooFew):
        return TooFew(share.n, share.needed, f"{share.reason} that tell success", told)
    if isinstance(share, Failed):
        return Failed(f"success is not known: {share.reason}", told)
    told |= {"success_share": share.value, "success_low": share.low, "success_high": share.high,
             "success_known_of": share.n, "could_succeed": successes.among}  # fmt: skip
    expected = successes.among * share.value
    if expected <= 0:
        return Failed("no task succeeded, so that a successful one has no cost", told)
    low = _over(total, successes.among, share.high)
    high = _over(total, successes.among, share.low)
    level = share.level if low is not None and high is not None else None
    return Measured(total / expected, share.n, low, high, level, detail=told)


def _over(total: float, among: int, share: float | None) -> float | None:
    return total / (among * share) if share else None
