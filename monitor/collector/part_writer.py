"""Keeps parts of requests: those that wait at a moment share one commit.

Senders of single events block the model while they wait (KServe's queue holds 100), so a part is
only inserted here; putting parts together is the assembler's work.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from monitor.errors import RequestRefused
from monitor.intake.parts import RequestPart

MOST_TOGETHER = 1_000
Keep = Callable[[int, Sequence[RequestPart]], int]


@dataclass(frozen=True)
class _Waiting:
    parts: Sequence[RequestPart]
    answer: asyncio.Future[None]


class PartWriter:
    """`keep(project_id, parts)` blocks; it is called in one thread, a project at a time."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._pool = ThreadPoolExecutor(1, "parts")
        self._waiting: dict[int, deque[_Waiting]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def keep(self, project_id: int, parts: Sequence[RequestPart]) -> None:
        """Keep parts; returns after the commit that holds them."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault(project_id, deque())
        queue.append(_Waiting(parts, answer))
        if project_id not in self._tasks:
            self._tasks[project_id] = asyncio.create_task(self._drain(project_id))
        await answer

    def close(self) -> None:
        """Finish the commit that was begun."""
        self._pool.shutdown()

    async def _drain(self, project_id: int) -> None:
        queue = self._waiting[project_id]
        group: list[_Waiting] = []
        try:
            while queue:
                group = _take(queue)
                await self._write(project_id, group)
        finally:
            # No await from here on: nobody can join between the check and the removal.
            del self._waiting[project_id], self._tasks[project_id]
            for one in (*group, *queue):
                if not one.answer.done():
                    one.answer.set_exception(_stopping())

    async def _write(self, project_id: int, group: Sequence[_Waiting]) -> None:
        parts = [part for one in group for part in one.parts]
        done = asyncio.get_running_loop().run_in_executor(self._pool, self._keep, project_id, parts)
        await asyncio.wait([done])
        error = done.exception()
        for one in group:
            if one.answer.done():  # the sender went away
                continue
            if error is None:
                one.answer.set_result(None)
            else:
                one.answer.set_exception(error)


def _take(queue: deque[_Waiting]) -> list[_Waiting]:
    group = [queue.popleft()]
    held = len(group[0].parts)
    while queue and held + len(queue[0].parts) <= MOST_TOGETHER:
        group.append(queue.popleft())
        held += len(group[-1].parts)
    return group


def _stopping() -> RequestRefused:
    message = "the collector is stopping; send it again after Retry-After"
    return RequestRefused(503, "stopping", message, retry_after=1)
