"""MLflow, Triton, ONNX Runtime, TensorFlow Serving: traces, profiles and record files."""

from __future__ import annotations

import json
import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from monitor.intake.producer_files.tfrecord import crc32c, framed
from monitor.records import RejectionReason, RequestOutcome
from tests.unit.intake.producer_files.reading import read, write_lines

BOOT = datetime(2026, 11, 29, tzinfo=UTC)


def span(name: str, number: str, parent: str | None, start: int, end: int, **said: Any) -> Any:
    return {
        "trace_id": "q83vEg==", "span_id": number, "parent_span_id": parent, "name": name,
        "start_time_unix_nano": start, "end_time_unix_nano": end,
        "attributes": {key: json.dumps(value) for key, value in said.items()},
    }  # fmt: skip


def trace(**info: Any) -> dict[str, Any]:
    root = span("chain", "a", None, 0, 9_000_000,
                **{"mlflow.spanInputs": {"x": 1}, "mlflow.spanOutputs": 2,
                   "mlflow.spanType": "CHAIN", "model_version": "3"})  # fmt: skip
    steps = [
        span("search", "b", "a", 0, 2_000_000),
        span("answer", "c", "a", 2_000_000, 8_500_000),
        span("inside", "d", "c", 3_000_000, 4_000_000),
    ]
    told = {
        "trace_id": "tr-00ff", "client_request_id": "cr-1",
        "request_time": "2026-11-29T13:59:28.314Z", "state": "OK", "execution_duration_ms": 9,
        "trace_metadata": {
            "mlflow.source.git.commit": "9f1c2ab", "mlflow.modelId": "m-1",
            "mlflow.trace.tokenUsage": '{"input_tokens": 5, "output_tokens": 2}',
        },
        "tags": {"model": "bot", "mlflow.traceName": "chain"},
        **info,
    }  # fmt: skip
    return {"info": told, "data": {"spans": [root, *steps]}}


def test_a_trace_of_mlflow_3_gives_stages_tokens_and_versions(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text(json.dumps(trace(), indent=2))
    whole = read(tmp_path)
    record = whole.one()
    assert whole.names == ["mlflow-trace"]
    assert (record.request_id, record.attributes["client_request_id"]) == ("tr-00ff", "cr-1")
    assert (record.inputs, record.outputs) == ({"x": 1}, {"0": 2})
    assert record.fields == {
        "prompt_tokens": 5, "output_tokens": 2, "latency": 9.0,
        "stage.search": 2.0, "stage.answer": 6.5,
    }  # fmt: skip
    assert record.request_tags == {"code_revision": "9f1c2ab", "model_version": "m-1"}
    assert record.models[0] == "bot"


def test_a_trace_of_mlflow_2_has_other_names_for_the_same(tmp_path: Path) -> None:
    old = {
        "info": {"request_id": "tr-1", "experiment_id": "0", "timestamp_ms": 1_795_960_768_314,
                 "execution_time_ms": 7, "status": "ERROR",
                 "request_metadata": {"mlflow.source.git.commit": ""},
                 "tags": {"mlflow.traceName": "f"}},
        "data": {"spans": [
            {"name": "f", "context": {"trace_id": "0x1", "span_id": "0x2"}, "parent_id": None,
             "start_time": 0, "end_time": 7_000_000, "status_code": "ERROR",
             "attributes": {"mlflow.spanInputs": '{"x": 1}'},
             "events": [{"name": "exception", "attributes": {
                 "exception.type": '"ValueError"', "exception.message": '"secret 4711"'}}]},
        ]},
    }  # fmt: skip
    write_lines(tmp_path / "traces.jsonl", [old])
    record = read(tmp_path).one()
    assert (record.request_id, record.fields["latency"]) == ("tr-1", 7.0)
    assert record.outcome is RequestOutcome.FAILED
    assert record.outcome_reason == "the trace ended with an error: ValueError"
    assert record.request_tags == {}
    assert record.event_time == datetime(2026, 11, 29, 13, 59, 28, 314_000, tzinfo=UTC)


def test_assessments_are_labels_of_their_trace(tmp_path: Path) -> None:
    assessments = [
        {"assessment_name": "helpful", "create_time": "2026-11-30T08:00:00Z",
         "feedback": {"value": True}, "source": {"source_type": "HUMAN", "source_id": "ann"}},
        {"assessment_name": "judge", "create_time": "2026-11-30T08:00:00Z",
         "feedback": {"error": {"error_code": "x"}}, "source": {"source_type": "LLM_JUDGE"}},
    ]  # fmt: skip
    write_lines(tmp_path / "t.jsonl", [trace(assessments=assessments)])
    whole = read(tmp_path)
    label = whole.labels[0]
    assert (label.request_id, label.label, label.value) == ("tr-00ff", "helpful", True)
    assert (label.source, label.event_time) == ("ann", whole.records[0].event_time)
    assert len(whole.labels) == 1
    assert any("assessments without a value" in note for note in whole.notes)


def test_a_trace_in_progress_waits(tmp_path: Path) -> None:
    write_lines(tmp_path / "t.jsonl", [trace(state="IN_PROGRESS")])
    whole = read(tmp_path)
    assert (whole.records, whole.ignored) == ([], 1)


def stamps(number: int, **times: int) -> list[dict[str, Any]]:
    return [{"id": number, "timestamps": [{"name": name, "ns": ns}]} for name, ns in times.items()]


def triton(path: Path) -> Path:
    fragments = [
        *stamps(1, HTTP_RECV_START=60_000_000_000, HTTP_SEND_END=60_010_000_000),
        *stamps(2, REQUEST_START=61_000_000_000),
        {"id": 1, "model_name": "add", "model_version": 2, "request_id": "r-1"},
        *stamps(1, COMPUTE_START=60_003_000_000, QUEUE_START=60_001_000_000),
        {"id": 2, "model_name": "add", "model_version": 2},
        {"id": 1, "activity": "TENSOR_QUEUE_INPUT",
         "tensor": {"name": "x", "data": "1,2", "shape": "1,2", "dtype": "FP32"}},
        *stamps(1, COMPUTE_INPUT_END=60_004_000_000, COMPUTE_OUTPUT_START=60_008_000_000),
        *stamps(2, QUEUE_START=61_000_100_000, REQUEST_END=61_001_000_000),
        *stamps(2, INFER_RESPONSE_COMPLETE=61_000_900_000),
        *stamps(4, REQUEST_START=62_000_000_000, INFER_RESPONSE_COMPLETE=62_000_400_000),
        *stamps(4, QUEUE_START=62_000_100_000, REQUEST_END=62_000_500_000),
        {"id": 3, "model_name": "part", "model_version": 1, "parent_id": 2},
        *stamps(3, REQUEST_START=61_000_200_000, REQUEST_END=61_000_700_000),
    ]  # fmt: skip
    path.write_text(json.dumps(fragments))
    return path


def test_fragments_of_triton_become_requests_with_queue_and_compute(tmp_path: Path) -> None:
    whole = read(triton(tmp_path / "trace.json.0"), clock_start=BOOT)
    assert whole.names == ["triton-trace"]
    first, second, third = whole.records
    assert first.request_id == "r-1"
    assert first.event_time == datetime(2026, 11, 29, 0, 1, tzinfo=UTC)
    assert first.fields == {"queue_time": 2.0, "compute_time": 4.0, "preprocess_time": 1.0,
                            "latency": 10.0}  # fmt: skip
    assert (first.inputs, first.request_tags) == ({"x": [1.0, 2.0]}, {"model_version": "2"})
    assert second.outcome is RequestOutcome.ANSWERED  # an ensemble computes in its steps
    assert second.fields == {"latency": 1.0, "stage.part": 0.5}
    assert third.outcome is RequestOutcome.CACHED
    assert third.fields == {"latency": 0.5}
    assert whole.ignored == 1


def test_a_monotonic_clock_is_no_time_of_day(tmp_path: Path) -> None:
    whole = read(triton(tmp_path / "trace.json.0"))
    assert whole.records == []
    assert {r.reason for r in whole.rejections} == {RejectionReason.MISSING_TIME}
    assert "--clock-start" in whole.rejections[0].message


def event(name: str, start: int, took: int, kind: str = "Session", **args: str) -> dict[str, Any]:
    return {"cat": kind, "pid": 1, "tid": 2, "dur": took, "ts": start, "ph": "X", "name": name,
            "args": args}  # fmt: skip


def profile(path: Path, *, ended: bool) -> Path:
    cuda = {"provider": "CUDAExecutionProvider", "op_name": "MatMul"}
    cpu = {"provider": "CPUExecutionProvider", "op_name": "Mod"}
    events = [
        event("model_loading_uri", 3, 278),
        event("session_initialization", 316, 10_824),
        event("mm_kernel_time", 11_344, 300, "Node", **cuda),
        event("odd_kernel_time", 11_700, 5_000, "Node", **cpu),
        event("model_run", 11_300, 5_800),
        event("mm_kernel_time", 20_000, 20, "Node", **cuda),
        event("model_run", 19_990, 40),
    ]
    text = "[\n" + ",\n".join(json.dumps(each) for each in events)
    path.write_text(text + ("\n]\n" if ended else ",\n"))
    return path


def test_a_silent_fall_back_to_the_cpu_shows_in_a_profile(tmp_path: Path) -> None:
    path = profile(tmp_path / "prof_2026-11-29_14-00-00_250.json", ended=True)
    whole = read(path, zone="+01:00")
    first, second = whole.records
    assert whole.names == ["onnxruntime-profile"]
    assert first.fields == {
        "compute_time": 5.8, "cold_start": True, "load_time": 11.102,
        "stage.CUDAExecutionProvider": 0.3, "stage.CPUExecutionProvider": 5.0,
    }  # fmt: skip
    assert first.attributes["onnxruntime.operators_on_cpu"] == "Mod"
    assert first.resource_tags["runtime_backend"] == "CPUExecutionProvider+CUDAExecutionProvider"
    assert second.fields["cold_start"] is False
    assert second.resource_tags["runtime_backend"] == "CUDAExecutionProvider"
    assert first.event_time == datetime(2026, 11, 29, 13, 0, 0, 261_300, tzinfo=UTC)
    assert first.models == ()


def test_a_profile_that_was_not_ended_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = read(profile(tmp_path / "renamed.json", ended=False), clock_start=BOOT)
    assert len(whole.records) == 2
    assert any("was not ended" in note for note in whole.notes)


def key(number: int, kind: int) -> bytes:
    return bytes([number << 3 | kind])


def part(number: int, data: bytes) -> bytes:
    """A field of bytes of less than 128."""
    return key(number, 2) + bytes([len(data)]) + data


def tensor(*values: float, dims: tuple[int, ...] = (2,)) -> bytes:
    shape = b"".join(part(2, key(1, 0) + bytes([size])) for size in dims)
    packed = struct.pack(f"<{len(values)}f", *values)
    return key(1, 0) + b"\x01" + part(2, shape) + part(5, packed)


def prediction_log(*, seconds: int = 1_795_960_706, share: float | None = 0.1) -> bytes:
    spec = part(1, b"iris") + part(2, key(1, 0) + b"\x07") + part(3, b"serving_default")
    about = part(1, spec)
    if share is not None:
        about += part(2, key(1, 1) + struct.pack("<d", share))
    varint = b""
    while seconds:
        varint += bytes([seconds & 0x7F | (0x80 if seconds > 0x7F else 0)])
        seconds >>= 7
    about += key(4, 0) + varint if varint else b""
    asked = part(2, part(1, b"x") + part(2, tensor(1.0, 2.0)))
    answer = part(1, part(1, b"y") + part(2, tensor(0.25, 0.75)))
    return part(1, about) + part(6, part(1, asked) + part(2, answer))


def test_the_checksum_is_that_of_its_standard() -> None:
    assert crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, appendix B.4
    assert crc32c(bytes([0xFF]) * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


def test_a_prediction_log_gives_rows_version_and_the_share_that_is_logged(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(framed(prediction_log()) + framed(prediction_log()))
    whole = read(tmp_path)
    assert whole.names == ["tensorflow-serving-log"]
    first = whole.records[0]
    assert [(r.inputs["x"], r.outputs["y"]) for r in whole.records[:2]] == [
        (1.0, 0.25),
        (2.0, 0.75),
    ]
    assert first.request_tags == {"model_version": "7"}
    assert first.fields["sampling_rate"] == 0.1
    assert first.event_time == datetime(2026, 11, 29, 13, 58, 26, tzinfo=UTC)
    assert first.models == ("iris",)
    assert len({r.request_id for r in whole.records}) == 4


def test_a_wrong_sum_is_refused_and_a_short_tail_keeps_what_came_before(tmp_path: Path) -> None:
    good = framed(prediction_log())
    bad = bytearray(good)
    bad[20] ^= 1
    (tmp_path / "log").write_bytes(good + bytes(bad) + good + good[:-7])
    whole = read(tmp_path)
    assert len(whole.records) == 4
    assert [(r.place, r.message) for r in whole.rejections] == [
        (1, "the checksum of a record is wrong"),
        (3, "the file ends inside a record"),
    ]


def test_a_log_without_a_time_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(framed(prediction_log(seconds=0)))
    assert read(tmp_path).rejections[0].reason is RejectionReason.MISSING_TIME


@pytest.mark.parametrize("cut", range(1, 100, 7))
def test_bytes_that_are_no_message_are_refused_and_never_raise(tmp_path: Path, cut: int) -> None:
    whole_log = prediction_log()
    (tmp_path / "log").write_bytes(framed(whole_log) + framed(whole_log[:cut]))
    whole = read(tmp_path)
    assert len(whole.records) + len(whole.rejections) + whole.ignored >= 3
