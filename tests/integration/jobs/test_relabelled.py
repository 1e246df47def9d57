"""What is done again when nothing but labels of a window changed, and what rests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs import check_windows
from monitor.jobs.names import CHECKS_DAY, LABELS, PROFILE
from monitor.jobs.plans.base import Plan, PlanInputs
from monitor.jobs.plans.registry import OF_REQUESTS, PLANS
from monitor.jobs.run import Runner
from monitor.measurement import Measurement
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import START, TestClock, label, label_batch, send
from tests.integration.jobs.support import DAY, traffic


@pytest.fixture
def eager(runner: Runner) -> Iterator[Runner]:
    """A runner that revises measurements as soon as labels come."""
    return replace(runner, revision_pause=timedelta(0))


def test_labels_alone_do_not_measure_the_requests_again(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, clock: TestClock
) -> None:
    """Drift and the like rest, quality is revised; a late request measures everything again."""
    send(store, credit, traffic(START, 2, 80))
    eager.catch_up()
    clock.now += DAY

    def plans_after(job: str) -> set[str]:
        ran: set[str] = set()
        plans = PLANS[CHECKS_DAY]
        spied = {CHECKS_DAY: tuple(_spied(plan, ran) for plan in plans)}
        resting = frozenset(
            spy for spy, plan in zip(spied[CHECKS_DAY], plans, strict=True) if plan in OF_REQUESTS
        )
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(check_windows, "PLANS", {**PLANS, **spied})
            patched.setattr(check_windows, "OF_REQUESTS", resting)
            eager.catch_up({job, CHECKS_DAY})
        return ran

    known = labels_of(traffic(START, 2, 80))
    store.store_labels(label_batch(credit, known, arrived_at=START + DAY))
    assert plans_after(LABELS) == {
        _name(plan) for plan in PLANS[CHECKS_DAY] if plan not in OF_REQUESTS
    }
    send(store, credit, traffic(START, 1, 20, seed=9))
    assert plans_after(PROFILE) == {_name(plan) for plan in PLANS[CHECKS_DAY]}


def labels_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [label(row["request_id"], 1.0, START + DAY) for row in rows]


def _name(plan: Plan) -> str:
    return str(getattr(plan, "__name__", plan))


def _spied(plan: Plan, ran: set[str]) -> Plan:
    def spy(inputs: PlanInputs) -> Iterator[Measurement]:
        if inputs.window.start == START:
            ran.add(_name(plan))
        yield from plan(inputs)

    return spy
