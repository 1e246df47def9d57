"""A real PyTorch module, watched by the client's adapter in an environment of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.client.conftest import Place, collector, module_engine, place
from tests.producers.venvs import producer_python, weekly

__all__ = ["collector", "module_engine", "place"]

pytestmark = [pytest.mark.producer, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "programs" / "pytorch_model.py"


@weekly
def test_calls_of_a_pytorch_module_are_logged_with_its_versions(
    place: Place, collector: str
) -> None:
    done = subprocess.run(
        [producer_python("pytorch"), str(PROGRAM), collector, place.key, place.model],
        env={"PYTHONPATH": str(ROOT / "client"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    told = json.loads(done.stdout)
    tags = told["tags"]
    assert (told["failed"], told["accepted"], told["dropped"]) == (True, 3, {})
    assert tags["runtime"] == "pytorch"
    assert tags["runtime_version"] == told["version"]
    assert (tags["precision"], told["half"]) == ("float32", "bfloat16")
    assert (tags["runtime_backend"], tags["accelerator"]) == ("cpu", "none")
    assert tags["model_digest"] == told["loaded"] != told["changed"]
    rows = place.logged("place, score, latency, outcome")
    answered = sorted(row for row in rows if row.outcome == "answered")
    assert [list(row.place) for row in answered] == [[0.25, 1.0], [0.5, 1.0]]
    assert sorted(row.score for row in answered) == pytest.approx(sorted(told["scores"]), rel=1e-6)
    assert all(row.latency > 0 for row in answered)
    assert [row.outcome for row in rows if row.score is None] == ["failed"]
    stored = place.rows("select tags from deployment where model_id = :model")
    assert stored == [({**tags, "model_version": "7"},)]
