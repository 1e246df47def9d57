"""Replays the flights through the collector: requests when due, labels after the landing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.demo.bodies import Body, encode, label_table, request_table
from monitor.demo.flights import Flights
from monitor.demo.plan import BodyKind, PlannedBody
from monitor.demo.router import Router
from monitor.demo.sender import Counts, Sender
from monitor.demo.traffic import Traffic

SENDING_THREADS = 2
BODIES_AHEAD = 6

Progress = Callable[[int, np.datetime64], None]


@dataclass(frozen=True)
class Replay:
    """One replay: the flights, who usually answers which, the deployments' numbers at the
    collector, and how the requests are split now."""

    flights: Flights
    assigned: NDArray[np.int8]
    router: Router
    deployment_ids: Sequence[int]
    seed: int
    traffic: Callable[[], Traffic]

    def body(self, planned: PlannedBody) -> Body:
        """Answer and encode the flights of one planned body, as the traffic is split now."""
        flights = self.flights.take(planned.rows)
        if planned.kind is BodyKind.LABELS:
            return encode(planned.kind, planned.number, label_table(flights))
        rng = np.random.default_rng([self.seed % 2**32, planned.number])
        assigned = self.traffic().route(
            self.assigned[planned.rows], flights.request_id, flights.event_time
        )
        answers = self.router.answer(flights, assigned, rng)
        numbers = np.array(self.deployment_ids, dtype=np.int32)[assigned]
        return encode(planned.kind, planned.number, request_table(flights, answers, numbers))

    def run(
        self, bodies: Sequence[PlannedBody], sender: Sender, progress: Progress
    ) -> dict[BodyKind, Counts]:
        """Send planned bodies in order, a few at a time; returns the counts by kind.

        `progress` is told the records answered and the replayed moment after each body.
        """
        counts = {kind: Counts() for kind in BodyKind}
        waiting: deque[tuple[PlannedBody, Future[Counts]]] = deque()
        with ThreadPoolExecutor(SENDING_THREADS, "replay") as pool:
            try:
                for planned in bodies:
                    waiting.append((planned, pool.submit(sender.send, self.body(planned))))
                    while len(waiting) >= BODIES_AHEAD:
                        _take(waiting, counts, progress)
                while waiting:
                    _take(waiting, counts, progress)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return counts


def _take(
    waiting: deque[tuple[PlannedBody, Future[Counts]]],
    counts: dict[BodyKind, Counts],
    progress: Progress,
) -> None:
    planned, future = waiting.popleft()
    answered = future.result()
    counts[planned.kind] += answered
    progress(answered.sent, planned.due)
