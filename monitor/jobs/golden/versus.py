"""One deployment's answers to a golden set beside another's: same inputs, so pair by pair. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.checks.paired.bootstrap import mean_difference
from monitor.checks.paired.shares import (
    McNemar,
    PairedCounts,
    mcnemar,
    paired_difference,
    paired_difference_limits,
)
from monitor.contract import ColumnRole, Contract
from monitor.deployment import Tags, differing_groups
from monitor.golden import GoldenCase, GoldenSet
from monitor.jobs.golden.answers import Answers
from monitor.jobs.golden.compare import ColumnComparison, compare
from monitor.jobs.golden.judge import (
    SetResult,
    expected_numbers,
    first_answers,
    is_answered,
)
from monitor.measurement import Failed, Measured, Outcome, TooFew
from monitor.profiles.arrays import Floats, Integers


@dataclass(frozen=True)
class Differs:
    """The tag groups in which two deployments differ, with their tags."""

    groups: Mapping[str, Sequence[str]]

    @property
    def confounded(self) -> bool:
        """Whether a difference can't be put down to one group."""
        return len(self.groups) > 1

    @property
    def sentence(self) -> str:
        """What differs, and what that allows to say."""
        told = "; ".join(f"{name} ({', '.join(tags)})" for name, tags in self.groups.items())
        if not self.groups:
            return "No known tag differs."
        if self.confounded:
            return (
                f"Confounded: they differ in {told}. What differs in their answers can't be put"
                " down to one of these."
            )
        return f"They differ in {told} alone; other answers are consistent with that."


def differs(reference: Tags, this: Tags) -> Differs:
    """What two deployments differ in; two unknown tags are never told as equal."""
    return Differs(differing_groups(reference, this))


@dataclass(frozen=True)
class Versus:
    """This deployment against a reference on the same cases.

    `counts`: first is the reference. `losses[column]`: mean change of |answer - expected|.
    """

    reference_id: int
    reference_leg: str
    differs: Differs
    counts: PairedCounts
    test: McNemar
    regressions: tuple[str, ...]
    mended: tuple[str, ...]
    columns: tuple[ColumnComparison, ...]
    losses: Mapping[str, Outcome]

    def to_json(self) -> dict[str, Any]:
        """For storing and printing."""
        low, high = paired_difference_limits(self.counts)
        return {
            "reference_id": self.reference_id,
            "reference_leg": self.reference_leg,
            "differs": {name: list(tags) for name, tags in self.differs.groups.items()},
            "confounded": self.differs.confounded,
            "sentence": self.differs.sentence,
            "cases": self.counts.n,
            "passed_by_both": self.counts.both,
            "passed_by_reference_only": self.counts.only_first,
            "passed_by_this_only": self.counts.only_second,
            "difference": paired_difference(self.counts),
            "low": low,
            "high": high,
            "p_value": self.test.p_value,
            "test": self.test.test.value,
            "regressions": list(self.regressions),
            "mended": list(self.mended),
            "columns": [column.to_json() for column in self.columns],
            "losses": {name: outcome_json(one) for name, one in self.losses.items()},
        }


@dataclass(frozen=True)
class Side:
    """One side of a comparison: who, where, and how its answers were judged."""

    deployment_id: int
    leg: str
    tags: Tags
    answers: Answers
    result: SetResult


def versus(
    content: GoldenSet, contract: Contract, reference: Side, this: Side, rng: np.random.Generator
) -> Versus | None:
    """Compare on cases that both answered or tried; None when there is no such case."""
    before, after = (
        {case.id: case.passed for case in side.result.cases if case.answers}
        for side in (reference, this)
    )
    common = [case for case in content.cases if case.id in before and case.id in after]
    if not common:
        return None
    first = np.array([before[case.id] for case in common])
    second = np.array([after[case.id] for case in common])
    counts = PairedCounts.of(first, second)
    both, one, two = _both_answered(content, common, reference.answers, this.answers)
    return Versus(
        reference_id=reference.deployment_id,
        reference_leg=reference.leg,
        differs=differs(reference.tags, this.tags),
        counts=counts,
        test=mcnemar(counts),
        regressions=_names(common, first & ~second),
        mended=_names(common, ~first & second),
        columns=compare(one, two, _allowed(content, both, one)),
        losses=_losses(contract, both, one, two, rng),
    )


def _names(cases: Sequence[GoldenCase], chosen: Any) -> tuple[str, ...]:
    return tuple(case.id for case, wanted in zip(cases, chosen.tolist(), strict=True) if wanted)


def _both_answered(
    content: GoldenSet, common: Sequence[GoldenCase], first: Answers, second: Answers
) -> tuple[list[GoldenCase], Answers, Answers]:
    places, others = first_answers(content, first), first_answers(content, second)
    fine, also = is_answered(first), is_answered(second)
    both = [case for case in common if fine[places[case.id]] and also[others[case.id]]]
    return (
        both,
        first.take(np.array([places[case.id] for case in both], np.int64)),
        second.take(np.array([others[case.id] for case in both], np.int64)),
    )


def _allowed(content: GoldenSet, cases: Sequence[GoldenCase], first: Answers) -> dict[str, Floats]:
    found = {}
    for column, reference in first.numbers.items():
        ends = [content.allowed(case, column) for case in cases]
        absolute = np.array([each.absolute for each in ends])[:, None]
        relative = np.array([each.relative for each in ends])[:, None]
        found[column] = absolute + relative * np.abs(reference)
    return found


def _losses(
    contract: Contract,
    cases: Sequence[GoldenCase],
    first: Answers,
    second: Answers,
    rng: np.random.Generator,
) -> dict[str, Outcome]:
    entities = _entities(contract, cases)
    found: dict[str, Outcome] = {}
    for column, held in first.numbers.items():
        rows = [i for i, case in enumerate(cases) if column in case.expected]
        if not rows:
            continue
        wanted = np.stack(
            [expected_numbers(cases[i].expected[column], held.shape[1]) for i in rows]
        )
        before = np.abs(held[rows] - wanted).mean(axis=1)
        after = np.abs(second.numbers[column][rows] - wanted).mean(axis=1)
        change = after - before
        there = np.isfinite(change)
        group = entities[rows][there] if entities is not None else None
        found[column] = mean_difference(change[there], rng, group)
    return found


def _entities(contract: Contract, cases: Sequence[GoldenCase]) -> Integers | None:
    """A number for each case's entity; a case without one is an entity of its own."""
    column = contract.single(ColumnRole.ENTITY)
    if column is None:
        return None
    numbers: dict[str, int] = {}
    found = []
    for place, case in enumerate(cases):
        value = case.inputs.get(column.name)
        name = f"case {place}" if value is None else f"entity {value}"
        found.append(numbers.setdefault(name, len(numbers)))
    return np.array(found, np.int64)


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """An outcome for storing inside a body."""
    if isinstance(outcome, Measured):
        return {
            "state": "measured",
            "value": outcome.value,
            "low": outcome.low,
            "high": outcome.high,
            "n": outcome.n,
        }
    if isinstance(outcome, TooFew):
        reason = f"{outcome.n} {outcome.reason}, {outcome.needed} needed"
        return {"state": "too_few", "reason": reason}
    if isinstance(outcome, Failed):
        return {"state": "failed", "reason": outcome.reason}
    raise AssertionError("an outcome is measured, too few or failed")
