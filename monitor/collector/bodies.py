"""Reading a body within limits: size, time, and how far gzip may unpack it.

Only `identity` and one layer of gzip (several members in a row are fine) are taken: other codings
reach ratios of a hundred thousand and more.
"""

from __future__ import annotations

import asyncio
import zlib
from dataclasses import dataclass

from starlette.requests import Request

from monitor.errors import RequestRefused

GZIP_WINDOW = 31
SMALL_INFLATED_BYTES = 1 << 20
GZIP = frozenset({"gzip", "x-gzip"})


@dataclass(frozen=True)
class BodyLimits:
    """Bytes on the wire, bytes unpacked, their ratio, and seconds a sender may take."""

    max_bytes: int
    max_inflated_bytes: int
    max_ratio: int
    seconds: float


def content_coding(request: Request) -> str:
    """`identity` or `gzip`; raises RequestRefused 415 for anything else."""
    coding = request.headers.get("content-encoding", "identity").strip().lower() or "identity"
    if coding in GZIP:
        return "gzip"
    if coding != "identity":
        raise RequestRefused(
            415, "unsupported_encoding", "Content-Encoding is gzip or left out; nothing else"
        )
    return coding


async def read_body(request: Request, limits: BodyLimits) -> bytes:
    """The body as sent; raises RequestRefused 408, 411 or 413 as soon as a limit is passed."""
    refuse_length(request, limits)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                size += len(part)
                if size > limits.max_bytes:
                    raise _too_large(limits)
                parts.append(part)
    except TimeoutError:
        raise RequestRefused(
            408,
            "body_timeout",
            f"the body did not arrive within {limits.seconds:g} s; send it again",
        ) from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def refuse_length(request: Request, limits: BodyLimits) -> None:
    """Refuse by Content-Length alone, before a byte of the body is read."""
    length = request.headers.get("content-length")
    if length is None:
        if "chunked" not in request.headers.get("transfer-encoding", "").lower():
            raise RequestRefused(
                411, "length_required", "send a body with Content-Length or in chunks"
            )
        return
    if length.isascii() and length.isdigit() and int(length[:20]) > limits.max_bytes:
        raise _too_large(limits)


def inflate(body: bytes, limits: BodyLimits) -> bytes:
    """The body without gzip; raises RequestRefused 400 (broken, cut off) or 413 (too large)."""
    allowed = min(
        limits.max_inflated_bytes, max(SMALL_INFLATED_BYTES, len(body) * limits.max_ratio)
    )
    parts: list[bytes] = []
    size, rest = 0, body
    try:
        while rest or not parts:
            member = zlib.decompressobj(GZIP_WINDOW)
            part = member.decompress(rest, allowed - size + 1)
            size += len(part)
            parts.append(part)
            if size > allowed:
                raise _unpacks_too_far(allowed)
            if not member.eof:
                raise RequestRefused(
                    400, "truncated_gzip", "the gzip body ends too early; send it again"
                )
            rest = member.unused_data
    except zlib.error:
        raise RequestRefused(
            400, "bad_gzip", "the body is not gzip although Content-Encoding says so"
        ) from None
    return b"".join(parts)


def _too_large(limits: BodyLimits) -> RequestRefused:
    return RequestRefused(
        413, "too_large", f"the body has more than {limits.max_bytes} bytes; send fewer records"
    )


def _unpacks_too_far(allowed: int) -> RequestRefused:
    return RequestRefused(
        413, "too_large", f"the body unpacks to more than {allowed} bytes; send fewer records"
    )
