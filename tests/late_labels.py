"""A model with late labels, played a day at a time, as the jobs would live through it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy.engine import Engine

from monitor.jobs.run import Runner
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import START, TestClock, label, label_batch, request, rows_of, send
from tests.integration.jobs.support import DAY, HOUR, problems

RULES = """
owners: [{{name: team, people: [a@example.org], receiver: desk}}]
receivers: [{{name: desk, channel: webhook, url_env: URL, secret_env: SECRET}}]
rules:
  - name: {name}
    when: {{check: {check}, method: {method}}}
    {bound}
    severity: ticket
    owner: team
    response: investigate
    runbook: https://example.org/runbook
"""
FOUND = (
    "select window_start, value, low, high, n, state, detail, known_at from measurement"
    " where check_name = :check and method = :method and segment_id = 0"
    " and window_end - window_start < interval '2 days'"
    " order by window_start, known_at"
)


@dataclass
class World:
    """A model with traffic and late labels, and a clock that moves a day at a time."""

    store: IntakeStore
    engine: Engine
    runner: Runner
    clock: TestClock
    model: ModelContext
    rng: np.random.Generator

    def send_day(self, day: int, n: int = 150) -> list[tuple[str, datetime, float, bool]]:
        """Requests at noon; name, time, delay in hours and truth of each label to come."""
        rows, told = [], []
        for number in range(n):
            at = START + day * DAY + 12 * HOUR + timedelta(seconds=20 * number)
            score = 0.1 + 0.8 * float(self.rng.random())
            delay = float(self.rng.exponential(20 if score >= 0.5 else 50))
            name = f"r{day}-{number}"
            rows.append(request(name, at, score=score))
            told.append((name, at, min(delay, 6.9 * 24), bool(self.rng.random() < score)))
        send(self.store, self.model, rows)
        return told

    def send_labels(
        self, told: list[tuple[str, datetime, float, bool]], first: datetime, last: datetime
    ) -> None:
        rows = [
            label(name, float(value), at + timedelta(hours=delay))
            for name, at, delay, value in told
            if first <= at + timedelta(hours=delay) < last
        ]
        if rows:
            self.store.store_labels(label_batch(self.model, rows, arrived_at=last))

    def play(
        self,
        days: int,
        keep: Callable[[int, float, bool], bool] = lambda *_: True,
        after: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Let days pass; `keep(day of the label, delay, value)` says which labels come at all."""
        told: list[tuple[str, datetime, float, bool]] = []
        for day in range(days):
            told += self.send_day(day)
            end = START + (day + 1) * DAY
            mine = [one for one in told if keep(day, one[2], one[3])]
            self.send_labels(mine, end - DAY, end)
            self.clock.now = end + HOUR
            self.runner.catch_up()
            after(day)
        assert [row for row in problems(self.engine) if row.state == "failed"] == []

    def found(self, check: str, method: str) -> list[Any]:
        return rows_of(self.engine, 1, FOUND, check=check, method=method)
