"""Verdicts as the product makes them: a failed golden set and a shadow leg of the seeded model."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
from sqlalchemy.engine import Engine

from monitor.deployment import Tags
from monitor.golden import Allowed, CaseKind, ExpectedOutcome, GoldenCase, GoldenSet
from monitor.jobs.golden.judge import judge_set
from monitor.jobs.golden.judge_run import JudgedRun
from monitor.jobs.golden.shadow import compare_shadow
from monitor.jobs.golden.versus import Side, versus
from monitor.records import RequestOutcome
from monitor.store.engine import Role, transaction
from monitor.store.golden import NewRun, PassedRun, save_runs
from tests.unit.golden.support import SCORE, answers, contract

HOSTILE = "<script>alert(1)</script> *bold* $x$"
TAGS = {1: Tags.of({"precision": "float64"}), 2: Tags.of({"precision": "float16"})}
CORE = GoldenSet(
    "core",
    "flight-delay",
    (
        GoldenCase("near", CaseKind.BOUNDARY, {"age": 1}, {"score": 0.5}),
        GoldenCase("odd", CaseKind.MALFORMED, {"age": "x"}, {}, ExpectedOutcome.REFUSED),
        GoldenCase("usual", CaseKind.REPRESENTATIVE, {"age": 2}, {"score": 0.25}),
    ),
    {"score": Allowed(0.001)},
)


def side(deployment: int, scores: list[float], ended: list[RequestOutcome]) -> Side:
    """One deployment's answers to the three cases."""
    names = [f"core@3/{case.id}#1" for case in CORE.cases]
    held = answers(names, numbers={"score": scores}, outcome=ended, deployment=deployment)
    held.reasons[1] = HOSTILE  # type: ignore[index]
    result = judge_set(CORE, held, lambda _, text: text)
    return Side(deployment, "replay:night", TAGS[deployment], held, result)


def seed_golden(engine: Engine, project_id: int, model_id: int, now: datetime) -> None:
    """Deployment 1 passes, deployment 2 fails an hour later; a shadow comparison stands last."""
    answered, refused = RequestOutcome.ANSWERED, RequestOutcome.REFUSED
    sound = side(1, [0.5, np.nan, 0.25], [answered, refused, answered])
    faulty = side(2, [0.9, np.nan, 0.25], [answered, RequestOutcome.FAILED, answered])
    made = contract(SCORE)
    rng = np.random.default_rng(1)
    against = versus(CORE, made, sound, faulty, rng)
    passed = PassedRun(1, "replay:night", now - timedelta(hours=2))
    runs = [
        _run(JudgedRun("core", 3, sound, None, None, {}, TAGS), now - timedelta(hours=2)),
        _run(JudgedRun("core", 3, faulty, against, passed, {}, TAGS), now - timedelta(hours=1)),
        _shadow_run(made, now),
    ]
    with transaction(engine, project_id, Role.WORKER) as connection:
        save_runs(connection, project_id, model_id, runs)


def _run(judged: JudgedRun, at: datetime) -> NewRun:
    reference = judged.versus.reference_id if judged.versus else None
    return NewRun(
        "core", 3, judged.side.leg, judged.side.deployment_id, reference, judged.verdict,
        judged.to_json(), "Ada", at,
    )  # fmt: skip


def _shadow_run(made: object, at: datetime) -> NewRun:
    ids = [str(number) for number in range(80)]
    score = np.linspace(0, 1, 80)
    both = [
        answers(
            ids, numbers={"score": score + off}, score=score + off,
            predicted=(score + off >= 0.5).astype(int), deployment=number,
        )
        for number, off in ((1, 0.0), (2, 0.01))
    ]  # fmt: skip
    found = compare_shadow(made, TAGS, *both, np.full(80, np.nan), {}, np.random.default_rng(1))  # type: ignore[arg-type]
    window = [(at - timedelta(days=1)).isoformat(), at.isoformat()]
    body = {"window": window, "live_alone": 7, "shadow_alone": 3, "ambiguous": 0}
    return NewRun(
        "shadow:next", 0, "shadow:next", 2, 1, found.verdict.value, {**body, **found.to_json()},
        "Bob", at,
    )  # fmt: skip
