"""Messages never reach addresses inside, however these are written or resolved."""

from __future__ import annotations

import base64
import ipaddress
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from alerts.channels.addresses import refusal
from alerts.channels.outbound import Outbound
from alerts.channels.registry import open_channel
from alerts.config import Receiver
from alerts.errors import SendFailed, SendFailure
from alerts.lifecycle import step
from alerts.messages import Message, render

from .factories import NOW, config, groups_of, reading
from .receiver import LocalReceiver, answer_with, listening

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()

HOSTS = [
    "127.0.0.1",
    "2130706433",
    "0x7f.1",
    "0x7f000001",
    "017700000001",
    "127.1",
    "0",
    "localhost",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::127.0.0.1]",
    "169.254.169.254",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[fe80::1]",
    "[fc00::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[fd00:ec2::254]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "100.100.100.200",
    "192.0.0.192",
    "192.88.99.1",
    "224.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
    "0.0.0.0",
    "0x7f.0x0.0x0.0x1",
    "127.0.1",
    "0x0",
    "LOCALHOST",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[2002:a9fe:a9fe::]",
    "[5f00::1]",
    "[3fff::1]",
    "[2001:db8::1]",
    "[100::1]",
]
ALWAYS_REFUSED = [
    "169.254.169.254",
    "[::ffff:169.254.169.254]",
    "[64:ff9b::a9fe:a9fe]",
    "[fe80::1]",
    "[ff02::1]",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "168.63.129.16",
    "224.0.0.1",
    "0.0.0.0",
    "255.255.255.255",
]


@pytest.fixture(scope="module")
def message() -> Message:
    setup = config()
    result = step(setup, {}, [reading(1, 0.3)], NOW)
    return render(groups_of(setup, result.alerts)[0], "https://w", NOW)


@pytest.fixture(scope="module")
def trap() -> Iterator[LocalReceiver]:
    with listening() as receiver:
        yield receiver


def attempt(url: str, message: Message, http: Outbound, *, private: bool = False) -> SendFailed:
    options: dict[str, str | bool] = {"url": url, "secret_env": "S"}
    receiver = Receiver("r", "webhook", options=options | {"private_addresses_allowed": private})
    with pytest.raises(SendFailed) as caught:
        open_channel(receiver, {"S": SECRET}).send(message, delivery_id="d", now=NOW, http=http)
    return caught.value


@pytest.mark.parametrize("host", HOSTS)
def test_no_spelling_of_an_inner_address_is_reached(
    host: str, message: Message, trap: LocalReceiver
) -> None:
    port = urlsplit(trap.url).port
    with Outbound(timeout=2.0) as http:
        failed = attempt(f"http://{host}:{port}/hook", message, http)
    assert failed.reason is SendFailure.ADDRESS_REFUSED
    assert failed.permanent
    assert trap.received == []


@pytest.mark.parametrize("host", ["0177.0.0.1", "127.0.0.09", "①②⑦.⓪.⓪.①", "localhost.", "[::1"])
def test_spellings_that_are_no_addresses_to_us_reach_nothing_either(
    host: str, message: Message, trap: LocalReceiver
) -> None:
    port = urlsplit(trap.url).port
    with Outbound(timeout=2.0) as http:
        failed = attempt(f"http://{host}:{port}/hook", message, http)
    refused = (SendFailure.NOT_CONFIGURED, SendFailure.UNRESOLVABLE, SendFailure.ADDRESS_REFUSED)
    assert failed.reason in refused
    assert trap.received == []


@pytest.mark.parametrize("host", ALWAYS_REFUSED)
def test_the_permission_for_private_addresses_does_not_open_everything(
    host: str, message: Message
) -> None:
    with Outbound(timeout=2.0) as http:
        failed = attempt(f"http://{host}/", message, http, private=True)
    assert failed.reason is SendFailure.ADDRESS_REFUSED


def test_one_inner_address_among_outer_ones_refuses_the_name(
    message: Message, trap: LocalReceiver
) -> None:
    def mixed(host: str, port: int) -> list[str]:
        return ["192.0.43.8", "127.0.0.1"]

    with Outbound(timeout=2.0, resolver=mixed) as http:
        failed = attempt(f"http://example.org:{urlsplit(trap.url).port}/", message, http)
    assert failed.reason is SendFailure.ADDRESS_REFUSED
    assert trap.received == []


def test_a_name_is_resolved_once_so_that_a_second_answer_gains_nothing(
    message: Message, trap: LocalReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's resolver says loopback, the checked answer was another: loopback is not met."""
    asked: list[str] = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["192.0.43.8"] if len(asked) == 1 else ["127.0.0.1"]

    real = socket.create_connection
    connected: list[object] = []

    def recorded(address: tuple[str, int], *rest: object, **named: object) -> socket.socket:
        connected.append(address)
        if address[0] == "192.0.43.8":
            raise OSError("no way out of the test")
        return real(address, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "create_connection", recorded)
    port = urlsplit(trap.url).port
    with Outbound(timeout=2.0, resolver=rebinding) as http:
        failed = attempt(f"http://localhost:{port}/", message, http)
    assert failed.reason is SendFailure.CONNECTION_FAILED
    assert asked == ["localhost"]
    assert connected == [("192.0.43.8", port)]
    assert trap.received == []


def test_a_name_without_address_is_tried_again_later(message: Message) -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with Outbound(resolver=unknown) as http:
        failed = attempt("http://nowhere.example/", message, http)
    assert (failed.reason, failed.permanent) == (SendFailure.UNRESOLVABLE, False)


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "192.0.43.8",
        "2606:4700::1111",
        "::ffff:1.1.1.1",
        "64:ff9b::101:101",
        "2002:101:101::",
    ],
)
def test_public_addresses_are_open(address: str) -> None:
    assert refusal(ipaddress.ip_address(address), private_allowed=False) is None


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "::1", "fd12::1", "::ffff:10.0.0.1"])
def test_private_addresses_open_by_permission_and_the_refusal_names_it(address: str) -> None:
    parsed = ipaddress.ip_address(address)
    assert refusal(parsed, private_allowed=True) is None
    assert "private_addresses_allowed" in str(refusal(parsed, private_allowed=False))


PRIVATE_VECTORS = [
    *("127.0.0.1", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1"),
    *("100.127.255.255", "::1", "fc00::1", "fdff::1", "fec0::1", "::127.0.0.1", "::ffff:10.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::", "2002:c0a8:1::", "::ffff:0:7f00:1"),
]
FORBIDDEN_VECTORS = [
    *("0.0.0.0", "0.1.2.3", "169.254.0.1", "169.254.169.254", "168.63.129.16", "100.100.100.200"),
    *("192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1"),
    *("203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"),
    *("::", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "3fff::1", "5f00::1"),
    *("fd00:ec2::254", "fd20:ce::254", "fe80::1", "ff02::1", "::ffff:169.254.169.254"),
    *("64:ff9b::e000:1", "2002:a9fe:a9fe::", "2002:e000:1::"),
]


@pytest.mark.parametrize("address", PRIVATE_VECTORS)
def test_private_addresses_in_every_form_need_the_permission(address: str) -> None:
    parsed = ipaddress.ip_address(address)
    assert refusal(parsed, private_allowed=False) is not None
    assert refusal(parsed, private_allowed=True) is None


@pytest.mark.parametrize("address", FORBIDDEN_VECTORS)
def test_special_addresses_in_every_form_are_never_met(address: str) -> None:
    parsed = ipaddress.ip_address(address)
    assert refusal(parsed, private_allowed=False) is not None
    assert refusal(parsed, private_allowed=True) is not None


def test_a_redirect_to_the_inside_is_not_followed(message: Message, trap: LocalReceiver) -> None:
    with listening() as outside, Outbound(timeout=2.0) as http:
        for status in (301, 302, 303, 307, 308):
            outside.answer = answer_with(status, location=trap.url)
            failed = attempt(outside.url, message, http, private=True)
            assert failed.reason is SendFailure.REDIRECTED
    assert len(outside.received) == 5
    assert trap.received == []


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "unix:///run/docker.sock",
        "http+unix://%2Frun%2Fdocker.sock/",
        "//example.org/",
        "example.org",
        "http://user@example.org/",
        "http://user:hunter2@example.org/",
        "http://good.example@127.0.0.1/",
        "http:///path",
    ],
)
def test_only_plain_http_addresses_are_taken(url: str, message: Message) -> None:
    with Outbound(timeout=2.0) as http:
        failed = attempt(url, message, http, private=True)
    assert failed.reason is SendFailure.NOT_CONFIGURED
    assert "hunter2" not in str(failed)


def test_an_address_with_a_zone_is_judged_without_it(message: Message) -> None:
    def zoned(host: str, port: int) -> list[str]:
        return ["fe80::1%lo"]

    with Outbound(timeout=2.0, resolver=zoned) as http:
        failed = attempt("http://example.org/", message, http, private=True)
    assert failed.reason is SendFailure.ADDRESS_REFUSED
