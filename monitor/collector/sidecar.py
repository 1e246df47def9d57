"""A small forwarder for clients that can't send a key: it adds the key and hands bodies on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

PATHS = ("/modeldata/log", "/v1/cloudevents")
MOST_BYTES, TIMEOUT_SECONDS = 16 << 20, 10.0
_KEPT = frozenset({"content-type", "content-encoding", "trace-id"})


def create_sidecar(url: str, key: str, model: str | None = None) -> Starlette:
    """The application; it forwards to the collector at `url`, perhaps naming the model."""
    client = httpx.AsyncClient(base_url=url, timeout=TIMEOUT_SECONDS, trust_env=False)
    said = {"Authorization": f"Bearer {key}", **({"X-Inferwatch-Model": model} if model else {})}

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await client.aclose()

    async def forward(request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return _refused(413, "too_large", f"the body has more than {MOST_BYTES} bytes")
        headers = {
            name: value
            for name, value in request.headers.items()
            if name in _KEPT or name.startswith("ce-")
        }
        try:
            answer = await client.post(
                request.url.path, content=bytes(body), headers={**headers, **said}
            )
        except httpx.HTTPError as error:
            told = f"the collector at {url} does not answer ({type(error).__name__})"
            return _refused(502, "collector_unavailable", told)
        kept = {
            n: answer.headers[n] for n in ("content-type", "retry-after") if n in answer.headers
        }
        return Response(answer.content, answer.status_code, kept)

    async def ready(_: Request) -> Response:
        return JSONResponse({"status": "alive"})

    routes = [Route(path, forward, methods=["POST"]) for path in PATHS]
    routes.append(Route("/readyz", ready))
    return Starlette(routes=routes, lifespan=lifespan)


def _refused(status: int, reason: str, message: str) -> JSONResponse:
    return JSONResponse({"reason": reason, "message": message}, status)
