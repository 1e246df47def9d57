"""Answers by hand, and contracts of every task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from monitor.contract import Contract
from monitor.jobs.golden.answers import Answers
from monitor.records import RequestOutcome
from tests.factories import make_contract

SCORE = {"name": "score", "type": "number", "role": "score"}
DECISION = {"name": "decision", "type": "category", "role": "prediction", "categories": ["a", "b"]}
PARTS = {"name": "parts", "type": "class_scores", "categories": ["a", "b", "c"]}
FOUND = {"name": "found", "type": "ranked_list", "size": 3, "role": "prediction"}
AGE = {"name": "age", "type": "number", "nullable": True}
WHO = {"name": "who", "type": "category", "role": "entity", "nullable": True}


def contract(*columns: Mapping[str, Any], task: str = "binary", label: Any = None) -> Contract:
    return make_contract(task=task, columns=[AGE, *columns], label=label)


def answers(
    ids: Sequence[str],
    *,
    numbers: Mapping[str, Any] | None = None,
    words: Mapping[str, Sequence[str | None]] | None = None,
    lists: Mapping[str, Sequence[tuple[str, ...]]] | None = None,
    outcome: Sequence[RequestOutcome] | None = None,
    deployment: int = 1,
    score: Any = None,
    predicted: Any = None,
    entities: Any = None,
    event_time: Any = None,
) -> Answers:
    """Answers of one deployment; what is not given is missing."""
    n = len(ids)
    wide = {
        name: np.asarray(held, np.float64).reshape(n, -1) for name, held in (numbers or {}).items()
    }
    ended = outcome or [RequestOutcome.ANSWERED] * n
    return Answers(
        ids=list(ids),
        keys=np.arange(n),
        entities=np.arange(n) if entities is None else np.asarray(entities),
        event_time=np.arange(n) if event_time is None else np.asarray(event_time),
        deployment_id=np.full(n, deployment),
        outcome=np.array([int(each) for each in ended]),
        reasons=[None] * n,
        numbers=wide,
        words=dict(words or {}),
        lists=dict(lists or {}),
        score=np.full(n, np.nan) if score is None else np.asarray(score, np.float64),
        predicted=np.full(n, -1) if predicted is None else np.asarray(predicted),
        latency=np.full(n, np.nan),
    )
