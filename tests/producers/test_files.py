"""Files that real producers write here and now, through `inferwatch import`'s readers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.intake.producer_record import ProducerRecord
from monitor.records import RejectionReason, RequestOutcome
from tests.producers.captures import capture
from tests.producers.running import PROGRAMS, free_port, python_library_folder, running
from tests.producers.venvs import producer_python, producer_venv, weekly
from tests.unit.intake.producer_files.reading import read

pytestmark = pytest.mark.producer
SLACK = timedelta(minutes=10)
PROFILE = """
import sys
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["b", 2]) for n in "xy")
node = helper.make_node("Relu", ["x"], ["y"], name="relu")
model = helper.make_model(helper.make_graph([node], "g", [x], [y]),
                          opset_imports=[helper.make_opsetid("", 17)])
model.ir_version = 9
options = onnxruntime.SessionOptions()
options.enable_profiling = True
options.profile_file_prefix = sys.argv[1]
session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                       providers=["CPUExecutionProvider"])
for _ in range(3):
    session.run(None, {"x": np.ones((1, 2), np.float32)})
print(session.end_profiling())
print(session.get_profiling_start_time_ns())
"""


def ran(*command: str | Path, **environment: str) -> str:
    """What a program printed; its mistakes otherwise."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def is_now(record: ProducerRecord) -> bool:
    """Whether the event time is the moment at which the test runs."""
    at = record.event_time
    return at is not None and abs(datetime.now(UTC) - at) < SLACK


def test_a_profile_of_onnx_runtime(tmp_path: Path) -> None:
    """The zone of the name is the writer's: another one moves the start, and only the start."""
    told = ran(sys.executable, "-c", PROFILE, str(tmp_path / "prof"), TZ="Asia/Tokyo")
    name, nanoseconds = told.split()
    whole = read(Path(name), zone="Asia/Tokyo")
    assert whole.names == ["onnxruntime-profile"]
    assert [r.fields["cold_start"] for r in whole.records] == [True, False, False]
    first = whole.records[0]
    assert first.resource_tags["runtime_backend"] == "CPUExecutionProvider"
    assert first.fields["load_time"] > 0
    assert 0 < first.fields["stage.CPUExecutionProvider"] <= first.fields["compute_time"]
    assert first.event_time is not None
    since = first.event_time.timestamp() - int(nanoseconds) / 1e9
    assert -0.1 < since < 60  # the name is made a moment before the clock begins


def test_the_file_monitor_of_bentoml(tmp_path: Path) -> None:
    """Roles from the schema file; ids as the caller sees them in the response's header."""
    port, logs = free_port(), tmp_path / "monitoring"
    command = [str(producer_venv("bentoml") / "bin/bentoml"), "serve", "bentoml_service:Credit"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--working-dir", str(PROGRAMS)]
    address = f"http://127.0.0.1:{port}"
    environment = {"MONITOR_LOGS": str(logs), "BENTOML_DO_NOT_TRACK": "true",
                   "BENTOML_HOME": str(tmp_path / "home"), "TZ": "Asia/Tokyo"}  # fmt: skip
    seen = []
    with running(command, f"{address}/readyz", tmp_path / "log", environment):
        for age in (41, 55):
            call = urllib.request.Request(
                f"{address}/classify",
                json.dumps({"age": age}).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(call, timeout=20) as answer:
                seen.append(answer.headers["x-bentoml-request-id"])
    refused = read(logs)
    assert {r.reason for r in refused.rejections} == {RejectionReason.TIME_WITHOUT_ZONE}
    whole = read(logs, zone="Asia/Tokyo")
    assert whole.names == ["bentoml"]
    assert [r.request_id for r in whole.records] == seen
    assert [(r.inputs, r.outputs) for r in whole.records] == [
        ({"age": 41.0}, {"score": 0.41}),
        ({"age": 55.0}, {"score": 0.55}),
    ]
    assert all(is_now(record) for record in whole.records)
    assert {r.models for r in whole.records} == {("Credit", "credit_files")}
    assert {tuple(r.request_tags) for r in whole.records} == {()}


def test_trace_files_of_triton(tmp_path: Path) -> None:
    """Queue and compute by request; an answer from its cache is told apart; times of day."""
    port, metrics = free_port(), free_port()
    command = [producer_python("triton"), str(PROGRAMS / "traced_triton.py"), str(port),
               str(metrics), str(tmp_path / "trace.json")]  # fmt: skip
    address = f"http://127.0.0.1:{port}/v2/models/sum"
    tensor = {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1.5, 2]}
    with running(
        command, f"{address}/ready", tmp_path / "log", {"LD_LIBRARY_PATH": python_library_folder()}
    ):
        for name in ("first", "again"):
            body = json.dumps({"id": name, "inputs": [tensor]}).encode()
            with urllib.request.urlopen(f"{address}/infer", body, timeout=20) as answer:
                assert json.load(answer)["outputs"][0]["data"] == [3.5]
        ends = time.monotonic() + 10
        while len(list(tmp_path.glob("trace.json.*"))) < 2 and time.monotonic() < ends:
            time.sleep(0.05)
    boot = datetime.fromtimestamp(time.time() - time.monotonic(), UTC)
    (tmp_path / "log").unlink()
    whole = read(tmp_path, clock_start=boot)
    assert whole.names == ["triton-trace"]
    first, again = sorted(whole.records, key=lambda record: record.outcome)
    assert (first.request_id, again.request_id) == ("first", "again")
    assert (first.outcome, again.outcome) == (RequestOutcome.ANSWERED, RequestOutcome.CACHED)
    assert first.fields["latency"] > first.fields["compute_time"] >= 20
    assert first.fields["queue_time"] > 0
    assert "compute_time" not in again.fields
    assert again.fields["latency"] < first.fields["latency"]
    assert {tuple(r.request_tags.items()) for r in whole.records} == {(("model_version", "3"),)}
    assert (again.inputs, again.outputs) == ({"x": [1.5, 2.0]}, {"y": 3.5})
    assert all(is_now(record) for record in whole.records)


@weekly
@pytest.mark.parametrize("generation", ["mlflow_2", "mlflow_3"])
def test_traces_of_two_generations_of_mlflow(tmp_path: Path, generation: str) -> None:
    ran(producer_python(generation), PROGRAMS / "mlflow_traces.py", tmp_path,
        tmp_path / "traces.jsonl", MLFLOW_ALLOW_FILE_STORE="true")  # fmt: skip
    check_mlflow(tmp_path / "traces.jsonl", is_now)


def check_mlflow(path: Path, in_time: Callable[[ProducerRecord], bool]) -> None:
    """What the program's two traces say, whichever generation wrote them."""
    whole = read(path)
    assert whole.names == ["mlflow-trace"]
    failed, answered = sorted(whole.records, key=lambda record: record.outcome, reverse=True)
    assert failed.outcome is RequestOutcome.FAILED
    assert failed.outcome_reason == "the trace ended with an error: ValueError"
    assert (failed.inputs, answered.inputs) == ({"x": -1}, {"x": 1})
    assert answered.outputs == {"0": 2}
    assert answered.models[0] == "credit"
    assert answered.request_tags["model_version"] == "3"
    assert 20 <= answered.fields["stage.search"] <= answered.fields["latency"] + 1
    assert all(in_time(record) for record in whole.records)


@weekly
def test_prediction_logs_by_the_real_messages_of_tensorflow_serving(tmp_path: Path) -> None:
    python = producer_python("tensorflow_serving_messages")
    ran(python, PROGRAMS / "prediction_log.py", tmp_path / "log.tfrecord")
    check_prediction_logs(tmp_path / "log.tfrecord")


def check_prediction_logs(path: Path) -> None:
    """What the program's three logs say."""
    whole = read(path)
    assert whole.names == ["tensorflow-serving-log"]
    told: list[tuple[Any, Any]] = [(r.inputs, r.outputs) for r in whole.records]
    assert told == [
        ({"age": 41, "city": "Bonn"}, {"score": 0.25}),
        ({"age": -1, "city": "Ulm"}, {"score": 0.75}),
        ({"age": 41.0}, {"label": "yes", "scores": {"no": 0.25, "yes": 0.75}}),
        ({"age": 41}, {"value": 0.5}),
    ]
    for record in whole.records:
        assert record.models == ("credit",)
        assert record.request_tags == {"model_version": "7"}
        assert record.fields["sampling_rate"] == 0.1
        assert record.event_time == datetime(2024, 5, 1, 10, tzinfo=UTC)


def test_captures_under_names_that_say_nothing_are_recognised_by_content(tmp_path: Path) -> None:
    """Bytes of real producers under names that say nothing."""
    named = {
        "bentoml/iris_cls/data/data.1.log": "bentoml",
        "onnxruntime-profile.json": "onnxruntime-profile",
        "triton-trace.json": "triton-trace",
        "torchserve-logs/access_log.log": "torchserve",
        "torchserve-logs/model_metrics.log": "torchserve",
        "torchserve-logs/ts_metrics.log": "torchserve",
        "tfserving-predictionlog.tfrecord": "tensorflow-serving-log",
    }
    for number, (name, form) in enumerate(named.items()):
        copy = tmp_path / f"{number}"
        shutil.copyfile(capture(name), copy)
        assert read(copy, zone="UTC").names == [form], name


def test_the_capture_of_a_triton_trace_gives_queue_and_compute() -> None:
    boot = datetime(2026, 11, 29, 13, tzinfo=UTC)
    record = read(capture("triton-trace.json"), clock_start=boot).one()
    assert record.request_tags == {"model_version": "2"}
    assert record.fields["queue_time"] == pytest.approx(0.653726)
    assert record.fields["compute_time"] == pytest.approx(89.751930)
    assert record.fields["latency"] == pytest.approx(91.831805)
    assert (record.inputs, record.outputs) == ({"x": [1.0, 2.0]}, {"y": 3.0})


def test_the_captures_of_torchserve_give_failed_requests_and_versions_of_the_url() -> None:
    records = read(capture("torchserve-logs"), zone="UTC").records
    assert [(r.outcome, r.fields["latency"], r.request_tags) for r in records] == [
        (RequestOutcome.ANSWERED, 94.0, {}),
        (RequestOutcome.FAILED, 50.0, {"model_version": "1.2"}),
    ]


WRITTEN = Path(__file__).parents[1] / "data/producers"


@pytest.mark.parametrize("generation", [2, 3])
def test_kept_traces_of_two_generations_of_mlflow(generation: int) -> None:
    check_mlflow(WRITTEN / f"mlflow/traces_{generation}.jsonl", lambda record: bool(record.models))


def test_kept_prediction_logs_by_the_real_messages() -> None:
    check_prediction_logs(WRITTEN / "tensorflow_serving/log.tfrecord")


def test_kept_files_of_bentoml_s_monitor() -> None:
    whole = read(WRITTEN / "bentoml", zone="UTC")
    record = whole.one()
    assert record.request_id == "34c8bf90731b0537"
    assert (record.inputs, record.outputs) == ({"age": 41.0}, {"score": 0.41})
    assert record.event_time == datetime(2026, 12, 1, 1, 44, 56, 307221, tzinfo=UTC)
