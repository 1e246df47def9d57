"""The text that a column embeds is found in a record, and nowhere else."""

from __future__ import annotations

import pytest

from monitor.contract import Column, Contract
from monitor.intake.producer_record import ProducerRecord
from monitor.intake.told_requests import text_at, to_request

RECORD = ProducerRecord(
    "r", None, inputs={"question": "when", "n": 3}, outputs={"text": "  "},
    fields={"prompt_text": "where"},
)  # fmt: skip


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("prompt_text", "where"),
        ("fields.prompt_text", "where"),
        ("inputs.question", "when"),
        ("inputs.n", None),
        ("inputs.other", None),
        ("outputs.text", None),
        ("output_text", None),
    ],
)
def test_a_text_is_found_at_its_place(place: str, text: str | None) -> None:
    assert text_at(RECORD, place) == text


def test_an_embedded_input_is_known_and_its_vector_fills_the_column() -> None:
    column = Column(
        name="meaning", type="vector", size=2, nullable=True,
        embedding={"of": "inputs.question", "model": "mine"},
    )  # fmt: skip
    contract = Contract(model="m", owner="o", purpose="p", task="binary", columns=(column,))
    told = to_request(RECORD, contract, None, {"meaning": [0.5, 1.0]})
    assert told["meaning"] == [0.5, 1.0]
    assert "question" not in told
    assert told["n"] == 3
    without = to_request(RECORD, contract)
    assert "meaning" not in without
