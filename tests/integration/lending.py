"""Loans over two months with a planted truth: who is favoured, who is judged worse, what changed.

Branch A grants 70 % and branch B 30 %; men ask in A, women in B, and within a branch women are
granted a little more. Requests by phone in branch B are judged wrong in 40 %, all others in 10 %.
From June on there are more requests by phone, and requests from the shop are judged wrong in 30 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy.engine import Engine

from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import (
    START,
    apply,
    current_context,
    deployment,
    label,
    label_batch,
    make_contract,
    request,
    send,
)

MAY, JUNE = START, datetime(2024, 6, 1, tzinfo=UTC)
CHANNELS = ("web", "phone", "shop")
COLUMNS = [
    {"name": "age", "type": "number"},
    {"name": "sex", "type": "category"},
    {"name": "branch", "type": "category"},
    {"name": "channel", "type": "category"},
    {"name": "person", "type": "category", "role": "entity"},
    {"name": "score", "type": "number", "role": "score", "range": [0, 1]},
]


@dataclass(frozen=True)
class Loan:
    """One request with what turned out."""

    row: dict[str, Any]
    truth: int

    @property
    def granted(self) -> bool:
        return bool(self.row["score"] >= 0.5)

    @property
    def wrong(self) -> bool:
        return self.granted != bool(self.truth)


def lending_model(engine: Engine, project_id: int, **changes: Any) -> ModelContext:
    """The model `credit` with groups to compare and one deployment."""
    contract = make_contract(
        **{
            "columns": COLUMNS,
            "segments": ["sex", "branch", ["sex", "branch"]],
            "fairness": {"columns": ["sex"]},
            "baseline": {"first_rows": 200},
            **changes,
        }
    )
    context = apply(engine, project_id, contract)
    assert deployment(engine, context, model_version="1") == 1
    return current_context(engine, project_id)


def loans(first: datetime, days: int, a_day: int, *, seed: int, later: bool = False) -> list[Loan]:
    """Loans of some days; `later` as they are from June on."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(days * a_day):
        at = first + timedelta(days=number // a_day, minutes=int(rng.integers(0, 1440)))
        found.append(_loan(rng, f"l{seed}-{number}", at, later=later))
    return found


def _loan(rng: np.random.Generator, name: str, at: datetime, *, later: bool) -> Loan:
    woman = rng.random() < 0.5
    in_b = rng.random() < (0.8 if woman else 0.2)
    channel = CHANNELS[rng.choice(3, p=(0.3, 0.4, 0.3) if later else (0.5, 0.2, 0.3))]
    granted = rng.random() < (0.3 if in_b else 0.7) + (0.06 if woman else 0.0)
    wrong = 0.4 if in_b and channel == "phone" else 0.3 if later and channel == "shop" else 0.1
    row = request(
        name,
        at,
        age=float(rng.normal(45, 12)),
        sex="woman" if woman else "man",
        branch="B" if in_b else "A",
        channel=channel,
        person=f"p{rng.integers(0, 5000)}",
        score=float(rng.uniform(0.5, 1) if granted else rng.uniform(0, 0.4999)),
    )
    return Loan(row, int(granted) ^ int(rng.random() < wrong))


def send_loans(store: IntakeStore, model: ModelContext, found: list[Loan]) -> None:
    """Requests in batches, then all labels three days after each request."""
    for start in range(0, len(found), 500):
        send(store, model, [loan.row for loan in found[start : start + 500]])
    send_truth(store, model, found)


def send_truth(store: IntakeStore, model: ModelContext, found: list[Loan]) -> None:
    """What turned out, three days after each request."""
    for start in range(0, len(found), 500):
        batch = [
            label(loan.row["request_id"], float(loan.truth), loan.row["event_time"] + 3 * DAY)
            for loan in found[start : start + 500]
        ]
        store.store_labels(label_batch(model, batch, arrived_at=batch[-1]["observed_at"]))


DAY = timedelta(days=1)
