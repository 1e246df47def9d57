"""Azure's collector files: two entries of one request, data elsewhere, placeholders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from monitor.errors import RequestRefused
from monitor.intake.producer_files import halves
from monitor.intake.producer_files.base import PAYLOAD_MISSING
from monitor.records import RequestOutcome
from tests.unit.intake.producer_files.reading import read, write_lines

SOURCE = "/subscriptions/s/x/onlineEndpoints/churn/deployments/blue"


def entry(side: str, correlation: str, data: Any, **more: Any) -> dict[str, Any]:
    return {
        "specversion": "1.0", "id": f"{side}-{correlation}", "source": SOURCE,
        "type": f"azureml.inference.{side}", "datacontenttype": "application/json",
        "time": "2026-11-29T10:00:00Z", "data": data, "correlationid": correlation,
        "modelversion": "default", "agent": "azureml-ai-monitoring/1.0.0",
        "contentrange": "bytes 0-116/117", **more,
    }  # fmt: skip


def test_inputs_and_outputs_of_two_files_meet_by_correlation(tmp_path: Path) -> None:
    write_lines(tmp_path / "model_inputs/a.jsonl", [entry("model_inputs", "c", [{"x": 1}])])
    write_lines(tmp_path / "model_outputs/a.jsonl", [entry("model_outputs", "c", [{"y": 0.4}])])
    whole = read(tmp_path)
    record = whole.one()
    assert whole.names == ["azure-data-collector"]
    assert (record.request_id, record.inputs, record.outputs) == ("c", {"x": 1}, {"y": 0.4})
    assert record.models == ("churn", "blue")
    assert record.fields == {"variant": "blue"}
    assert record.outcome is RequestOutcome.ANSWERED


def test_a_placeholder_is_no_version_and_a_version_is_one(tmp_path: Path) -> None:
    lines = [
        entry("model_inputs_outputs", "a", [{"x": 1}]),
        entry("model_inputs_outputs", "b", [{"x": 1}], modelversion="7"),
    ]
    write_lines(tmp_path / "a.jsonl", lines)
    tags = [record.request_tags for record in read(tmp_path).records]
    assert tags == [{}, {"model_version": "7"}]


def test_rows_of_one_correlation_are_requests_of_their_own(tmp_path: Path) -> None:
    lines = [
        entry("model_inputs", "c", [{"x": 1}, {"x": 2}]),
        entry("model_outputs", "c", [{"y": 3}, {"y": 4}]),
    ]
    write_lines(tmp_path / "a.jsonl", lines)
    told = [(r.request_id, r.inputs["x"], r.outputs["y"]) for r in read(tmp_path).records]
    assert told == [("c/0", 1, 3), ("c/1", 2, 4)]


def test_inputs_without_outputs_are_a_failed_request_where_outputs_are_collected(
    tmp_path: Path,
) -> None:
    lines = [
        entry("model_inputs", "a", [{"x": 1}]),
        entry("model_outputs", "a", [{"y": 1}]),
        entry("model_inputs", "b", [{"x": 2}]),
    ]
    write_lines(tmp_path / "a.jsonl", lines)
    whole = read(tmp_path)
    lost = next(r for r in whole.records if r.request_id == "b")
    assert lost.outcome is RequestOutcome.FAILED
    assert "model_outputs" in (lost.outcome_reason or "")


def test_inputs_alone_say_nothing_of_how_requests_ended(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [entry("model_inputs", "b", [{"x": 2}])])
    whole = read(tmp_path)
    assert whole.one().outcome is RequestOutcome.ANSWERED
    assert any("how requests ended is not known" in note for note in whole.notes)


def test_data_above_the_limit_is_read_from_its_own_file(tmp_path: Path) -> None:
    raw = tmp_path / "raw/2026/big.json"
    raw.parent.mkdir(parents=True)
    raw.write_text(json.dumps([{"x": 5}]))
    reference = "azureml://store/paths/collector/raw/2026/big.json"
    line = entry("model_inputs_outputs", "c", None, dataref=reference)
    write_lines(tmp_path / "a.jsonl", [line])
    assert read(tmp_path).one().inputs == {"x": 5}


def test_a_reference_never_leads_out_of_the_imported_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text(json.dumps([{"x": 5}]))
    inside = tmp_path / "in"
    for number, name in enumerate(("../secret.json", "secret.json", f"{tmp_path}/secret.json")):
        line = entry("model_inputs_outputs", str(number), None, dataref=name)
        write_lines(inside / f"{number}.jsonl", [line])
    whole = read(inside)
    assert [record.inputs for record in whole.records] == [{}, {}, {}]
    assert all("dataref" in r.attributes[PAYLOAD_MISSING] for r in whole.records)


def test_a_part_of_the_bytes_is_no_payload(tmp_path: Path) -> None:
    line = entry("model_inputs_outputs", "c", [{"x": 1}], contentrange="bytes 0-99/300")
    write_lines(tmp_path / "a.jsonl", [line])
    record = read(tmp_path).one()
    assert record.inputs == {}
    assert "0-99/300" in record.attributes[PAYLOAD_MISSING]


def test_custom_collections_are_counted_and_told(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [entry("my_stats", "c", [{"x": 1}])])
    whole = read(tmp_path)
    assert (whole.records, whole.ignored) == ([], 1)
    assert any("my_stats" in note for note in whole.notes)


def test_too_many_waiting_halves_are_refused_and_none_is_called_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(halves, "MOST_WAITING", 2)
    lines = [entry("model_inputs", str(n), [{"x": n}]) for n in range(3)]
    write_lines(tmp_path / "a.jsonl", lines)
    with pytest.raises(RequestRefused, match="import fewer hours at once"):
        read(tmp_path)
