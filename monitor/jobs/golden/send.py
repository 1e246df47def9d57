"""Sends one case to a model server and says how it ended. The only part here that speaks HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from monitor.jobs.golden.protocol import Answered, MalformedAnswer, Wire
from monitor.strictjson import StrictJsonError, loads

MOST_BYTES = 8 << 20
MOST_REASON = 300
_REFUSALS = frozenset({400, 406, 413, 415, 422})
_NO_CONTENT = 204


@dataclass(frozen=True)
class Reply:
    """How one request ended: an outcome of the product, why, outputs, and milliseconds it took.

    `reached` is false when no connection came about at all.
    """

    outcome: str
    reason: str | None
    outputs: Mapping[str, Any]
    milliseconds: float
    reached: bool = True


class ModelServer:
    """A model server at one address. Redirects are not followed; the environment's proxies are."""

    def __init__(
        self, url: str, wire: Wire, timeout_seconds: float, headers: Mapping[str, str] | None = None
    ) -> None:
        self._url = wire.url(url)
        self._wire = wire
        self._timeout = timeout_seconds
        self._client = httpx.Client(
            timeout=timeout_seconds, follow_redirects=False, headers=dict(headers or {})
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def ask(self, request_id: str, inputs: Mapping[str, Any], needed: frozenset[str]) -> Reply:
        """Send a case and wait for the whole answer, at most the time-out in all."""
        body = json.dumps(
            self._wire.body(request_id, inputs), ensure_ascii=False, allow_nan=False
        ).encode()
        began = time.perf_counter()
        outcome, reason, outputs, reached = self._exchange(body, began, needed)
        took = (time.perf_counter() - began) * 1000
        return Reply(outcome, None if reason is None else _line(reason), outputs, took, reached)

    def _exchange(
        self, body: bytes, began: float, needed: frozenset[str]
    ) -> tuple[str, str | None, Mapping[str, Any], bool]:
        headers = {"content-type": "application/json", "accept": "application/json"}
        try:
            with self._client.stream("POST", self._url, content=body, headers=headers) as answer:
                text = self._read(answer, began)
        except httpx.ConnectTimeout:
            return "timed_out", f"no connection within {self._timeout:g} s", {}, False
        except (httpx.TimeoutException, _TooSlow):
            return "timed_out", f"no whole answer within {self._timeout:g} s", {}, True
        except httpx.ConnectError as error:
            return "failed", f"no connection: {error}", {}, False
        except httpx.HTTPError as error:
            return "failed", f"{type(error).__name__}: {error}", {}, True
        except _TooLong:
            return "failed", f"malformed answer: longer than {MOST_BYTES >> 20} MB", {}, True
        try:
            read = self._judge(answer.status_code, text, needed)
        except MalformedAnswer as wrong:
            return "failed", f"malformed answer: {wrong}", {}, True
        return read.outcome, read.reason, read.outputs, True

    def _read(self, answer: httpx.Response, began: float) -> bytes:
        """The body in bounded memory and time; httpx bounds only the wait for each piece."""
        pieces, size = [], 0
        for piece in answer.iter_bytes():
            size += len(piece)
            if size > MOST_BYTES:
                raise _TooLong
            if time.perf_counter() - began > self._timeout:
                raise _TooSlow
            pieces.append(piece)
        return b"".join(pieces)

    def _judge(self, status: int, body: bytes, needed: frozenset[str]) -> Answered:
        if status == _NO_CONTENT:
            return Answered(outcome="abstained", reason="HTTP 204")
        if not 200 <= status < 300:
            outcome = "refused" if status in _REFUSALS else "failed"
            return Answered(outcome=outcome, reason=f"HTTP {status}: {_shown(body)}")
        try:
            payload = loads(body)
        except StrictJsonError as error:
            raise MalformedAnswer(f"not readable as JSON ({error})") from None
        return self._wire.read(payload, needed)


class _TooSlow(Exception):
    """The whole answer took longer than allowed."""


class _TooLong(Exception):
    """The answer is larger than any answer may be."""


def _shown(body: bytes) -> str:
    return body[:MOST_REASON].decode("utf-8", "replace")


def _line(text: str) -> str:
    """One printable line that can be stored."""
    return " ".join("".join(s if s.isprintable() else " " for s in text).split())[:MOST_REASON]
