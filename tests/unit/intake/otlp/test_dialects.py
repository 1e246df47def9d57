"""Spans of each producer into requests: what is read, from where a time counts, what is merged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from monitor.intake.otlp.logs import read_logs
from monitor.intake.otlp.traces import requests_of
from monitor.intake.otlp.wire import LogRecord, Span, SpanEvent
from monitor.intake.producer_record import ProducerRecord
from monitor.records import RequestOutcome

TRACE, START = "0af7651916cd43dd8448eb211c80319c", 1_795_960_335_000_000_000
MS = 1_000_000


def span(name: str, number: int, ms: float, said: dict[str, Any] | None = None, *, parent: int = 0,
         after: float = 0.0, status: int = 1, events: tuple[SpanEvent, ...] = (),
         scope: str = "app", **resource: Any) -> Span:  # fmt: skip
    start = START + int(after * MS)
    return Span(
        TRACE, f"{number:016x}", f"{parent:016x}" if parent else "", name, 3, start,
        start + int(ms * MS), status, "", said or {}, list(events),
        {name.replace("_", "."): value for name, value in resource.items()}, scope,
    )  # fmt: skip


def records(*pieces: Any) -> tuple[ProducerRecord, ...]:
    return requests_of(list(pieces)).records


CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.response.model": "m-2",
    "gen_ai.response.id": "chatcmpl-1",
    "gen_ai.response.finish_reasons": ["stop"],
}


@pytest.mark.parametrize(
    "names",
    [
        ("gen_ai.system", "gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"),
        ("gen_ai.system", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
        ("gen_ai.provider.name", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
    ],
    ids=["oldest", "1.36", "1.37"],
)
def test_all_generations_of_the_conventions_are_one_request(names: tuple[str, str, str]) -> None:
    said = {**CHAT, names[0]: "openai", names[1]: 120, names[2]: 30}
    (record,) = records(span("chat m", 1, 250, said, service_name="shop"))
    assert record.request_id == "chatcmpl-1"
    assert record.models == ("m-2", "m", "shop")
    assert record.fields["latency"] == 250.0
    assert (record.fields["prompt_tokens"], record.fields["output_tokens"]) == (120, 30)
    assert (record.fields["provider"], record.fields["finish_reason"]) == ("openai", "stop")
    assert dict(record.request_tags) == {"model_version": "m-2"}


def test_trap_09_cached_tokens_of_spans_are_part_of_the_prompt() -> None:
    said = {**CHAT, "gen_ai.usage.input_tokens": 120, "gen_ai.usage.cache_read.input_tokens": 96}
    (record,) = records(span("chat m", 1, 250, said))
    assert (record.fields["prompt_tokens"], record.fields["cached_tokens"]) == (120, 96)


def test_trap_07_first_token_times_of_a_client_and_of_an_engine_begin_elsewhere() -> None:
    said = {**CHAT, "gen_ai.usage.output_tokens": 11, "gen_ai.response.time_to_first_chunk": 0.05}
    (record,) = records(span("chat m", 1, 250, said))
    assert (record.fields["first_token_time"], record.fields["first_token_from"]) == (50, "client")
    assert record.fields["inter_token_time"] == pytest.approx(20.0)
    engine = {"gen_ai.latency.time_to_first_token": 0.04, "gen_ai.latency.time_in_queue": 0.01,
              "gen_ai.latency.e2e": 0.2, "gen_ai.usage.completion_tokens": 11,
              "gen_ai.latency.time_in_model_decode": 0.16,
              "gen_ai.request.id": "cmpl-9"}  # fmt: skip
    (record,) = records(span("llm_request", 2, 210, engine, service_name="vllm"))
    assert record.request_id == "cmpl-9"
    assert record.fields["first_token_from"] == "arrival"
    assert record.fields["queue_time"] == pytest.approx(10.0)
    assert record.fields["latency"] == pytest.approx(200.0)
    assert record.fields["inter_token_time"] == pytest.approx(16.0)


def test_a_client_and_the_engine_it_called_are_one_request() -> None:
    client = span("chat m", 1, 250, {**CHAT, "gen_ai.response.time_to_first_chunk": 0.09})
    engine = span("llm_request", 2, 210, {
        "gen_ai.latency.time_to_first_token": 0.04, "gen_ai.latency.time_in_queue": 0.01,
    }, parent=1)  # fmt: skip
    (record,) = records(client, engine)
    assert record.fields["latency"] == 250.0
    assert record.fields["queue_time"] == pytest.approx(10.0)
    assert (record.fields["first_token_time"], record.fields["first_token_from"]) == (90, "client")


def test_spans_that_are_each_other_s_parents_are_still_one_request() -> None:
    (record,) = records(
        span("chat m", 1, 250, CHAT, parent=2), span("chat m", 2, 200, CHAT, parent=1)
    )
    assert record.request_id == "chatcmpl-1"


def test_odd_values_of_attributes_are_never_a_fault() -> None:
    deep = "[" * 100_000
    assert records(span("chat m", 1, 5, {"gen_ai.operation.name": ["chat"]})) == ()
    (record,) = records(span("chat m", 1, 5, {**CHAT, "gen_ai.input.messages": deep}))
    assert "prompt_text" not in record.fields


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("openai.BadRequestError", RequestOutcome.FAILED),
        ("openai.APITimeoutError", RequestOutcome.TIMED_OUT),
        ("asyncio.CancelledError", RequestOutcome.CANCELLED),
        ("openai.RateLimitError", RequestOutcome.REFUSED),
    ],
)
def test_an_error_says_how_the_request_ended(error: str, outcome: RequestOutcome) -> None:
    (record,) = records(span("chat m", 1, 5, {**CHAT, "error.type": error}, status=2))
    assert (record.outcome, record.outcome_reason) == (outcome, error)
    assert record.fields["error_type"] == error


def test_content_comes_from_the_span_or_from_its_events_of_either_generation() -> None:
    messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}])
    answer = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "hello"}]}])
    said = {**CHAT, "gen_ai.input.messages": messages, "gen_ai.output.messages": answer}
    (record,) = records(span("chat m", 1, 5, said))
    assert (record.fields["prompt_text"], record.fields["output_text"]) == ("hi", "hello")
    assert not any("messages" in name for name in record.attributes)
    events = [
        LogRecord(TRACE, f"{1:016x}", START, "gen_ai.user.message", {"content": "hi"}, {}, {}, ""),
        LogRecord(TRACE, f"{1:016x}", START, "gen_ai.choice",
                  {"index": 0, "message": {"role": "assistant", "content": "hello"}}, {}, {}, ""),
    ]  # fmt: skip
    (record,) = records(span("chat m", 1, 5, CHAT), *events)
    assert (record.fields["prompt_text"], record.fields["output_text"]) == ("hi", "hello")


def test_a_text_that_span_and_event_both_carry_is_read_once() -> None:
    asked = [{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]
    told = [{"role": "assistant", "parts": [{"type": "text", "content": "hi"}]}]
    said = {"gen_ai.input.messages": asked, "gen_ai.output.messages": told}
    written = {name: json.dumps(value) for name, value in said.items()}
    event = LogRecord(
        TRACE, f"{1:016x}", START, "gen_ai.client.inference.operation.details", None, said, {}, ""
    )
    (record,) = records(span("chat m", 1, 9, {**CHAT, **written}), event)
    assert (record.fields["prompt_text"], record.fields["output_text"]) == ("hello", "hi")


def test_spans_of_a_framework_and_of_its_client_are_one_call() -> None:
    framework = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    (record,) = records(
        span("chat", 1, 100, framework),
        span("chat m", 2, 90, {**CHAT, "gen_ai.usage.input_tokens": 120}, parent=1),
        span("chat m", 3, 80, {**CHAT, "gen_ai.usage.output_tokens": 30}, parent=2,
             ml_driver_version="550.90"),
        span("llm_request", 4, 70, {"gen_ai.latency.time_in_queue": 0.02}, parent=3),
        span("fetch", 5, 20, {"ml.stage": "fetch"}, parent=3),
    )  # fmt: skip
    assert (record.request_id, record.fields["latency"]) == ("chatcmpl-1", 100.0)
    assert (record.fields["prompt_tokens"], record.fields["output_tokens"]) == (120, 30)
    assert (record.fields["queue_time"], record.fields["stage.fetch"]) == (20.0, 20.0)
    assert dict(record.resource_tags) == {"driver_version": "550.90"}


def test_calls_of_other_ids_under_a_call_stay_calls_of_their_own() -> None:
    ids = [record.request_id for record in records(
        span("chat", 1, 100, CHAT),
        span("chat", 2, 40, {**CHAT, "gen_ai.response.id": "chatcmpl-2"}, parent=1),
        span("chat", 3, 40, {**CHAT, "gen_ai.response.id": "chatcmpl-3"}, parent=1),
    )]  # fmt: skip
    assert ids == ["chatcmpl-1", "chatcmpl-2", "chatcmpl-3"]


def test_a_first_chunk_of_a_framework_is_not_mixed_with_that_of_its_client() -> None:
    first = {"gen_ai.response.time_to_first_chunk": 0.05}
    (record,) = records(
        span("chat", 1, 100, {**CHAT, **first}),
        span("chat", 2, 90, {**CHAT, "gen_ai.response.time_to_first_chunk": 0.04,
                             "gen_ai.usage.output_tokens": 6}, parent=1),
    )  # fmt: skip
    assert (record.fields["first_token_time"], record.fields["first_token_from"]) == (50, "client")
    assert "inter_token_time" not in record.fields


def test_triton_s_three_spans_are_one_request_with_its_times() -> None:
    def stamp(name: str, ms: float) -> SpanEvent:
        return SpanEvent(name, START + int(ms * MS), {})

    model = {"triton.model_name": "add", "triton.model_version": 2, "triton.request_id": "r-1"}
    pieces = (
        span("InferRequest", 1, 90, scope="triton-server", service_name="t", ml_precision="int8"),
        span("add", 2, 80, model, parent=1, events=(stamp("QUEUE_START", 1),), ml_precision="int8"),
        span("compute", 3, 70, parent=2, scope="triton-server", events=(
            stamp("COMPUTE_START", 5), stamp("COMPUTE_INPUT_END", 6),
            stamp("COMPUTE_OUTPUT_START", 60), stamp("COMPUTE_END", 61),
        )),
    )  # fmt: skip
    (record,) = records(*pieces)
    assert record.models[0] == "add"
    assert record.fields == pytest.approx(
        {"latency": 90, "queue_time": 4, "preprocess_time": 1, "compute_time": 54,
         "postprocess_time": 1}
    )  # fmt: skip
    assert dict(record.request_tags) == {"model_version": "2", "runtime": "triton"}
    assert record.resource_tags["precision"] == "int8"


TRITON_STARTS, TRITON_ENDS = ("REQUEST_START", "QUEUE_START"), ("REQUEST_END",)
TRITON_COMPUTE = ("COMPUTE_START", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START", "COMPUTE_END")


@pytest.mark.parametrize(
    ("around", "own", "compute", "outcome"),
    [
        ("INFER_RESPONSE_COMPLETE", TRITON_ENDS, TRITON_COMPUTE, RequestOutcome.ANSWERED),
        ("INFER_RESPONSE_COMPLETE", TRITON_ENDS, (), RequestOutcome.CACHED),
        ("HTTP_RECV_END", (), (), RequestOutcome.FAILED),
    ],
    ids=["computed", "response cache", "refused by a full queue"],
)
def test_triton_s_spans_have_no_status_and_the_stamps_say_what_they_can(
    around: str, own: tuple[str, ...], compute: tuple[str, ...], outcome: RequestOutcome
) -> None:
    def stamps(*names: str) -> tuple[SpanEvent, ...]:
        return tuple(SpanEvent(name, START + place, {}) for place, name in enumerate(names))

    pieces = [
        span("InferRequest", 1, 90, scope="triton-server", events=stamps(around)),
        span("add", 2, 80, {"triton.model_name": "add"}, parent=1,
             events=stamps(*TRITON_STARTS, *own)),
    ]  # fmt: skip
    if compute:
        pieces.append(span("compute", 3, 70, parent=2, events=stamps(*compute)))
    (record,) = records(*pieces)
    assert record.outcome is outcome
    assert (record.outcome_reason is None) == (outcome is RequestOutcome.ANSWERED)


def test_steps_of_an_ensemble_are_stages_of_its_request() -> None:
    (record,) = records(
        span("all", 1, 90, {"triton.model_name": "all"}),
        span("tokenise", 2, 20, {"triton.model_name": "tokenise"}, parent=1),
        span("rank", 3, 60, {"triton.model_name": "rank"}, parent=1),
    )
    assert record.models[0] == "all"
    assert (record.fields["stage.tokenise"], record.fields["stage.rank"]) == (20, 60)


def test_mlflow_s_attributes_are_json_texts_and_its_root_is_the_request() -> None:
    said = {"mlflow.traceRequestId": '"tr-1"', "mlflow.spanType": '"CHAIN"',
            "mlflow.spanInputs": '{"x": 1}', "mlflow.spanOutputs": '{"y": 2}',
            "mlflow.chat.tokenUsage": '{"input_tokens": 5, "output_tokens": 2}',
            "model_version": '"7"'}  # fmt: skip
    (record,) = records(
        span("answer", 1, 90, said),
        span("look up", 2, 30, {"mlflow.spanType": '"RETRIEVER"'}, parent=1),
    )
    assert record.request_id == "tr-1"
    assert (dict(record.inputs), dict(record.outputs)) == ({"x": 1}, {"y": 2})
    assert (record.fields["prompt_tokens"], record.fields["stage.look up"]) == (5, 30)
    assert dict(record.request_tags) == {"model_version": "7"}


def test_any_program_may_say_its_requests_and_stages_by_attributes_of_ours() -> None:
    said = {"ml.model.name": "rank", "ml.input.age": 41, "ml.feature.city": "Bonn", "ml.score": 0.9,
            "ml.output.late": True, "ml.field.retries": 2, "ml.model.version": "7",
            "ml.outcome": "fell_back", "ml.request.id": "r-1", "user.tier": "gold"}  # fmt: skip
    (record,) = records(
        span("GET /rank", 1, 100, said, ml_driver_version="550.90", k8s_pod_name="p-1"),
        span("search", 2, 40, {"ml.stage": "retrieval"}, parent=1),
        span("search", 3, 40, {"ml.stage": "retrieval"}, parent=1, after=20),
        span("db", 4, 10, {"db.system": "postgres"}, parent=2),
    )
    assert record.request_id == "r-1"
    assert record.outcome is RequestOutcome.FELL_BACK
    assert dict(record.inputs) == {"age": 41, "city": "Bonn"}
    assert dict(record.outputs) == {"late": True, "score": 0.9}
    assert record.fields["stage.retrieval"] == 60.0, "two searches overlap by 20 ms"
    assert (record.fields["retries"], record.fields["replica"]) == (2, "p-1")
    assert dict(record.request_tags) == {"model_version": "7"}
    assert dict(record.resource_tags) == {"driver_version": "550.90"}
    assert record.joins["pod"] == "p-1"
    assert record.attributes["user.tier"] == "gold"


def test_spans_that_are_no_request_are_ignored_and_counted() -> None:
    read = requests_of([span("GET /health", 1, 1, {"http.route": "/health"})])
    assert (read.records, read.ignored) == ((), 1)


def test_trap_13_ids_of_bentoml_are_decimal_in_the_body_and_hex_everywhere_else() -> None:
    body = {"a": 1.5, "pred": 3.5, "truth": 3.0, "timestamp": 1_795_960_264.25,
            "request_id": "11784507800459149643", "trace_id": "24632015926838481",
            "bento_meta": {"bento_name": "Iris", "bento_version": "not available",
                           "schema": {"a": {"role": "feature"}, "pred": {"role": "prediction"},
                                      "truth": {"role": "target"}}}}  # fmt: skip
    found = read_logs([LogRecord("", "", START, "", body, {}, {"service.name": "Iris:c"}, "")])
    (record,) = found.records
    assert record.request_id == "a38afb685330014b"
    assert (dict(record.inputs), dict(record.outputs)) == ({"a": 1.5}, {"pred": 3.5})
    assert record.event_time is not None
    assert record.event_time.timestamp() == 1_795_960_264.25
    assert dict(record.request_tags) == {}
    assert [(label.request_id, label.value) for label in found.labels] == [
        ("a38afb685330014b", 3.0)
    ]


def test_a_call_of_bentoml_that_logs_several_rows_is_several_requests() -> None:
    def log(call: str, a: float) -> LogRecord:
        body = {"a": a, "timestamp": 1_795_960_264.25, "request_id": call, "trace_id": "1",
                "bento_meta": {"schema": {"a": {"role": "feature"}}}}  # fmt: skip
        return LogRecord("", "", START, "", body, {}, {}, "")

    found = read_logs([log("16", 1.0), log("17", 2.0), log("16", 3.0)])
    told = {record.request_id.lstrip("0"): record.inputs["a"] for record in found.records}
    assert told == {"10/0": 1.0, "11": 2.0, "10/1": 3.0}


def test_an_evaluation_is_a_label_of_its_name() -> None:
    said = {"gen_ai.evaluation.name": "relevance", "gen_ai.evaluation.score.value": 0.8,
            "gen_ai.response.id": "chatcmpl-1"}  # fmt: skip
    event = "gen_ai.evaluation.result"
    found = read_logs([LogRecord(TRACE, "1", START, event, None, said, {"service.name": "s"}, "")])
    (label,) = found.labels
    assert (label.request_id, label.label, label.value) == ("chatcmpl-1", "relevance", 0.8)


def test_records_for_a_monitor_that_lack_what_they_need_are_rejected() -> None:
    def log(event: str, said: dict[str, object], body: object = None) -> LogRecord:
        return LogRecord("", "", START, event, body, said, {}, "")

    bento = {"timestamp": 1.0, "request_id": "0x10", "trace_id": "1"}
    found = read_logs(
        [
            log("somebody.elses", {}),
            log("gen_ai.evaluation.result", {"gen_ai.response.id": "r"}),
            log("gen_ai.evaluation.result", {"gen_ai.evaluation.score.value": 1.0}),
            log("gen_ai.client.inference.operation.details", {"gen_ai.output.messages": "[]"}),
            log("", {}, bento),
        ]
    )
    assert (found.ignored, found.records, found.labels, found.content) == (1, [], [], [])
    assert [(each.place, str(each.reason)) for each in found.read().rejections] == [
        (1, "missing_label"), (2, "missing_id"), (3, "missing_id"), (4, "bad_id"),
    ]  # fmt: skip
