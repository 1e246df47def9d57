"""A real SMTP server on loopback (aiosmtpd) that refuses what it is told to refuse."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USER, PASSWORD = "inferwatch", "correct horse"


@dataclass
class MailBox:
    """Where the server listens, what it took, and what it answers."""

    port: int = 0
    taken: list[Envelope] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)  # recipient -> answer
    at_data: str = "250 taken"
    wait_at_data: float = 0.0
    was_encrypted: list[bool] = field(default_factory=list)
    logins: list[bytes] = field(default_factory=list)

    @property
    def mails(self) -> list[EmailMessage]:
        """The mails as a mail program reads them."""
        read = [message_from_bytes(each.content or b"", policy=default) for each in self.taken]
        return [each for each in read if isinstance(each, EmailMessage)]

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Take a recipient or refuse it."""
        if address in self.refused:
            return self.refused[address]
        envelope.rcpt_tos.append(address)
        return "250 ok"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Take the mail or refuse it."""
        await asyncio.sleep(self.wait_at_data)
        if self.at_data.startswith("2"):
            self.taken.append(envelope)
            self.was_encrypted.append(session.ssl is not None)
        return self.at_data

    def check(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        """Whether the login is right."""
        known = isinstance(data, LoginPassword) and data.password == PASSWORD.encode()
        if known:
            self.logins.append(data.login)
        return AuthResult(success=known, handled=known)  # unhandled: the server refuses


@contextmanager
def mail_server(**options: Any) -> Iterator[MailBox]:
    """Run the server while the block runs; `tls_context` offers STARTTLS, `ssl` begins with it."""
    box = MailBox()
    loop = asyncio.new_event_loop()
    begin_with: ssl.SSLContext | None = options.pop("ssl", None)

    def protocol() -> SMTP:
        return SMTP(box, loop=loop, hostname="mail.test", authenticator=box.check, **options)

    server = loop.run_until_complete(loop.create_server(protocol, "127.0.0.1", 0, ssl=begin_with))
    box.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield box
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        _end(loop)


def _end(loop: asyncio.AbstractEventLoop) -> None:
    """End the conversations that are still open, then the loop."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left))
    loop.run_until_complete(asyncio.sleep(0.01))  # connections close one turn later
    loop.close()
