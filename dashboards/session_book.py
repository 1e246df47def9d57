"""Whose a cookie is, asked of the database at most once a second and in threads of its own."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers

from monitor.access import Person
from monitor.reports.access import person_of
from monitor.settings import Settings

KEPT_SECONDS = 1.0
MOST_KEPT = 10_000
THREADS, SLOW_THREADS = 4, 2
# Browsers accept a cookie of the second name over https only, for this host and no other.
COOKIE, SAFE_COOKIE = "inferwatch_session", "__Host-inferwatch_session"

Answer = TypeVar("Answer")


def is_https(settings: Settings) -> bool:
    """Whether people reach the pages by https."""
    return settings.public_url.lower().startswith("https://")


def cookie_name(settings: Settings) -> str:
    """The cookie that holds the session's token."""
    return SAFE_COOKIE if is_https(settings) else COOKIE


def cookie_of(headers: Headers, name: str) -> str | None:
    """A cookie of a request, None without one."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return None
    return found.value if found is not None and found.value else None


class SessionBook:
    """Answers who a token belongs to. What it says is at most KEPT_SECONDS old."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self._known: dict[tuple[bytes, bool], tuple[float, Person | None]] = {}
        self._threads: CapacityLimiter | None = None
        self._slow_threads: CapacityLimiter | None = None

    async def look(self, token: str | None, *, used: bool) -> Person | None:
        """The person, None when the session does not hold. Raises the store's errors."""
        if token is None:
            return None
        key = (hashlib.sha256(token.encode("utf-8", "replace")).digest(), used)
        kept = self._known.get(key)
        if kept is not None and time.monotonic() - kept[0] < KEPT_SECONDS:
            return kept[1]
        asked = time.monotonic()
        found = await self.ask(person_of, token, datetime.now(UTC), used=used)
        if len(self._known) >= MOST_KEPT:
            self._known.clear()
        self._known[key] = (asked, found)
        return found

    async def ask(
        self, question: Callable[..., Answer], *arguments: object, **named: object
    ) -> Answer:
        """A question to the store, in a thread."""
        if self._threads is None:
            self._threads = CapacityLimiter(THREADS)
        return await to_thread.run_sync(
            lambda: question(self.engine, *arguments, **named), limiter=self._threads
        )

    async def ask_slowly(self, question: Callable[..., Answer], *arguments: object) -> Answer:
        """A question that hashes a password: many at once must not keep the others waiting."""
        if self._slow_threads is None:
            self._slow_threads = CapacityLimiter(SLOW_THREADS)
        return await to_thread.run_sync(
            lambda: question(self.engine, *arguments), limiter=self._slow_threads
        )

    def forget(self) -> None:
        """Ask again about everybody: somebody signed out."""
        self._known.clear()
