"""Every error a person can meet, in one tree.

InferwatchError
├── ConfigurationError        settings, contract or rules that can't be used; carries all problems
├── DatabaseUnavailable       Postgres does not answer; retrying later is right
├── DatabaseNotReady          Postgres answers, but the schema is missing or of another version
├── EmbeddedPostgresError     the embedded server could not be set up, started or stopped
├── UnknownSubject            a named project, model, deployment, alert or window does not exist
├── ActionNotOpen             an outcome for an action that has one, or that was never asked for
├── NotAllowed                the signed-in person's role does not allow it, or nobody is signed in
├── RequestRefused            a whole request body is refused (too large, unreadable, not allowed)
└── LeaseLost                 another worker took this work over; nothing was written
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class InferwatchError(Exception):
    """Base of every error Inferwatch raises on purpose. Its text names place, value and remedy."""


@dataclass(frozen=True)
class Problem:
    """One mistake in something a person wrote: where, what, and what to do."""

    place: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        where = f"line {self.line}, {self.place}" if self.line is not None else self.place
        return f"{where}: {self.message}"


class ConfigurationError(InferwatchError):
    """A file or setting can't be used. All problems are listed at once."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        count = len(self.problems)
        super().__init__(f"{source}: {count} problem{'s' if count != 1 else ''}\n{lines}")


class DatabaseUnavailable(InferwatchError):
    """Postgres does not answer. Check that it runs (`inferwatch db status`) and DATABASE_URL."""


class DatabaseNotReady(InferwatchError):
    """The database schema is missing or older than this program. Run `inferwatch migrate`."""


class EmbeddedPostgresError(InferwatchError):
    """The embedded Postgres could not be set up, started or stopped; the text says what to do."""


class UnknownSubject(InferwatchError):
    """A named project, model, deployment, alert or window does not exist."""


class ActionNotOpen(InferwatchError):
    """An outcome was reported for an action that has another one, or that was never asked for."""


class NotAllowed(InferwatchError):
    """The role of the signed-in person does not allow this, or nobody is signed in any more."""


class RequestRefused(InferwatchError):
    """A whole body is refused; nothing of it was stored.

    `status` is the HTTP status to answer with, `reason` a stable word for scripts,
    `retry_after` seconds when retrying later is right.
    """

    def __init__(
        self, status: int, reason: str, message: str, *, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after


class LeaseLost(InferwatchError):
    """Another worker took this work over (the lease ran out). Nothing was written."""
