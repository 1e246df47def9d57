"""The worked example of two factors through the whole product, with and without segments yet."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.run import Runner
from monitor.store.intake_store import IntakeStore
from tests.factories import (
    START,
    apply,
    current_context,
    deployment,
    make_contract,
    request,
    send,
)
from tests.integration.cli.comparison_scene import compared, line
from tests.integration.cli.conftest import Run

EXAMPLE = {  # (deployment, size of the request): requests, milliseconds
    (1, "small"): (900, 100.0),
    (1, "large"): (100, 300.0),
    (2, "small"): (300, 80.0),
    (2, "large"): (700, 270.0),
}


@pytest.mark.parametrize(
    ("hardware", "verdict"), [("new", "confounded"), ("old", "better")], ids=["two", "one"]
)
@pytest.mark.parametrize("first_rows", [100, 5000])
def test_the_two_factor_example_through_the_whole_product(
    run: Run, engine: Engine, project_id: int, store: IntakeStore, runner: Runner,
    hardware: str, verdict: str, first_rows: int,
) -> None:  # fmt: skip
    contract = make_contract(segments=["city"], label=None, baseline={"first_rows": first_rows})
    model = apply(engine, project_id, contract)
    assert deployment(engine, model, model_version="v1", hardware="old") == 1
    assert deployment(engine, model, model_version="v2", hardware=hardware) == 2
    sizes = [(*key, ms) for key, (count, ms) in EXAMPLE.items() for _ in range(count)]
    rows = [
        request(f"r{place}", START + timedelta(seconds=place % 3600), city=size, ms=ms,
                deployment=number)
        for place, (number, size, ms) in enumerate(sizes)
    ]  # fmt: skip
    send(store, current_context(engine, project_id), rows)
    runner.catch_up()
    found = compared(run, "1", "2")
    mean = line(found, "mean of ms")
    assert mean["crude"] == pytest.approx([120, 213])
    if first_rows > len(rows) and verdict == "better":
        assert found["verdict"] == "inconclusive"  # no segments yet: no wrong winner either
        assert "no baseline yet" in found["sentence"]
        return
    assert found["verdict"] == verdict
    if first_rows <= len(rows):
        assert mean["adjusted"] == pytest.approx([180, 156])
