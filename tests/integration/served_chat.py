"""A served chat model with stages, cold starts, retries and an objective, and a day of requests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
from sqlalchemy.engine import Engine

from monitor.contract import Contract
from monitor.records import RequestOutcome
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import START, apply, contract_body, current_context, deployment, request, send

STAGES = {"input": 20.0, "retrieval": 180.0, "model": 900.0, "output": 30.0}
HOSTILE = "<script>alert(1)</script> $x$ :smile:"
N = 2_000


def served_contract() -> Contract:
    """Four stages one after the other; good is an answer within 1.5 s."""
    body = contract_body()
    body["columns"] += [
        {"name": "latency", "type": "number", "role": "timing", "unit": "ms", "nullable": True},
        {"name": "queue_time", "type": "number", "role": "timing", "unit": "ms", "nullable": True},
        {"name": "retries", "type": "integer", "role": "count", "nullable": True},
        {"name": "cold_start", "type": "boolean", "nullable": True},
        *(
            {"name": f"t_{name}", "type": "number", "role": "timing", "unit": "ms",
             "field": f"stage.{name}", "nullable": True}
            for name in STAGES
        ),
    ]  # fmt: skip
    body["objective"] = {"column": "latency", "at_most": 1500}
    body["stages"] = [{"name": name} for name in STAGES]
    return Contract.model_validate(body)


def apply_served(engine: Engine, project_id: int) -> ModelContext:
    """The model, with one deployment."""
    context = apply(engine, project_id, served_contract())
    assert deployment(engine, context, model_version="1") == 1
    return current_context(engine, project_id)


def day_of_requests(failing: float = 0.05) -> list[dict[str, Any]]:
    """Requests over 20 hours. A tenth of them has a slow retrieval, every fiftieth begins cold."""
    rng = np.random.default_rng(11)
    rows = []
    for i in range(N):
        slow, cold = i % 10 == 0, i % 50 == 0
        times = STAGES | ({"retrieval": 3_000.0} if slow else {})
        failed = rng.random() < failing
        latency = sum(times.values()) + 25.0 + (5_000.0 if cold else 0.0)
        rows.append(
            request(
                f"r{i}", START + i * timedelta(seconds=36),
                outcome=RequestOutcome.FAILED if failed else RequestOutcome.ANSWERED,
                outcome_reason=HOSTILE if failed else None,
                latency=None if failed else latency, queue_time=15.0,
                retries=1 if failed else 0, cold_start=float(cold),
                **{f"t_{name}": time for name, time in times.items()},
            )
        )  # fmt: skip
    return rows


def send_day(store: IntakeStore, context: ModelContext, failing: float = 0.05) -> None:
    """Store the day."""
    send(store, context, day_of_requests(failing))
