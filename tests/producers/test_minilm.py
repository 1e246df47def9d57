"""The text model of the extra: its published similarities, and a change of subject that it sees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp

from monitor.profiles.projections import directions
from tests.producers.venvs import producer_venv, weekly

pytestmark = [pytest.mark.producer, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "programs" / "minilm_vectors.py"
SENTENCES = [
    "The weather is lovely today.",
    "It's so sunny outside!",
    "He drove to the stadium.",
]
# As the documentation of sentence-transformers prints them for all-MiniLM-L6-v2.
SIMILARITIES = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]

THINGS = ["parcel", "invoice", "refund", "lamp", "jacket", "phone"]
DISHES = ["lasagna", "a chicken", "bread", "an apple pie", "salmon", "potatoes"]


def embedded(texts: list[str]) -> np.ndarray:
    (packages,) = producer_venv("minilm").glob("lib/python3*/site-packages")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(packages)],
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        input=json.dumps(texts), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2_000:]
    return np.asarray(json.loads(done.stdout))


@weekly
def test_the_extra_gives_the_published_model() -> None:
    vectors = embedded(SENTENCES)
    assert vectors.shape == (3, 384)
    np.testing.assert_allclose(vectors @ vectors.T, SIMILARITIES, atol=2e-4)


@weekly
def test_another_subject_moves_a_projection_and_the_same_one_none() -> None:
    """Two-sample Kolmogorov-Smirnov tests on the watched directions, Bonferroni over eight."""
    rng = np.random.default_rng(3)
    orders = [f"Where is my {rng.choice(THINGS)} that I ordered {n} days ago?" for n in range(400)]
    dishes = [f"How long must {rng.choice(DISHES)} stay in the oven at {n} degrees?"
              for n in range(400)]  # fmt: skip
    rng.shuffle(orders)
    vectors = embedded([*orders, *dishes])
    seen = vectors @ np.asarray(directions(384, 8)).reshape(8, 384).T
    first, second, other = seen[:200], seen[200:400], seen[400:]
    same = [ks_2samp(first[:, i], second[:, i]).pvalue for i in range(8)]
    moved = [ks_2samp(first[:, i], other[:, i]).pvalue for i in range(8)]
    assert min(same) > 0.001 / 8
    assert min(moved) < 1e-9 / 8
