"""A credit model served by three deployments side by side, with labels, for comparisons.

blue and green differ in the runtime only, green and amber in the precision only, blue and amber in
both. green answers right more often than the others and is quicker; amber fails now and then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
from sqlalchemy.engine import Engine

from monitor.deployment import Tags
from monitor.jobs.run import Runner
from monitor.records import RequestOutcome
from monitor.store import models
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import (
    START,
    TestClock,
    apply,
    current_context,
    label,
    label_batch,
    make_contract,
    request,
    send,
)
from tests.integration.cli.conftest import Run

HOURS, PER_HOUR = 48, 60
BLUE, GREEN, AMBER = 1, 2, 3
NAMES = {BLUE: "blue", GREEN: "green", AMBER: "amber"}
TAGS = {
    BLUE: {"model_version": "1", "runtime_version": "1.6", "precision": "float64"},
    GREEN: {"model_version": "1", "runtime_version": "1.7", "precision": "float64"},
    AMBER: {"model_version": "1", "runtime_version": "1.7", "precision": "float16"},
}
RIGHT = {BLUE: 0.75, GREEN: 0.9, AMBER: 0.75}
SLOWNESS = {BLUE: 1.0, GREEN: 0.8, AMBER: 1.0}
CONTRACT: dict[str, Any] = {
    "segments": ["city"],
    "objective": {"column": "ms", "at_most": 20},
}


def served(
    engine: Engine, project_id: int, store: IntakeStore, runner: Runner, clock: TestClock
) -> ModelContext:
    """The model with two days of requests and labels, profiled."""
    model = apply(engine, project_id, make_contract(**CONTRACT))
    with transaction(engine, project_id, Role.INGEST) as connection:
        for number, name in NAMES.items():
            tags = Tags.of(TAGS[number])
            made = models.register_deployment(
                connection, project_id, model.model_id, tags, name, START
            )
            assert made == (number, True)
    rows, truths = [], []
    for row, truth in traffic(np.random.default_rng(5)):
        rows.append(row)
        truths.append(label(row["request_id"], truth, row["event_time"] + timedelta(hours=1)))
    model = current_context(engine, project_id)
    clock.now = START + timedelta(days=10)
    send(store, model, rows)
    store.store_labels(label_batch(model, truths, arrived_at=START + timedelta(days=3)))
    runner.catch_up()
    return model


def traffic(rng: np.random.Generator) -> Iterator[tuple[dict[str, Any], float]]:
    """Requests with what turns out to be true; Bonn is quick and Köln slow, in every deployment."""
    for number in range(HOURS * PER_HOUR):
        at = START + timedelta(hours=number // PER_HOUR, seconds=int(rng.integers(3600)))
        deployment = int(rng.integers(1, 4))
        city = "Bonn" if rng.random() < 0.6 else "Köln"
        truth = float(rng.random() < 0.4)
        says = truth if rng.random() < RIGHT[deployment] else 1 - truth
        ms = (10 if city == "Bonn" else 18) * SLOWNESS[deployment] * rng.lognormal(0, 0.25)
        failed = deployment == AMBER and rng.random() < 0.1
        yield (
            request(
                f"r{number}",
                at,
                city=city,
                score=float(np.clip((0.8 if says else 0.2) + rng.normal(0, 0.1), 0, 1)),
                ms=round(float(ms), 3),
                deployment=deployment,
                outcome=RequestOutcome.FAILED if failed else RequestOutcome.ANSWERED,
            ),
            truth,
        )


def compared(run: Run, a: str, b: str, *more: str) -> Any:
    """The comparison of two deployments of `credit`, as JSON."""
    ended = run("compare", "credit", "--a", a, "--b", b, *more, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def line(found: Any, title: str) -> Any:
    """One metric of a comparison by its title."""
    (result,) = found["results"]
    return next(one for one in result["metrics"] if one["title"] == title)
