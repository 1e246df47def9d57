"""A process of its own that sends one notice through the Apprise library and says what became of
it. Reads JSON from standard input (url, title, text, kind, private_allowed), writes JSON to
standard output (outcome, detail).

Apprise knows over a hundred services and opens their connections itself. Here, and only here, the
interpreter asks before each connection: addresses are checked as for every channel, whatever a
name resolves to; no program is started; no redirect is followed. The process that started this one
ends it at its deadline.
"""

from __future__ import annotations

import importlib
import ipaddress
import json
import logging
import re
import sys
from enum import StrEnum
from typing import Any

from alerts.channels.addresses import refusal

_CONNECTIONS = ("socket.connect", "socket.sendto", "socket.sendmsg")
_PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")
_STATUS = re.compile(r"error=(\d{3})\b")


class Outcome(StrEnum):
    """What became of the notice."""

    TAKEN = "taken"
    NOT_TAKEN = "not_taken"
    REFUSED = "refused"  # an address that messages never go to, or a program
    UNUSABLE = "unusable"  # Apprise is not installed or too old, or its url names no service


class _Statuses(logging.Handler):
    """Keeps the status of the last answer, and nothing else that Apprise says: it may name the
    address, which is a secret."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Look for a status in a message."""
        found = _STATUS.search(record.getMessage())
        if found is not None:
            self.last = f"answered {found[1]}"


def main() -> None:
    """Send what standard input tells."""
    asked = json.loads(sys.stdin.read())
    outcome, detail = _send(asked)
    sys.stdout.write(json.dumps({"outcome": outcome, "detail": detail}))


def _send(asked: dict[str, Any]) -> tuple[Outcome, str]:
    try:
        apprise = importlib.import_module("apprise")
    except ImportError:
        return Outcome.UNUSABLE, "Apprise is not installed; install inferwatch[apprise]"
    if not hasattr(apprise.AppriseAsset, "http_redirects"):
        return Outcome.UNUSABLE, "this Apprise can't be kept from redirects; install 2.2 or newer"
    asset = apprise.AppriseAsset(
        http_redirects=False, async_mode=False, storage_mode="memory", pgp_autogen=False,
        pem_autogen=False,
    )  # fmt: skip
    sender = apprise.Apprise(asset=asset)
    sender.add(asked["url"])
    services = list(sender)
    if len(services) != 1:
        return Outcome.UNUSABLE, f"its url names {len(services)} services of Apprise; name one"
    services[0].redirects = False  # whatever its url says
    return _watched(sender, asked)


def _watched(sender: Any, asked: dict[str, Any]) -> tuple[Outcome, str]:
    statuses = _Statuses()
    logging.getLogger("apprise").addHandler(statuses)
    refused = _guard(private_allowed=bool(asked["private_allowed"]))
    taken = sender.notify(
        body=asked["text"], title=asked["title"], notify_type=asked["kind"], body_format="text"
    )
    if refused:
        return Outcome.REFUSED, refused[0]
    return (Outcome.TAKEN if taken else Outcome.NOT_TAKEN), statuses.last


def _guard(*, private_allowed: bool) -> list[str]:
    """Check every connection from now on; the list fills with what was refused."""
    refused: list[str] = []

    def refuse(reason: str) -> None:
        refused.append(reason)
        raise PermissionError(reason)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in _PROGRAMS:
            refuse("no program is started to send a message")
        if event in _CONNECTIONS and len(args) > 1 and args[1] is not None:
            reason = _address_refusal(args[1], private_allowed=private_allowed)
            if reason is not None:
                refuse(reason)

    sys.addaudithook(hook)
    return refused


def _address_refusal(address: Any, *, private_allowed: bool) -> str | None:
    if not isinstance(address, tuple):
        return "messages are not sent to sockets in the file system"
    try:
        found = ipaddress.ip_address(str(address[0]).partition("%")[0])
    except ValueError:
        return "the address behind the name could not be checked"
    return refusal(found, private_allowed=private_allowed)


if __name__ == "__main__":
    main()
