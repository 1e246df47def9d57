"""E-mail: one plain text mail to all addresses of a receiver, over SMTP.

Plain text on purpose: no markup, so nothing from outside can be one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Self

import yaml

from alerts.channels.base import Receipt, not_configured, read_secret
from alerts.channels.http_post import one_of
from alerts.channels.mail_connection import MailServer, Security, hand_over
from alerts.channels.outbound import Outbound
from alerts.channels.shown import incident_key, plain_text, shown, shown_title
from alerts.config import Receiver
from alerts.messages import Message
from alerts.model import Severity
from alerts.text import clean
from alerts.yaml_source import Section, read_text

MAXIMUM_CHARACTERS = 100_000
_SUBJECT_LIMIT = 250
_MOST_RECIPIENTS = 20
_USUAL_PORTS = {Security.STARTTLS: 587, Security.TLS: 465, Security.NONE: 25}
_HOST = re.compile(r"[A-Za-z0-9:](?:[A-Za-z0-9.:-]{0,251}[A-Za-z0-9:])?")
_LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"{_LOCAL}@{_LABEL}(?:\.{_LABEL})*")
_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_SECRET_REMEDY = "secrets never stand in this file; put it into password_env or password_file"  # noqa: S105


@dataclass(frozen=True)
class Mail:
    """The addresses of one receiver, and the server that takes mail for them."""

    server: MailServer
    sender: str
    recipients: tuple[str, ...]

    @staticmethod
    def read_options(receiver: Section) -> Mapping[str, str | bool]:
        """host, port, security, user and password_env or password_file, from, to."""
        security = receiver.word("security", Security) or Security.STARTTLS
        port = receiver.whole("port", least=1)
        options: dict[str, str | bool] = {
            "host": _read_host(receiver),
            "port": str(port if port is not None else _USUAL_PORTS[security]),
            "security": security.value,
            "from": _read_sender(receiver),
            "to": ", ".join(_read_recipients(receiver)),
            "private_addresses_allowed": bool(receiver.flag("private_addresses_allowed")),
        }
        if port is not None and port > 65_535:
            receiver.complain("port", f"must be at most 65535, got {port}")
        return options | _read_login(receiver, security)

    @classmethod
    def open(cls, receiver: Receiver, environment: Mapping[str, str]) -> Self:
        """Read the password, if there is a login."""
        options = receiver.options
        user = str(options.get("user", ""))
        password = read_secret(receiver, "password", environment) if user else ""
        if not password.isascii() or not user.isascii():
            raise not_configured(receiver, "user and password must be plain ASCII for a login")
        server = MailServer(
            str(options["host"]),
            int(str(options["port"])),
            Security(str(options["security"])),
            user,
            password,
            bool(options.get("private_addresses_allowed")),
        )
        return cls(server, str(options["from"]), tuple(str(options["to"]).split(", ")))

    def send(self, message: Message, *, delivery_id: str, now: datetime, http: Outbound) -> Receipt:
        """Hand the mail over for all addresses. Raises SendFailed."""
        mail = mail_of(message, self.sender, self.recipients, delivery_id, now)
        hand_over(self.server, mail, self.sender, self.recipients, http)
        return Receipt(250, f"taken for {len(self.recipients)} addresses")


def mail_of(
    message: Message, sender: str, recipients: tuple[str, ...], delivery_id: str, now: datetime
) -> EmailMessage:
    """The mail. Its Message-ID is that of the delivery; mails of one group are one thread."""
    domain = sender.rpartition("@")[2]
    mail = EmailMessage(policy=SMTP)
    mail["From"] = Address("Inferwatch", addr_spec=sender)
    mail["To"] = tuple(Address(addr_spec=each) for each in recipients)
    mail["Subject"] = clean(shown_title(message), _SUBJECT_LIMIT)
    mail["Date"] = format_datetime(now)
    mail["Message-ID"] = f"<{_plain(delivery_id)}@{domain}>"
    mail["References"] = f"<{_hashed(incident_key(message, delivery_id))}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-Auto-Response-Suppress"] = "All"
    mail["X-Inferwatch-Event"] = message.event.value
    if message.drill:
        mail["X-Inferwatch-Drill"] = "yes"
    if message.severity is Severity.PAGE:
        mail["Importance"] = "high"
    text = plain_text(shown(message), MAXIMUM_CHARACTERS)
    mail.set_content(f"{shown_title(message)}\n\n{text}\n", cte="quoted-printable")
    return mail


def _plain(delivery_id: str) -> str:
    return delivery_id if _PLAIN_ID.fullmatch(delivery_id) else _hashed(delivery_id)


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:40]


def _read_host(receiver: Section) -> str:
    host = receiver.text("host", limit=253)
    if "host" not in receiver.nodes:
        receiver.missing("host", "name the server that takes the mail")
    elif host is not None and not _HOST.fullmatch(host):
        receiver.complain("host", "must be a host name or an address, without a port")
    return host or ""


def _read_sender(receiver: Section) -> str:
    sender = receiver.text("from", limit=254)
    if "from" not in receiver.nodes:
        receiver.missing("from", "give the address that the mail comes from")
    elif sender is not None and not _ADDRESS.fullmatch(sender):
        receiver.complain("from", _address_mistake(sender))
    return sender or ""


def _read_recipients(receiver: Section) -> list[str]:
    def read(node: yaml.Node, place: str) -> str | None:
        text = read_text(node, place, receiver.problems, limit=254)
        if text is not None and not _ADDRESS.fullmatch(text):
            receiver.problems.add(node, place, _address_mistake(text))
            return None
        return text

    found = receiver.items("to", read)
    if "to" not in receiver.nodes:
        receiver.missing("to", "list the addresses that the mail goes to")
    elif isinstance(receiver.nodes["to"], yaml.SequenceNode) and not receiver.nodes["to"].value:
        receiver.complain("to", "must list at least one address")
    elif len(found) > _MOST_RECIPIENTS:
        receiver.complain("to", f"lists {len(found)} addresses; at most {_MOST_RECIPIENTS} fit")
    return found


def _address_mistake(text: str) -> str:
    return f"must be an address such as ada@example.org in plain ASCII, got {text[:60]!r}"


def _read_login(receiver: Section, security: Security) -> dict[str, str | bool]:
    receiver.refuse("password", _SECRET_REMEDY)
    user = receiver.text("user")
    names = ("password_env", "password_file")
    given = [name for name in names if name in receiver.nodes]
    if user is None and not given:
        return {}
    if security is Security.NONE:
        receiver.complain("user", "a login over a connection in clear is refused; use starttls")
    if user is None:
        receiver.complain(given[0], "is given without user; name the user of the login")
    password = one_of(receiver, names, refused="password" in receiver.nodes)
    return {**password, "user": user or ""}
