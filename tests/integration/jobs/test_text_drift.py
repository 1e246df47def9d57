"""Questions that turn to another subject, at the same length, are found as drift of meaning."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy.engine import Engine

from monitor.collector.producer_store import ProducerStore, Sender
from monitor.collector.text_models import TextModels
from monitor.contract import Contract
from monitor.errors import ConfigurationError
from monitor.intake.producer_record import ProducerRecord, Read
from monitor.jobs.run import Runner
from monitor.store.intake_store import IntakeStore
from tests.factories import START, TestClock, apply, contract_body, rows_of
from tests.text_model import SIZE

WEEKS, ROWS_AN_HOUR = 5, 20
HOUR = timedelta(hours=1)
MODELS = TextModels({"hashed": "tests.text_model:hashed"})
# Word for word of the same length, so that no descriptor of the text moves.
PLAIN = "order parcel refund arrives receipt invoice address courier status broken"
OTHER = "flour butter simmer drizzle whiskey lasagna garnish saffron braise pepper"


def contract(**embedding: object) -> Contract:
    body = contract_body(baseline={"first_rows": 5_000}, label=None)
    body["columns"] = [
        {"name": "prompt_text", "type": "text", "nullable": True},
        {"name": "meaning", "type": "vector", "size": SIZE, "nullable": True,
         "embedding": {"of": "prompt_text", "model": "hashed", **embedding}},
    ]  # fmt: skip
    return Contract.model_validate(body)


def records(rng: np.random.Generator, first: int, hours: int, words: str) -> list[ProducerRecord]:
    found = []
    for hour in range(first, first + hours):
        for number in range(ROWS_AN_HOUR):
            at = START + hour * HOUR + timedelta(seconds=int(rng.integers(0, 3_600)))
            text = " ".join(rng.choice(words.split(), 8))
            name = f"{hour}-{number}"
            found.append(ProducerRecord(name, at, ("credit",), fields={"prompt_text": text}))
    return found


def test_another_subject_is_found_within_hours_and_the_weeks_before_are_quiet(
    store: IntakeStore, runner: Runner, engine: Engine, project_id: int, clock: TestClock
) -> None:
    apply(engine, project_id, contract())
    rng = np.random.default_rng(11)
    producers = ProducerStore(store, MODELS)
    hours = WEEKS * 7 * 24
    switch = START + hours * HOUR
    kept = producers.keep(Sender(1, switch, anytime=True),
                          Read(tuple(records(rng, 0, hours, PLAIN))))  # fmt: skip
    assert (kept.accepted, kept.violations, kept.notes) == (hours * ROWS_AN_HOUR, 0, [])
    clock.now = switch + HOUR / 4
    runner.catch_up()
    assert rows_of(engine, 1, "select id from incident") == []
    after = switch + 13 * HOUR
    producers.keep(Sender(1, after, anytime=True), Read(tuple(records(rng, hours, 12, OTHER))))
    clock.now = after
    runner.catch_up()
    found = rows_of(engine, 1, "select opened_at, body::text as body from incident")
    assert len(found) == 1
    assert found[0].opened_at - switch <= 2 * HOUR
    assert "meaning.projection" in found[0].body


def test_vectors_of_another_model_need_another_column(engine: Engine, project_id: int) -> None:
    apply(engine, project_id, contract())
    apply(engine, project_id, contract(share=0.5))
    with pytest.raises(ConfigurationError, match="declare it under a new name"):
        apply(engine, project_id, contract(model="minilm"))
