"""Quality and calibration of every task, from stored requests and labels to measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from sqlalchemy.engine import Engine

from monitor.jobs.run import Runner
from monitor.store.hand_over import apply_alert_rules
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
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

MINUTE = timedelta(minutes=1)
CLASSES = ("a", "b", "c")


@pytest.fixture
def eager(runner: Runner) -> Runner:
    """A runner that revises measurements as soon as labels come."""
    return replace(runner, revision_pause=timedelta(0))


def made(
    engine: Engine, project_id: int, columns: Sequence[dict[str, Any]], **changes: Any
) -> ModelContext:
    """A model `credit` with these columns and one deployment."""
    contract = make_contract(columns=list(columns), **changes)
    context = apply(engine, project_id, contract)
    assert deployment(engine, context, model_version="1") == 1
    return current_context(engine, project_id)


def at(number: int, day: int = 0) -> Any:
    return START + day * DAY + number * timedelta(seconds=40)


def play(
    store: IntakeStore, runner: Runner, model: ModelContext, rows: Sequence[dict[str, Any]],
    labels: Sequence[dict[str, Any]],
) -> None:  # fmt: skip
    """Store requests, then labels a day later, and let the jobs run."""
    send(store, model, rows)
    runner.catch_up()
    store.store_labels(label_batch(model, labels, arrived_at=START + 3 * DAY))
    runner.catch_up()
    assert [row for row in problems(runner.engine) if row.state == "failed"] == []


def newest(engine: Engine, check: str, hours: int = 24) -> dict[tuple[str, str], Any]:
    """The newest revision of the first day's (or month's) measurements by (method, column)."""
    found = rows_of(
        engine, 1,
        "select method, column_name, state, value, low, high, n, reason, detail from measurement"
        " where check_name = :check and window_start = :start and segment_id = 0"
        " and extract(epoch from window_end - window_start) / 3600 between :low and :high"
        " order by known_at", check=check, start=START, low=hours - 1, high=hours + 1,
    )  # fmt: skip
    return {(row.method, row.column_name): row for row in found}


def test_class_scores_are_judged_as_a_whole_and_class_by_class(
    store: IntakeStore, engine: Engine, project_id: int, eager: Runner
) -> None:
    columns = [{"name": "s", "type": "class_scores", "role": "score", "categories": list(CLASSES)}]
    model = made(engine, project_id, columns, task="multiclass")
    rng = np.random.default_rng(121)
    scores = rng.dirichlet([2.0, 1.5, 1.5], 900)
    truth = (scores.cumsum(axis=1) < rng.random(900)[:, None]).sum(axis=1).clip(0, 2)
    rows = [request(f"r{k}", at(k), s=scores[k].tolist()) for k in range(900)]
    labels = [label(f"r{k}", None, at(k) + HOUR, text=CLASSES[y]) for k, y in enumerate(truth)]
    play(store, eager, model, rows, labels)
    quality = newest(engine, "quality")
    predicted = scores.argmax(axis=1)
    for method, column, expected in (
        ("accuracy", "", metrics.accuracy_score(truth, predicted)),
        ("brier", "", float(((scores - np.eye(3)[truth]) ** 2).sum(axis=1).mean())),
        ("class_recall", "b", metrics.recall_score(truth, predicted, average=None)[1]),
        ("class_precision", "c", metrics.precision_score(truth, predicted, average=None)[2]),
    ):
        row = quality[method, column]
        assert row.value == pytest.approx(expected, rel=1e-6), method
        assert row.low < row.value < row.high
        assert row.n == 900
    assert quality["macro_auc", ""].value == pytest.approx(
        metrics.roc_auc_score(truth, scores, multi_class="ovr"), abs=1e-3
    )
    loss = quality["log_loss", ""]
    exact = metrics.log_loss(truth, scores)
    assert loss.value <= exact <= loss.value + loss.detail["binning_error_bound"]
    calibrated = newest(engine, "calibration")
    for key in (("combined_test", ""), *(("class_test", name) for name in CLASSES)):
        assert calibrated[key].state == "measured", key
        assert calibrated[key].detail["verdict"] == "no_miscalibration_seen"
    assert calibrated["class_error", "a"].detail["curve"]


def test_ranked_lists_have_their_measures(
    store: IntakeStore, engine: Engine, project_id: int, eager: Runner
) -> None:
    columns = [{"name": "top", "type": "ranked_list", "size": 4, "role": "prediction"}]
    model = made(engine, project_id, columns, task="ranking")
    items = ["w", "x", "y", "z"]
    rows = [request(f"q{k}", at(k), top=items) for k in range(100)]
    # 40 find their item first, 30 second, 20 last, 10 not at all.
    wanted = ["w"] * 40 + ["x"] * 30 + ["z"] * 20 + ["elsewhere"] * 10
    labels = [label(f"q{k}", None, at(k) + HOUR, text=item) for k, item in enumerate(wanted)]
    play(store, eager, model, rows, labels)
    quality = newest(engine, "quality")
    for method, value in (
        ("mrr", 0.4 + 0.15 + 0.05),
        ("recall_1", 0.4),
        ("recall_10", 0.9),
        ("ndcg_10", 0.4 + 0.3 / np.log2(3) + 0.2 / np.log2(5)),
        ("label_coverage", 1.0),
    ):
        assert quality[method, ""].value == pytest.approx(value), method
        assert quality[method, ""].n == 100


def test_relative_errors_of_numbers(
    store: IntakeStore, engine: Engine, project_id: int, eager: Runner
) -> None:
    # pub-046: |1|/10 and |2|/20; labels of 0 are left out and counted
    columns = [{"name": "y", "type": "number", "role": "prediction"}]
    model = made(engine, project_id, columns, task="regression")
    predicted, truth = [5.0, 9.0, 22.0], [0.0, 10.0, 20.0]
    rows = [request(f"r{k}", at(k), y=predicted[k % 3]) for k in range(180)]
    labels = [label(f"r{k}", truth[k % 3], at(k) + HOUR) for k in range(180)]
    play(store, eager, model, rows, labels)
    quality = newest(engine, "quality")
    assert quality["mape", ""].value == pytest.approx(0.1, rel=1e-6)
    assert (quality["mape", ""].n, quality["mape", ""].detail["excluded"]) == (120, 60)
    assert quality["relative_error", ""].value == pytest.approx(8 / 30, rel=1e-3)
    assert quality["mae", ""].value == pytest.approx(8 / 3, rel=1e-3)
    best = quality["rmse", ""].detail["best_constant"]
    assert best == pytest.approx(np.std(truth), rel=1e-3)


def test_a_day_of_one_class_is_too_few_and_no_job_fails(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext
) -> None:
    # pub-037, pub-038: all labels positive
    rows = [request(f"r{k}", at(k), score=0.5 + k % 50 / 100) for k in range(600)]
    labels = [label(f"r{k}", 1.0, at(k) + HOUR) for k in range(600)]
    play(store, eager, credit, rows, labels)
    quality = newest(engine, "quality")
    assert quality["auc", ""].state == "too_few"
    assert quality["auc", ""].reason == (
        "0 labelled rows of a second class (one class only), 5 needed"
    )
    expected = float(np.mean([(0.5 - k % 50 / 100) ** 2 for k in range(600)]))
    assert quality["brier", ""].value == pytest.approx(expected, rel=1e-6)
    for row in newest(engine, "calibration").values():
        assert row.state == "too_few"
        assert "0 labels of" in row.reason


def test_calibration_before_and_after_a_change_of_precision(
    store: IntakeStore, engine: Engine, project_id: int, eager: Runner, clock: TestClock
) -> None:
    columns = [{"name": "score", "type": "number", "role": "score", "range": [0, 1]}]
    context = apply(engine, project_id, make_contract(columns=columns))
    for number, tags in enumerate(
        ({"precision": "fp32"}, {"precision": "int8"}, {"precision": "int8", "region": "eu"}), 1
    ):
        assert deployment(engine, context, model_version="1", **tags) == number
    model = current_context(engine, project_id)
    rng = np.random.default_rng(122)
    rows, labels = [], []
    for number, day in ((1, 0), (2, 5), (3, 10)):
        logit = 1.5 * rng.normal(size=900)
        happened = rng.random(900) < 1 / (1 + np.exp(-logit))
        pushed = logit if number == 1 else 1.8 * logit  # int8 makes scores too extreme
        for k in range(900):
            name = f"d{number}-{k}"
            score = float(1 / (1 + np.exp(-pushed[k])))
            rows.append(request(name, at(k, day), score=score, deployment=number))
            labels.append(label(name, float(happened[k]), at(k, day) + HOUR))
    clock.now = START + 40 * DAY
    play(store, eager, model, rows, labels)
    found = rows_of(
        engine, 1,
        "select deployment_ids, method, state, value, low, n, n_reference, detail from measurement"
        " where check_name = 'calibration' and method like 'change%' order by 1, 2, known_at",
    )  # fmt: skip
    by_deployment = {(row.deployment_ids[0], row.method): row for row in found}
    assert set(by_deployment) == {(2, "change"), (2, "change_test")}
    change, test = by_deployment[2, "change"], by_deployment[2, "change_test"]
    assert change.state == "measured"
    assert change.detail["verdict"] == "changed"
    assert change.detail["before_deployment"] == 1
    assert change.detail["differs_in"] == {"precision": ["precision"]}
    assert change.detail["confounded"] is False
    assert (change.n, change.n_reference) == (900, 900)
    assert change.low > 0
    assert test.value < 0.001
    assert change.detail["slope_difference"]["high"] < 0


CALIBRATION_RULES = """
owners:
  - name: risk-ml
    people: [ada@example.org]
    receiver: hook
receivers:
  - name: hook
    channel: webhook
    url_env: HOOK_URL
    secret_env: HOOK_SECRET
    private_addresses_allowed: true
rules:
  - name: not-calibrated
    when: {check: calibration, method: combined_test, scale: day}
    below: 0.001
    severity: ticket
    owner: risk-ml
    response: review_threshold
    about: quality
  - name: class-not-calibrated
    when: {check: calibration, method: class_test, column: [a, b], scale: day}
    below: 0.001
    severity: ticket
    owner: risk-ml
    response: review_threshold
    about: quality
"""


@pytest.mark.parametrize(("sharpened", "fires"), [(1.0, set()), (2.0, {
    ("not-calibrated", ""), ("class-not-calibrated", "a"), ("class-not-calibrated", "b")
})], ids=["calibrated", "too sure"])  # fmt: skip
def test_rules_alert_on_calibration_of_the_whole_and_of_a_class(
    store: IntakeStore, engine: Engine, project_id: int, eager: Runner, clock: TestClock,
    sharpened: float, fires: set[tuple[str, str]],
) -> None:  # fmt: skip
    columns = [{"name": "s", "type": "class_scores", "role": "score", "categories": list(CLASSES)}]
    model = made(engine, project_id, columns, task="multiclass")
    apply_alert_rules(
        engine, project_id, CALIBRATION_RULES, name="alerts.yaml", by="tests", now=clock(),
    )  # fmt: skip
    rng = np.random.default_rng(123)
    scores = rng.dirichlet([2.0, 1.5, 1.5], 900)
    truth = (scores.cumsum(axis=1) < rng.random(900)[:, None]).sum(axis=1).clip(0, 2)
    scores = scores**sharpened
    scores /= scores.sum(axis=1, keepdims=True)
    rows = [request(f"r{k}", at(k), s=scores[k].tolist()) for k in range(900)]
    labels = [label(f"r{k}", None, at(k) + HOUR, text=CLASSES[y]) for k, y in enumerate(truth)]
    play(store, eager, model, rows, labels)
    fired = rows_of(
        engine, 1, "select rule, body->'labels'->>'column' from alert where state = 'firing'"
    )
    assert {(rule, column or "") for rule, column in fired} == fires
