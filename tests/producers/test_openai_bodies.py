"""Bodies of a real llama.cpp server, as it writes them, read into standard fields."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from monitor.intake.bodies.openai import read_openai
from monitor.intake.bodies.told_body import ToldBody
from monitor.records import RequestOutcome
from tests.producers.running import PROGRAMS, free_port, running
from tests.producers.venvs import producer_venv

pytestmark = pytest.mark.producer

ASKED = {"model": "micro", "max_tokens": 6, "temperature": 0.0,
         "messages": [{"role": "user", "content": "one two three four"}]}  # fmt: skip


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a llama.cpp server with a model of random weights."""
    folder, port = tmp_path_factory.mktemp("llama"), free_port()
    weights, venv = folder / "micro.gguf", producer_venv("llama_server")
    program = str(PROGRAMS / "micro_gguf.py")
    subprocess.run([str(venv / "bin" / "python"), program, str(weights)], check=True, timeout=60)
    with running(
        [str(venv / "bin" / "llama-server-vulkan"), "-m", str(weights), "--alias", "micro",
         "--host", "127.0.0.1", "--port", str(port), "-c", "512", "-np", "1", "-t", "1",
         "--embeddings", "--pooling", "mean"],
        f"http://127.0.0.1:{port}/health", folder / "llama.log",
    ):  # fmt: skip
        yield f"http://127.0.0.1:{port}"


def call(url: str, asked: Any) -> tuple[ToldBody, bytes]:
    """What a call to the server is read as, and the bytes that it answered."""
    request = json.dumps(asked).encode()
    sent = urllib.request.Request(url, request, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(sent, timeout=60) as answer:
            body, status, headers = answer.read(), answer.status, dict(answer.headers)
    except urllib.error.HTTPError as error:
        body, status, headers = error.read(), error.code, dict(error.headers)
    return read_openai(request, body, headers, status=status), body


def test_trap_08_and_09_by_a_real_server_tokens_and_gaps_come_from_totals(llama: str) -> None:
    call(f"{llama}/v1/chat/completions", ASKED)
    read, body = call(f"{llama}/v1/chat/completions", ASKED)
    told = json.loads(body)
    timings, fields = told["timings"], read.fields
    assert fields["prompt_tokens"] == timings["prompt_n"] + timings["cache_n"]
    assert fields["cached_tokens"] == timings["cache_n"] > 0
    assert fields["output_tokens"] == told["usage"]["completion_tokens"] == 6
    assert fields["inter_token_time"] == pytest.approx(timings["predicted_ms"] / 5)
    assert fields["prefill_time"] == timings["prompt_ms"]
    assert "first_token_time" not in fields
    assert read.models == ("micro",)
    assert read.request_tags["runtime"] == "llama.cpp"
    assert read.request_tags["runtime_version"] == told["system_fingerprint"]
    assert "model_version" not in read.request_tags
    assert read.event_time is not None


def test_a_stream_of_a_real_server_says_what_its_whole_answer_says(llama: str) -> None:
    whole, _ = call(f"{llama}/v1/chat/completions", ASKED)
    streamed = {**ASKED, "stream": True, "stream_options": {"include_usage": True}}
    read, body = call(f"{llama}/v1/chat/completions", streamed)
    assert body.startswith(b"data: ")
    for name in ("prompt_tokens", "output_tokens", "output_text", "finish_reason"):
        assert read.fields[name] == whole.fields[name], name
    assert read.fields["streamed"] is True
    assert read.outcome is RequestOutcome.ANSWERED
    cut = read_openai(None, body[: body.rindex(b'"finish_reason":"length"')])
    assert cut.outcome is RequestOutcome.CANCELLED
    assert "output_tokens" not in cut.fields


@pytest.mark.parametrize("stream", [False, True])
def test_the_native_completion_of_a_real_server_is_read(llama: str, stream: bool) -> None:
    asked = {"prompt": "one two three four", "n_predict": 5, "temperature": 0, "stream": stream}
    read, body = call(f"{llama}/completion", asked)
    told = json.loads(body.strip().rpartition(b"data: ")[2])
    assert read.fields["prompt_tokens"] == told["timings"]["prompt_n"] + told["timings"]["cache_n"]
    assert read.fields["output_tokens"] == told["tokens_predicted"] == 5
    assert read.fields["finish_reason"] == "length"
    assert read.fields["output_text"]
    # The slot's tokens, output included: no count of cached prompt tokens.
    assert told["tokens_cached"] != read.fields["cached_tokens"]


def test_an_error_of_a_real_server_is_a_refused_request(llama: str) -> None:
    long = {**ASKED, "messages": [{"role": "user", "content": "secret " * 2_000}]}
    read, _ = call(f"{llama}/v1/chat/completions", long)
    assert read.outcome is RequestOutcome.REFUSED
    assert read.fields["error_type"] == "exceed_context_size_error"
    assert "secret" not in str(read.outcome_reason)


def test_embeddings_of_a_real_server_are_vectors_by_place(llama: str) -> None:
    asked = {"model": "micro", "input": ["one", "two"]}
    numbers, _ = call(f"{llama}/v1/embeddings", asked)
    packed, _ = call(f"{llama}/v1/embeddings", {**asked, "encoding_format": "base64"})
    assert numbers.fields["operation"] == "embeddings"
    assert sorted(numbers.outputs) == ["0", "1"]
    assert len(numbers.outputs["0"]) == 32
    assert packed.outputs["1"] == pytest.approx(numbers.outputs["1"], abs=1e-6)
