"""The replaying router: answers requests with the model and times its stages on this machine.

Latencies are those of the replay, not of 2013: the time a body of requests took, shared evenly over
its rows, times a seeded spread (log-normal, sigma 0.25) that stands for single requests. The
deployments of a body share its time: they run the same code, and a small group only looks slow.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.demo.classifier import THRESHOLD, LateArrivalModel
from monitor.demo.deployments import DEPLOYMENTS, seen_features
from monitor.demo.flights import FEATURES, Columns, Flights
from monitor.demo.plant import Plant

LATENCY_SIGMA = 0.25
STAGES = ("feature_ms", "model_ms", "total_ms")


@dataclass(frozen=True)
class Answers:
    """What was served for some flights, in their order; latencies in milliseconds a request."""

    features: Columns
    score: NDArray[np.float64]
    predicted_late: NDArray[np.bool_]
    latencies: Columns


@dataclass(frozen=True)
class Router:
    """Sends each flight to its deployment; only the faulty one sees the planted fault."""

    model: LateArrivalModel
    plant: Plant | None

    def answer(
        self, flights: Flights, assigned: NDArray[np.int8], rng: np.random.Generator
    ) -> Answers:
        """Answer the flights by the deployments assigned (indexes into DEPLOYMENTS)."""
        seen: dict[str, NDArray[Any]] = {name: flights.features[name].copy() for name in FEATURES}
        score = np.empty(len(flights))
        spent = np.zeros(len(STAGES))
        for deployment in np.unique(assigned):
            rows = np.flatnonzero(assigned == deployment)
            features, scores, seconds = self._serve(flights.take(rows), int(deployment))
            score[rows] = scores
            spent += seconds
            for name in FEATURES:
                seen[name][rows] = features[name]
        each = spent * 1000 / len(flights)
        stages = each * rng.lognormal(0.0, LATENCY_SIGMA, (len(flights), 1))
        latencies = {name: stages[:, place].round(6) for place, name in enumerate(STAGES)}
        return Answers(seen, score, score >= THRESHOLD, latencies)

    def _serve(
        self, flights: Flights, deployment: int
    ) -> tuple[Columns, NDArray[np.float64], tuple[float, float, float]]:
        started = time.perf_counter()
        features = seen_features(flights, deployment, self.plant)
        matrix = self.model.assemble(features)
        assembled = time.perf_counter()
        raw = self.model.score(matrix)
        scored = time.perf_counter()
        scores = DEPLOYMENTS[deployment].round_scores(raw)
        ended = time.perf_counter()
        return features, scores, (assembled - started, scored - assembled, ended - started)
