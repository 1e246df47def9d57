"""One inference from its beginning to its end: times, outcome and columns, logged once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inferwatch_client.client import Client

NANOS_PER_UNIT = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


@dataclass(frozen=True)
class TimeColumns:
    """Columns of the contract that times go to, None for those that it lacks, and their unit.

    `latency` is from beginning to end. For answers that come in parts: `first_token_time` from the
    beginning to the first part, `inter_token_time` the mean gap between parts, `parts` how many.
    """

    latency: str | None = "latency"
    first_token_time: str | None = "first_token_time"  # noqa: S105
    inter_token_time: str | None = None
    parts: str | None = None
    unit: str = "ms"

    def __post_init__(self) -> None:
        if self.unit not in NANOS_PER_UNIT:
            raise ValueError(f"unit is one of {', '.join(NANOS_PER_UNIT)}, not {self.unit!r}")


STANDARD_TIMES = TimeColumns()


class Inference:
    """Measures from its making until `finish`. As a context it finishes by itself; an exception
    inside becomes the outcome, and goes on."""

    def __init__(
        self,
        client: Client,
        *,
        request_id: str | None = None,
        times: TimeColumns = STANDARD_TIMES,
        model: str | None = None,
        leg: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        self.request_id = client.next_id() if request_id is None else request_id
        self._client = client
        self._times = times
        self._place: dict[str, Any] = {"model": model, "leg": leg, "tags": tags}
        self._columns: dict[str, Any] = {}
        self._outcome: str | None = None
        self._reason: str | None = None
        self._parts = 0
        self._first = self._last = 0
        self._finished = False
        self._event_time = time.time_ns()
        self._began = time.perf_counter_ns()

    def add(self, columns: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Columns to log; later values win."""
        if columns is not None:
            self._columns.update(columns)
        self._columns.update(more)

    def part(self) -> None:
        """A part of the answer, such as a token, has just come."""
        now = time.perf_counter_ns()
        if not self._parts:
            self._first = now
        self._last = now
        self._parts += 1

    def end_as(self, outcome: str, reason: str | None = None) -> None:
        """How it ends, such as "fell_back"; "answered" if never told."""
        self._outcome, self._reason = outcome, reason

    def fail(self, error: BaseException) -> None:
        """The outcome that this error means. Its message is not logged: it may hold values."""
        self.end_as(outcome_of(error), type(error).__name__)

    def finish(self) -> None:
        """Log it; a second call does nothing."""
        if self._finished:
            return
        self._finished = True
        self._client.log_request(
            {**self._measured(time.perf_counter_ns()), **self._columns},
            request_id=self.request_id,
            event_time=self._event_time,
            outcome=self._outcome,
            outcome_reason=self._reason,
            **self._place,
        )

    def drop(self, reason: str, detail: str) -> None:
        """Count it as dropped instead of logging it."""
        if not self._finished:
            self._finished = True
            self._client.count_drop(reason, 1, detail)

    def _measured(self, ended: int) -> dict[str, float]:
        times, unit = self._times, NANOS_PER_UNIT[self._times.unit]
        found: dict[str, float] = {}
        if times.latency is not None:
            found[times.latency] = (ended - self._began) / unit
        if self._parts and times.first_token_time is not None:
            found[times.first_token_time] = (self._first - self._began) / unit
        if self._parts > 1 and times.inter_token_time is not None:
            gaps = self._parts - 1
            found[times.inter_token_time] = (self._last - self._first) / gaps / unit
        if self._parts and times.parts is not None:
            found[times.parts] = self._parts
        return found

    def __enter__(self) -> Inference:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.fail(error)
        self.finish()


def outcome_of(error: BaseException) -> str:
    """`timed_out`, `cancelled` (also a reader that left a stream) or `failed`."""
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return "timed_out"
    if isinstance(error, (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt)):
        return "cancelled"
    return "failed"
