"""E-mail against a real SMTP server: what arrives, what its refusals mean, what is never sent."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.channels.base import Receipt
from alerts.channels.mail import mail_of
from alerts.channels.outbound import Outbound
from alerts.channels.registry import CHANNELS, open_channel
from alerts.config import Receiver, read_alert_config
from alerts.errors import AlertConfigError, SendFailed, SendFailure
from alerts.groups import EventType
from alerts.messages import Message

from .factories import NOW
from .mail_server import PASSWORD, USER, MailBox, mail_server
from .test_webhook_tls import certificate_for
from .told import HOSTILE, message

WRONG = "battery-staple"
SENDER, ADA, GRACE = "inferwatch@example.org", "ada@example.org", "grace@example.org"


@pytest.fixture
def box() -> Iterator[MailBox]:
    with mail_server() as opened:
        yield opened


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """A server's certificate for 127.0.0.1 that the system trusts."""
    context = certificate_for([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))], tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    return context


def send(
    port: int, told: Message | None = None, *, timeout: float = 5.0, **options: str | bool
) -> Receipt:
    given: dict[str, str | bool] = {
        "host": "127.0.0.1",
        "port": str(port),
        "security": "none",
        "from": SENDER,
        "to": f"{ADA}, {GRACE}",
        "private_addresses_allowed": True,
    }
    receiver = Receiver("mail", "email", options=given | options)
    channel = open_channel(receiver, {"MAIL_PASSWORD": PASSWORD, "WRONG": WRONG})
    with Outbound(timeout=timeout) as http:
        return channel.send(told or message(), delivery_id="dlv_1", now=NOW, http=http)


def failure(port: int, **options: str | bool) -> SendFailed:
    with pytest.raises(SendFailed) as caught:
        send(port, **options)
    return caught.value


def test_a_mail_arrives_for_all_addresses(box: MailBox) -> None:
    receipt = send(box.port)
    (mail,), (envelope,) = box.mails, box.taken
    assert receipt.status == 250
    assert envelope.mail_from == SENDER
    assert envelope.rcpt_tos == [ADA, GRACE]
    assert mail["Subject"] == message().title
    assert mail["From"] == f"Inferwatch <{SENDER}>"
    assert mail["To"] == f"{ADA}, {GRACE}"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["Importance"] == "high"
    assert mail.get_content_type() == "text/plain"
    text = mail.get_content()
    assert "Impact: Wrong inputs." in text
    assert "https://api.example.org/alerts/17/acknowledge?token=abc" in text
    assert "runtime_version unknown → 1.18" in text


def test_a_repetition_keeps_the_id_and_the_mails_of_a_group_are_one_thread(box: MailBox) -> None:
    for told in (message(), message(), message(EventType.RESOLVED), message(drill=True)):
        send(box.port, told)
    first, again, end, drill = box.mails
    assert first["Message-ID"] == again["Message-ID"] == "<dlv_1@example.org>"
    assert first["References"] == end["References"] != drill["References"]
    assert drill["Subject"].startswith("DRILL")
    assert drill["X-Inferwatch-Drill"] == "yes"
    assert drill["Importance"] == first["Importance"]
    assert "This is a drill" in drill.get_content()


def test_the_page_is_sent_over_starttls_with_a_login(certificate: ssl.SSLContext) -> None:
    with mail_server(tls_context=certificate, require_starttls=True, auth_required=True) as box:
        send(box.port, security="starttls", user=USER, password_env="MAIL_PASSWORD")
        assert box.was_encrypted == [True]
        assert box.logins == [USER.encode()]
        refused = failure(box.port, security="starttls", user=USER, password_env="WRONG")
        assert len(box.taken) == 1
    assert refused.reason is SendFailure.NOT_CONFIGURED
    assert not refused.permanent
    assert "535" in refused.detail
    assert WRONG not in refused.detail


def test_tls_from_the_first_byte(certificate: ssl.SSLContext) -> None:
    with mail_server(ssl=certificate) as box:
        send(box.port, security="tls")
        assert len(box.taken) == 1


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_an_unknown_certificate_is_refused(security: str, tmp_path: Path) -> None:
    context = certificate_for([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))], tmp_path)
    options = {"ssl": context} if security == "tls" else {"tls_context": context}
    with mail_server(**options) as box:
        failed = failure(box.port, security=security)
        assert box.taken == []
    assert failed.reason is SendFailure.CONNECTION_FAILED
    assert "certificate" in failed.detail.lower()


def test_a_certificate_of_another_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = certificate_for([x509.DNSName("another.example.org")], tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    with mail_server(tls_context=context) as box:
        failed = failure(box.port, security="starttls")
        assert box.taken == []
    assert failed.reason is SendFailure.CONNECTION_FAILED


def test_without_the_asked_for_encryption_nothing_is_sent(box: MailBox) -> None:
    failed = failure(box.port, security="starttls")
    assert failed.reason is SendFailure.NOT_CONFIGURED
    assert "STARTTLS" in failed.detail
    assert box.taken == []


@pytest.mark.parametrize(
    ("answer", "reason", "permanent"),
    [
        ("421 4.3.2 going down", SendFailure.RECEIVER_ERROR, False),
        ("451 4.3.0 try later", SendFailure.RECEIVER_ERROR, False),
        ("452 4.2.2 mailbox full", SendFailure.RECEIVER_ERROR, False),
        ("550 5.7.1 looks like spam", SendFailure.REFUSED, True),
        ("552 5.3.4 too large", SendFailure.REFUSED, True),
        ("554 5.6.0 no", SendFailure.REFUSED, True),
    ],
)
def test_a_refused_mail_is_tried_again_only_when_it_may_be_taken(
    box: MailBox, answer: str, reason: SendFailure, permanent: bool
) -> None:
    box.at_data = answer
    failed = failure(box.port)
    assert (failed.reason, failed.permanent) == (reason, permanent)
    assert answer in failed.detail


@pytest.mark.parametrize(
    ("answer", "reason", "permanent"),
    [
        ("450 4.2.0 greylisted", SendFailure.RECEIVER_ERROR, False),
        ("550 5.1.1 no such user", SendFailure.REFUSED, True),
    ],
)
@pytest.mark.parametrize("refused", [[GRACE], [ADA, GRACE]])
def test_a_refused_recipient_is_a_failure_even_when_others_were_served(
    box: MailBox, answer: str, reason: SendFailure, permanent: bool, refused: list[str]
) -> None:
    box.refused = dict.fromkeys(refused, answer)
    failed = failure(box.port)
    assert (failed.reason, failed.permanent) == (reason, permanent)
    assert f"taken for {2 - len(refused)} of 2 addresses" in failed.detail
    assert f"{GRACE}: {answer}" in failed.detail
    assert len(box.taken) == (1 if len(refused) == 1 else 0)


def test_refusals_of_both_kinds_are_tried_again(box: MailBox) -> None:
    box.refused = {ADA: "550 5.1.1 no such user", GRACE: "450 4.2.0 greylisted"}
    assert not failure(box.port).permanent


def test_a_server_that_never_answers_is_left_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(SendFailed) as caught:
        send(silent.getsockname()[1], timeout=0.3)
    assert caught.value.reason is SendFailure.TIMED_OUT


def test_a_server_that_drips_is_left_at_the_deadline() -> None:
    """Each wait is short, the whole would never end."""
    over = threading.Event()

    def drip(server: socket.socket) -> None:
        talk, _ = server.accept()
        with talk:
            while not over.wait(0.05):
                try:
                    talk.sendall(b"2")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        with pytest.raises(SendFailed) as caught:
            send(server.getsockname()[1], timeout=0.5)
        over.set()
        thread.join()
    assert caught.value.reason is SendFailure.TIMED_OUT


def test_a_mail_that_is_taken_too_late_counts_as_timed_out(box: MailBox) -> None:
    box.wait_at_data = 1.0
    with pytest.raises(SendFailed) as caught:
        send(box.port, timeout=0.4)
    assert caught.value.reason is SendFailure.TIMED_OUT


def test_a_closed_port_is_a_broken_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    failed = failure(port)
    assert failed.reason is SendFailure.CONNECTION_FAILED
    assert not failed.permanent


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.169.254", "::1", "10.0.0.1"])
def test_special_addresses_are_refused_unless_allowed(box: MailBox, host: str) -> None:
    failed = failure(box.port, host=host, private_addresses_allowed=False)
    assert failed.reason is SendFailure.ADDRESS_REFUSED
    assert failed.permanent
    assert box.taken == []


def test_a_name_that_turns_to_loopback_between_look_ups_reaches_nothing(box: MailBox) -> None:
    """The address that was checked is the one that is connected to."""
    answers = iter([["203.0.113.1"], ["127.0.0.1"]])
    options: dict[str, str | bool] = {
        "host": "mail.example.org", "port": str(box.port), "security": "none",
        "from": SENDER, "to": ADA,
    }  # fmt: skip
    channel = open_channel(Receiver("mail", "email", options=options), {})
    for _ in range(2):
        with (
            Outbound(timeout=2.0, resolver=lambda *_: next(answers)) as http,
            pytest.raises(SendFailed) as caught,
        ):
            channel.send(message(), delivery_id="d", now=NOW, http=http)
        assert caught.value.reason is SendFailure.ADDRESS_REFUSED
    assert box.taken == []


@settings(max_examples=60, deadline=None)
@given(title=st.text(max_size=300), text=st.text(max_size=300))
def test_no_text_adds_a_header_or_a_recipient(title: str, text: str) -> None:
    told = message(text=text, note=text)
    forged = Message(**{**vars(told), "title": title + HOSTILE})
    mail = mail_of(forged, SENDER, (ADA,), "dlv_1", NOW)
    raw = mail.as_bytes()
    head = raw.partition(b"\r\n\r\n")[0]
    names = [line.partition(b":")[0] for line in head.split(b"\r\n") if line[:1] not in b" \t"]
    assert len(names) == len(set(names))
    assert set(names) <= {
        b"From", b"To", b"Subject", b"Date", b"Message-ID", b"References", b"Auto-Submitted",
        b"X-Auto-Response-Suppress", b"X-Inferwatch-Event", b"Importance", b"Content-Type",
        b"Content-Transfer-Encoding", b"MIME-Version",
    }  # fmt: skip


def test_a_hostile_text_reaches_nobody_else(box: MailBox) -> None:
    told = message(text=HOSTILE, note=HOSTILE)
    send(box.port, Message(**{**vars(told), "title": f"a\r\nBcc: {GRACE}"}), to=ADA)
    (mail,), (envelope,) = box.mails, box.taken
    assert envelope.rcpt_tos == [ADA]
    assert mail["Bcc"] is None
    assert mail["Subject"] == f"a Bcc: {GRACE}"


def test_a_line_of_one_dot_does_not_end_the_mail(box: MailBox) -> None:
    told = message()
    send(
        box.port, Message(**{**vars(told), "body": {"data": {}}, "lines": ("a", ".", "QUIT", "b")})
    )
    assert "a\n.\nQUIT\nb" in box.mails[0].get_content().replace("\r\n", "\n")


FILE = """
owners:
  - {{name: a, people: [x@example.org], receiver: r}}
receivers:
  - {{name: r, channel: email, {keys}}}
rules:
  - {{name: q, when: {{check: drift}}, above: 1, severity: notice, owner: a, response: investigate}}
"""
GOOD = "host: mail.example.org, from: a@example.org, to: [b@example.org]"


@pytest.mark.parametrize(
    ("keys", "mistakes"),
    [
        (GOOD, []),
        (f"{GOOD}, security: tls, port: 4650, user: me, password_file: /run/p", []),
        ("from: a@example.org, to: [b@example.org]", ["host is missing"]),
        ("host: h, from: a, to: [b@x, 'c@x\\r\\nd']", ["from: must be an address", "to[1]"]),
        ("host: h, from: a@x, to: []", ["at least one address"]),
        ("host: h, from: a@x, to: ['b@x,c@x']", ["must be an address"]),
        ("host: 'h:25', from: 'A <a@x>', to: [b@x]", ["from: must be an address"]),
        ("host: 'http://h', from: a@x, to: [b@x]", ["must be a host name"]),
        (f"{GOOD}, password: abc, user: me", ["secrets never stand in this file"]),
        (f"{GOOD}, user: me", ["password_env or password_file is missing"]),
        (f"{GOOD}, password_env: P", ["without user"]),
        (f"{GOOD}, security: none, user: me, password_env: P", ["in clear is refused"]),
        (f"{GOOD}, security: maybe", ["must be one of starttls, tls, none"]),
        (f"{GOOD}, port: 70000", ["at most 65535"]),
    ],
)
def test_the_keys_of_a_mail_receiver_are_checked(keys: str, mistakes: list[str]) -> None:
    if not mistakes:
        config = read_alert_config(FILE.format(keys=keys), "alerts.yaml", CHANNELS)
        assert config.receivers[0].options["to"] == "b@example.org"
        return
    with pytest.raises(AlertConfigError) as caught:
        read_alert_config(FILE.format(keys=keys), "alerts.yaml", CHANNELS)
    found = [str(problem) for problem in caught.value.problems]
    assert len(found) == len(mistakes), found
    assert all(any(mistake in each for each in found) for mistake in mistakes), found
