"""Lengths of two production services: medians out of stored profiles, and a switch that is found.

The traces (Azure, "Splitwise", ISCA 2024) lie beside the project where somebody put them; without
them the tests are skipped.
"""

from __future__ import annotations

import csv
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy.engine import Engine

from monitor.contract import Contract
from monitor.jobs.run import Runner
from monitor.profiles.part import PartKind, merge
from monitor.profiles.serving import quantile
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from monitor.store.profile_rows import read_profiles
from monitor.windows import Grain, Window
from tests.factories import (
    START,
    TestClock,
    apply,
    contract_body,
    current_context,
    deployment,
    request,
    rows_of,
    send,
)

DATA = Path(__file__).parents[4] / "shared" / "data"
MEDIANS = {"code": (1_469, 13), "conv": (1_020, 129)}
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
WEEKS_OF_CHAT, ROWS_AN_HOUR = 5, 20


def trace(name: str) -> list[tuple[datetime, int, int]]:
    path = DATA / f"AzureLLMInferenceTrace_{name}.csv"
    if not path.exists():
        pytest.skip(f"the public trace {path.name} is not beside the project")
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [
        (datetime.fromisoformat(row["TIMESTAMP"][:26]).replace(tzinfo=START.tzinfo),
         int(row["ContextTokens"]), int(row["GeneratedTokens"]))
        for row in rows
    ]  # fmt: skip


@pytest.fixture
def chat(engine: Engine, project_id: int) -> ModelContext:
    body = contract_body(baseline={"first_rows": 5_000}, label=None)
    body["columns"] = [
        {"name": "prompt_tokens", "type": "integer", "role": "count", "unit": "tokens"},
        {"name": "output_tokens", "type": "integer", "role": "count", "unit": "tokens"},
        *(each for each in body["columns"] if each["name"] in ("age", "city", "score", "ms")),
    ]
    for each in body["columns"]:
        each["nullable"] = True
    context = apply(engine, project_id, Contract.model_validate(body))
    assert deployment(engine, context, model_version="1") == 1
    return current_context(engine, project_id)


def row(number: int, at: datetime, prompt: int, output: int) -> dict:
    told = request(str(number), at, prompt_tokens=prompt, output_tokens=output)
    return {**told, "age": None, "city": None, "score": None, "ms": None}


@pytest.mark.parametrize("name", ["code", "conv"])
def test_medians_come_out_of_the_stored_profiles_within_their_stated_error(
    name: str, store: IntakeStore, runner: Runner, chat: ModelContext, engine: Engine,
    clock: TestClock,
) -> None:  # fmt: skip
    rows = trace(name)
    send(store, chat, [row(i, at, *tokens) for i, (at, *tokens) in enumerate(rows)])
    clock.now = rows[-1][0] + 2 * DAY
    runner.catch_up()
    window = Window(datetime(2023, 11, 16, tzinfo=START.tzinfo), rows[-1][0] + DAY)
    with transaction(engine, 1, Role.WORKER) as connection:
        stored = read_profiles(
            connection, 1, chat.model_id, PartKind.SERVING, Grain.FIVE_MINUTES, window
        )
    part = merge([each.part for each in stored])
    for column, median in zip(("prompt_tokens", "output_tokens"), MEDIANS[name], strict=True):
        found = quantile(part, column, 0.5)
        assert found is not None
        assert found.relative_error == 1 / 129
        assert found.value == pytest.approx(median, rel=found.relative_error)


def test_conversations_that_become_code_are_found_as_drift_of_lengths_within_hours(
    store: IntakeStore, runner: Runner, chat: ModelContext, engine: Engine, clock: TestClock
) -> None:
    """Weeks of conversations, drawn from the trace, then code from one hour on."""
    rng = np.random.default_rng(4)
    hours = WEEKS_OF_CHAT * 7 * 24
    lengths = {name: [tuple(tokens) for _, *tokens in trace(name)] for name in ("conv", "code")}
    rows = []
    for hour in range(hours + 12):
        source = lengths["conv" if hour < hours else "code"]
        for place in rng.integers(0, len(source), ROWS_AN_HOUR):
            at = START + hour * HOUR + timedelta(seconds=int(rng.integers(0, 3_600)))
            rows.append(row(len(rows), at, *source[int(place)]))
    switch = START + hours * HOUR
    send(store, chat, [each for each in rows if each["event_time"] < switch])
    clock.now = switch + HOUR / 4
    runner.catch_up()
    before = rows_of(engine, 1, "select count(*) as n from incident")[0].n
    send(store, chat, [each for each in rows if each["event_time"] >= switch])
    clock.now = switch + 13 * HOUR
    runner.catch_up()
    query = "select opened_at, body from incident where opened_at >= :at order by opened_at"
    found = rows_of(engine, 1, query, at=switch)
    assert len(rows_of(engine, 1, "select 1 from incident")) > before
    assert found, "the switch opened an incident"
    assert found[0].opened_at - switch <= 2 * HOUR
