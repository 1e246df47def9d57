"""BentoML, TorchServe, KServe's blobs: logs of servers, some without zone, id or answer."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from monitor.intake.producer_files.local_clock import LocalClock
from monitor.records import RejectionReason, RequestOutcome
from tests.unit.intake.producer_files.reading import read, write_lines

SCHEMA = {
    "meta_data": {"bento_name": "Iris", "bento_version": "not available"},
    "columns": [
        {"name": "a", "role": "feature", "type": "numerical"},
        {"name": "pred", "role": "prediction", "type": "numerical"},
        {"name": "truth", "role": "target", "type": "numerical"},
    ],
}


def bento(timestamp: str = "2026-07-01T13:47:26.745591", **more: Any) -> dict[str, Any]:
    return {
        "a": 1.5, "pred": 3.5, "timestamp": timestamp, "request_id": "11784507800459149643",
        "trace_id": "183913943632551244680513133479556443417", **more,
    }  # fmt: skip


def bento_folder(folder: Path, *lines: dict[str, Any], schema: Any = SCHEMA) -> Path:
    if schema is not None:
        write_lines(folder / "iris/schema/schema.1.log", [schema])
    write_lines(folder / "iris/data/data.1.log", list(lines))
    return folder


def test_roles_come_from_the_schema_file_beside_the_data(tmp_path: Path) -> None:
    bento_folder(tmp_path, bento(truth=4.0))
    for path in (tmp_path, tmp_path / "iris/data/data.1.log"):
        whole = read(path, zone="UTC")
        record = whole.one()
        assert whole.names == ["bentoml"]
        assert (record.inputs, record.outputs) == ({"a": 1.5}, {"pred": 3.5})
        assert record.models == ("Iris", "iris")
        assert record.request_id == "a38afb685330014b"
        assert record.attributes["trace_id"] == "8a5c8980e868be08aa7260c92c726d19"
        assert record.request_tags == {}  # `not available` is no version
        assert [(label.request_id, label.value) for label in whole.labels] == [
            ("a38afb685330014b", 4.0)
        ]


def test_without_a_schema_columns_are_matched_by_name_and_that_is_told(tmp_path: Path) -> None:
    bento_folder(tmp_path, bento(), schema=None)
    whole = read(tmp_path, zone="UTC")
    assert whole.one().attributes["pred"] == 3.5
    assert any("no schema file" in note for note in whole.notes)


def test_trap_12_local_times_without_a_zone_are_read_only_by_a_clock_that_is_named(
    tmp_path: Path,
) -> None:
    bento_folder(
        tmp_path,
        bento(),
        bento("2026-12-01T09:00:00"),
        bento("2026-10-25T02:30:00"),  # Berlin's clocks showed this twice
        bento("2026-03-29T02:30:00"),  # and this never
    )
    refused = read(tmp_path)
    assert refused.records == []
    assert {r.reason for r in refused.rejections} == {RejectionReason.TIME_WITHOUT_ZONE}
    assert "--time-zone" in refused.rejections[0].message
    berlin = read(tmp_path, zone="Europe/Berlin")
    assert [r.event_time for r in berlin.records] == [
        datetime(2026, 7, 1, 11, 47, 26, 745591, tzinfo=UTC),
        datetime(2026, 12, 1, 8, tzinfo=UTC),
    ]
    assert [(r.place, r.reason) for r in berlin.rejections] == [
        (2, RejectionReason.BAD_TIME),
        (3, RejectionReason.BAD_TIME),
    ]
    assert "twice" in berlin.rejections[0].message
    assert "never" in berlin.rejections[1].message
    assert len(read(tmp_path, zone="+01:00").records) == 4


@pytest.mark.parametrize("text", ["Berlin", "../../etc/passwd", "+25:00", "02:00", ""])
def test_a_zone_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        LocalClock.of(text)


ACCESS = """\
2026-11-29T13:56:35,284 - /127.0.0.1:60224 "GET /ping HTTP/1.1" 200 116
2026-11-29T13:56:39,482 - /127.0.0.1:60232 "POST /predictions/add HTTP/1.1" 200 94
2026-11-29T13:56:39,726 - /127.0.0.1:60236 "POST /predictions/add/1.2 HTTP/1.1" 503 50
2026-11-29T13:56:40,726 - /127.0.0.1:60236 "POST /v1/models/add:predict HTTP/1.1" 200 7
"""
MODEL_METRICS = """\
2026-11-29T13:56:39,492 - HandlerTime.ms:0.25|#ModelName:add,Level:Model|#hostname:vm,requestID:c-1,timestamp:1795960599
2026-11-29T13:56:39,493 - PredictionTime.ms:0.31|#ModelName:add,Level:Model|#hostname:vm,requestID:c-1,timestamp:1795960599
x [METRICS]PredictionTime.Milliseconds:0.2|#ModelName:old,Level:Model|#type:GAUGE|#hostname:vm,1795960576,d-2
"""  # noqa: E501 - lines as the server writes them
SERVER = """\
2026-11-29T13:56:39,502 - ts_inference_latency_microseconds.Microseconds:77543.6|#model_name:add,model_version:default|#hostname:vm,timestamp:1795960599
"""  # noqa: E501 - a line as the server writes it


def test_trap_06_a_version_shows_only_where_the_caller_asked_for_one_by_url(
    tmp_path: Path,
) -> None:
    (tmp_path / "access_log.log").write_text(ACCESS)
    (tmp_path / "ts_metrics.log").write_text(SERVER)
    tags = [record.request_tags for record in read(tmp_path, zone="UTC").records]
    assert tags == [{}, {"model_version": "1.2"}, {}]


def test_trap_06_the_version_of_a_v2_answer_is_the_one_the_url_did_not_show(
    tmp_path: Path,
) -> None:
    told = {"name": "y", "shape": [1, 1], "datatype": "FP32", "data": [3.0]}
    answer = {"model_name": "iris", "model_version": "v7", "outputs": [told]}
    asked = {"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}]}
    write_lines(tmp_path / "a.json", [blob("request", asked), blob("response", answer)])
    record = read(tmp_path).one()
    assert record.request_tags == {"model_version": "v7"}
    assert (record.inputs, record.outputs) == ({"x": [1, 2]}, {"y": 3.0})


def test_the_access_log_alone_holds_failed_requests(tmp_path: Path) -> None:
    (tmp_path / "access_log.log").write_text(ACCESS)
    whole = read(tmp_path, zone="UTC")
    assert whole.names == ["torchserve"]
    told = [(r.models[0], r.outcome, r.fields["latency"]) for r in whole.records]
    assert told == [
        ("add", RequestOutcome.ANSWERED, 94.0),
        ("add", RequestOutcome.FAILED, 50.0),
        ("add", RequestOutcome.ANSWERED, 7.0),
    ]
    assert whole.ignored == 1


def test_a_request_that_stands_in_two_logs_is_stored_once(tmp_path: Path) -> None:
    (tmp_path / "access_log.log").write_text(ACCESS)
    (tmp_path / "model_metrics.log").write_text(MODEL_METRICS)
    whole = read(tmp_path, zone="UTC")
    assert len(whole.records) == 3
    assert any("under no common key" in note for note in whole.notes)
    alone = read(tmp_path / "model_metrics.log")
    assert [(r.request_id, r.models) for r in alone.records] == [
        ("c-1", ("add",)), ("d-2", ("old",))]  # fmt: skip
    first = alone.records[0]
    assert first.fields == {"replica": "vm", "stage.handler": 0.25, "compute_time": 0.31}
    assert first.event_time == datetime(2026, 11, 29, 13, 56, 39, tzinfo=UTC)


def test_lines_of_the_access_log_get_the_same_ids_again(tmp_path: Path) -> None:
    line = ACCESS.splitlines(keepends=True)[1]
    (tmp_path / "access_log.log").write_text(line + line)
    names = [r.request_id for r in read(tmp_path, zone="UTC").records]
    assert len(set(names)) == 2
    assert names == [r.request_id for r in read(tmp_path, zone="UTC").records]


def blob(side: str, body: Any, name: str = "11-22", **more: Any) -> dict[str, Any]:
    return {
        "url": "http://x", "bytes": base64.b64encode(json.dumps(body).encode()).decode(),
        "contentType": "application/json", "id": name, "sourceUri": "http://localhost:9081/",
        "reqType": f"org.kubeflow.serving.inference.{side}", "inferenceService": "fraud",
        "namespace": "prod", "component": "predictor", "endpoint": "default",
        "annotations": json.dumps({"model-version": "7"}), "metadata": "{}",
        "occurrenceTime": "2026-11-29T10:00:00.123Z", **more,
    }  # fmt: skip


def test_kserve_s_files_are_paired_by_source_and_id(tmp_path: Path) -> None:
    write_lines(tmp_path / "11-22-request.json", [blob("request", {"instances": [[1, 2]]})])
    (tmp_path / "batch.json").write_text(
        json.dumps([blob("response", {"predictions": [3]}),
                    blob("request", {"instances": [[5, 6]]}, "lost")], indent=1)
    )  # fmt: skip
    whole = read(tmp_path)
    assert whole.names == ["kserve-files"]
    by_id = {record.request_id: record for record in whole.records}
    good, lost = by_id["11-22"], by_id["lost"]
    assert (good.inputs, good.outputs) == ({"0": 1, "1": 2}, {"0": 3})
    assert (good.request_tags, good.resource_tags) == ({}, {"model_version": "7"})
    assert "latency" not in good.fields
    assert good.joins["ce_source"] == "http://localhost:9081/"
    assert lost.outcome is RequestOutcome.FAILED
    assert "no response" in (lost.outcome_reason or "")


def test_blobs_without_a_time_are_refused_with_what_to_do(tmp_path: Path) -> None:
    line = blob("request", {"instances": [[1]]})
    del line["occurrenceTime"]
    write_lines(tmp_path / "a.json", [line])
    refused = read(tmp_path).rejections[0]
    assert refused.reason is RejectionReason.MISSING_TIME
    assert "log as json" in refused.message
