"""Apprise, for notices only: the many services it knows, at the price of what it can't tell.

Apprise answers yes or no, keeps no key of an incident and can't end one: a page or a ticket is not
entrusted to it. It runs in a process of its own (`apprise_child`), in which connections are
checked, without attachments, redirects or settings of this one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Self

from alerts.channels.apprise_child import Outcome
from alerts.channels.base import Receipt, read_secret
from alerts.channels.http_post import read_secret_address
from alerts.channels.outbound import Outbound
from alerts.channels.shown import plain_text, shown, shown_title
from alerts.config import Receiver
from alerts.errors import SendFailed, SendFailure
from alerts.groups import EventType
from alerts.messages import Message
from alerts.model import Severity
from alerts.text import clean
from alerts.yaml_source import Section

MAXIMUM_CHARACTERS = 4_000
_CHILD = "alerts.channels.apprise_child"
# Certificates of the operator's own; everything else of the environment stays here.
_PASSED_ON = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
_KINDS = {EventType.RESOLVED: "success", EventType.PING: "info", EventType.REPORT_READY: "info"}
_FAILURES = {
    Outcome.NOT_TAKEN: SendFailure.RECEIVER_ERROR,
    Outcome.REFUSED: SendFailure.ADDRESS_REFUSED,
    Outcome.UNUSABLE: SendFailure.NOT_CONFIGURED,
}


@dataclass(frozen=True)
class AppriseNotice:
    """One service of Apprise; its url is the secret."""

    notices_only: ClassVar[bool] = True

    url: str = field(repr=False)
    private_addresses_allowed: bool = False
    passed_on: Mapping[str, str] = field(default_factory=dict, hash=False)

    @staticmethod
    def read_options(receiver: Section) -> Mapping[str, str | bool]:
        """url_env or url_file, and private_addresses_allowed."""
        return read_secret_address(receiver)

    @classmethod
    def open(cls, receiver: Receiver, environment: Mapping[str, str]) -> Self:
        """Read the url."""
        allowed = bool(receiver.options.get("private_addresses_allowed"))
        passed_on = {name: environment[name] for name in _PASSED_ON if name in environment}
        return cls(read_secret(receiver, "url", environment), allowed, passed_on)

    def send(self, message: Message, *, delivery_id: str, now: datetime, http: Outbound) -> Receipt:  # noqa: ARG002
        """Send a notice. Raises SendFailed, for good when the message is more than a notice."""
        if message.severity is not Severity.NOTICE:
            raise SendFailed(
                SendFailure.NOT_CONFIGURED,
                f"Apprise is for notices only, this is a {message.severity}; "
                "route it to another receiver",
                permanent=True,
            )
        asked = {
            "url": self.url,
            "title": clean(shown_title(message), 250),
            "text": plain_text(shown(message), MAXIMUM_CHARACTERS),
            "kind": _KINDS.get(message.event, "warning"),
            "private_allowed": self.private_addresses_allowed,
        }
        return _judged(_run(asked, http.timeout, self.passed_on))


def _run(
    asked: Mapping[str, Any], timeout: float, passed_on: Mapping[str, str]
) -> Mapping[str, Any]:
    """What the child says. Raises SendFailed when it says nothing in time."""
    try:
        child = subprocess.run(  # noqa: S603 - this interpreter, with our own module
            [sys.executable, "-I", "-m", _CHILD],
            input=json.dumps(asked),
            capture_output=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
            env={**passed_on, "HOME": os.devnull, "NETRC": os.devnull},
        )
    except subprocess.TimeoutExpired as error:
        raise SendFailed(SendFailure.TIMED_OUT, "Apprise took too long") from error
    try:
        said = json.loads(child.stdout)
    except ValueError as error:
        kind = clean(child.stderr.strip().rpartition("\n")[2].partition(":")[0], 60)
        detail = f"Apprise ended with status {child.returncode} {kind}".rstrip()
        raise SendFailed(SendFailure.RECEIVER_ERROR, detail) from error
    return said if isinstance(said, Mapping) else {}


def _judged(said: Mapping[str, Any]) -> Receipt:
    outcome, detail = Outcome(said["outcome"]), clean(str(said["detail"]), 200)
    if outcome is Outcome.TAKEN:
        return Receipt(None)
    raise SendFailed(
        _FAILURES[outcome],
        detail or "Apprise could not hand it over",
        permanent=outcome is Outcome.REFUSED,
    )
