"""Recognising by content, and files that are broken, hostile or not what they seem."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from monitor.errors import RequestRefused
from monitor.intake.producer_files.find import find_files
from monitor.intake.producer_files.registry import FILE_FORMATS
from monitor.intake.producer_files.tfrecord import framed
from monitor.records import RejectionReason
from tests.unit.intake.producer_files.reading import All, read, write_lines
from tests.unit.intake.producer_files.test_azure import entry
from tests.unit.intake.producer_files.test_logs import ACCESS, bento, blob
from tests.unit.intake.producer_files.test_sagemaker import capture, truth
from tests.unit.intake.producer_files.test_tables import AT, as_lines, as_parquet, gateway, vertex
from tests.unit.intake.producer_files.test_traces import prediction_log, profile, trace, triton

PAGE = Path(__file__).parents[4] / "docs/producers.md"
BOOT = datetime(2026, 11, 29, tzinfo=UTC)
FEAST = {"__request_id": "r", "__log_timestamp": AT, "s__x": 1.0, "s__x__status": 1}


def samples(folder: Path) -> Mapping[str, Path]:
    """A file of each format, under names that say nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[Any]] = {
        "sagemaker-capture": [capture("1,2", "0.5")],
        "sagemaker-ground-truth": [truth("1", eventId="a")],
        "azure-data-collector": [entry("model_inputs_outputs", "c", [{"x": 1}])],
        "vertex": [vertex()],
        "kserve-files": [blob("request", {"instances": [[1]]})],
        "mlflow-trace": [trace()],
        "bentoml": [bento()],
    }
    found = {
        name: write_lines(folder / f"{n}", each) for n, (name, each) in enumerate(lines.items())
    }
    for name in ("databricks", "feast-log", "tensorflow-serving-log", "torchserve"):
        found[name] = folder / name.replace("-", "")[::-1]
    as_lines(found["databricks"], [gateway()])
    as_parquet(found["feast-log"], [FEAST])
    found["tensorflow-serving-log"].write_bytes(framed(prediction_log()))
    found["torchserve"].write_text(ACCESS)
    found["triton-trace"] = triton(folder / "t")
    found["onnxruntime-profile"] = profile(folder / "o", ended=True)
    return found


def test_each_format_is_recognised_by_its_content_alone(tmp_path: Path) -> None:
    made = samples(tmp_path)
    assert set(made) == set(FILE_FORMATS)
    for name, path in made.items():
        assert list(find_files(path).groups) == [name]


def test_a_packed_file_is_what_is_inside(tmp_path: Path) -> None:
    for name, path in samples(tmp_path / "plain").items():
        if name == "feast-log":
            continue  # Parquet packs its own columns
        packed = tmp_path / f"{name}.any"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        assert list(find_files(packed).groups) == [name]


def test_our_own_records_are_ours_and_no_producer_s(tmp_path: Path) -> None:
    own = {"request_id": "r", "event_time": "2026-11-29T10:00:00Z", "age": 4, "timestamp": "x"}
    label = {"request_id": "r", "value": True, "observed_at": "2026-11-29T10:00:00Z"}
    write_lines(tmp_path / "a.jsonl", [own])
    write_lines(tmp_path / "b.jsonl", [label])
    (tmp_path / "c.txt").write_text("hello\n")
    (tmp_path / "d").write_text("")
    (tmp_path / "_SUCCESS").write_text("")
    found = find_files(tmp_path)
    assert [file.name for file in found.own] == ["a.jsonl", "b.jsonl"]
    assert found.groups == {}
    assert [(file.name, why) for file, why in found.left] == [
        ("c.txt", "no known format"), ("d", "empty")]  # fmt: skip
    assert found.hidden == 1


@pytest.mark.parametrize("seed", range(12))
def test_broken_bytes_are_refused_with_a_reason_and_never_raise(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for name, path in samples(tmp_path / "good").items():
        body = bytearray(path.read_bytes())
        for _ in range(3):
            body[chance.randrange(len(body))] = chance.randrange(256)
        broken = tmp_path / f"{name}.broken"
        broken.write_bytes(bytes(body[: chance.randrange(len(body) // 2, len(body))]))
        whole = read_or_none(broken, name)
        assert whole is None or all(r.message for r in whole.rejections)


def read_or_none(path: Path, name: str) -> All | None:
    """What was read, None where the whole file is refused."""
    try:
        return read(path, zone="UTC", clock_start=BOOT, insisted=name)
    except RequestRefused:
        return None


IN_AN_ARRAY = ("triton-trace", "onnxruntime-profile")


@pytest.mark.parametrize("name", ["sagemaker-capture", "torchserve", "tensorflow-serving-log"])
def test_a_file_that_breaks_off_keeps_what_came_before_and_stops_no_other(
    tmp_path: Path, name: str
) -> None:
    good = samples(tmp_path / "good")[name]
    noise = random.Random(1).randbytes(200_000).hex().encode() + b"\n"
    many = gzip.compress(good.read_bytes() + noise * 3, compresslevel=1)
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.gz").write_bytes(many[: len(many) // 2])
    (folder / "b").write_bytes(good.read_bytes())
    whole = read(folder, zone="UTC")
    alone = read(good, zone="UTC")
    assert len(whole.records) == 2 * len(alone.records)
    assert whole.rejections or whole.ignored


HOSTILE: list[Any] = [None, 7, "x", [], [[]], {}, True, -1e308, 10**39, {"a": [1]}, "9" * 5000]


@pytest.mark.parametrize("value", HOSTILE, ids=str)
def test_odd_values_anywhere_never_raise(tmp_path: Path, value: Any) -> None:
    """Each name of each entry in turn, the inner ones too, holds something else."""
    for name, path in samples(tmp_path / "good").items():
        text = path.read_bytes().splitlines()[0]
        if name in ("feast-log", "tensorflow-serving-log", "torchserve"):
            continue
        if name in IN_AN_ARRAY:
            entries = [each for one in json.loads(path.read_text()) for each in changed(one, value)]
            path = tmp_path / f"{name}.json"  # noqa: PLW2901 - another file of the same format
            path.write_text("[\n" + ",\n".join(map(json.dumps, entries)) + "\n]\n")
            whole = read(path, zone="UTC", clock_start=BOOT, insisted=name)
            assert len(whole.records) + len(whole.rejections) + whole.ignored > 0
            continue
        whole = read(write_lines(tmp_path / name, changed(json.loads(text), value)), zone="UTC",
                     insisted=name)  # fmt: skip
        assert len(whole.records) + len(whole.rejections) + whole.ignored > 0


def changed(made: Any, value: Any) -> list[Any]:
    """Copies of an object in which one name after another holds `value`."""
    found = []
    for name, inner in made.items():
        found.append({**made, name: value})
        if isinstance(inner, dict):
            found += [{**made, name: each} for each in changed(inner, value)]
    return found


def test_deep_nesting_is_refused_and_tells_nothing_of_the_content(tmp_path: Path) -> None:
    deep = "[" * 100 + '"secret"' + "]" * 100
    line = json.dumps(capture("1", "2")).replace('"0"', deep)
    (tmp_path / "a").write_text(json.dumps(capture("1", "2")) + "\n" + line + "\n")
    refused = read(tmp_path / "a").rejections
    assert [(r.place, r.reason) for r in refused] == [(1, RejectionReason.TOO_DEEP)]
    assert "secret" not in str(refused)


def test_the_page_tells_every_format_and_what_it_can_t_give() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, form in FILE_FORMATS.items():
        assert f"`{name}`" in text, name
        assert form.gives, name
        assert form.lacks, name
