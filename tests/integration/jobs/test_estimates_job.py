"""Estimates without labels, played through intake and the jobs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.names import CHECKS_DAY, ESTIMATES, LABELS, PROFILE
from monitor.jobs.run import Runner
from monitor.reports.estimates import ESTIMATED, REALISED, estimate_report
from monitor.reports.measurements import Filter
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from monitor.windows import Window
from tests.factories import (
    START,
    TestClock,
    apply,
    current_context,
    deployment,
    label,
    label_batch,
    make_contract,
    request,
    rows_of,
    send,
)
from tests.integration.jobs.support import DAY, HOUR, problems

JOBS = {PROFILE, LABELS, CHECKS_DAY, ESTIMATES}
A_DAY = 120
REFERENCE = 33
"""Days before the first cohort without labels; labels are final two days after their request."""


def chances(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores, and the chance that each is positive: the score exaggerates."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.7, 0.7, n)
    return np.clip(np.round(0.5 + 1.3 * (chance - 0.5), 4), 0.0, 1.0), chance


@pytest.fixture
def credit(engine: Engine, project_id: int) -> ModelContext:
    """The model `credit` with quick labels and two deployments."""
    contract = make_contract(
        label={"name": "default", "max_age": "1d", "correction_time": "1d"},
        decision_threshold=0.5,
    )
    context = apply(engine, project_id, contract)
    for number in (1, 2):
        deployment(engine, context, model_version="1", runtime_version=str(number))
    return current_context(engine, project_id)


def day_of(
    place: int, *, deployment: int = 1, shift: float = 0.0, n: int = A_DAY
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Requests of a day, all in one hour, and their labels an hour later."""
    at = START + place * DAY + 5 * HOUR
    scores, chance = chances(n, 1_000 * place + deployment)
    truth = np.random.default_rng(place).random(n) < np.clip(chance + shift, 0, 1)
    names = [f"d{deployment}-{place}-{row}" for row in range(n)]
    requests = [
        request(name, at + timedelta(seconds=row), score=float(score), deployment=deployment)
        for row, (name, score) in enumerate(zip(names, scores, strict=True))
    ]
    labels = [
        label(name, float(value), at + HOUR) for name, value in zip(names, truth, strict=True)
    ]
    return requests, labels


def play(
    store: IntakeStore, model: ModelContext, first: int, last: int, *, labelled: bool, **more: Any
) -> None:
    """Send the days first..last - 1."""
    for place in range(first, last):
        requests, labels = day_of(place, **more)
        send(store, model, requests)
        if labelled:
            store.store_labels(label_batch(model, labels, arrived_at=START + (place + 1) * DAY))


def estimates(engine: Engine, place: int, method: str = "accuracy") -> list[Any]:
    start = START + place * DAY
    return rows_of(
        engine, 1,
        "select deployment_ids, state, value, low, high, n, n_reference, reason, detail, known_at"
        " from measurement where check_name = 'estimate' and method = :method"
        " and window_start = :start order by deployment_ids, known_at",
        method=method, start=start,
    )  # fmt: skip


def at_day(clock: TestClock, place: int) -> None:
    clock.now = START + place * DAY + timedelta(hours=1)


def test_a_cohort_without_any_label_is_estimated_and_compared_when_its_labels_came(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    play(store, credit, 0, REFERENCE, labelled=True)
    play(store, credit, REFERENCE, REFERENCE + 2, labelled=False)
    at_day(clock, REFERENCE + 2)
    runner.catch_up(JOBS)
    (found,) = estimates(engine, REFERENCE)
    assert found.state == "measured"
    assert found.low < found.value < found.high
    assert found.n == A_DAY
    assert found.detail["method"] == "cbpe"
    assert found.detail["reference_labels"] == found.n_reference
    assert 500 <= found.n_reference <= 28 * A_DAY
    assert found.detail["reference_end"] <= (START + REFERENCE * DAY).isoformat()
    assert found.detail["sentence"].startswith("cannot see a change in P(Y given X)")
    assert estimates(engine, REFERENCE, "accuracy_error") == []
    for method in ("f1", "brier", "auc"):
        assert estimates(engine, REFERENCE, method)[0].state == "measured"

    late = [row for place in (33, 34) for row in day_of(place)[1]]
    store.store_labels(label_batch(credit, late, arrived_at=START + (REFERENCE + 3) * DAY))
    at_day(clock, REFERENCE + 4)
    runner.catch_up(JOBS)
    (error,) = estimates(engine, REFERENCE, "accuracy_error")
    requests, labels = day_of(REFERENCE)
    right = np.mean(
        [
            (row["score"] >= 0.5) == (known["value"] == 1)
            for row, known in zip(requests, labels, strict=True)
        ]
    )
    assert error.detail["realised"] == pytest.approx(right)
    assert error.value == pytest.approx(found.value - right)
    assert error.low < error.value < error.high
    assert len(estimates(engine, REFERENCE)) == 1  # what was said before stays as it was
    assert [row for row in problems(engine) if row.state == "failed"] == []


def test_the_next_estimate_names_the_last_matured_cohort_and_its_error(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    play(store, credit, 0, REFERENCE + 6, labelled=True)
    for today in (REFERENCE + 5, REFERENCE + 6):
        at_day(clock, today)
        runner.catch_up(JOBS)
    newest = estimates(engine, REFERENCE + 5)[0]
    error = estimates(engine, REFERENCE + 3, "accuracy_error")[0]
    assert newest.detail["last_matured_cohort"] == f"{START + (REFERENCE + 3) * DAY:%Y-%m-%d}"
    assert newest.detail["last_realised_error"] == pytest.approx(error.value)
    assert f"error {error.value:+.4g}" in newest.detail["sentence"]
    assert newest.detail["allowance"]["cohorts"] > 0
    told = estimate_report(
        engine, credit.project_id, credit.model_id, Window(START, START + 60 * DAY), Filter(),
        "accuracy",
    )  # fmt: skip
    assert told.methods == ("auc", "accuracy", "f1", "brier")
    assert told.newest is not None
    assert told.sentence == newest.detail["sentence"]
    by_kind = told.frame.groupby("deployments")["value"].count().to_dict()
    assert by_kind == {ESTIMATED: REFERENCE + 6 - 12, REALISED: REFERENCE + 6}
    day = START + (REFERENCE + 3) * DAY
    last = [one for one in told.checked if one.window.start == day]
    assert [one.error for one in last] == [pytest.approx(error.value)]
    assert sum(one.inside is True for one in told.checked) >= 0.8 * len(told.checked)
    before = replace(Filter(), known_by=START + REFERENCE * DAY)
    nothing = estimate_report(
        engine, credit.project_id, credit.model_id, Window(START, START + 60 * DAY), before
    )
    assert (nothing.methods, nothing.newest, nothing.sentence) == ((), None, "")
    # One estimator a week serves all its days.
    weeks = rows_of(engine, 1, "select summary->>'for_week' as week, known_at from estimator")
    assert sorted(row.week[:10] for row in weeks) == [
        "2024-05-13", "2024-05-20", "2024-05-27", "2024-06-03",
    ]  # fmt: skip
    assert len({row.known_at for row in weeks}) == 4


def test_too_few_labels_of_another_version_give_no_number(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    play(store, credit, 0, REFERENCE, labelled=True)
    play(store, credit, REFERENCE, REFERENCE + 1, labelled=False, deployment=2)
    play(store, credit, REFERENCE + 1, REFERENCE + 2, labelled=False)
    play(store, credit, REFERENCE + 1, REFERENCE + 2, labelled=False, deployment=2, n=20)
    at_day(clock, REFERENCE + 2)
    runner.catch_up(JOBS)
    (first,) = estimates(engine, 0)
    assert first.state == "too_few"
    assert "labels to calibrate on" in first.reason
    (new,) = estimates(engine, REFERENCE)
    assert new.state == "too_few"
    assert new.reason == "0 matured labels to calibrate on (deployment 2), 500 needed"
    one, together, two = sorted(estimates(engine, REFERENCE + 1), key=lambda r: r.deployment_ids)
    assert (one.state, together.state, two.state) == ("measured", "measured", "too_few")
    # 20 of 140 requests are of the new version: told, as the labels can't speak for them.
    assert "other deployments for 14% of these requests" in together.detail["sentence"]


def test_scores_where_no_labelled_score_lies_give_no_number(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    play(store, credit, 0, REFERENCE, labelled=True)
    requests, _ = day_of(REFERENCE)
    # All of them in one of 32 parts of [0, 1], which holds about a fortieth of the labelled ones.
    rows_of_gap = [{**row, "score": 0.42} for row in requests]
    send(store, credit, rows_of_gap)
    at_day(clock, REFERENCE + 1)
    runner.catch_up(JOBS)
    (found,) = estimates(engine, REFERENCE)
    assert found.state == "failed"
    assert found.reason.startswith("outside the region where this estimate was checked: 100.0%")
    assert found.detail["gates"]["score_outside"] == 1.0


def test_labels_that_contradict_the_calibrator_withhold_the_estimate(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    play(store, credit, 0, 24, labelled=True)
    play(store, credit, 24, REFERENCE, labelled=True, shift=0.3)
    play(store, credit, REFERENCE, REFERENCE + 1, labelled=False)
    at_day(clock, REFERENCE + 1)
    runner.catch_up(JOBS)
    (found,) = estimates(engine, REFERENCE)
    assert found.state == "failed"
    assert found.reason.startswith("the newest labels contradict the calibrator")
    assert found.detail["gates"]["held_out_error"] > 0.05
