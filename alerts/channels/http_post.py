"""One HTTP POST to a receiver, judged: what every channel over HTTP shares.

Only a 2xx answer counts. Redirects are failures. 410 asks to be sent nothing any more. A wait that
the receiver asks for is passed on. At most 64 kB of the answer are read.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import httpcore
import httpx

from alerts.channels.base import Receipt, not_configured, read_secret
from alerts.channels.outbound import AddressRefused, NameUnresolvable, Outbound
from alerts.config import Receiver
from alerts.errors import SendFailed, SendFailure
from alerts.text import clean
from alerts.yaml_source import Section

_LARGEST_ANSWER = 65_536
_SHOWN_ANSWER = 200
_LONGEST_WAIT = timedelta(hours=24)
_SHORTEST_EXCHANGE = 0.5
_WAIT_SECONDS = re.compile(r"\d{1,9}")


def post(
    http: Outbound,
    url: httpx.URL,
    body: bytes,
    headers: Mapping[str, str],
    *,
    now: datetime,
    private_allowed: bool,
    within: float | None = None,
) -> Receipt:
    """Send a body and judge the answer; raises SendFailed for everything but a 2xx.

    `within` is how many seconds the exchange may take, where that is less than usual.
    """
    usual = {"accept-encoding": "identity", "user-agent": "inferwatch"}
    client = http.client(private_allowed=private_allowed)
    try:
        with client.stream(
            "POST",
            url,
            content=body,
            headers={**usual, **headers},
            timeout=http.timeout if within is None else within,
        ) as answer:
            return _judge(answer, now)
    except TRANSPORT_ERRORS as error:
        raise _failure_of(error) from error


def post_in_turn(
    http: Outbound,
    posts: Sequence[tuple[httpx.URL, bytes]],
    headers: Mapping[str, str],
    *,
    now: datetime,
    private_allowed: bool,
) -> Receipt:
    """Send several bodies, one after the other, within the time of one exchange.

    The receipt is that of the last; raises SendFailed at the first that is not taken.
    """
    ends, receipt = time.monotonic() + http.timeout, Receipt(None)
    for url, body in posts:
        left = max(_SHORTEST_EXCHANGE, ends - time.monotonic())
        receipt = post(
            http, url, body, headers, now=now, private_allowed=private_allowed, within=left
        )
    return receipt


def read_address(receiver: Section) -> dict[str, str | bool]:
    """url, url_env or url_file, and private_addresses_allowed; mistakes are reported."""
    options = one_of(receiver, ("url", "url_env", "url_file"))
    url = options.get("url")
    mistake = url_mistake(url) if isinstance(url, str) else None
    if mistake is not None:
        receiver.complain("url", mistake)
    options["private_addresses_allowed"] = bool(receiver.flag("private_addresses_allowed"))
    return options


def open_address(receiver: Receiver, environment: Mapping[str, str]) -> httpx.URL:
    """The address of a receiver; raises SendFailed (not_configured) when it can't be used."""
    url = read_secret(receiver, "url", environment)
    mistake = url_mistake(url)
    if mistake is not None:
        raise not_configured(receiver, f"its url {mistake}")
    return httpx.URL(url)


def read_secret_address(receiver: Section) -> dict[str, str | bool]:
    """url_env or url_file of an address that is a secret itself, and private_addresses_allowed."""
    receiver.refuse("url", "this address is a secret; put it into url_env or url_file")
    options = one_of(receiver, ("url_env", "url_file"), refused="url" in receiver.nodes)
    options["private_addresses_allowed"] = bool(receiver.flag("private_addresses_allowed"))
    return options


def read_service_address(receiver: Section) -> dict[str, str | bool]:
    """url, left out for a service with a usual address, and private_addresses_allowed."""
    private_allowed = bool(receiver.flag("private_addresses_allowed"))
    url = receiver.text("url")
    if url is None:
        return {"private_addresses_allowed": private_allowed}
    mistake = _secret_url_mistake(url, private_allowed=private_allowed)
    if mistake is not None:
        receiver.complain("url", mistake)
    return {"url": url, "private_addresses_allowed": private_allowed}


def open_secret_address(
    receiver: Receiver, environment: Mapping[str, str], *, usual: str | None = None
) -> httpx.URL:
    """An address that a secret is sent to, or that is one: https, except to private addresses.

    `usual` stands in when the receiver names none. Raises SendFailed (not_configured).
    """
    named = any(name in receiver.options for name in ("url", "url_env", "url_file"))
    text = read_secret(receiver, "url", environment) if named or usual is None else usual
    mistake = _secret_url_mistake(
        text, private_allowed=bool(receiver.options.get("private_addresses_allowed"))
    )
    if mistake is not None:
        raise not_configured(receiver, f"its url {mistake}")
    return httpx.URL(text)


def _secret_url_mistake(text: str, *, private_allowed: bool) -> str | None:
    mistake = url_mistake(text)
    if mistake is None and not private_allowed and not text.startswith("https://"):
        return "must begin with https://, because a secret is sent to it"
    return mistake


TRANSPORT_ERRORS = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError)


def _failure_of(error: Exception) -> SendFailed:
    """What kept the request from being answered."""
    text = clean(str(error), _SHOWN_ANSWER)
    if isinstance(error, httpcore.TimeoutException):
        return SendFailed(SendFailure.TIMED_OUT, text or "no answer in time")
    if isinstance(error, AddressRefused):
        return SendFailed(SendFailure.ADDRESS_REFUSED, text, permanent=True)
    if isinstance(error, NameUnresolvable):
        return SendFailed(SendFailure.UNRESOLVABLE, text)
    if isinstance(error, httpcore.ProtocolError):
        return SendFailed(SendFailure.RECEIVER_ERROR, f"no complete HTTP answer: {text}")
    return SendFailed(SendFailure.CONNECTION_FAILED, text or "the connection broke")


def _judge(answer: httpx.Response, now: datetime) -> Receipt:
    """A receipt for a 2xx answer; SendFailed for any other."""
    status = answer.status_code
    content = _content_of(answer)
    shown = clean(content, _SHOWN_ANSWER)
    if answer.is_success:
        return Receipt(status, shown, content)
    raise SendFailed(
        _reason(status),
        f"answered {status} {shown}".rstrip(),
        permanent=_is_permanent(status),
        retry_after=wait_asked_for(answer.headers.get("retry-after"), now),
        status=status,
        disable_receiver=status == httpx.codes.GONE,
    )


def _content_of(answer: httpx.Response) -> str:
    """The answer as text, of which at most 64 kB are read.

    The status has arrived by now: an answer that breaks off later changes nothing about it.
    """
    read = bytearray()
    with contextlib.suppress(*TRANSPORT_ERRORS):
        for piece in answer.iter_raw():
            read += piece
            if len(read) >= _LARGEST_ANSWER:
                break
    return read[:_LARGEST_ANSWER].decode("utf-8", "replace")


def _reason(status: int) -> SendFailure:
    if status == httpx.codes.GONE:
        return SendFailure.RECEIVER_GONE
    if status == httpx.codes.TOO_MANY_REQUESTS:
        return SendFailure.RATE_LIMITED
    if status == httpx.codes.REQUEST_TIMEOUT:
        return SendFailure.TIMED_OUT
    if httpx.codes.is_redirect(status):
        return SendFailure.REDIRECTED
    return (
        SendFailure.REFUSED if httpx.codes.is_client_error(status) else SendFailure.RECEIVER_ERROR
    )


def _is_permanent(status: int) -> bool:
    """A client error stays one; asking for patience is none."""
    patient = (httpx.codes.REQUEST_TIMEOUT, httpx.codes.TOO_MANY_REQUESTS)
    return httpx.codes.is_client_error(status) and status not in patient


def wait_asked_for(header: str | None, now: datetime) -> timedelta | None:
    """Retry-After, seconds or a date, as a wait of 0 to 24 hours; None when not readable."""
    text = (header or "").strip()
    if _WAIT_SECONDS.fullmatch(text):
        wait = timedelta(seconds=int(text))
    else:
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, TypeError, OverflowError):
            return None
        wait = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
    return min(max(wait, timedelta(0)), _LONGEST_WAIT)


def url_mistake(text: str) -> str | None:
    """What is wrong with a webhook address, without repeating it; None when nothing is."""
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        return f"is not readable as an address: {error}"
    if url.scheme not in ("http", "https"):
        return "must begin with http:// or https://"
    if url.userinfo:
        return "must not carry a user name or password"
    if not url.host:
        return "names no host"
    return None


def one_of(
    receiver: Section, names: tuple[str, ...], *, refused: bool = False
) -> dict[str, str | bool]:
    """Exactly one of the keys; `refused` when its absence was reported in another way."""
    texts = {name: receiver.text(name) for name in names}
    present = [name for name in names if name in receiver.nodes]
    if not present and not refused:
        receiver.missing(" or ".join(names), "give exactly one")
    elif len(present) > 1:
        receiver.complain(present[1], f"is given beside {present[0]}; keep one")
    return {name: text for name, text in texts.items() if text is not None}
