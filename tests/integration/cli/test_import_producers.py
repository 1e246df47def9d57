"""`inferwatch import` of producers' files into the real database, by the whole program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.intake.producer_files.registry import FILE_FORMATS
from monitor.store.engine import Role, transaction
from tests.factories import apply, make_contract, rows_of
from tests.integration.cli.conftest import Run
from tests.unit.intake.producer_files.reading import write_lines

COLUMNS = [
    {"name": "age", "type": "number", "nullable": True},
    {"name": "city", "type": "category", "nullable": True},
    {"name": "score", "type": "number", "role": "score", "range": [0, 1]},
    {"name": "share", "type": "number", "role": "weight", "field": "sampling_rate",
     "nullable": True},
    {"name": "variant", "type": "category", "nullable": True},
]  # fmt: skip


SHARES = "select share from project_1.log_credit"


@pytest.fixture
def credit(engine: Engine, project_id: int) -> None:
    apply(engine, project_id, make_contract(columns=COLUMNS, also_known_as=["churn"]))


def captured(folder: Path) -> Path:
    entries = [
        {"captureData": {
            "endpointInput": {"observedContentType": "text/csv", "mode": "INPUT",
                              "data": f"{30 + number},1", "encoding": "CSV"},
            "endpointOutput": {"observedContentType": "text/csv", "mode": "OUTPUT",
                               "data": "0.25", "encoding": "CSV"}},
         "eventMetadata": {"eventId": f"e-{number}", "inferenceTime": "2024-05-01T10:00:00Z"},
         "eventVersion": "0"}
        for number in range(3)
    ]  # fmt: skip
    write_lines(folder / "capture/churn/blue/2024/05/01/10/a.jsonl", entries)
    truths = [
        {"groundTruthData": {"data": str(number % 2), "encoding": "CSV"},
         "eventMetadata": {"eventId": f"e-{number}"}, "eventVersion": "0"}
        for number in range(3)
    ]  # fmt: skip
    write_lines(folder / "truth/2024/05/03/07/a.jsonl", truths)
    return folder


def as_people_see_it(engine: Engine, query: str) -> list[Any]:
    """Rows of the view over the requests."""
    with transaction(engine, 1, Role.DASHBOARD) as connection:
        return [tuple(row) for row in connection.execute(sa.text(query))]


def told(text: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(text)
    return found


@pytest.mark.usefixtures("credit")
def test_a_folder_of_captures_and_ground_truths(run: Run, engine: Engine, tmp_path: Path) -> None:
    folder = captured(tmp_path / "bucket")
    command = ("import", folder, "--model", "credit", "--sampling-rate", "0.2", "--json")
    done = run(*command)
    assert done.code == 0, done.err
    first = told(done.out)
    assert (first["sent"], first["accepted"], first["rejected"]) == (6, 6, 0)
    assert {each["format"] for each in first["formats"]} == {
        "sagemaker-capture", "sagemaker-ground-truth"}  # fmt: skip
    rows = rows_of(engine, None, "select * from request_log order by request_id")
    assert [row.request_id for row in rows] == ["e-0", "e-1", "e-2"]
    assert {row.leg for row in rows} == {"live"}
    labels = rows_of(
        engine, 1, "select request_id, value, source, observed_at::text from label order by 1"
    )
    assert [tuple(row)[:3] for row in labels] == [
        ("e-0", 0.0, "sagemaker-ground-truth"),
        ("e-1", 1.0, "sagemaker-ground-truth"),
        ("e-2", 0.0, "sagemaker-ground-truth"),
    ]
    assert labels[0][3].startswith("2024-05-03 08:00:00")
    again = told(run(*command).out)
    assert (again["accepted"], again["duplicate"]) == (0, 6)


@pytest.mark.usefixtures("credit")
def test_cells_of_csv_payloads_become_what_their_columns_are(
    run: Run, engine: Engine, tmp_path: Path
) -> None:
    run("import", captured(tmp_path / "bucket") / "capture")
    query = "select age, city, score, variant from project_1.log_credit order by age"
    view = as_people_see_it(engine, query)
    assert view == [(30.0 + n, "1", 0.25, "blue") for n in range(3)]


@pytest.mark.usefixtures("credit")
def test_trap_21_the_share_that_was_captured_is_asked_for_and_kept(
    run: Run, engine: Engine, tmp_path: Path
) -> None:
    folder = captured(tmp_path / "bucket") / "capture"
    silent = run("import", folder)
    assert "--sampling-rate" in silent.out
    assert as_people_see_it(engine, "select distinct share from project_1.log_credit")[0][0] is None
    folder = captured(tmp_path / "other") / "capture"
    text = (folder / "churn/blue/2024/05/01/10/a.jsonl").read_text().replace("e-", "f-")
    (folder / "churn/blue/2024/05/01/10/a.jsonl").write_text(text)
    said = run("import", folder, "--sampling-rate", "0.2")
    assert "--sampling-rate" not in said.out
    shares = as_people_see_it(
        engine, "select share from project_1.log_credit where request_id like 'f-%'"
    )
    assert [row[0] for row in shares] == [0.2] * 3
    row = {
        "databricks_request_id": "d-1", "request_time": "2024-05-01T10:00:00Z",
        "status_code": 200, "sampling_fraction": 0.5, "execution_duration_ms": 3,
        "request": json.dumps({"dataframe_records": [{"age": 41, "city": "Bonn"}]}),
        "response": json.dumps({"predictions": [0.5]}),
    }  # fmt: skip
    write_lines(tmp_path / "table.jsonl", [row])
    run("import", tmp_path / "table.jsonl", "--model", "credit", "--sampling-rate", "0.2")
    kept = as_people_see_it(
        engine, "select share from project_1.log_credit where request_id = 'd-1'"
    )
    assert kept[0][0] == 0.5  # what stands in the row is surer than what is said beside it


@pytest.mark.usefixtures("credit")
def test_a_dry_run_shows_what_would_be_stored_and_stores_nothing(
    run: Run, engine: Engine, tmp_path: Path
) -> None:
    done = run("import", captured(tmp_path / "bucket"), "--dry-run", "--model", "credit",
               "--tag", "model_version=7")  # fmt: skip
    assert done.code == 0, done.err
    assert "Amazon SageMaker data capture (--format sagemaker-capture), 1 file" in done.out
    assert "can't give: latency" in done.out
    assert '"request_id": "e-0"' in done.out
    assert '"model_version": "7"' in done.out
    for table in ("request_log", "label", "rejection", "deployment"):
        assert rows_of(engine, None, f"select * from {table}") == [], table


@pytest.mark.usefixtures("credit")
def test_what_is_refused_is_told_with_file_and_place(run: Run, tmp_path: Path) -> None:
    folder = captured(tmp_path / "bucket") / "capture"
    path = folder / "churn/blue/2024/05/01/10/a.jsonl"
    path.write_text(path.read_text() + '{"captureData": {}, "eventMetadata": {}}\nnonsense\n')
    (folder / "notes.txt").write_text("hello")
    (folder / "_SUCCESS").write_text("")
    done = run("import", folder, "--json")
    assert done.code == 1
    answer = told(done.out)
    listed = answer["formats"][0]["rejections"]
    assert [(r["place"], r["reason"]) for r in listed] == [(3, "missing_id"), (4, "unreadable")]
    assert listed[0]["file"] == "churn/blue/2024/05/01/10/a.jsonl"
    assert answer["hidden"] == 1
    assert answer["left"] == [{"file": "notes.txt", "why": "no known format"}]


@pytest.mark.usefixtures("credit")
def test_a_file_that_names_no_model_needs_one(run: Run, engine: Engine, tmp_path: Path) -> None:
    path = captured(tmp_path / "bucket") / "capture/churn/blue/2024/05/01/10/a.jsonl"
    alone = tmp_path / "a.jsonl"
    alone.write_text(path.read_text())
    done = run("import", alone)
    assert done.code == 1
    assert "the file names no model; name it with --model" in done.out
    assert rows_of(engine, None, "select * from request_log") == []


def test_all_mistakes_of_the_command_line_come_at_once(run: Run, tmp_path: Path) -> None:
    path = captured(tmp_path / "bucket")
    done = run("import", path, "--format", "sagemker", "--time-zone", "Berlin",
               "--clock-start", "noon", "--sampling-rate", "20", "--leg", "nowhere")  # fmt: skip
    assert done.code == 2
    for option in ("--format", "--time-zone", "--clock-start", "--sampling-rate", "--leg"):
        assert option in done.err, option
    assert all(name in done.err for name in FILE_FORMATS)


def test_a_name_alone_convinces_nobody(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "capture/churn/blue/2024/05/01/10"
    folder.mkdir(parents=True)
    (folder / "sagemaker-capture.jsonl").write_text('{"hello": 1}\n')
    done = run("import", tmp_path / "capture")
    assert done.code == 2
    assert "no known format" in done.err


@pytest.mark.usefixtures("credit")
def test_labels_of_one_format_and_requests_of_another_meet(
    run: Run, engine: Engine, tmp_path: Path
) -> None:
    """Two runs of one MLflow trace: its assessment is a label, its place in the file is told."""
    trace = {
        "info": {"trace_id": "tr-1", "request_time": "2024-05-01T10:00:00Z", "state": "OK",
                 "execution_duration_ms": 9, "tags": {"model": "churn"},
                 "assessments": [
                     {"assessment_name": "default", "create_time": "2024-05-02T10:00:00Z",
                      "feedback": {"value": True}, "source": {"source_id": "ann"}},
                     {"assessment_name": "unheard-of", "create_time": "2024-05-02T10:00:00Z",
                      "feedback": {"value": True}, "source": {"source_id": "ann"}}]},
        "data": {"spans": [
            {"trace_id": "x", "span_id": "a", "parent_span_id": None, "name": "f",
             "start_time_unix_nano": 0, "end_time_unix_nano": 9_000_000,
             "attributes": {"mlflow.spanInputs": '{"age": 41}', "mlflow.spanOutputs": "0.5"}}]},
    }  # fmt: skip
    write_lines(tmp_path / "traces", [trace])
    answer = told(run("import", tmp_path / "traces", "--json").out)
    assert (answer["accepted"], answer["rejected"]) == (2, 1)
    refused = answer["formats"][0]["rejections"][0]
    assert (refused["reason"], refused["place"]) == ("unknown_label", 0)
    found = rows_of(engine, 1, "select request_id, value, source from label")
    assert [tuple(row) for row in found] == [("tr-1", 1.0, "ann")]
    view = as_people_see_it(engine, "select request_id, age, score from project_1.log_credit")
    assert view == [("tr-1", 41.0, 0.5)]


@pytest.mark.usefixtures("credit")
def test_a_dry_run_of_our_own_file_stores_nothing(run: Run, engine: Engine, tmp_path: Path) -> None:
    line = {"request_id": "r", "event_time": "2024-05-01T10:00:00Z", "score": 0.5, "odd": 1}
    write_lines(tmp_path / "own.ndjson", [line])
    answer = told(run("import", tmp_path / "own.ndjson", "--model", "credit", "--dry-run",
                      "--json").out)  # fmt: skip
    assert (answer["accepted"], answer["violations"]) == (1, 1)
    assert rows_of(engine, None, "select * from request_log") == []


@pytest.mark.usefixtures("credit")
def test_an_option_that_the_format_answers_itself_is_refused(run: Run, tmp_path: Path) -> None:
    done = run("import", captured(tmp_path / "b"), "--kind", "labels", "--deployment", "1")
    assert done.code == 2
    assert "--kind" in done.err
    assert "--deployment" in done.err
