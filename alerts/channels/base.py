"""What every channel is: options read from alerts.yaml, and one way to send.

A channel fails in one way only, `SendFailed`; when to try again is not its matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, Self

from alerts.channels.outbound import Outbound
from alerts.config import Receiver
from alerts.errors import SendFailed, SendFailure
from alerts.messages import Message
from alerts.yaml_source import Section

_LARGEST_FILE = 10_000


@dataclass(frozen=True)
class Receipt:
    """A message was taken: the status where the channel has one, and the answer.

    `answer` is its start, cleaned for people; `content` is all of it, at most 64 kB, as it came.
    """

    status: int | None
    answer: str = ""
    content: str = ""


class Channel(Protocol):
    """A way to reach one receiver."""

    @staticmethod
    def read_options(receiver: Section) -> Mapping[str, str | bool]:
        """Read the channel's keys of a receiver in alerts.yaml and report its mistakes."""

    @classmethod
    def open(cls, receiver: Receiver, environment: Mapping[str, str]) -> Self:
        """The channel to this receiver, its secrets read. Raises SendFailed (not_configured)."""

    def send(self, message: Message, *, delivery_id: str, now: datetime, http: Outbound) -> Receipt:
        """Hand the message over. Raises SendFailed.

        `delivery_id` is the same for all attempts of one delivery, so that the receiver can drop
        a repetition.
        """


def read_secret(receiver: Receiver, name: str, environment: Mapping[str, str]) -> str:
    """A value given as `name` itself, as `name_env` or as `name_file`, without outer white space.

    Raises SendFailed (not_configured, not permanent: an operator can mend it) when it can't be
    read.
    """
    options = receiver.options
    variable, path = options.get(f"{name}_env"), options.get(f"{name}_file")
    if isinstance(variable, str):
        text = environment.get(variable, "").strip()
        source = f"environment variable {variable}"
    elif isinstance(path, str):
        text, source = _read_file(path), f"file {path}"
    else:
        text, source = str(options.get(name, "")).strip(), f"option {name}"
    if not text:
        raise not_configured(receiver, f"{source} is missing, empty or unreadable; set it")
    return text


def _read_file(path: str) -> str:
    try:
        with Path(path).open(encoding="utf-8") as file:
            return file.read(_LARGEST_FILE).strip()
    except (OSError, UnicodeDecodeError):
        return ""


def not_configured(receiver: Receiver, detail: str) -> SendFailed:
    """The error of a receiver that an operator must mend."""
    return SendFailed(SendFailure.NOT_CONFIGURED, f"receiver {receiver.name}: {detail}")
