"""Small bodies of one model are stored together: one commit for all that wait at that moment.

While a group is being stored the next one gathers, so a lone sender waits for nobody and many
senders share a disk write. Each body still gets its own counts, and its own error.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from monitor.collector.intake import Batch, Counted, store_one, store_together, with_origin
from monitor.collector.ports import Store
from monitor.errors import DatabaseNotReady, DatabaseUnavailable, RequestRefused
from monitor.intake.base import IntakeContext

MAX_GROUP_ROWS = 2_000
SMALL_BODY_ROWS = 50


@dataclass(frozen=True)
class _Waiting:
    batch: Batch
    context: IntakeContext
    answer: asyncio.Future[Counted]


class GroupWriter:
    """Stores small batches in groups of one (kind, project, model, leg, contract version)."""

    def __init__(self, store: Store, pool: Executor) -> None:
        self._store = store
        self._pool = pool
        self._waiting: dict[Hashable, deque[_Waiting]] = {}
        self._tasks: dict[Hashable, asyncio.Task[None]] = {}

    async def store(self, batch: Batch, context: IntakeContext) -> Counted:
        """Store one small batch; returns after the commit of its group."""
        answer: asyncio.Future[Counted] = asyncio.get_running_loop().create_future()
        key = (
            type(batch),
            context.project_id,
            context.model_id,
            context.leg,
            context.contract_version,
        )
        queue = self._waiting.setdefault(key, deque())
        # A group has many senders: each body says whose it is before they are merged.
        queue.append(_Waiting(with_origin(batch, context.origin), context, answer))
        if key not in self._tasks:
            self._tasks[key] = asyncio.create_task(self._drain(key))
        return await answer

    async def _drain(self, key: Hashable) -> None:
        queue = self._waiting[key]
        group: list[_Waiting] = []
        try:
            while queue:
                group = _take(queue)
                await self._store_group(group)
        finally:
            # No await from here on: nobody can join the queue between the check and its removal.
            del self._waiting[key], self._tasks[key]
            for one in (*group, *queue):  # empty or answered, unless the process is stopping
                _answer(one.answer, _stopping())

    async def _store_group(self, group: Sequence[_Waiting]) -> None:
        loop = asyncio.get_running_loop()
        batches = [one.batch for one in group]
        done = loop.run_in_executor(
            self._pool, store_together, self._store, batches, group[0].context
        )
        await asyncio.wait([done])
        error = done.exception()
        if error is None:
            for one, counted in zip(group, done.result(), strict=True):
                _answer(one.answer, counted)
        elif len(group) == 1 or isinstance(error, (DatabaseUnavailable, DatabaseNotReady)):
            for one in group:
                _answer(one.answer, error)
        else:
            await self._store_apart(group)

    async def _store_apart(self, group: Sequence[_Waiting]) -> None:
        """After an error that one body may have caused: each by itself, so only that one fails."""
        loop = asyncio.get_running_loop()
        for one in group:
            done = loop.run_in_executor(self._pool, store_one, self._store, one.batch, one.context)
            await asyncio.wait([done])
            error = done.exception()
            _answer(one.answer, done.result() if error is None else error)


def _take(queue: deque[_Waiting]) -> list[_Waiting]:
    group = [queue.popleft()]
    rows = group[0].batch.table.num_rows
    while queue and rows + queue[0].batch.table.num_rows <= MAX_GROUP_ROWS:
        group.append(queue.popleft())
        rows += group[-1].batch.table.num_rows
    return group


def _stopping() -> RequestRefused:
    message = "the collector is stopping; send it again after Retry-After"
    return RequestRefused(503, "stopping", message, retry_after=1)


def _answer(waiting: asyncio.Future[Counted], result: Counted | BaseException) -> None:
    if waiting.done():  # the sender went away
        return
    if isinstance(result, BaseException):
        waiting.set_exception(result)
    else:
        waiting.set_result(result)
