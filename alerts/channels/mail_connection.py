"""One conversation with a mail server, judged: whom it took the mail for, and why not for others.

The address is checked when the connection is made, the name on the certificate must be the
configured one, and one deadline holds for the whole conversation.
"""

from __future__ import annotations

import contextlib
import smtplib
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage
from enum import StrEnum

from alerts.channels.outbound import AddressRefused, NameUnresolvable, Outbound
from alerts.errors import SendFailed, SendFailure
from alerts.text import clean

_SHOWN_ANSWER = 200
_LOGIN_REFUSED = (530, 534, 535, 538)

Refused = Mapping[str, tuple[int, bytes]]


class Security(StrEnum):
    """How the conversation is encrypted."""

    STARTTLS = "starttls"  # before anything of the mail is said
    TLS = "tls"  # from the first byte on
    NONE = "none"  # for a mail server on the same machine or network


@dataclass(frozen=True)
class MailServer:
    """Where mail is handed over. Without a user name there is no login."""

    host: str
    port: int
    security: Security
    user: str = ""
    password: str = field(default="", repr=False)
    private_addresses_allowed: bool = False


def hand_over(
    server: MailServer, mail: EmailMessage, sender: str, recipients: tuple[str, ...], http: Outbound
) -> None:
    """Hand the mail over for every recipient. Raises SendFailed.

    A refusal of some recipients is a failure too, after the others were served: a person who is
    never told would be a silent loss. A repetition carries the same Message-ID.
    """
    talk = _Conversation(server, http)
    try:
        talk.begin()
        refused = talk.send_message(mail, sender, list(recipients))
        with contextlib.suppress(smtplib.SMTPException, OSError):  # the mail is taken by now
            talk.quit()
    except _ERRORS as error:
        raise _failure_of(error, cut=talk.was_cut) from error
    finally:
        talk.close()
    if refused:
        raise _refusal(refused, len(recipients))


_ERRORS = (smtplib.SMTPException, OSError, AddressRefused, NameUnresolvable)


class _Conversation(smtplib.SMTP):
    """smtplib over a connection whose address was checked, with one deadline."""

    def __init__(self, server: MailServer, http: Outbound) -> None:
        super().__init__(timeout=http.timeout)
        self._host = server.host  # smtplib checks the certificate against it
        self._server = server
        self._http = http
        self._handle: socket.socket | None = None
        self._cut = threading.Event()
        self._deadline = time.monotonic() + http.timeout
        self._watch: threading.Timer | None = None

    @property
    def was_cut(self) -> bool:
        """Whether the deadline ended the conversation."""
        return self._cut.is_set()

    def begin(self) -> None:
        """Connect, encrypt and log in."""
        code, text = self.connect(self._server.host, self._server.port)
        if code != 220:
            raise smtplib.SMTPConnectError(code, text)
        if self._server.security is Security.STARTTLS:
            self.starttls(context=self._http.tls)
        if self._server.user:
            self.login(self._server.user, self._server.password)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:  # noqa: ARG002
        allowed = self._server.private_addresses_allowed
        plain = self._http.connect(host, port, private_allowed=allowed)
        # A second handle: it ends the connection whatever encryption wraps the first one.
        self._handle = plain.dup()
        self._watch = threading.Timer(self._deadline - time.monotonic(), self._cut_off)
        self._watch.daemon = True
        self._watch.start()
        if self._server.security is Security.TLS:
            return self._http.tls.wrap_socket(plain, server_hostname=host)
        return plain

    def _cut_off(self) -> None:
        self._cut.set()
        if self._handle is not None:
            with contextlib.suppress(OSError):
                self._handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection and end the watch."""
        super().close()
        if self._watch is not None:
            self._watch.cancel()
        if self._handle is not None:
            self._handle.close()


def _failure_of(error: Exception, *, cut: bool) -> SendFailed:
    """What kept the mail from being taken."""
    if isinstance(error, AddressRefused):
        return SendFailed(SendFailure.ADDRESS_REFUSED, _short(error), permanent=True)
    if isinstance(error, NameUnresolvable):
        return SendFailed(SendFailure.UNRESOLVABLE, _short(error))
    if cut or isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
        return SendFailed(SendFailure.TIMED_OUT, "no complete conversation in time")
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return _refusal(error.recipients, len(error.recipients))
    if isinstance(error, smtplib.SMTPResponseException):
        return _answered(error.smtp_code, _decoded(error.smtp_error))
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return SendFailed(SendFailure.NOT_CONFIGURED, f"the mail server can't: {_short(error)}")
    return SendFailed(SendFailure.CONNECTION_FAILED, _short(error) or "the connection broke")


def _answered(code: int, text: str) -> SendFailed:
    detail = f"answered {code} {text}".rstrip()
    if code in _LOGIN_REFUSED:
        return SendFailed(SendFailure.NOT_CONFIGURED, f"the login failed: {detail}")
    if 500 <= code < 600:
        return SendFailed(SendFailure.REFUSED, detail, permanent=True)
    return SendFailed(SendFailure.RECEIVER_ERROR, detail)


def _refusal(refused: Refused, asked: int) -> SendFailed:
    """Recipients that were refused; trying again is useless when each refusal is for good."""
    told = "; ".join(
        f"{recipient}: {code} {_decoded(text)}" for recipient, (code, text) in refused.items()
    )
    for_good = all(500 <= code < 600 for code, _ in refused.values())
    reason = SendFailure.REFUSED if for_good else SendFailure.RECEIVER_ERROR
    taken = f"taken for {asked - len(refused)} of {asked} addresses"
    return SendFailed(reason, f"{taken}; {told}", permanent=for_good)


def _decoded(answer: bytes | str) -> str:
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
    return clean(text, _SHOWN_ANSWER)


def _short(error: Exception) -> str:
    return clean(str(error), _SHOWN_ANSWER)
