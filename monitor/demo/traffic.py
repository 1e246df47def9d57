"""How the router splits the requests, and how that changes while the replay runs. Pure.

From the rollout on every deployment has an even share. Taking traffic from one moves a part of its
requests, chosen by a hash of the request id, evenly to the others; nobody else's requests move.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from monitor.demo.deployments import DEPLOYMENTS

EVEN_PERCENT = 100 / len(DEPLOYMENTS)


@dataclass(frozen=True)
class Change:
    """From `at` on, `percent` of the traffic goes to these deployments; absent ones are even."""

    at: datetime
    percent: Mapping[str, float]


@dataclass(frozen=True)
class Traffic:
    """All changes so far, the oldest first; without any the split is even."""

    seed: int
    changes: tuple[Change, ...] = ()

    @property
    def percent(self) -> Mapping[str, float]:
        """The shares in force, of the deployments that do not have an even one."""
        return self.changes[-1].percent if self.changes else {}

    def share_of(self, name: str) -> float:
        """The share in force of one deployment, in percent."""
        return self.percent.get(name, EVEN_PERCENT)

    def changed(self, at: datetime, percent: Mapping[str, float]) -> Traffic:
        """The same with other shares from a moment on; none above the even share."""
        kept = {name: value for name, value in percent.items() if value < EVEN_PERCENT}
        return replace(self, changes=(*self.changes, Change(at, kept)))

    def route(
        self,
        usual: NDArray[np.int8],
        request_ids: NDArray[np.object_],
        event_time: NDArray[np.datetime64],
    ) -> NDArray[np.int8]:
        """Who answers each request: its `usual` deployment, or another while that one has less."""
        assigned = usual.copy()
        starts = [
            np.datetime64(one.at.astimezone(UTC).replace(tzinfo=None)) for one in self.changes
        ]
        ends = [*starts[1:], np.datetime64("9999-01-01")][: len(starts)]
        for change, start, end in zip(self.changes, starts, ends, strict=True):
            for place, deployment in enumerate(DEPLOYMENTS):
                if deployment.name not in change.percent:
                    continue
                rows = np.flatnonzero((usual == place) & (event_time >= start) & (event_time < end))
                kept = change.percent[deployment.name] / EVEN_PERCENT
                draws = self._draws(request_ids[rows])
                moved = draws >= kept
                others = [each for each in range(len(DEPLOYMENTS)) if each != place]
                # What is left of the draw decides which of the others answers.
                choice = ((draws[moved] - kept) / (1 - kept) * len(others)).astype(np.int64)
                assigned[rows[moved]] = np.array(others, np.int8)[choice]
        return assigned

    def _draws(self, request_ids: NDArray[np.object_]) -> NDArray[np.float64]:
        """One number in [0, 1) a request; independent of its usual deployment."""
        key = b"traffic" + self.seed.to_bytes(16, "little", signed=True)
        digests = (
            hashlib.blake2b(i.encode(), digest_size=8, key=key).digest() for i in request_ids
        )
        return np.frombuffer(b"".join(digests), np.uint64) / 2.0**64
