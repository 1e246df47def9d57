"""What producers write where they know no version."""

from __future__ import annotations

from pathlib import Path

from monitor.intake.producer_files.versions import tags_said, version_tags
from tests.unit.intake.producer_files.reading import read, write_lines
from tests.unit.intake.producer_files.test_azure import entry
from tests.unit.intake.producer_files.test_logs import SERVER, bento, bento_folder


def test_trap_05_a_placeholder_in_a_file_is_no_version(tmp_path: Path) -> None:
    bento_folder(tmp_path / "bento", bento())
    write_lines(tmp_path / "azure.jsonl", [entry("model_inputs_outputs", "a", [{"x": 1}])])
    metrics = tmp_path / "serve/model_metrics.log"
    metrics.parent.mkdir()
    metrics.write_text(SERVER.replace("timestamp", "requestID:a-1,timestamp"))
    whole = read(tmp_path, zone="UTC")
    assert whole.names == ["azure-data-collector", "bentoml", "torchserve"]
    assert [record.request_tags for record in whole.records] == [{}, {}, {}]


def test_the_same_word_is_a_version_where_its_producer_means_one() -> None:
    assert version_tags("databricks", "default") == {"model_version": "default"}
    assert version_tags("torchserve", "Default") == {}
    assert version_tags("torchserve", 7) == {"model_version": "7"}


def test_annotations_give_tags_by_their_names_and_leave_others_alone() -> None:
    said = {"model-version": "7", "git-sha": "9f1c2ab", "ml.precision": "int8", "owner": "ann"}
    assert tags_said(said, "kserve", bare=True) == {
        "model_version": "7", "code_revision": "9f1c2ab", "precision": "int8"}  # fmt: skip
    assert tags_said(said, "kserve") == {"code_revision": "9f1c2ab", "precision": "int8"}
