"""Planned for every window with traffic: rates of outcomes, percentiles of timings, stages."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.checks.operation import cold_and_warm, operation_rates
from monitor.checks.registry import CheckName
from monitor.checks.serving import percentiles, serving_rates
from monitor.checks.stages import stage_measurements
from monitor.jobs.plans.base import PlanInputs
from monitor.measurement import Measurement
from monitor.profiles.part import PartKind
from monitor.profiles.serving import serving_columns


def serving(inputs: PlanInputs) -> Iterator[Measurement]:
    """Rates of the whole service, p50, p95 and p99 of every timing, count and cost, cold starts
    apart, and what each stage would save.
    """
    part = inputs.parts.get(PartKind.SERVING)
    if part is None:
        return
    seconds = (inputs.window.end - inputs.window.start).total_seconds()
    for method, outcome in serving_rates(part, seconds).items():
        yield inputs.measurement(CheckName.SERVING, method, outcome)
    contract = inputs.contract
    for method, outcome in operation_rates(part, contract, seconds).items():
        yield inputs.measurement(CheckName.SERVING, method, outcome)
    for (method, name), outcome in cold_and_warm(part, contract).items():
        unit = contract.column(name).unit or ""
        yield inputs.measurement(CheckName.SERVING, method, outcome, column=name, unit=unit)
    for (method, name), outcome in stage_measurements(part, contract).items():
        yield inputs.measurement(CheckName.SERVING, method, outcome, column=name)
    for name in serving_columns(contract):
        unit = contract.column(name).unit or ""
        for method, outcome in percentiles(part, name).items():
            yield inputs.measurement(CheckName.SERVING, method, outcome, column=name, unit=unit)
