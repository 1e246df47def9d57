"""Whatever comes as a body of an OpenAI-compatible server is read or refused, never a fault."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from monitor.intake.bodies.openai import read_openai, read_openai_values
from monitor.strictjson import StrictJsonError
from tests.unit.intake.bodies.test_openai import events

KEYS = st.sampled_from(
    ("choices", "usage", "message", "delta", "content", "text", "tool_calls", "function", "index",
     "timings", "meta_info", "metrics", "error", "type", "status", "output", "data", "embedding",
     "finish_reason", "prompt", "messages", "tools", "response", "model", "id", "created",
     "speculative_decoding", "prompt_tokens_details", "conversation", "metadata", "arguments")
)  # fmt: skip
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**18) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@given(ODD, ODD, st.none() | st.integers(100, 999))
def test_whatever_a_server_says_is_read_without_a_fault(
    asked: Any, answer: Any, status: int | None
) -> None:
    read = read_openai_values(asked, answer, {}, status=status)
    assert all(value is not None for value in read.fields.values())
    assert all(isinstance(name, str) for name in read.models)
    for name in ("prompt_tokens", "output_tokens", "cached_tokens", "decode_time"):
        assert read.fields.get(name, 0) >= 0
    json.dumps(read.outputs)


@given(st.lists(ODD, max_size=5), st.integers(0, 400))
def test_a_stream_cut_anywhere_is_read_or_refused_and_never_half_believed(
    chunks: list[Any], cut: int
) -> None:
    whole = events(*chunks)
    try:
        read = read_openai(None, b"data: {}\n\n" + whole[: min(cut, len(whole))])
    except StrictJsonError:
        return
    assert read.fields["streamed"] is True
