"""Where an error that nobody foresaw ends: the sender gets a plain 500, the log its type and place.

Left to the server it would be logged with its text, and a database error's text can hold a row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from monitor.collector.logs import LOGGER, describe
from monitor.errors import InferwatchError, RequestRefused

Result = TypeVar("Result")
_FORESEEN = (InferwatchError, HTTPException, ClientDisconnect)


async def guarded(work: Coroutine[Any, Any, Result], path: str) -> Result:
    """The result of `work`; an unforeseen error becomes RequestRefused 500."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task])
    finally:
        task.cancel()  # only of use when this call itself was cancelled
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, _FORESEEN):
        raise error
    LOGGER.error("failed path=%s error=%s", path, describe(error))
    raise RequestRefused(500, "internal", "an error of the collector; its log says where")
