"""One page of metrics over HTTP: checked address, bounded size and time, no redirect."""

from __future__ import annotations

from collections.abc import Mapping

import httpcore
import httpx

from alerts.channels.credentials import Credentials, open_protected_address
from alerts.channels.http_post import TRANSPORT_ERRORS
from alerts.channels.outbound import AddressRefused, Outbound
from alerts.errors import SendFailed
from alerts.text import clean
from monitor.errors import InferwatchError
from monitor.scrape_targets import ScrapeTarget

LARGEST_PAGE = 16 << 20
SECONDS = 10.0
ACCEPT = "text/plain; version=0.0.4; charset=utf-8"


class PageUnread(InferwatchError):
    """The page of a target could not be read; the text says why and what to do."""


def read_page(http: Outbound, target: ScrapeTarget, environment: Mapping[str, str]) -> str:
    """The text of a target's page. Raises PageUnread."""
    try:
        receiver = target.as_receiver()
        url = open_protected_address(receiver, environment)
        authorization = Credentials.open(receiver, environment).authorization
    except SendFailed as error:
        told = str(error).replace("receiver", "target", 1)
        raise PageUnread(told) from None
    headers = {"accept": ACCEPT, "accept-encoding": "identity", "user-agent": "inferwatch"}
    if authorization is not None:
        headers["authorization"] = authorization
    try:
        with http.client(private_allowed=target.private_allowed).stream(
            "GET", url, headers=headers, timeout=SECONDS
        ) as answer:
            return _text_of(answer)
    except TRANSPORT_ERRORS as error:
        raise PageUnread(_why(error)) from error


def _text_of(answer: httpx.Response) -> str:
    if not answer.is_success:
        remedy = {401: "; name authorization_env", 403: "; name authorization_env",
                  404: "; is it the address of the metrics page?"}  # fmt: skip
        raise PageUnread(f"answered {answer.status_code}{remedy.get(answer.status_code, '')}")
    read = bytearray()
    for piece in answer.iter_raw():
        read += piece
        if len(read) > LARGEST_PAGE:
            raise PageUnread(f"the page is larger than {LARGEST_PAGE >> 20} MB")
    return read.decode("utf-8", "replace")


def _why(error: Exception) -> str:
    text = clean(str(error), 300)
    if isinstance(error, AddressRefused):
        return f"{text}; private_addresses_allowed: true opens loopback and private networks"
    if isinstance(error, httpcore.TimeoutException):
        return f"no whole answer within {SECONDS:g} s"
    return text or "the connection broke"
