"""SageMaker's captures and ground truths; how they meet by inferenceId or eventId."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from monitor.intake.producer_files.base import PAYLOAD_MISSING
from monitor.intake.producer_files.registry import FILE_FORMATS
from monitor.records import RejectionReason
from tests.unit.intake.producer_files.reading import read, write_lines

PATH = "capture/churn/blue/2026/11/29/10/part.jsonl"


def half(data: str, mode: str, kind: str = "text/csv", encoding: str = "CSV") -> dict[str, str]:
    return {"observedContentType": kind, "mode": mode, "data": data, "encoding": encoding}


def capture(asked: str, answer: str | None, **about: str) -> dict[str, Any]:
    held = {"endpointInput": half(asked, "INPUT")}
    if answer is not None:
        held["endpointOutput"] = half(answer, "OUTPUT", "text/csv; charset=utf-8")
    told = {"eventId": "e-1", "inferenceTime": "2026-11-29T10:00:00Z", **about}
    return {"captureData": held, "eventMetadata": told, "eventVersion": "0"}


def truth(data: str, **about: str) -> dict[str, Any]:
    return {
        "groundTruthData": {"data": data, "encoding": "CSV"},
        "eventMetadata": about,
        "eventVersion": "0",
    }


def test_both_halves_stand_in_one_line_and_the_variant_in_the_path(tmp_path: Path) -> None:
    write_lines(tmp_path / PATH, [capture("0.2,b", "0.91", inferenceId="order-77")])
    whole = read(tmp_path)
    record = whole.one()
    assert whole.names == ["sagemaker-capture"]
    assert (record.request_id, record.models) == ("order-77", ("churn",))
    assert record.event_time == datetime(2026, 11, 29, 10, tzinfo=UTC)
    assert (record.inputs, record.outputs) == ({"0": "0.2", "1": "b"}, {"0": "0.91"})
    assert record.fields == {"variant": "blue"}
    assert record.joins == {"endpoint": "churn", "variant": "blue"}
    assert record.request_tags == {}


def test_many_lines_of_one_event_are_many_requests(tmp_path: Path) -> None:
    write_lines(tmp_path / "x.jsonl", [capture("1,2\n3,4\n", "0.1\n0.2\n")])
    records = read(tmp_path).records
    assert [(r.request_id, r.outputs["0"]) for r in records] == [("e-1/0", "0.1"), ("e-1/1", "0.2")]
    assert records[0].fields["batch_size"] == 2


def test_rows_that_can_t_be_paired_are_refused_with_their_place(tmp_path: Path) -> None:
    write_lines(tmp_path / "x.jsonl", [capture("1,2", "0.1"), capture("1,2\n3,4", "0.1")])
    whole = read(tmp_path)
    assert len(whole.records) == 1
    assert [(r.place, r.request_id) for r in whole.rejections] == [(1, "e-1")]
    assert "2 rows, its answer 1" in whole.rejections[0].message


def test_base64_of_json_is_read_and_of_pictures_refused(tmp_path: Path) -> None:
    packed = base64.b64encode(json.dumps({"instances": [{"age": 4}]}).encode()).decode()
    entry = capture("", "0.5")
    entry["captureData"]["endpointInput"] = half(packed, "INPUT", "application/json", "BASE64")
    picture = capture("", "0.5")
    picture["captureData"]["endpointInput"] = half("/9j/", "INPUT", "image/jpeg", "BASE64")
    write_lines(tmp_path / "x.jsonl", [entry, picture])
    whole = read(tmp_path)
    assert whole.one().inputs == {"age": 4}
    assert "image/jpeg" in whole.rejections[0].message


def test_a_half_that_was_not_captured_is_told_and_never_filled(tmp_path: Path) -> None:
    write_lines(tmp_path / "x.jsonl", [capture("1,2", None)])
    whole = read(tmp_path)
    assert whole.one().outputs == {}
    assert "endpointOutput" in whole.one().attributes[PAYLOAD_MISSING]
    assert any("endpointOutput" in note for note in whole.notes)


@pytest.mark.parametrize(
    "about", [{"eventId": "order-77"}, {"eventId": "other", "inferenceId": "order-77"}]
)
def test_a_ground_truth_names_the_inference_in_either_of_two_places(
    tmp_path: Path, about: dict[str, str]
) -> None:
    write_lines(tmp_path / "truth/2026/11/30/07/gt.jsonl", [truth("1", **about)])
    whole = read(tmp_path)
    assert whole.names == ["sagemaker-ground-truth"]
    label = whole.labels[0]
    assert (label.request_id, label.value) == ("order-77", "1")
    assert label.event_time is None


def test_the_folder_s_hour_is_when_the_label_was_collected_and_its_end_is_taken(
    tmp_path: Path,
) -> None:
    write_lines(tmp_path / "2026/11/30/07/gt.jsonl", [truth("1", eventId="a")])
    write_lines(tmp_path / "2026/12/01/12/gt.jsonl", [truth("1", eventId="b")])
    observed = {label.request_id: label.observed_at for label in read(tmp_path).labels}
    assert observed["a"] == datetime(2026, 11, 30, 8, tzinfo=UTC)
    assert observed["b"] == datetime(2026, 12, 1, 12, tzinfo=UTC)  # not later than now


def test_a_ground_truth_outside_such_a_folder_is_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "gt.jsonl", [truth("1", eventId="a")])
    refused = read(tmp_path).rejections[0]
    assert refused.reason is RejectionReason.MISSING_TIME
    assert "yyyy/mm/dd/hh" in refused.message


def test_labels_of_a_batch_meet_its_rows(tmp_path: Path) -> None:
    write_lines(tmp_path / "2026/11/30/07/gt.jsonl", [truth("1\n0\n", eventId="e-1")])
    assert [label.request_id for label in read(tmp_path).labels] == ["e-1/0", "e-1/1"]


def test_what_the_format_can_t_give_is_said() -> None:
    assert "latency" in FILE_FORMATS["sagemaker-capture"].lacks
    assert FILE_FORMATS["sagemaker-capture"].share_unknown
