"""Planned for every window with traffic: rates of outcomes and percentiles of timings."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.checks.registry import CheckName
from monitor.checks.serving import percentiles, serving_rates
from monitor.jobs.plans.base import PlanInputs
from monitor.measurement import Measurement
from monitor.profiles.part import PartKind
from monitor.profiles.serving import serving_columns


def serving(inputs: PlanInputs) -> Iterator[Measurement]:
    """Request, error and abstention rates; p50, p95 and p99 of every timing, count and cost."""
    part = inputs.parts.get(PartKind.SERVING)
    if part is None:
        return
    seconds = (inputs.window.end - inputs.window.start).total_seconds()
    for method, outcome in serving_rates(part, seconds).items():
        yield inputs.measurement(CheckName.SERVING, method, outcome)
    for name in serving_columns(inputs.contract):
        unit = inputs.contract.column(name).unit or ""
        for method, outcome in percentiles(part, name).items():
            yield inputs.measurement(CheckName.SERVING, method, outcome, column=name, unit=unit)
