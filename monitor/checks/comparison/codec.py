"""A comparison as the JSON value that is stored, shown and printed. Pure."""

from __future__ import annotations

from typing import Any

from monitor.checks.comparison.compare import CanaryLine, Comparison, FactorResult, Line
from monitor.checks.comparison.words import (
    cautions,
    differing_sentence,
    factor_sentence,
    verdict_sentence,
)
from monitor.contract import Contract
from monitor.measurement import Failed, Measured, Outcome, TooFew

VERSION = 1


def comparison_body(comparison: Comparison, contract: Contract) -> dict[str, Any]:
    """Everything that a person or script may ask for; numbers are finite or null."""
    contrast = comparison.contrast
    return {
        "version": VERSION,
        "verdict": comparison.verdict.value,
        "sentence": verdict_sentence(comparison),
        "epsilon": comparison.epsilon,
        "differs": differing_sentence(contrast),
        "differing": [
            {"group": one.group, "tag": one.name, "a": one.went, "b": one.came}
            for one in contrast.differing
        ],
        "factors": list(contrast.factors),
        "unrecorded": list(contrast.unrecorded),
        "results": [_result(comparison, one, contract) for one in comparison.results],
    }


def _result(comparison: Comparison, result: FactorResult, contract: Contract) -> dict[str, Any]:
    shared = result.overlap
    sentence = (
        verdict_sentence(comparison)
        if result.factor is None
        else factor_sentence(result, comparison.epsilon)
    )
    return {
        "factor": result.factor,
        "a": list(result.a),
        "b": list(result.b),
        "verdict": result.verdict.value,
        "sentence": sentence,
        "cautions": list(cautions(comparison, result, contract)),
        "overlap": {
            "control": shared.control.value,
            "strata": shared.strata,
            "strata_shared": shared.strata_shared,
            "share_a": shared.share_a,
            "share_b": shared.share_b,
            "slices": [vars(row) for row in shared.rows],
        },
        "labelled": {"a": list(result.labelled[0]), "b": list(result.labelled[1])},
        "immature_slots": result.immature,
        "unsliced": result.unsliced,
        "metrics": [_line(line) for line in result.lines],
        "canary": [_canary(one) for one in result.canaries],
    }


def _line(line: Line) -> dict[str, Any]:
    metric, compared, reach = line.metric, line.compared, line.reach
    return {
        "metric": metric.name,
        "column": metric.column,
        "title": metric.title,
        "unit": metric.unit,
        "direction": metric.direction.value,
        "of": metric.of,
        "crude": list(compared.crude),
        "crude_limits": [list(limits) for limits in compared.crude_limits],
        "adjusted": list(compared.adjusted),
        "difference": _outcome(compared.outcome),
        "wide": None if reach is None else [reach.wide_low, reach.wide_high],
        "epsilon": line.epsilon,
        "n": list(compared.n),
        "shares": list(compared.shares),
        "verdict": line.verdict.value,
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    detail = dict(outcome.detail)
    match outcome:
        case Measured():
            return {"state": "measured", "value": outcome.value, "low": outcome.low,
                    "high": outcome.high, "level": outcome.level, "n": outcome.n,
                    "reason": None, **detail}  # fmt: skip
        case TooFew():
            reason = f"{outcome.n} {outcome.reason}, {outcome.needed} needed"
            return {"state": "too_few", "n": outcome.n, "reason": reason, **detail}
        case Failed():
            return {"state": "failed", "n": 0, "reason": outcome.reason, **detail}


def _canary(one: CanaryLine) -> dict[str, Any]:
    canary = one.canary
    return {
        "metric": one.metric.name,
        "verdict": canary.verdict.value,
        "stopped_at": None if one.stopped_at is None else one.stopped_at.isoformat(),
        "tolerance": canary.tolerance,
        "alpha": canary.alpha,
        "pairs": canary.pairs,
        "mean": canary.mean,
        "steps": [
            [step.slot, step.pairs, round(step.harm_log10, 4), round(step.no_worse_log10, 4)]
            for step in canary.steps
        ],
    }
