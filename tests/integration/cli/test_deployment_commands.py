"""`inferwatch deployments` and `inferwatch collect-env` on a database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy.engine import Engine

from monitor.collector.producer_store import ProducerStore, Sender
from monitor.intake.producer_record import ProducerRecord, Read
from monitor.store.intake_store import IntakeStore
from tests.factories import START, apply, make_contract
from tests.integration.cli.conftest import Run

FILE = """
name: blue
tags: {model_version: "7", precision: int8, driver_version: unknown}
joins: {host.name: gpu-3}
valid_from: 2024-01-01T00:00:00Z
"""


@pytest.fixture(autouse=True)
def credit(engine: Engine, project_id: int) -> None:
    apply(engine, project_id, make_contract())


def test_a_deployment_is_registered_from_a_file_and_shown_with_who_said_what(
    run: Run, tmp_path: Path, store: IntakeStore
) -> None:
    file = tmp_path / "deployment.yaml"
    file.write_text(FILE)
    assert run("deployments", "list", "credit").out.startswith("No deployment yet")
    first = run("deployments", "register", "credit", file)
    assert (first.code, first.err) == (0, "")
    assert "Deployment 1 of credit, registration 1: host.name = gpu-3." in first.out
    assert "known already" in run("deployments", "register", "credit", file).out
    record = ProducerRecord("r1", START, joins={"host.name": "gpu-3"},
                            resource_tags={"precision": "fp16"})  # fmt: skip
    ProducerStore(store).keep(Sender(1, START, "credit"), Read(records=(record,)))
    listed = json.loads(run("deployments", "list", "credit", "--json").out)
    assert [each["tags"] for each in listed] == [
        {"model_version": "7", "precision": "fp16"}, {"model_version": "7", "precision": "int8"},
    ]  # fmt: skip
    assert listed[0]["said_by"] == {"model_version": ["registration"], "precision": ["resource"]}
    shown = run("deployments", "show", "credit", 1).out
    for words in ("deployment 1 blue", "model_version", "2024-01-01 00:00Z to open",
                  "host.name = gpu-3"):  # fmt: skip
        assert words in shown
    found = run("deployments", "conflicts")
    assert found.code == 1
    assert "precision is 'fp16' by the resource and 'int8' by the" in " ".join(found.out.split())
    assert json.loads(run("deployments", "conflicts", "credit", "--json").out)[0]["requests"] == 1


def test_no_contradiction_is_said_and_ends_well(run: Run) -> None:
    ended = run("deployments", "conflicts", "credit")
    assert (ended.code, ended.out.startswith("No contradiction")) == (0, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tags: [", "is no YAML"),
        ("joins: {}", "bad_deployment"),
        ("tags: {colour: red}", "unknown tag 'colour'"),
        ("tags: {}\njoins: {host: unknown}\nvalid_from: 2024-01-01", "joins.host is 'unknown'"),
        ("tags: {}\nvalid_from: 2024-01-01T00:00:00", "with a zone"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_place(
    run: Run, tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "deployment.yaml"
    file.write_text(text)
    ended = run("deployments", "register", "credit", file)
    assert ended.code == 2
    assert words in ended.err
    assert str(file) in ended.err


def test_a_deployment_that_does_not_exist_is_named_with_those_that_do(run: Run) -> None:
    ended = run("deployments", "show", "credit", 9)
    assert ended.code == 2
    assert "no deployment 9; there are: none yet" in ended.err


def test_this_machine_is_told_and_registered(run: Run) -> None:
    told = run("collect-env", "--json", "--tag", "precision=int8", "--join", "host.name=gpu-3",
               "--register", "credit")  # fmt: skip
    assert told.code == 0, told.err
    assert "registration 1: host.name = gpu-3" in told.err
    body = json.loads(told.out)
    assert body["tags"]["precision"] == "int8"
    assert body["joins"] == {"host.name": "gpu-3"}
    assert "python" in body["evidence"]
    (one,) = json.loads(run("deployments", "list", "credit", "--json").out)
    assert one["tags"] == body["tags"]
    assert one["registrations"][0]["evidence"]["python"] == body["evidence"]["python"]
    wrong = run("collect-env", "--tag", "precision")
    assert (wrong.code, "write NAME=VALUE" in wrong.err) == (2, True)
    assert run("collect-env", "--tag", "colour=red").code == 2
