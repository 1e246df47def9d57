"""What the calls about alerts share: whose key it is, small JSON bodies, and errors as refusals.

They have threads of their own, so that looking at alerts never keeps a body of requests waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Depends, Path, Response
from fastapi.security import HTTPBearer
from pydantic import ValidationError
from sqlalchemy.engine import Engine
from starlette.requests import Request

from alerts.durations import parse_duration
from alerts.errors import AlertNotOpen
from monitor.collector.alert_schemas import MAX_NUMBER, Body
from monitor.collector.auth import authenticate, sent_key
from monitor.collector.bodies import BodyLimits, content_coding, read_body
from monitor.collector.gate import Gate
from monitor.collector.ports import Store
from monitor.errors import ActionNotOpen, ConfigurationError, RequestRefused, UnknownSubject
from monitor.store.action_orders import Outside
from monitor.store.projects import Scope
from monitor.strictjson import StrictJsonError, loads, storable

THREADS = 2
MOST_AT_ONCE = 32
MAX_BODY_BYTES = 64 << 10
BODY_SECONDS = 15.0
LIMITS = BodyLimits(MAX_BODY_BYTES, MAX_BODY_BYTES, 2, BODY_SECONDS)
BEARER = Depends(HTTPBearer(auto_error=False, description="An API key of one project."))
Number = Annotated[int, Path(ge=1, le=MAX_NUMBER, description="Its number.")]
Result = TypeVar("Result")
Taken = TypeVar("Taken", bound=Body)


class AlertDesk:
    """Answers calls about alerts of the key's project."""

    def __init__(
        self, store: Store, engine: Engine, clock: Callable[[], datetime], outside: Outside
    ) -> None:
        self.engine = engine
        self.clock = clock
        self.outside = outside
        self.public_url = outside.pages
        self._store = store
        self._gate = Gate(MOST_AT_ONCE)
        self._pool = ThreadPoolExecutor(THREADS, "alerts")

    def close(self) -> None:
        """Finish what was begun."""
        self._pool.shutdown()

    async def work(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """The result of blocking work; what a person can mend becomes a refusal."""
        with self._gate.enter():
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, _refusing, work, *arguments)

    async def project(self, request: Request, scope: Scope) -> int:
        """The project of the caller's key, which has this scope; RequestRefused 401 or 403."""
        header = request.headers.get("authorization")
        sent_key(header)
        principal = await self.work(authenticate, self._store, header, self.clock(), scope)
        return principal.project_id


async def read_deed(request: Request, kind: type[Taken]) -> Taken:
    """The body of a deed; RequestRefused 400, 413, 415 or 422 with every mistake."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise RequestRefused(415, "unsupported_type", "Content-Type is application/json")
    if content_coding(request) != "identity":
        raise RequestRefused(415, "unsupported_encoding", "send the body without a coding")
    body = await read_body(request, LIMITS)
    if not body:
        raise RequestRefused(400, "empty_body", 'send a JSON object such as {"by": "Ada"}')
    try:
        value = loads(body)
    except StrictJsonError as error:
        raise RequestRefused(400, "unreadable", str(error)) from None
    if not isinstance(value, dict):
        raise _bad('send a JSON object such as {"by": "Ada"}')
    if not _is_storable(value):
        raise _bad("a text holds U+0000 or half of a surrogate pair, which can't be stored")
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise _bad(_mistakes(error)) from None


def ends_at(length: str | None, until: datetime | None, start: datetime) -> datetime:
    """The moment that `for` or `until` of a body names; RequestRefused 422 unless one does."""
    if (length is None) == (until is None):
        raise _bad('say "for" (such as "4h") or "until" (a moment), one of them')
    if until is not None:
        return until
    try:
        span = parse_duration(length or "")
    except ValueError as error:
        raise _bad(f"for: {error}") from None
    if span <= timedelta(0):
        raise _bad("for: must be longer than nothing")
    return start + span


def encode(value: Any) -> bytes:
    """JSON; moments as RFC 3339."""
    return msgspec.json.encode(value)


def json_answer(body: bytes) -> Response:
    """A 200 with JSON."""
    return Response(body, media_type="application/json")


def _refusing(work: Callable[..., Result], *arguments: Any) -> Result:
    try:
        return work(*arguments)
    except UnknownSubject as error:
        raise RequestRefused(404, "not_found", str(error)) from None
    except (AlertNotOpen, ActionNotOpen) as error:
        raise RequestRefused(409, "not_open", str(error)) from None
    except ConfigurationError as error:
        raise _bad("; ".join(str(each) for each in error.problems)) from None


def _bad(message: str) -> RequestRefused:
    return RequestRefused(422, "bad_body", message[:1_000])


def _mistakes(error: ValidationError) -> str:
    found = [
        ".".join(str(part) for part in each["loc"]) + ": " + each["msg"]
        for each in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    return "; ".join(found[:20])


def _is_storable(value: Any) -> bool:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return all(storable(name) and _is_storable(each) for name, each in value.items())
    return not isinstance(value, list) or all(_is_storable(each) for each in value)
