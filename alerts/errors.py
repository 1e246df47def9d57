"""Errors of alerting.

AlertsError
├── AlertConfigError     alerts.yaml can't be used; carries every mistake at once
├── AlertNotOpen         an acknowledgement or closing of an alert that is not open
├── LinkNotValid         a signed link that was changed, cut or made by somebody else
├── LinkExpired          a signed link whose time is over
└── SendFailed           a channel could not hand a message over; the only way a channel fails
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class AlertsError(Exception):
    """Base of every error alerting raises on purpose. Its text names place, value and remedy."""


@dataclass(frozen=True)
class ConfigProblem:
    """One mistake in alerts.yaml: line (from 1), place such as `rules[2].above`, message."""

    line: int
    place: str
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, {self.place}: {self.message}"


class AlertConfigError(AlertsError):
    """The alert configuration can't be used. All problems are listed, in order of their lines."""

    def __init__(self, source: str, problems: Sequence[ConfigProblem]) -> None:
        self.source = source
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        count = len(self.problems)
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"{source}: {count} problem{'s' if count != 1 else ''}\n{lines}")


class AlertNotOpen(AlertsError):
    """Only a pending or firing alert can be acknowledged or closed."""


class LinkNotValid(AlertsError):
    """A link that is not one of ours as it was sent."""


class LinkExpired(AlertsError):
    """A link that was ours and may do nothing any more."""


class SendFailure(StrEnum):
    """Why a message was not taken. A closed list: stored with the attempt, used as metric label."""

    NOT_CONFIGURED = "not_configured"  # address or secret of the receiver can't be read
    ADDRESS_REFUSED = "address_refused"  # the address is one that messages never go to
    UNRESOLVABLE = "unresolvable"  # the name has no address
    CONNECTION_FAILED = "connection_failed"
    TIMED_OUT = "timed_out"
    REDIRECTED = "redirected"
    RATE_LIMITED = "rate_limited"
    RECEIVER_GONE = "receiver_gone"
    REFUSED = "refused"  # a client error: the receiver does not want this message
    CHANNEL_ERROR = "channel_error"  # a fault of the program: the message could not be made
    RECEIVER_ERROR = "receiver_error"  # a server error, or an answer that can't be understood


class SendFailed(AlertsError):
    """A message was not taken by its receiver.

    `permanent` means that trying again is useless. `disable_receiver` means that the receiver asked
    to be sent nothing any more. `retry_after` is the wait the receiver asked for, `status` the HTTP
    status where there was one. The text names no path, query or secret of the address.
    """

    def __init__(
        self,
        reason: SendFailure,
        detail: str,
        *,
        permanent: bool = False,
        retry_after: timedelta | None = None,
        status: int | None = None,
        disable_receiver: bool = False,
    ) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
        self.permanent = permanent
        self.retry_after = retry_after
        self.status = status
        self.disable_receiver = disable_receiver
