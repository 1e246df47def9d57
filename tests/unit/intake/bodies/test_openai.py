"""Answers of OpenAI-compatible servers become the same standard fields, whoever gave them."""

from __future__ import annotations

import base64
import json
import struct
from datetime import UTC, datetime
from typing import Any

import pytest

from monitor.intake.bodies.openai import looks_like_openai, read_openai
from monitor.intake.bodies.told_body import ToldBody
from monitor.records import RequestOutcome
from monitor.strictjson import StrictJsonError

CHAT = {
    "id": "chatcmpl-9", "object": "chat.completion", "created": 1_790_000_000,
    "model": "m-2026-08-01", "system_fingerprint": "fp_1",
    "choices": [{"index": 0, "finish_reason": "stop",
                 "message": {"role": "assistant", "content": "Yes."}}],
    "usage": {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150,
              "prompt_tokens_details": {"cached_tokens": 96}},
}  # fmt: skip
ASKED = {
    "model": "m", "max_tokens": 64, "temperature": 0.5, "top_p": 0.9, "stream": False,
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Well?"}],
    "tools": [{"type": "function", "function": {"name": "look_up", "parameters": {}}}],
}  # fmt: skip
TIMINGS = {"cache_n": 33, "prompt_n": 1, "prompt_ms": 1.639, "predicted_n": 3,
           "predicted_ms": 2.8, "predicted_per_token_ms": 0.9333}  # fmt: skip


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def told(answer: Any, asked: Any = None, **more: Any) -> ToldBody:
    return read_openai(None if asked is None else body(asked), body(answer), **more)


def chat(**changes: Any) -> dict[str, Any]:
    return {**CHAT, **changes}


def events(*chunks: Any, end: str = "data: [DONE]\n\n") -> bytes:
    return ("".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + end).encode()


def test_a_chat_answer_tells_tokens_names_versions_and_what_was_asked() -> None:
    read = told(CHAT, ASKED)
    assert read.request_id == "chatcmpl-9"
    assert read.event_time == datetime.fromtimestamp(1_790_000_000, UTC)
    assert read.models == ("m-2026-08-01", "m")
    assert read.request_tags == {"model_version": "m-2026-08-01", "config_hash": "fp_1"}
    assert read.joins == {"system_fingerprint": "fp_1"}
    assert read.outcome is RequestOutcome.ANSWERED
    assert read.outputs == {"text": "Yes."}
    assert read.attributes["request.tools"] == ["look_up"]
    digest = read.fields["tool_versions"]
    assert len(digest) == 12
    assert {name: value for name, value in read.fields.items() if name != "tool_versions"} == {
        "operation": "chat", "max_tokens": 64, "temperature": 0.5, "top_p": 0.9,
        "streamed": False, "prompt_text": "Be brief.\nWell?", "prompt_tokens": 120,
        "output_tokens": 30, "cached_tokens": 96, "finish_reason": "stop", "tool_calls": 0,
        "refusal": False, "output_text": "Yes.",
    }  # fmt: skip


def test_another_definition_of_a_tool_is_another_version() -> None:
    other = {**ASKED, "tools": [{"type": "function", "function": {"name": "look_up"}}]}
    assert told(CHAT, ASKED).fields["tool_versions"] != told(CHAT, other).fields["tool_versions"]


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": None},
        {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {}},
        {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": None}},
        {"prompt_tokens": True, "completion_tokens": -1},
        {"prompt_tokens": float("nan"), "completion_tokens": "many"},
    ],
)
def test_counts_that_are_absent_or_impossible_stay_absent_and_are_never_zero(usage: Any) -> None:
    fields = told(chat(usage=usage)).fields
    assert "cached_tokens" not in fields
    assert "reasoning_tokens" not in fields
    assert all(fields.get(name) in (None, 5, 2) for name in ("prompt_tokens", "output_tokens"))


def test_reasoning_tokens_are_found_in_every_place() -> None:
    inner = chat(
        usage={"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 4}}
    )
    sglang = chat(usage={"completion_tokens": 9, "reasoning_tokens": 4})
    responses = {"object": "response", "status": "completed", "output": [],
                 "usage": {"output_tokens": 9,
                           "output_tokens_details": {"reasoning_tokens": 4}}}  # fmt: skip
    for answer in (inner, sglang, responses):
        fields = told(answer).fields
        assert (fields["output_tokens"], fields["reasoning_tokens"]) == (9, 4)


def test_the_responses_api_tells_text_calls_and_why_it_ended() -> None:
    answer = {
        "id": "resp_1", "object": "response", "created_at": 1_790_000_000, "model": "m-2",
        "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
        "output": [
            {"type": "function_call", "name": "look_up", "arguments": '{"city": "Bonn"}'},
            {"type": "message", "content": [{"type": "output_text", "text": "Yes, "},
                                            {"type": "output_text", "text": "but"}]},
        ],
        "usage": {"input_tokens": 7, "input_tokens_details": {"cached_tokens": 0},
                  "output_tokens": 3, "total_tokens": 10},
    }  # fmt: skip
    asked = {
        "model": "m",
        "prompt": {"id": "pmpt_1", "version": "4", "variables": {"city": "Bonn"}},
    }
    read = told(answer, asked)
    assert read.fields["output_text"] == "Yes, but"
    assert read.fields["finish_reason"] == "length"
    assert read.fields["tool_calls"] == 1
    assert read.fields["cached_tokens"] == 0
    assert read.fields["prompt_name"] == "pmpt_1"
    assert read.inputs == {"city": "Bonn"}
    assert read.request_tags["prompt_version"] == "4"
    assert read.outputs["tool_calls"] == [{"name": "look_up", "arguments": {"city": "Bonn"}}]


def test_embeddings_come_as_numbers_or_as_packed_text() -> None:
    packed = base64.b64encode(struct.pack("<2f", 0.5, -1.0)).decode()
    answer = {"object": "list", "model": "e", "usage": {"prompt_tokens": 4},
              "data": [{"index": 0, "embedding": [1.0, 2.0]},
                       {"index": 1, "embedding": packed}]}  # fmt: skip
    read = told(answer, {"model": "e", "input": ["a", "b"]})
    assert read.outputs == {"0": [1.0, 2.0], "1": [0.5, -1.0]}
    assert read.fields["operation"] == "embeddings"
    assert read.fields["prompt_text"] == "a\nb"


def test_an_answer_that_was_asked_for_as_json_is_read_as_json() -> None:
    answer = chat(choices=[{"finish_reason": "stop", "message": {"content": '{"label": "spam"}'}}])
    asked = {**ASKED, "response_format": {"type": "json_object"}}
    assert told(answer, asked).outputs["json"] == {"label": "spam"}
    assert "json" not in told(answer, ASKED).outputs


def test_a_stream_is_the_answer_that_was_not_streamed() -> None:
    chunks = [
        {"id": "c", "model": "m-2", "choices": [{"index": 0, "delta": {"role": "assistant"}}]},
        {"id": "c", "choices": [{"index": 0, "delta": {"content": "Ye"}}]},
        {"id": "c", "choices": [{"index": 0, "delta": {"content": "s."}}]},
        {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"id": "c", "choices": [], "usage": CHAT["usage"], "timings": TIMINGS},
    ]
    read = read_openai(body(ASKED), b": hello\r\n\r\n" + events(*chunks))
    assert read.outputs == {"text": "Yes."}
    assert read.fields["prompt_tokens"] == 120
    assert read.fields["streamed"] is True
    assert read.fields["finish_reason"] == "stop"
    assert told(chunks, ASKED).fields == read.fields


def test_tool_calls_of_a_stream_are_put_together_by_their_place() -> None:
    def piece(**function: str) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": {"tool_calls": [
            {"index": 0, "function": function}]}}]}  # fmt: skip

    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    stream = events(piece(name="look_up", arguments=""), piece(arguments='{"a"'),
                    piece(arguments=": 1}"), end)  # fmt: skip
    read = read_openai(None, stream)
    assert read.outputs["tool_calls"] == [{"name": "look_up", "arguments": {"a": 1}}]
    assert read.fields["tool_calls"] == 1


def test_a_stream_whose_client_left_is_cancelled_and_has_no_tokens() -> None:
    cut = b'data: {"id": "c", "choices": [{"delta": {"content": "Ye"}}]}\n\ndata: {"id": "c", "ch'
    read = read_openai(body(ASKED), cut)
    assert read.outcome is RequestOutcome.CANCELLED
    assert read.outcome_reason == "the stream ended before its last event"
    assert read.fields["output_text"] == "Ye"
    assert "output_tokens" not in read.fields


def test_the_last_event_of_the_responses_api_holds_the_whole_answer() -> None:
    last = {"type": "response.completed", "response": {"id": "resp_1", "object": "response",
            "status": "completed", "output": [{"type": "message", "content": [
                {"type": "output_text", "text": "Hi"}]}],
            "usage": {"output_tokens": 1}}}  # fmt: skip
    stream = events({"type": "response.output_text.delta", "delta": "Hi"}, last, end="")
    read = read_openai(None, stream)
    assert (read.request_id, read.outcome) == ("resp_1", RequestOutcome.ANSWERED)
    assert (read.fields["output_text"], read.fields["output_tokens"]) == ("Hi", 1)


def test_a_response_that_was_only_begun_has_its_text_so_far_and_no_tokens() -> None:
    begun = {"type": "response.created", "response": {"id": "resp_1", "object": "response",
             "status": "in_progress", "output": [], "model": "m-2", "usage": None}}  # fmt: skip
    said = {"type": "response.output_text.delta", "delta": "Hi"}
    read = read_openai(None, events(begun, said, said, end=""))
    assert (read.request_id, read.models) == ("resp_1", ("m-2",))
    assert read.outcome is RequestOutcome.CANCELLED
    assert read.fields["output_text"] == "HiHi"
    assert "output_tokens" not in read.fields


def test_vllm_tells_times_drafts_and_its_build() -> None:
    metrics = {"time_to_first_token_ms": 40.0, "queue_time_ms": 5.0, "generation_time_ms": 290.0,
               "mean_itl_ms": 10.0, "tokens_per_second": 91.0,
               "speculative_decoding": {"num_accepted_draft_tokens": 12, "num_spec_steps": 8,
                                        "draft_acceptance_rate": 0.375}}  # fmt: skip
    read = told(chat(system_fingerprint="vllm-0.32.0-tp2-1a2b3c4d", metrics=metrics))
    assert read.fields["queue_time"] == 5.0
    assert read.fields["decode_time"] == 290.0
    assert read.fields["inter_token_time"] == 10.0
    assert (read.fields["accepted_draft_tokens"], read.fields["draft_tokens"]) == (12, 32)
    assert read.fields["draft_steps"] == 8
    assert read.request_tags == {
        "runtime": "vllm", "runtime_version": "0.32.0", "model_version": "m-2026-08-01",
        "config_hash": "vllm:vllm-0.32.0-tp2-1a2b3c4d",
    }  # fmt: skip


def test_the_native_completion_of_llama_cpp_is_read_and_its_cache_not_mistaken() -> None:
    answer = {"content": "abc", "tokens_predicted": 3, "tokens_evaluated": 34, "tokens_cached": 36,
              "stop_type": "limit", "truncated": False, "stop": True, "timings": TIMINGS,
              "model": "micro.gguf"}  # fmt: skip
    read = told(answer, {"prompt": "a", "n_predict": 3})
    assert read.fields["prompt_tokens"] == 34
    assert read.fields["cached_tokens"] == 33
    assert read.fields["finish_reason"] == "length"
    assert read.fields["max_tokens"] == 3
    assert read.fields["truncated"] is False
    assert read.request_tags["runtime"] == "llama.cpp"


def test_a_served_name_that_is_only_echoed_is_no_version() -> None:
    answer = chat(model="tiny", timings=TIMINGS, system_fingerprint="b1-7e4c0a9")
    assert told(answer, {**ASKED, "model": "tiny"}).request_tags == {
        "runtime": "llama.cpp", "runtime_version": "b1-7e4c0a9",
    }  # fmt: skip


def test_sglang_tells_seconds_from_arrival_and_the_version_of_its_weights() -> None:
    answer = {"text": "ok", "meta_info": {
        "id": "s1", "finish_reason": {"type": "length", "length": 3}, "prompt_tokens": 10,
        "completion_tokens": 3, "cached_tokens": 8, "weight_version": "w7", "e2e_latency": 0.5,
        "queue_time": 0.1, "first_token_latency": 0.3,
        "request_received_ts": 1_790_000_000.25}}  # fmt: skip
    read = told(answer)
    assert read.request_id == "s1"
    assert read.event_time == datetime.fromtimestamp(1_790_000_000.25, UTC)
    assert read.request_tags == {"runtime": "sglang", "model_version": "w7"}
    assert read.fields["latency"] == 500.0
    assert read.fields["first_token_time"] == 300.0
    assert read.fields["inter_token_time"] == pytest.approx(100.0)
    assert read.fields["finish_reason"] == "length"


def test_headers_of_tgi_tell_its_times() -> None:
    headers = {"X-Total-Time": "120", "x-validation-time": "1", "x-queue-time": "9",
               "x-inference-time": "110", "x-time-per-token": "11", "x-prompt-tokens": "7",
               "x-generated-tokens": "10", "X-Request-Id": "abc"}  # fmt: skip
    read = told(
        {"generated_text": "ok", "details": {"finish_reason": "eos_token"}}, headers=headers
    )
    assert read.request_id == "abc"
    assert read.fields["latency"] == 120
    assert read.fields["queue_time"] == 9
    assert read.fields["finish_reason"] == "stop"
    assert "inter_token_time" not in read.fields
    assert read.attributes["header.x-time-per-token"] == "11"


@pytest.mark.parametrize(
    ("answer", "status", "outcome", "kind"),
    [
        ({"error": {"code": 400, "type": "exceed_context_size_error", "message": "secret"}}, 400,
         RequestOutcome.REFUSED, "exceed_context_size_error"),
        ({"error": {"type": "server_error", "message": "secret"}}, 500, RequestOutcome.FAILED,
         "server_error"),
        ({"error": "secret", "error_type": "overloaded"}, 429, RequestOutcome.FAILED,
         "overloaded"),
        ({"error": "secret"}, 503, RequestOutcome.FAILED, "error"),
        ({"object": "error", "type": "BadRequestError", "message": "secret"}, None,
         RequestOutcome.REFUSED, "BadRequestError"),
        ({"error": {"code": "request_timeout"}}, None, RequestOutcome.TIMED_OUT,
         "request_timeout"),
        ({}, 499, RequestOutcome.CANCELLED, "http_499"),
        ({"status": "failed", "object": "response", "output": []}, 200, RequestOutcome.FAILED,
         "response_failed"),
    ],
)  # fmt: skip
def test_errors_end_as_they_should_and_their_messages_stay_out(
    answer: Any, status: int | None, outcome: RequestOutcome, kind: str
) -> None:
    read = told(answer, ASKED, status=status)
    assert read.outcome is outcome
    assert read.fields["error_type"] == kind
    assert "secret" not in str(read.outcome_reason)


def test_what_the_model_or_a_filter_declines_is_refused() -> None:
    declined = chat(choices=[{"message": {"content": None, "refusal": "No."}}])
    assert told(declined).outcome is RequestOutcome.REFUSED
    assert told(declined).fields["refusal"] is True
    filtered = chat(choices=[{"finish_reason": "content_filter", "message": {"content": ""}}])
    assert told(filtered).outcome is RequestOutcome.REFUSED


def test_a_request_without_an_answer_is_a_failure_not_a_loss() -> None:
    read = read_openai(body(ASKED), None)
    assert read.outcome is RequestOutcome.FAILED
    assert read.models == ("m",)


def test_a_body_that_was_encoded_twice_is_read() -> None:
    assert told(json.dumps(CHAT)).fields["output_tokens"] == 30


@pytest.mark.parametrize("broken", [b"<html>", b"{", b"data: {\n\ndata: {}\n\n", b"\xff"])
def test_what_is_neither_json_nor_a_stream_is_refused(broken: bytes) -> None:
    with pytest.raises(StrictJsonError):
        read_openai(None, broken)


@pytest.mark.parametrize("value", [None, 1, [], {"choices": 5}, {"choices": [None]},
                                   {"usage": 7, "choices": [{"message": 3}]},
                                   {"data": [{"embedding": "!"}]},
                                   {"output": [None, 4]}])  # fmt: skip
def test_odd_shapes_are_read_without_a_fault(value: Any) -> None:
    assert isinstance(told(value, value), ToldBody)


def test_bodies_of_other_families_are_told_apart() -> None:
    assert looks_like_openai(ASKED, None)
    assert looks_like_openai(None, CHAT)
    assert looks_like_openai(None, {"object": "response", "output": []})
    assert not looks_like_openai({"instances": [[1]]}, {"predictions": [1]})
    assert not looks_like_openai({"inputs": []}, {"model_name": "m", "outputs": []})


def test_trap_07_first_token_time_has_four_meanings_in_bodies() -> None:
    vllm = told(chat(metrics={"time_to_first_token_ms": 40.0, "queue_time_ms": 5.0})).fields
    assert (vllm["first_token_time"], vllm["first_token_from"]) == (40.0, "scheduled")
    sglang = told({"text": "", "meta_info": {"first_token_latency": 0.3}}).fields
    assert (sglang["first_token_time"], sglang["first_token_from"]) == (300.0, "arrival")
    llama = told(chat(timings=TIMINGS)).fields
    assert "first_token_time" not in llama
    assert "first_token_from" not in llama
    assert llama["prefill_time"] == 1.639


@pytest.mark.parametrize("reported", [2.8 / 2, 2.8 / 3, None])
def test_trap_08_means_per_token_are_computed_from_totals(reported: float | None) -> None:
    timings = {**TIMINGS, "predicted_per_token_ms": reported}
    assert told(chat(timings=timings, usage=None)).fields["inter_token_time"] == pytest.approx(1.4)
    one = {**TIMINGS, "predicted_n": 1, "predicted_per_token_ms": reported}
    assert "inter_token_time" not in told(chat(timings=one)).fields
    vllm = chat(metrics={"generation_time_ms": 290.0, "tokens_per_second": 1.0})
    assert told(vllm).fields["inter_token_time"] == pytest.approx(10.0)


def test_trap_09_cached_tokens_are_part_of_the_prompt() -> None:
    openai = told(CHAT).fields
    assert (openai["prompt_tokens"], openai["cached_tokens"]) == (120, 96)
    llama = told(chat(usage=None, timings=TIMINGS)).fields
    assert (llama["prompt_tokens"], llama["cached_tokens"]) == (34, 33)
    both = told(chat(timings=TIMINGS, usage={"prompt_tokens": 34, "completion_tokens": 3})).fields
    assert (both["prompt_tokens"], both["cached_tokens"]) == (34, 33)
