"""What a contract may say of embeddings, and what may not change under a column's name."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from monitor.contract import Column
from monitor.contract_embedding import Embedding, embedding_changes


def vector(**more: object) -> Column:
    about = {"name": "meaning", "type": "vector", "size": 4, "nullable": True, **more}
    return Column.model_validate(about)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"embedding": {"of": "latency", "model": "minilm"}}, "'latency' is no text"),
        ({"embedding": {"of": "prompt_text", "model": "a:b"}}, "embedding.model"),
        ({"embedding": {"of": "prompt_text", "model": "minilm", "share": 0}}, "greater than 0"),
        (
            {"embedding": {"of": "prompt_text", "model": "minilm"}, "type": "text", "size": None},
            "for vector columns, not text",
        ),
        (
            {"embedding": {"of": "prompt_text", "model": "minilm"}, "taken_from": "inputs.x"},
            "one of embedding, field and taken_from",
        ),
        (
            {
                "embedding": {"of": "prompt_text", "model": "minilm", "share": 0.5},
                "nullable": False,
            },
            "nullable: true",
        ),
    ],
)
def test_what_can_not_be_embedded_is_refused(more: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError) as raised:
        vector(**more)
    assert message in str(raised.value)


def test_only_share_and_existence_may_change() -> None:
    one = Embedding(of="prompt_text", model="minilm")
    other_share = Embedding(of="prompt_text", model="minilm", share=0.5)
    other_model = Embedding(of="prompt_text", model="mine")
    other_text = Embedding(of="output_text", model="minilm")
    assert embedding_changes({"a": one}, {"a": other_share}) == []
    assert embedding_changes({"a": one}, {"a": None}) == []
    assert embedding_changes({"a": None}, {"a": one}) == []
    for changed in (other_model, other_text):
        (problem,) = embedding_changes({"a": one}, {"a": changed})
        assert "'a'" in problem
        assert "new name" in problem
