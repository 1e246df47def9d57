"""Planned for every column: drift against each baseline, missing values, violations."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.checks.drift.base import kind_of
from monitor.checks.drift.registry import METHODS
from monitor.checks.missing import missing_share
from monitor.checks.registry import CheckName
from monitor.checks.violations import shares_of
from monitor.jobs.plans.base import PlanInputs
from monitor.measurement import Measurement
from monitor.profiles.columns import violation_counts
from monitor.profiles.part import PartKind

UNKNOWN_COLUMNS = ""


def drift(inputs: PlanInputs) -> Iterator[Measurement]:
    """Every drift method on every watched view, against every baseline on the binning in use."""
    for view, counts in inputs.views():
        for baseline in inputs.yardsticks.baselines:
            for method in METHODS:
                if kind_of(counts.cells) not in method.kinds:
                    continue
                summary = inputs.yardsticks.fitted(baseline, view.name, method)
                outcome = method.compare(summary, counts)
                yield inputs.measurement(
                    CheckName.DRIFT, method.name, outcome, column=view.name, baseline_id=baseline.id
                )


def missing(inputs: PlanInputs) -> Iterator[Measurement]:
    """The share of missing values of every watched view, against every baseline there is."""
    for view, counts in inputs.views():
        for baseline in inputs.yardsticks.baselines:
            outcome = missing_share(counts, inputs.yardsticks.column(baseline, view.name))
            yield inputs.measurement(
                CheckName.MISSING, "share", outcome, column=view.name, baseline_id=baseline.id
            )
        if not inputs.yardsticks.baselines:
            yield inputs.measurement(
                CheckName.MISSING, "share", missing_share(counts), column=view.name
            )


def violations(inputs: PlanInputs) -> Iterator[Measurement]:
    """The share of rows that break the contract, by column; reasons that occurred by themselves."""
    part = inputs.parts.get(PartKind.COLUMNS)
    if part is None or inputs.yardsticks.binning is None:
        return
    n = _rows(inputs)
    for column in (*(column.name for column in inputs.contract.columns), UNKNOWN_COLUMNS):
        for method, outcome in shares_of(violation_counts(part, column), n).items():
            yield inputs.measurement(CheckName.VIOLATIONS, method, outcome, column=column)


def _rows(inputs: PlanInputs) -> int:
    """Requests in the window."""
    return next((counts.n for _, counts in inputs.views()), 0)
