"""The webhook against a real server on loopback."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from alerts.channels.http_post import wait_asked_for
from alerts.channels.outbound import Outbound
from alerts.channels.registry import open_channel
from alerts.config import Receiver
from alerts.errors import SendFailed, SendFailure
from alerts.lifecycle import step
from alerts.message_body import encode_body
from alerts.messages import Message, render

from .factories import NOW, config, groups_of, reading
from .receiver import LocalReceiver, answer_with, drip, listening, reset

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
OTHER = "whsec_" + base64.b64encode(b"o" * 24).decode()


@pytest.fixture(scope="module")
def http() -> Iterator[Outbound]:
    with Outbound(timeout=5.0) as outbound:
        yield outbound


@pytest.fixture
def server() -> Iterator[LocalReceiver]:
    with listening() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def message() -> Message:
    setup = config()
    result = step(setup, {}, [reading(1, 0.3)], NOW)
    return render(groups_of(setup, result.alerts)[0], "https://w", NOW)


def receiver_at(url: str, **options: str | bool) -> Receiver:
    given: dict[str, str | bool] = {
        "url": url,
        "secret_env": "HOOK_SECRET",
        "private_addresses_allowed": True,
    }
    return Receiver("on-call", "webhook", options=given | options)


def send(
    url: str,
    message: Message,
    http: Outbound,
    *,
    now: datetime = NOW,
    secret: str = SECRET,
    **options: str | bool,
) -> object:
    channel = open_channel(receiver_at(url, **options), {"HOOK_SECRET": secret})
    return channel.send(message, delivery_id="dlv_1", now=now, http=http)


def failure(url: str, message: Message, http: Outbound, **options: str | bool) -> SendFailed:
    with pytest.raises(SendFailed) as caught:
        send(url, message, http, **options)
    return caught.value


def test_a_taken_message_is_signed_as_the_library_verifies(
    server: LocalReceiver, message: Message, http: Outbound
) -> None:
    receipt = send(server.url, message, http, now=datetime.now(UTC))
    (received,) = server.received
    assert (receipt.status, receipt.answer) == (200, "ok")  # type: ignore[attr-defined]
    assert received.body == encode_body(message.body)
    assert received.headers["webhook-id"] == "dlv_1"
    assert received.headers["content-type"] == "application/json"
    parsed = Verifier(SECRET).verify(received.body, received.headers)
    assert parsed["type"] == "finding.opened"
    with pytest.raises(WebhookVerificationError):
        Verifier(SECRET).verify(received.body + b" ", received.headers)
    with pytest.raises(WebhookVerificationError):
        Verifier(OTHER).verify(received.body, received.headers)


def test_a_repeated_attempt_keeps_id_and_body_and_renews_the_timestamp(
    server: LocalReceiver, message: Message, http: Outbound
) -> None:
    send(server.url, message, http, now=NOW)
    send(server.url, message, http, now=NOW + timedelta(minutes=5))
    first, second = server.received
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    assert second.headers["webhook-timestamp"] == str(int(NOW.timestamp()) + 300)


def test_two_secrets_sign_side_by_side_while_one_is_replaced(
    server: LocalReceiver, message: Message, http: Outbound
) -> None:
    send(server.url, message, http, now=datetime.now(UTC), secret=f"{SECRET} {OTHER}")
    (received,) = server.received
    for secret in (SECRET, OTHER):
        Verifier(secret).verify(received.body, received.headers)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_success(
    server: LocalReceiver, message: Message, http: Outbound, status: int
) -> None:
    server.answer = answer_with(status, b"")
    assert send(server.url, message, http).status == status  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("status", "reason", "permanent"),
    [
        (301, SendFailure.REDIRECTED, False),
        (302, SendFailure.REDIRECTED, False),
        (307, SendFailure.REDIRECTED, False),
        (400, SendFailure.REFUSED, True),
        (401, SendFailure.REFUSED, True),
        (404, SendFailure.REFUSED, True),
        (408, SendFailure.TIMED_OUT, False),
        (410, SendFailure.RECEIVER_GONE, True),
        (422, SendFailure.REFUSED, True),
        (429, SendFailure.RATE_LIMITED, False),
        (500, SendFailure.RECEIVER_ERROR, False),
        (502, SendFailure.RECEIVER_ERROR, False),
        (503, SendFailure.RECEIVER_ERROR, False),
        (504, SendFailure.RECEIVER_ERROR, False),
    ],
)
def test_every_other_status_is_a_failure_of_its_kind(
    server: LocalReceiver,
    message: Message,
    http: Outbound,
    status: int,
    reason: SendFailure,
    permanent: bool,
) -> None:
    server.answer = answer_with(status, b"no", location=server.url + "-elsewhere")
    failed = failure(server.url, message, http)
    assert (failed.reason, failed.permanent, failed.status) == (reason, permanent, status)
    assert failed.disable_receiver is (status == 410)
    assert [each.path for each in server.received] == ["/hook"]  # no redirect was followed


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_wait_asked_for_is_passed_on(
    server: LocalReceiver, message: Message, http: Outbound, status: int
) -> None:
    server.answer = answer_with(status, retry_after="7")
    assert failure(server.url, message, http).retry_after == timedelta(seconds=7)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("0", timedelta(0)),
        ("120", timedelta(minutes=2)),
        ("999999999", timedelta(hours=24)),
        ("Tue, 03 Mar 2026 00:01:00 GMT", timedelta(minutes=1)),
        ("Tue, 03 Mar 2026 00:01:00 -0000", timedelta(minutes=1)),
        ("Mon, 02 Mar 2026 00:00:00 GMT", timedelta(0)),
        ("-5", None),
        ("soon", None),
        ("1e9", None),
        ("9" * 5000, None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_date(header: str | None, wait: timedelta | None) -> None:
    assert wait_asked_for(header, NOW) == wait


def test_a_receiver_that_hangs_times_out(server: LocalReceiver, message: Message) -> None:
    server.answer = lambda handler: server.released.wait(10) and None
    with Outbound(timeout=0.3) as impatient:
        failed = failure(server.url, message, impatient)
    assert (failed.reason, failed.permanent) == (SendFailure.TIMED_OUT, False)


def test_a_receiver_that_drips_meets_the_deadline_too(
    server: LocalReceiver, message: Message
) -> None:
    server.answer = drip
    started = time.monotonic()
    with Outbound(timeout=0.4) as impatient:
        failed = failure(server.url, message, impatient)
    assert failed.reason in (SendFailure.TIMED_OUT, SendFailure.RECEIVER_ERROR)
    assert time.monotonic() - started < 2.0


def test_a_reset_is_a_failure_to_try_again(
    server: LocalReceiver, message: Message, http: Outbound
) -> None:
    server.answer = reset
    failed = failure(server.url, message, http)
    assert failed.reason is SendFailure.CONNECTION_FAILED
    assert not failed.permanent


def test_an_answer_that_is_no_http_is_a_failure_to_try_again(
    server: LocalReceiver, message: Message, http: Outbound
) -> None:
    def garbage(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"220 mail.example.org ESMTP\r\n\r\n")

    server.answer = garbage
    assert failure(server.url, message, http).reason is SendFailure.RECEIVER_ERROR


def test_a_closed_port_is_a_failure_to_try_again(message: Message, http: Outbound) -> None:
    with listening() as receiver:
        url = receiver.url
    failed = failure(url, message, http)
    assert (failed.reason, failed.permanent) == (SendFailure.CONNECTION_FAILED, False)


def test_a_huge_answer_is_not_read_to_its_end(
    server: LocalReceiver, message: Message, http: Outbound
) -> None:
    written: list[int] = []

    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            for _ in range(2000):
                written.append(handler.wfile.write(b"<b>\x00" * 25_000))
        except OSError:
            return

    server.answer = endless
    receipt = send(server.url, message, http)
    assert receipt.status == 200  # type: ignore[attr-defined]
    assert len(receipt.answer) <= 200  # type: ignore[attr-defined]
    assert "\x00" not in receipt.answer  # type: ignore[attr-defined]
    assert sum(written) < 20_000_000


def test_a_2xx_whose_body_breaks_off_was_still_taken(
    server: LocalReceiver, message: Message, http: Outbound
) -> None:
    def cut(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "1000")
        handler.end_headers()
        handler.wfile.write(b"half")
        handler.close_connection = True

    server.answer = cut
    assert send(server.url, message, http).status == 200  # type: ignore[attr-defined]


def test_proxies_of_the_environment_are_not_used(
    server: LocalReceiver, message: Message, http: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        with Outbound() as fresh:
            send(server.url, message, fresh)
        assert proxy.received == []
    assert len(server.received) == 1


def test_address_and_secret_may_come_from_files(
    server: LocalReceiver, message: Message, http: Outbound, tmp_path: Path
) -> None:
    (tmp_path / "url").write_text(server.url + "\n")
    (tmp_path / "secret").write_text(SECRET + "\n")
    receiver = Receiver(
        "on-call",
        "webhook",
        options={
            "url_file": str(tmp_path / "url"),
            "secret_file": str(tmp_path / "secret"),
            "private_addresses_allowed": True,
        },
    )
    open_channel(receiver, {}).send(message, delivery_id="d", now=NOW, http=http)
    assert len(server.received) == 1


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({}, "https://example.org/"),
        ({"HOOK_SECRET": "  "}, "https://example.org/"),
        ({"HOOK_SECRET": "plain"}, "https://example.org/"),
        ({"HOOK_SECRET": "whsec_c2hvcnQ="}, "https://example.org/"),
        ({"HOOK_SECRET": f"{SECRET} whsec_!"}, "https://example.org/"),
        ({"HOOK_SECRET": SECRET}, "file:///etc/passwd"),
        ({"HOOK_SECRET": SECRET}, "http://a:b@example.org/"),
        ({"HOOK_SECRET": SECRET}, "http:///path"),
    ],
)
def test_a_receiver_that_can_not_be_used_says_so_without_its_secret(
    environment: dict[str, str], url: str
) -> None:
    with pytest.raises(SendFailed) as caught:
        open_channel(receiver_at(url), environment)
    assert caught.value.reason is SendFailure.NOT_CONFIGURED
    assert not caught.value.permanent
    for secret in environment.values():
        assert not secret.strip() or secret not in str(caught.value)


def test_the_secret_is_not_in_the_representation() -> None:
    channel = open_channel(receiver_at("https://example.org/"), {"HOOK_SECRET": SECRET})
    assert "kkkk" not in repr(channel)


def test_an_id_that_would_break_the_signature_is_refused(message: Message, http: Outbound) -> None:
    channel = open_channel(receiver_at("https://example.org/"), {"HOOK_SECRET": SECRET})
    with pytest.raises(ValueError, match="delivery id"):
        channel.send(message, delivery_id="a.b", now=NOW, http=http)
