"""Groups of the contract's fairness columns, measured from the labels parts of their segments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.checks.groups.counts import Group, group_of
from monitor.checks.groups.gaps import gap_outcomes
from monitor.checks.groups.joint import each_against_one
from monitor.checks.groups.reversal import adjusted_gap
from monitor.checks.groups.selection import selection_ratios
from monitor.checks.registry import CheckName
from monitor.contract import Contract, Task
from monitor.contract_quality import Fairness, Favourable
from monitor.jobs.grouping import WHOLE
from monitor.jobs.plans.base import PlanInputs
from monitor.jobs.plans.cohorts import with_detail
from monitor.measurement import Measurement, Outcome, TooFew
from monitor.profiles.part import PartKind

SELECTION, ADJUSTED = "selection_ratio", "adjusted_gap"
Definitions = Mapping[int, Mapping[str, str]]


@dataclass(frozen=True)
class _Subject:
    """What one set of deployments on one leg was asked in the window, by segment number."""

    fairness: Fairness
    by_segment: Mapping[int, PlanInputs]
    definitions: Definitions

    def groups(self, columns: Sequence[str]) -> dict[int, tuple[Mapping[str, str], Group]]:
        """Counts of every segment given by exactly these columns, in the order of their values."""
        wanted = set(columns)
        favourable = 1 if self.fairness.favourable is Favourable.POSITIVE else 0
        found = {}
        for number, inputs in self.by_segment.items():
            definition = self.definitions.get(number, {})
            part = inputs.parts.get(PartKind.LABELS)
            if set(definition) == wanted and part is not None:
                name = ", ".join(definition[column] for column in columns)
                found[number] = definition, group_of(name, part, favourable_class=favourable)
        return dict(sorted(found.items(), key=lambda each: (each[1][1].name, each[0])))


def measure_groups(
    contract: Contract, definitions: Definitions, inputs: Sequence[PlanInputs]
) -> Iterator[Measurement]:
    """Every group of every fairness column, by leg and set of deployments, in one window.

    A measurement names the group as its segment and the fairness column as its column; the
    adjusted gap names the column that was held fixed. `definitions` give the segments' values.
    """
    if contract.fairness is None or contract.task is not Task.BINARY:
        return
    together: dict[tuple[str, tuple[int, ...]], dict[int, PlanInputs]] = defaultdict(dict)
    for one in inputs:
        together[(one.leg, one.deployment_ids)][one.segment_id] = one
    for by_segment in together.values():
        subject = _Subject(contract.fairness, by_segment, definitions)
        for column in contract.fairness.columns:
            yield from _of_column(subject, column, judged=contract.label is not None)
            for key in contract.segment_keys():
                if column in key and len(key) > 1:
                    yield from _adjusted(subject, column, [c for c in key if c != column])


def _of_column(subject: _Subject, column: str, *, judged: bool) -> Iterator[Measurement]:
    groups = subject.groups([column])
    counted = [group for _, group in groups.values()]
    outcomes: dict[str, Mapping[str, Outcome]] = {
        SELECTION: selection_ratios(counted, subject.fairness.least_ratio)
    }
    if judged:
        outcomes |= gap_outcomes(counted)
    for method, by_name in outcomes.items():
        for number, (_, group) in groups.items():
            outcome = by_name[group.name]
            inputs = subject.by_segment[number]
            if method != SELECTION and inputs.cohort is not None:
                # Rules wait for labels of a group as they do for those of all requests.
                outcome = with_detail(outcome, inputs.cohort.maturity.told())
            yield inputs.measurement(CheckName.GROUPS, method, outcome, column=column)
    whole = subject.by_segment.get(WHOLE)
    if not groups and whole is not None:
        none = TooFew(0, 2, f"groups of {column}: segments begin with the first baseline")
        yield whole.measurement(CheckName.GROUPS, SELECTION, none, column=column)


def _adjusted(subject: _Subject, column: str, others: Sequence[str]) -> Iterator[Measurement]:
    """The gap of each group to the largest one, within the values of the other columns."""
    groups = subject.groups([column])
    if len(groups) < 2:
        return
    largest = max((group for _, group in groups.values()), key=lambda g: (g.favourable.n, g.name))
    crossed = list(_crossed(subject, column, others).values())
    level = each_against_one(len(groups))
    by = ", ".join(others)
    for number, (_, group) in groups.items():
        if group is largest:
            continue
        sides = [(each.get(group.name), each.get(largest.name)) for each in crossed]
        tables = np.array([[_answers(mine), _answers(its)] for mine, its in sides], np.int64)
        outcome = adjusted_gap(tables, by=by, level=level)
        told = {**outcome.detail, "group": group.name, "reference": largest.name, "of": column}
        yield subject.by_segment[number].measurement(
            CheckName.GROUPS, ADJUSTED, replace(outcome, detail=told), column=by
        )


def _crossed(
    subject: _Subject, column: str, others: Sequence[str]
) -> dict[tuple[str, ...], dict[str, Group]]:
    """By the values of the other columns: the column's groups inside them."""
    crossed: dict[tuple[str, ...], dict[str, Group]] = defaultdict(dict)
    for definition, group in subject.groups([column, *others]).values():
        stratum = tuple(definition[other] for other in others)
        crossed[stratum][definition[column]] = group
    return crossed


def _answers(group: Group | None) -> tuple[int, int]:
    if group is None:
        return 0, 0
    return group.favourable.events, group.favourable.n - group.favourable.events
