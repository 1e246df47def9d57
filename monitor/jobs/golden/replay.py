"""Replays a golden set: every case to a model server, every answer a request on leg replay:RUN."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from monitor.contract import Column
from monitor.errors import InferwatchError
from monitor.golden import CaseKey, GoldenCase, GoldenSet
from monitor.jobs.golden.send import ModelServer, Reply

Clock = Callable[[], datetime]
Keep = Callable[[list[dict[str, Any]]], None]
Progress = Callable[[int, int, str], None]
ROWS_AT_ONCE = 200
_PER_MILLISECOND = {"ms": 1.0, "s": 0.001, "us": 1000.0, "µs": 1000.0, "ns": 1e6}


class NothingAnswers(InferwatchError):
    """No connection to the model server came about; nothing was stored."""


@dataclass
class ReplayCounts:
    """How the requests of a replay ended, by outcome."""

    outcomes: dict[str, int] = field(default_factory=dict)

    @property
    def sent(self) -> int:
        return sum(self.outcomes.values())

    def add(self, outcome: str) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1


@dataclass(frozen=True)
class Replay:
    """What is replayed: a version of a set, how often, as which deployment, and where time goes."""

    content: GoldenSet
    version: int
    deployment_id: int
    repeats: int
    latency: Column | None

    def cases(self) -> Iterator[tuple[GoldenCase, CaseKey]]:
        """Every case once, then every case again: warm and cold answers are told apart so."""
        for repeat in range(1, self.repeats + 1):
            for case in self.content.cases:
                yield case, CaseKey(self.content.name, self.version, case.id, repeat)

    @property
    def size(self) -> int:
        """Requests in all."""
        return self.repeats * len(self.content.cases)


def replay(
    server: ModelServer, wanted: Replay, clock: Clock, keep: Keep, progress: Progress
) -> ReplayCounts:
    """Send every case, one after the other, and hand over what came back in small batches.

    Raises NothingAnswers when the first request finds no server: then nothing is stored. A server
    that goes away later leaves failed requests, which are the finding.
    """
    counts = ReplayCounts()
    waiting: list[dict[str, Any]] = []
    last: datetime | None = None
    try:
        for case, key in wanted.cases():
            last = _after(last, clock())
            reply = server.ask(key.request_id, case.inputs, frozenset(case.expected))
            if not reply.reached and counts.sent == 0:
                raise NothingAnswers(f"the model server can't be reached: {reply.reason}")
            counts.add(reply.outcome)
            waiting.append(_record(wanted, case, key, reply, last))
            if len(waiting) >= ROWS_AT_ONCE:
                kept, waiting = waiting, []
                keep(kept)
            progress(counts.sent, wanted.size, case.id)
    finally:  # an interrupted replay keeps what was answered
        if waiting:
            keep(waiting)
    return counts


def _after(last: datetime | None, now: datetime) -> datetime:
    """Now, or a microsecond after the last request where the clock has not moved on."""
    return now if last is None or now > last else last + timedelta(microseconds=1)


def _record(
    wanted: Replay, case: GoldenCase, key: CaseKey, reply: Reply, at: datetime
) -> dict[str, Any]:
    """A request as a producer would send it to the collector."""
    record: dict[str, Any] = {**case.inputs, **reply.outputs}
    if wanted.latency is not None and wanted.latency.name not in reply.outputs:
        record[wanted.latency.name] = _in_unit(reply.milliseconds, wanted.latency)
    return {
        **record,
        "request_id": key.request_id,
        "event_time": at.isoformat(),
        "deployment": wanted.deployment_id,
        "outcome": reply.outcome,
        "outcome_reason": reply.reason,
    }


def _in_unit(milliseconds: float, column: Column) -> float:
    return milliseconds * _PER_MILLISECOND.get(column.unit or "ms", 1.0)


def told(counts: Mapping[str, int]) -> str:
    """`38 answered, 2 refused`."""
    return ", ".join(f"{number} {outcome.replace('_', ' ')}" for outcome, number in counts.items())
