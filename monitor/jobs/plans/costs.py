"""Planned for days and months: cost of requests and successful tasks, and how a cascade routed."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.checks.cascade import escalated_share, route_shares, threshold_kept
from monitor.checks.costs.bill import bill
from monitor.checks.costs.per_success import Successes, answered, costs_of
from monitor.checks.costs.used import usage_of
from monitor.checks.registry import CheckName
from monitor.contract import Contract
from monitor.jobs.plans.base import PlanInputs
from monitor.jobs.plans.labels import quality
from monitor.measurement import Measurement, TooFew
from monitor.profiles.cascade import router_counts
from monitor.profiles.part import Part, PartKind
from monitor.profiles.serving import outcome_counts
from monitor.profiles.serving_words import word_counts
from monitor.records import RequestOutcome

ANSWERS = (RequestOutcome.ANSWERED, RequestOutcome.CACHED, RequestOutcome.FELL_BACK)
ENERGY = frozenset({"energy_per_request", "energy_per_success"})


def costs(inputs: PlanInputs) -> Iterator[Measurement]:
    """Cost of a request and of a success, where success needs no signal."""
    part, declared = inputs.parts.get(PartKind.SERVING), inputs.contract.costs
    if part is None or declared is None:
        return
    found = cost_measurements(inputs, part, _successes(inputs, part))
    yield from (
        found
        if declared.signal is None
        else (each for each in found if not each.method.endswith("per_success"))
    )


def cost_measurements(inputs: PlanInputs, part: Part, successes: Successes) -> list[Measurement]:
    """All costs of one subject under a condition; none without declared costs."""
    declared = inputs.contract.costs
    if declared is None:
        return []
    seconds = (inputs.window.end - inputs.window.start).total_seconds()
    made = bill(declared, usage_of(part, inputs.contract, seconds))
    return [
        inputs.measurement(
            CheckName.COST, method, outcome, unit="J" if method in ENERGY else declared.currency
        )
        for method, outcome in costs_of(made, successes).items()
    ]


def answers_of(part: Part) -> int:
    """Requests that got an answer, also from a cache or a fallback."""
    counts = outcome_counts(part)
    return sum(counts[outcome] for outcome in ANSWERS)


def _successes(inputs: PlanInputs, part: Part) -> Successes:
    requests = sum(outcome_counts(part).values())
    if inputs.contract.costs is None or inputs.contract.costs.success != "label":
        return answered(requests, answers_of(part))
    share = next((each.outcome for each in quality(inputs) if each.method == "accuracy"), None)
    condition = f"the prediction was right, by the label {_label_name(inputs.contract)}"
    return Successes(condition, answers_of(part), share or TooFew(0, 1, "labelled rows"))


def _label_name(contract: Contract) -> str:
    return contract.label.name if contract.label is not None else ""


def cascade(inputs: PlanInputs) -> Iterator[Measurement]:
    """Shares of routes, of what was passed on, and of what went where the threshold sends it."""
    part, declared = inputs.parts.get(PartKind.SERVING), inputs.contract.cascade
    if part is None or declared is None:
        return
    counts = word_counts(part, declared.route)
    for route, outcome in route_shares(declared.routes, counts).items():
        yield inputs.measurement(CheckName.CASCADE, "route_share", outcome, column=route)
    escalated = escalated_share(declared.routes, counts)
    yield inputs.measurement(CheckName.CASCADE, "escalated", escalated)
    if declared.score is not None:
        kept = threshold_kept(router_counts(part, declared))
        yield inputs.measurement(CheckName.CASCADE, "threshold_kept", kept)
