"""Notices through the real Apprise library, in its own process, to a real server on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from alerts.channels.apprise_notice import MAXIMUM_CHARACTERS
from alerts.channels.base import Receipt
from alerts.channels.outbound import Outbound
from alerts.channels.registry import CHANNELS, open_channel
from alerts.config import Receiver, read_alert_config
from alerts.errors import AlertConfigError, SendFailed, SendFailure
from alerts.groups import EventType
from alerts.messages import Message
from alerts.model import Severity
from alerts.service_messages import ping_message

from .factories import NOW
from .receiver import LocalReceiver, answer_with, listening
from .told import HOSTILE, message

SECRET = "secret-of-the-hook"


@pytest.fixture
def server() -> Iterator[LocalReceiver]:
    with listening() as receiver:
        yield receiver


def notice(event: EventType = EventType.OPENED, **given: Any) -> Message:
    return Message(**{**vars(message(event, **given)), "severity": Severity.NOTICE})


def service_at(server: LocalReceiver, scheme: str = "json") -> str:
    """The Apprise url of the test's server."""
    return server.url.replace("http://", f"{scheme}://").replace("/hook", f"/{SECRET}")


def send(url: str, told: Message, *, timeout: float = 20.0, allowed: bool = True) -> Receipt:
    options: dict[str, str | bool] = {"url_env": "URL", "private_addresses_allowed": allowed}
    channel = open_channel(Receiver("chat", "apprise", options=options), {"URL": url})
    with Outbound(timeout=timeout) as http:
        return channel.send(told, delivery_id="dlv_1", now=NOW, http=http)


def failure(url: str, told: Message | None = None, **options: Any) -> SendFailed:
    with pytest.raises(SendFailed) as caught:
        send(url, told or notice(), **options)
    assert SECRET not in str(caught.value)
    return caught.value


def test_a_notice_is_taken_with_its_title_and_text(server: LocalReceiver) -> None:
    send(service_at(server), notice(drill=True))
    (received,) = server.received
    body = json.loads(received.body)
    assert received.path == f"/{SECRET}"
    assert body["title"].startswith("DRILL")
    assert "This is a drill" in body["message"]
    assert "c00" in body["message"]
    assert body["attachments"] == []
    assert body["type"] == "warning"


@pytest.mark.parametrize("severity", [Severity.PAGE, Severity.TICKET])
def test_more_than_a_notice_is_never_entrusted_to_it(
    server: LocalReceiver, severity: Severity
) -> None:
    told = Message(**{**vars(notice()), "severity": severity})
    failed = failure(service_at(server), told)
    assert failed.reason is SendFailure.NOT_CONFIGURED
    assert failed.permanent  # so that it is told on the fallback at once
    assert server.received == []


@pytest.mark.parametrize("host", ["localhost", "2130706433", "127.1", "169.254.169.254"])
def test_private_and_special_addresses_are_refused_when_it_connects(
    server: LocalReceiver, host: str
) -> None:
    failed = failure(service_at(server).replace("127.0.0.1", host), allowed=False)
    assert failed.reason in (SendFailure.ADDRESS_REFUSED, SendFailure.NOT_CONFIGURED)
    assert server.received == []


def test_the_refusal_names_the_address_and_is_for_good(server: LocalReceiver) -> None:
    failed = failure(service_at(server), allowed=False)
    assert failed.reason is SendFailure.ADDRESS_REFUSED
    assert failed.permanent
    assert "127.0.0.1 is loopback" in failed.detail


def test_a_redirect_is_not_followed_even_when_the_url_asks_for_it(server: LocalReceiver) -> None:
    with listening() as other:
        server.answer = answer_with(302, b"", location=other.url)
        failed = failure(f"{service_at(server)}?redirect=yes")
        assert failed.reason is SendFailure.RECEIVER_ERROR
        assert "302" in failed.detail
        assert other.received == []
    assert len(server.received) == 1


def test_a_notice_that_is_not_taken_may_be_tried_again(server: LocalReceiver) -> None:
    server.answer = answer_with(500, b"no")
    failed = failure(service_at(server))
    assert failed.reason is SendFailure.RECEIVER_ERROR
    assert not failed.permanent
    assert failed.detail == "answered 500"


def test_a_service_that_never_answers_is_left_at_the_deadline(server: LocalReceiver) -> None:
    def wait(handler: BaseHTTPRequestHandler) -> None:
        server.released.wait(30)

    server.answer = wait
    failed = failure(service_at(server), timeout=2.0)
    assert failed.reason is SendFailure.TIMED_OUT
    server.released.set()


@pytest.mark.parametrize("url", ["nosuchservice://x", "json://a json://b", "file:///etc/passwd"])
def test_a_url_must_name_one_service(url: str) -> None:
    failed = failure(url)
    assert failed.reason is SendFailure.NOT_CONFIGURED
    assert not failed.permanent


def test_no_setting_of_this_process_reaches_the_other(
    server: LocalReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        send(service_at(server), notice())
        assert proxy.received == []
    assert len(server.received) == 1


def test_a_hostile_and_long_text_stays_text(server: LocalReceiver) -> None:
    send(service_at(server), notice(new=20, text=HOSTILE, note=HOSTILE))
    send(service_at(server), ping_message("chat", "air", "https://w", NOW))
    hostile, ping = (json.loads(each.body) for each in server.received)
    assert len(hostile["message"]) <= MAXIMUM_CHARACTERS
    assert "<!channel>" in hostile["message"]
    assert ping["type"] == "info"


def test_no_program_is_started() -> None:
    """The guard itself, in a process that tries what a service might."""
    code = (
        "import subprocess, socket\n"
        "from alerts.channels.apprise_child import _guard\n"
        "refused = _guard(private_allowed=False)\n"
        "tries = [lambda: subprocess.run(['/bin/true']), lambda: __import__('os').system('true'),\n"
        "  lambda: socket.socket(socket.AF_UNIX).connect('/run/x'),\n"
        "  lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9)),\n"
        "  lambda: socket.socket().connect_ex(('localhost', 9))]\n"
        "for each in tries:\n"
        "    try:\n"
        "        each()\n"
        "    except PermissionError:\n"
        "        continue\n"
        "    raise SystemExit('not refused')\n"
        "print(len(refused))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("5", 0), done.stderr


FILE = """
owners:
  - {{name: a, people: [x@example.org], receiver: mail}}
receivers:
  - {{name: mail, channel: slack, url_env: U}}
  - {{name: chat, channel: apprise, url_env: U}}
delivery: {{fallback: {fallback}}}
rules:
  - {{name: q, when: {{check: drift}}, above: 1, severity: {severity}, receiver: chat,
     owner: a, response: investigate}}
"""


def test_a_file_that_entrusts_more_to_it_is_refused() -> None:
    read_alert_config(FILE.format(severity="notice", fallback="mail"), "alerts.yaml", CHANNELS)
    with pytest.raises(AlertConfigError) as caught:
        read_alert_config(FILE.format(severity="ticket", fallback="chat"), "alerts.yaml", CHANNELS)
    fallback, rule = map(str, caught.value.problems)
    assert fallback.startswith("line 7, delivery.fallback: 'chat' takes notices only")
    assert rule.startswith("line 9, rules[0].receiver: 'chat' takes notices only")
