"""What the ratings of a review say, as one JSON body. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from monitor.checks.signals.outcomes import LOSS, METHODS, TIE, UNITS, WIN
from monitor.checks.signals.review import (
    ReviewSample,
    agreement,
    disagreements,
    estimate,
    kappa_misleads,
)
from monitor.contract_quality import Signal
from monitor.jobs.review.wanted import Importance
from monitor.measurement import Failed, Measured, Outcome, TooFew
from monitor.store.measurements import finite
from monitor.store.reviews import Draw, Item, StoredRating

MOST_DISAGREEMENTS = 200
_SCORES = {"win": WIN, "tie": TIE, "loss": LOSS}


def results_of(
    made: Draw,
    items: Sequence[Item],
    ratings: Sequence[StoredRating],
    signals: Sequence[Signal],
) -> dict[str, Any]:
    """Progress by rater, and for each signal estimate, agreement and disagreements."""
    sample = _sample(made, items)
    return {
        "progress": _progress(items, ratings, len(signals)),
        "signals": {
            one.name: _of_signal(
                one, sample, items, ratings, np.random.default_rng(made.plan["seed"])
            )
            for one in signals
        },
    }


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON: state, value, low, high, n, or the reason why there is none."""
    match outcome:
        case Measured():
            facts = {"state": "measured", "value": outcome.value, "low": outcome.low,
                     "high": outcome.high, "n": outcome.n}  # fmt: skip
        case TooFew():
            reason = f"{outcome.n} {outcome.reason}, {outcome.needed} needed"
            facts = {"state": "too_few", "n": outcome.n, "reason": reason}
        case Failed():
            facts = {"state": "failed", "n": 0, "reason": outcome.reason}
    told: dict[str, Any] = finite({**facts, "detail": dict(outcome.detail)})
    return told


def _sample(made: Draw, items: Sequence[Item]) -> ReviewSample:
    counts: Mapping[str, int] = made.plan["strata"]
    places = {name: place for place, name in enumerate(counts)}
    return ReviewSample(
        strata=np.array([places[item.stratum] for item in items], np.int64),
        probability=np.array([item.probability for item in items]),
        population=np.array(list(counts.values()), np.int64),
        stratified=made.plan["importance"] == Importance.RANDOM.value,
    )


def _progress(
    items: Sequence[Item], ratings: Sequence[StoredRating], signals: int
) -> dict[str, dict[str, int]]:
    asked = Counter(rater for item in items for rater in item.raters)
    given = Counter(one.rater for one in ratings)
    return {
        rater: {"asked": count * signals, "given": given[rater]}
        for rater, count in sorted(asked.items())
    }


def _of_signal(
    signal: Signal,
    sample: ReviewSample,
    items: Sequence[Item],
    ratings: Sequence[StoredRating],
    rng: np.random.Generator,
) -> dict[str, Any]:
    by_item: dict[int, dict[str, float]] = {item.place: {} for item in items}
    words: dict[tuple[int, str], float | str] = {}
    for one in ratings:
        if one.signal == signal.name and one.place in by_item:
            value = _SCORES[one.value] if isinstance(one.value, str) else one.value
            by_item[one.place][one.rater] = value
            words[one.place, one.rater] = one.value
    answers = [by_item[item.place] for item in items]
    apart = disagreements(answers)
    return {
        "method": METHODS[signal.kind],
        "unit": UNITS[signal.kind],
        "kind": signal.kind.value,
        "estimate": outcome_json(estimate(signal, sample, answers)),
        "agreement": {
            name: outcome_json(one) for name, one in agreement(signal, answers, rng).items()
        },
        "kappa_misleads": kappa_misleads(answers),
        "by_rater": _by_rater(answers),
        "strata": _by_stratum(items, answers),
        "disagreements": len(apart),
        "disagreed": [
            {
                "item": items[one.place].place,
                "answers": {
                    rater: words[items[one.place].place, rater] for rater in sorted(one.answers)
                },
            }
            for one in apart[:MOST_DISAGREEMENTS]
        ],
    }


def _by_rater(answers: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    given: dict[str, list[float]] = {}
    for one in answers:
        for rater, value in one.items():
            given.setdefault(rater, []).append(value)
    return {
        rater: {"n": len(values), "mean": float(np.mean(values))}
        for rater, values in sorted(given.items())
    }


def _by_stratum(
    items: Sequence[Item], answers: Sequence[Mapping[str, float]]
) -> dict[str, dict[str, Any]]:
    found: dict[str, list[float]] = {}
    drawn = Counter(item.stratum for item in items)
    for item, one in zip(items, answers, strict=True):
        if one:
            found.setdefault(item.stratum, []).append(float(np.mean(list(one.values()))))
    return {
        name: {
            "drawn": count,
            "rated": len(found.get(name, ())),
            "mean": float(np.mean(found[name])) if name in found else None,
        }
        for name, count in sorted(drawn.items())
    }
