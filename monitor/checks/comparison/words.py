"""What a comparison says in sentences. Pure; the numbers stand in its table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from monitor.checks.comparison.cells import Control, Overlap
from monitor.checks.comparison.compare import Comparison, FactorResult, Line
from monitor.checks.comparison.factors import Contrast
from monitor.checks.comparison.verdicts import Verdict
from monitor.contract import Contract
from monitor.contract_quality import Feedback
from monitor.measurement import Direction

LITTLE_OVERLAP = 0.5
MOST_NAMED = 6
UNEVEN_SPLIT = 0.001


def differing_sentence(contrast: Contrast) -> str:
    """Which tags differ, by group, in TAG_GROUPS order."""
    told = []
    for group in contrast.factors:
        tags = [
            f"{each.name} {each.went or 'unknown'} → {each.came or 'unknown'}"
            for each in contrast.differing
            if each.group == group
        ]
        told.append(f"{group} ({', '.join(tags)})")
    return f"b differs from a in {'; '.join(told)}."


def verdict_sentence(comparison: Comparison) -> str:
    """The verdict over all and, where it is confounded, what would help."""
    if comparison.contrast.confounded:
        groups = ", ".join(comparison.contrast.factors)
        return (
            f"Confounded: b - a differs in: {groups}; the effect of one alone can't be separated."
            " Serve or replay a deployment that differs from a in one of them only."
        )
    if len(comparison.results) == 1:
        return factor_sentence(comparison.results[0], comparison.epsilon)
    told = ", ".join(f"{one.factor}: {one.verdict}" for one in comparison.results)
    return f"Each factor by itself: {told}. Together: {comparison.verdict}."


def factor_sentence(result: FactorResult, epsilon: float) -> str:
    """The verdict of one factor with the metrics it rests on."""
    if result.verdict is Verdict.CONFOUNDED:
        return (
            "Confounded: a and b share no slice of the traffic at any time, so the traffic can't be"
            " held fixed. Let both serve the same slices in the same hours."
        )
    if result.unsliced == 1:
        return (
            "Inconclusive: there was no baseline yet, so the contract's segments don't part the"
            " traffic and its mix can't be held fixed."
        )
    better, worse = _of(result.lines, Verdict.BETTER), _of(result.lines, Verdict.WORSE)
    match result.verdict:
        case Verdict.BETTER:
            return f"b is better: {better}. Nothing is shown to be worse."
        case Verdict.WORSE:
            return f"b is worse: {worse}. Nothing is shown to be better."
        case Verdict.NO_DIFFERENCE:
            return f"No difference beyond ±{epsilon:g} in any metric."
        case _ if better and worse:
            return f"Inconclusive: b is better in {better} and worse in {worse}; you weigh them."
    return f"Inconclusive: {_open(result.lines)} may still differ either way."


def cautions(comparison: Comparison, result: FactorResult, contract: Contract) -> tuple[str, ...]:
    """What the verdict rests on that is not held fixed, or not known."""
    found: list[str] = []
    if result.overlap.control is Control.SEASON and not result.overlap.is_empty:
        found.append(
            "a and b hardly served at the same time: hours of the day and weekends are held fixed,"
            " but whatever else changed over time is not."
        )
    low = min(result.overlap.share_a, result.overlap.share_b)
    if not result.overlap.is_empty and low < LITTLE_OVERLAP:
        found.append(f"Only {low:.0%} of one side's requests have a counterpart on the other.")
    left = [n for n in comparison.contrast.a + comparison.contrast.b
            if n not in result.a + result.b]  # fmt: skip
    if left:
        numbers = ", ".join(str(number) for number in left)
        found.append(f"Left out, because nothing differs from them in one factor only: {numbers}.")
    if comparison.contrast.unrecorded:
        groups = ", ".join(comparison.contrast.unrecorded)
        found.append(f"No deployment records its {groups}: that may differ as well.")
    if result.unsliced:
        found.append(f"{result.unsliced:.0%} of the requests came before the first baseline: their"
                     " segments are not known.")  # fmt: skip
    if result.immature:
        found.append(f"Quality leaves out {result.immature} slots whose labels are immature.")
    if result.canaries and split_p_value(result.overlap) < UNEVEN_SPLIT:
        found.append("The split between a and b is not the same in every slice: it does not look"
                     " random, and the canary's promise needs that it is.")  # fmt: skip
    if contract.label is not None and contract.label.feedback is Feedback.SELECTIVE:
        found.append("Labels are selective: quality is that of requests that can get one.")
    return tuple(found)


def split_p_value(overlap: Overlap) -> float:
    """p-value of "b has the same share of every slice", on common support (Pearson's chi-square).

    1 where there is one slice only. A ramp-up while the traffic's mix moves is found too.
    """
    table = np.array([[row.a_shared, row.b_shared] for row in overlap.rows], np.int64)
    table = table[table.sum(axis=1) > 0] if len(table) else table
    if len(table) < 2 or not table.sum(axis=0).all():
        return 1.0
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def _of(lines: Sequence[Line], verdict: Verdict) -> str:
    return _listed(
        [f"{line.metric.title} {_difference(line)}" for line in lines if line.verdict is verdict]
    )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _difference(line: Line) -> str:
    if line.reach is None:
        raise AssertionError("a metric with a verdict of its own was measured")
    value = line.reach.value
    if line.metric.unit == "share":
        return f"{100 * value:+.2f} points"
    a = line.compared.adjusted[0]
    return f"{value:+.4g}" + (f" ({value / a:+.1%})" if a else "")


def _open(lines: Sequence[Line]) -> str:
    judged = [line for line in lines if line.metric.direction is not Direction.TWO_SIDED]
    names = [line.metric.title for line in judged if line.verdict is Verdict.INCONCLUSIVE]
    if not names:
        return "nothing could be measured, so everything"
    return f"{len(names)} of {len(judged)} metrics ({_listed(names)})"
