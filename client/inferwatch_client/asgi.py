"""ASGI middleware, for FastAPI, Starlette and others: logs each call of the paths it is told.

Knows only the ASGI messages; no framework is needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from contextvars import ContextVar
from typing import Any

from inferwatch_client.client import Client
from inferwatch_client.inference import STANDARD_TIMES, Inference, TimeColumns

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Read = Callable[[bytes, bytes], Mapping[str, Any]]

ID_HEADER = b"x-inferwatch-request-id"
MAX_ID_LENGTH = 200
_CURRENT: ContextVar[Inference | None] = ContextVar("inferwatch_inference", default=None)


def current_inference() -> Inference | None:
    """The inference that the call at hand is, for handlers that add columns; None elsewhere."""
    return _CURRENT.get()


class InferwatchMiddleware:
    """Logs latency and outcome of each call, its first part if it is streamed, and columns.

    Handlers add columns by `current_inference()`. Or `read(request, answer)` makes them from both
    bodies, of which at most `keep_bytes` each are kept; longer ones are given as empty bytes.
    The answer's header `x-inferwatch-request-id` names the request, for labels. With `trust_ids` a
    caller's own header of that name is taken as the id.
    """

    def __init__(
        self,
        app: App,
        *,
        client: Client,
        paths: Collection[str] | Mapping[str, str],
        read: Read | None = None,
        keep_bytes: int = 64 << 10,
        times: TimeColumns = STANDARD_TIMES,
        trust_ids: bool = False,
    ) -> None:
        """`paths` are those to log; a mapping also says the model of each."""
        self._app = app
        self._client = client
        self._models = dict(paths) if isinstance(paths, Mapping) else dict.fromkeys(paths)
        self._read = read
        self._keep_bytes = keep_bytes
        self._times = times
        self._trust_ids = trust_ids

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, self._flushing(send))
        elif scope["type"] == "http" and scope["path"] in self._models:
            await self._watch(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _watch(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = _header(scope, ID_HEADER) if self._trust_ids else None
        inference = Inference(
            self._client,
            request_id=given,
            times=self._times,
            model=self._models[scope["path"]],
        )
        call = _Call(inference, receive, send, self._keep_bytes if self._read is not None else 0)
        token = _CURRENT.set(inference)
        try:
            await self._app(scope, call.receive, call.send)
        except BaseException as error:
            inference.fail(error)
            raise
        else:
            call.judge()
        finally:
            _CURRENT.reset(token)
            self._finish(inference, call)

    def _finish(self, inference: Inference, call: _Call) -> None:
        if self._read is not None:
            try:
                inference.add(self._read(call.request.content, call.answer.content))
            except Exception as error:  # noqa: BLE001 - a mistake in `read` is not the model's
                if call.answered:
                    inference.drop("columns_failed", type(error).__name__)
                    return
        inference.finish()

    def _flushing(self, send: Send) -> Send:
        """At the end of the application, send what waits before the server is told."""

        async def flushing(message: Message) -> None:
            if message["type"].startswith("lifespan.shutdown"):
                await asyncio.to_thread(self._client.flush, self._client.options.exit_seconds)
            await send(message)

        return flushing


class _Kept:
    """A body as far as it is kept: whole, or not at all."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._most:
            self._parts.append(part)
        else:
            self._parts.clear()

    @property
    def content(self) -> bytes:
        """The body, empty when it was too long."""
        return b"".join(self._parts)


class _Call:
    """The messages of one call as they pass."""

    def __init__(self, inference: Inference, receive: Receive, send: Send, keep: int) -> None:
        self._inference = inference
        self._receive = receive
        self._send = send
        self._status = 0
        self._streamed = False
        self._ended = False
        self._gone = False
        self.request, self.answer = _Kept(keep), _Kept(keep)

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self.request.add(message.get("body", b""))
        elif message["type"] == "http.disconnect" and not self._ended:
            self._gone = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start(message)
        elif message["type"] == "http.response.body":
            self._body(message)
        await self._send(message)

    @property
    def answered(self) -> bool:
        """Whether the call came to its end with a good status."""
        return self._ended and self._status < 400

    def judge(self) -> None:
        """The outcome that status and end mean, unless the handler told one."""
        outcome = outcome_of_status(self._status)
        if self._gone and not self._ended:
            self._inference.end_as("cancelled", "the caller left")
        elif not self._ended:
            self._inference.end_as("failed", "the answer has no end")
        elif outcome is not None:
            self._inference.end_as(outcome, f"HTTP {self._status}")

    def _start(self, message: Message) -> None:
        self._status = message["status"]
        headers = list(message.get("headers", ()))
        names = {name.lower() for name, _ in headers}
        self._streamed = b"content-length" not in names
        headers.append((ID_HEADER, self._inference.request_id.encode("ascii", "replace")))
        message["headers"] = headers

    def _body(self, message: Message) -> None:
        body = message.get("body", b"")
        self.answer.add(body)
        if self._streamed and body:
            self._inference.part()
        if not message.get("more_body", False):
            self._ended = True


def outcome_of_status(status: int) -> str | None:
    """What an HTTP status says of an inference; None for success, which changes nothing."""
    if status < 400:
        return None
    if status in (408, 504):
        return "timed_out"
    if status == 499:
        return "cancelled"
    return "refused" if status < 500 else "failed"


def _header(scope: Scope, wanted: bytes) -> str | None:
    for name, value in scope["headers"]:
        if name.lower() == wanted and 0 < len(value) <= MAX_ID_LENGTH:
            text: str = value.decode("ascii", "replace")
            return text if text.isprintable() else None
    return None
