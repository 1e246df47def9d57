"""Compares a shadow deployment with the live one on the same requests. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import wilson_limits
from monitor.checks.paired.bootstrap import mean_difference
from monitor.checks.paired.choices import agreement
from monitor.checks.paired.numbers import Tolerance, within
from monitor.checks.paired.shares import (
    McNemar,
    PairedCounts,
    mcnemar,
    paired_difference,
    paired_difference_limits,
)
from monitor.contract import ColumnRole, Contract, Task
from monitor.deployment import Tags
from monitor.jobs.golden.answers import Answers
from monitor.jobs.golden.compare import ColumnComparison, compare
from monitor.jobs.golden.judge import is_answered
from monitor.jobs.golden.versus import Differs, differs, outcome_json
from monitor.measurement import Measured, Outcome, TooFew
from monitor.profiles.arrays import Floats
from monitor.profiles.predictions import regression_column
from monitor.records import RequestOutcome

FEWEST_PAIRS, FEWEST_WRONG = 50, 5
Tolerances = Mapping[str, Tolerance]


class ShadowVerdict(StrEnum):
    """What the pairs of one live and one shadow deployment say."""

    TOO_FEW = "too_few"
    IDENTICAL = "identical"
    OUTPUTS_ONLY = "outputs_only"
    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE_SHOWN = "no_difference_shown"
    CONFOUNDED = "confounded"


VERDICT_WORDS: Mapping[ShadowVerdict, str] = {
    ShadowVerdict.TOO_FEW: "too few pairs for a verdict",
    ShadowVerdict.IDENTICAL: "the same answers to every request",
    ShadowVerdict.OUTPUTS_ONLY: "answers differ; which are right is not known without labels",
    ShadowVerdict.BETTER: "the shadow deployment is right more often or closer",
    ShadowVerdict.WORSE: "the shadow deployment is right less often or further off",
    ShadowVerdict.NO_DIFFERENCE_SHOWN: "answers differ, but no difference in quality is shown",
    ShadowVerdict.CONFOUNDED: "several groups of tags differ, so none can be named as the reason",
}


@dataclass(frozen=True)
class ShadowResult:
    """What one live and one shadow deployment differ in, on pairs that both answered."""

    live_id: int
    shadow_id: int
    differs: Differs
    pairs: int
    answered: int
    outcomes: tuple[tuple[str, str, int], ...]
    labelled: int
    columns: tuple[ColumnComparison, ...]
    agreement: Outcome
    accuracy: Outcome
    counts: PairedCounts | None
    test: McNemar | None
    loss: Outcome
    latency: tuple[float | None, float | None]

    @property
    def verdict(self) -> ShadowVerdict:
        """Identical answers need no cause; else more than one differing group is confounded."""
        if self.answered < FEWEST_PAIRS:
            return ShadowVerdict.TOO_FEW
        if self._identical:
            return ShadowVerdict.IDENTICAL
        if self.differs.confounded:
            return ShadowVerdict.CONFOUNDED
        return self._of_quality()

    @property
    def _identical(self) -> bool:
        return not self.outcomes and all(_is_same(column) for column in self.columns)

    def _of_quality(self) -> ShadowVerdict:
        better, worse, known = False, False, False
        for outcome, sign in ((self.accuracy, 1), (self.loss, -1)):
            if (
                isinstance(outcome, Measured)
                and outcome.low is not None
                and outcome.high is not None
            ):
                known = True
                low, high = sorted((sign * outcome.low, sign * outcome.high))
                better, worse = better or low > 0, worse or high < 0
        if not known:
            return ShadowVerdict.OUTPUTS_ONLY
        if better == worse:  # neither, or the two measures point to different sides
            return ShadowVerdict.NO_DIFFERENCE_SHOWN
        return ShadowVerdict.BETTER if better else ShadowVerdict.WORSE

    def to_json(self) -> dict[str, Any]:
        """For storing and printing."""
        return {
            "live": self.live_id,
            "shadow": self.shadow_id,
            "verdict_words": VERDICT_WORDS[self.verdict],
            "differs": {name: list(tags) for name, tags in self.differs.groups.items()},
            "confounded": self.differs.confounded,
            "sentence": self.differs.sentence,
            "pairs": self.pairs,
            "answered_by_both": self.answered,
            "other_outcomes": [list(each) for each in self.outcomes],
            "labelled": self.labelled,
            "columns": [column.to_json() for column in self.columns],
            "agreement": outcome_json(self.agreement),
            "accuracy_difference": outcome_json(self.accuracy),
            "both_right": self.counts.both if self.counts else None,
            "only_live_right": self.counts.only_first if self.counts else None,
            "only_shadow_right": self.counts.only_second if self.counts else None,
            "neither_right": self.counts.neither if self.counts else None,
            "p_value": self.test.p_value if self.test else None,
            "test": self.test.test.value if self.test else None,
            "loss_difference": outcome_json(self.loss),
            "latency_median_live": self.latency[0],
            "latency_median_shadow": self.latency[1],
        }


def _is_same(column: ColumnComparison) -> bool:
    numbers, choices, lists = column.numbers, column.choices, column.lists
    return (
        (numbers is None or (not numbers.largest and not numbers.one_missing))
        and (choices is None or choices.equal == choices.n)
        and (lists is None or lists.same_order == lists.n)
    )


def compare_shadow(
    contract: Contract,
    tags: Mapping[int, Tags],
    live: Answers,
    shadow: Answers,
    labels: Floats,
    tolerances: Tolerances,
    rng: np.random.Generator,
) -> ShadowResult:
    """Compare pairs of one live and one shadow deployment; `labels` float64[n] of the live side."""
    live_id, shadow_id = int(live.deployment_id[0]), int(shadow.deployment_id[0])
    both = np.flatnonzero(is_answered(live) & is_answered(shadow))
    one, two, known = live.take(both), shadow.take(both), labels[both]
    allowed = {
        name: tolerances.get(name, Tolerance()).allowed(held) for name, held in one.numbers.items()
    }
    counts, accuracy = _accuracy(one, two, known, rng)
    return ShadowResult(
        live_id=live_id,
        shadow_id=shadow_id,
        differs=differs(tags.get(live_id, Tags(())), tags.get(shadow_id, Tags(()))),
        pairs=len(live),
        answered=len(both),
        outcomes=_outcomes(live, shadow),
        labelled=int(np.isfinite(known).sum()),
        columns=compare(one, two, allowed),
        agreement=_agreement(contract, one, two, tolerances),
        accuracy=accuracy,
        counts=counts,
        test=mcnemar(counts) if counts is not None and counts.n else None,
        loss=_loss(contract, one, two, known, rng),
        latency=(_median(one.latency), _median(two.latency)),
    )


def _outcomes(live: Answers, shadow: Answers) -> tuple[tuple[str, str, int], ...]:
    """How pairs ended otherwise than alike: (live, shadow, pairs), the commonest first."""
    apart = np.flatnonzero(live.outcome != shadow.outcome)
    names = [
        [RequestOutcome(int(side.outcome[place])).name.lower() for place in apart]
        for side in (live, shadow)
    ]
    return agreement(names[0], names[1]).swaps


def _agreement(contract: Contract, one: Answers, two: Answers, tolerances: Tolerances) -> Outcome:
    """Pairs with the same class; numbers in tolerance for regression, lists for ranking."""
    if contract.task is Task.REGRESSION:
        column = regression_column(contract)
        tolerance = tolerances.get(column.name if column else "", Tolerance())
        there = np.isfinite(one.score) | np.isfinite(two.score)
        same = within(one.score[there], two.score[there], tolerance)
    elif contract.task is Task.RANKING:
        name = next(iter(one.lists), None)
        lists = zip(one.lists[name], two.lists[name], strict=True) if name else ()
        same = np.array([first == second for first, second in lists], bool)
    else:
        there = (one.predicted >= 0) | (two.predicted >= 0)
        same = one.predicted[there] == two.predicted[there]
    n = len(same)
    limits = wilson_limits(int(same.sum()), n) if n else None
    floors = (Floor(n, FEWEST_PAIRS, "pairs"),)
    return measured_above(floors, float(same.mean()) if n else None, n, limits)


def _accuracy(
    one: Answers, two: Answers, labels: Floats, rng: np.random.Generator
) -> tuple[PairedCounts | None, Outcome]:
    """Share right of the shadow less that of the live side, on pairs with a label and two classes.

    Limits by Newcombe's method 10; where entities repeat, by the bootstrap over entities.
    """
    there = np.isfinite(labels) & (one.predicted >= 0) & (two.predicted >= 0)
    if not there.any():
        return None, TooFew(0, FEWEST_PAIRS, "labelled pairs")
    first = one.predicted[there] == labels[there]
    second = two.predicted[there] == labels[there]
    counts = PairedCounts.of(first, second)
    floors = (
        Floor(counts.n, FEWEST_PAIRS, "labelled pairs"),
        Floor(counts.n - counts.both, FEWEST_WRONG, "pairs with a wrong answer"),
    )
    detail = {"p_value": mcnemar(counts).p_value, "limits": "Newcombe, method 10"}
    limits = paired_difference_limits(counts)
    entities = one.entities[there]
    if len(np.unique(entities)) < len(entities):
        change = second.astype(np.float64) - first
        drawn = mean_difference(change, rng, entities)
        if not isinstance(drawn, Measured) or drawn.low is None or drawn.high is None:
            return counts, drawn
        limits, detail["limits"] = (drawn.low, drawn.high), "bootstrap over entities"
    return counts, measured_above(floors, paired_difference(counts), counts.n, limits, detail)


def _loss(
    contract: Contract, one: Answers, two: Answers, labels: Floats, rng: np.random.Generator
) -> Outcome:
    """Mean loss of the shadow less that of the live side: squared error of a binary score,
    absolute error of a regression.
    """
    if contract.task not in (Task.BINARY, Task.REGRESSION):
        return TooFew(0, FEWEST_PAIRS, "labelled pairs with a score of this task")
    there = np.isfinite(labels) & np.isfinite(one.score) & np.isfinite(two.score)
    gaps = [np.abs(side.score[there] - labels[there]) for side in (one, two)]
    if contract.task is Task.BINARY:
        gaps = [gap**2 for gap in gaps]
    repeated = contract.single(ColumnRole.ENTITY) is not None
    return mean_difference(gaps[1] - gaps[0], rng, one.entities[there] if repeated else None)


def _median(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else None
