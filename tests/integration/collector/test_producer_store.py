"""Records of foreign producers reach the model they name, and what belongs to none is told."""

from __future__ import annotations

import pytest
from sqlalchemy.engine import Engine

from monitor.collector.producer_store import ProducerStore, Sender
from monitor.intake.producer_record import ProducerLabel, ProducerRecord, Read
from monitor.records import RejectionReason, RequestOutcome
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import START, apply, make_contract, rows_of


@pytest.fixture
def credit(engine: Engine, project_id: int) -> ModelContext:
    return apply(engine, project_id, make_contract())


def record(name: str, *models: str, **more: object) -> ProducerRecord:
    return ProducerRecord(name, START, models, **more)  # type: ignore[arg-type]


def test_a_record_goes_to_the_model_it_names(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    name = credit.contract.model
    read = Read(
        records=(
            record("r1", "nobody", name, request_tags={"model_version": "7"}),
            record("r2", "nobody"),
            record("r3", name, outcome=RequestOutcome.FAILED, outcome_reason="no response event"),
        ),
        labels=(ProducerLabel("r1", True, START, models=(name,)),),
    )
    kept = ProducerStore(store).keep(Sender(1, START), read)
    assert (kept.accepted, kept.unplaced, kept.rejected) == (3, 1, 1)
    assert kept.rejections[0].place == 1
    assert kept.rejections[0].reason is RejectionReason.UNKNOWN_MODEL
    assert "also_known_as" in kept.rejections[0].message
    rows = rows_of(engine, None, "select request_id, outcome_reason from request_log order by 1")
    assert [tuple(row) for row in rows] == [("r1", None), ("r3", "no response event")]
    tags = rows_of(engine, 1, "select tags from deployment order by id")
    assert {"model_version": "7"} in [row.tags for row in tags]
    refused = rows_of(engine, 1, "select model_id, request_id, reason from rejection")
    assert [tuple(row) for row in refused] == [(None, "r2", "unknown_model")]


def test_the_same_records_again_are_duplicates(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    read = Read(records=(record("r1", credit.contract.model),))
    producers = ProducerStore(store)
    assert producers.keep(Sender(1, START), read).accepted == 1
    assert producers.keep(Sender(1, START), read).duplicate == 1
