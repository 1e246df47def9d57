"""Sends bodies to the collector over HTTP, tries again when told to, and adds up the answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import httpx

from monitor.demo.bodies import Body
from monitor.errors import InferwatchError

TRY_AGAIN = frozenset({429, 503})
MAX_ATTEMPTS = 20
LONGEST_WAIT_SECONDS = 30.0


@dataclass(frozen=True)
class Counts:
    """What was sent and what the collector said became of it."""

    sent: int = 0
    accepted: int = 0
    duplicate: int = 0
    conflict: int = 0
    rejected: int = 0
    violations: int = 0
    retried: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def fits(self) -> bool:
        """True when every record sent is accounted for exactly once."""
        return self.sent == self.accepted + self.duplicate + self.conflict + self.rejected


@dataclass(frozen=True)
class Sender:
    """Sends to one model of one collector with one key. Safe to share between threads."""

    client: httpx.Client
    model: str
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def to(cls, url: str, key: str, model: str) -> Sender:
        """A sender with its own connections; close `client` when done."""
        headers = {"Authorization": f"Bearer {key}"}
        client = httpx.Client(base_url=url, headers=headers, timeout=60.0, trust_env=False)
        return cls(client, model)

    def register(self, name: str, tags: dict[str, str]) -> int:
        """Register a deployment's tags; returns the number that requests refer to."""
        body = {"name": name, "tags": tags}
        answer = self._post("deployments", json=body)
        return int(answer["deployment"])

    def send(self, body: Body) -> Counts:
        """Send one body until it is answered; raises InferwatchError when it is refused."""
        retried = 0

        def count_retry() -> None:
            nonlocal retried
            retried += 1

        answer = self._post(
            body.kind, content=body.content, headers=body.headers, on_retry=count_retry
        )
        told = {name: int(answer[name]) for name in ("accepted", "duplicate", "conflict")}
        counts = Counts(
            sent=body.rows,
            rejected=int(answer["rejected"]),
            violations=int(answer["violations"]),
            retried=retried,
            **told,
        )
        if not counts.fits():
            raise InferwatchError(f"the collector lost count of a body: {counts}")
        return counts

    def _post(
        self, path: str, on_retry: Callable[[], None] = lambda: None, **content: Any
    ) -> dict[str, Any]:
        for _ in range(MAX_ATTEMPTS):
            response = self.client.post(f"/v1/{path}", params={"model": self.model}, **content)
            if response.status_code not in TRY_AGAIN:
                return _answer(response)
            on_retry()
            self.sleep(_wait_seconds(response))
        raise InferwatchError(f"the collector was busy for {MAX_ATTEMPTS} tries; is it healthy?")


def _answer(response: httpx.Response) -> dict[str, Any]:
    if response.is_success:
        answer: dict[str, Any] = response.json()
        return answer
    raise InferwatchError(
        f"{response.request.url} answered {response.status_code}: {response.text[:500]}"
    )


def _wait_seconds(response: httpx.Response) -> float:
    header = response.headers.get("Retry-After", "")
    return min(float(header), LONGEST_WAIT_SECONDS) if header.isdigit() else 1.0
