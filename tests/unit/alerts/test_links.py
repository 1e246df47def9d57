"""Signed links: what was signed is read back, and nothing else is."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.errors import LinkExpired, LinkNotValid
from alerts.links import (
    MAX_WHO_BYTES,
    AlertLink,
    LinkDeed,
    link_address,
    link_key,
    project_of,
    read_link,
    sign_link,
)
from alerts.model import FindingKey

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
KEY = link_key(b"sixteen bytes!!!")
LINK = AlertLink(
    LinkDeed.ACKNOWLEDGE, 7, FindingKey("ab" * 32, 3), NOW + timedelta(days=7), "Ada Ω"
)


@pytest.mark.parametrize("deed", list(LinkDeed))
@pytest.mark.parametrize("who", [None, "Ada Ω"])
def test_what_was_signed_is_read_back(deed: LinkDeed, who: str | None) -> None:
    link = replace(LINK, deed=deed, who=who)
    token = sign_link(link, KEY)
    assert read_link(token, KEY, NOW) == link
    assert project_of(token) == 7


def test_a_link_ends_at_the_second_it_names() -> None:
    token = sign_link(LINK, KEY)
    read_link(token, KEY, LINK.expires_at - timedelta(seconds=1))
    with pytest.raises(LinkExpired, match="2026-03-08T09:00Z"):
        read_link(token, KEY, LINK.expires_at)


def test_a_link_of_another_key_is_not_valid() -> None:
    with pytest.raises(LinkNotValid):
        read_link(sign_link(LINK, KEY), link_key(b"another secret!!"), NOW)


def test_an_expired_link_of_another_key_is_not_even_called_expired() -> None:
    token = sign_link(replace(LINK, expires_at=NOW - timedelta(days=1)), link_key(b"x" * 16))
    with pytest.raises(LinkNotValid):
        read_link(token, KEY, NOW)


def test_no_bit_of_a_link_can_be_changed() -> None:
    raw = _bytes(sign_link(LINK, KEY))
    for place in range(len(raw) * 8):
        changed = bytearray(raw)
        changed[place // 8] ^= 1 << place % 8
        with pytest.raises(LinkNotValid):
            read_link(base64.urlsafe_b64encode(changed).rstrip(b"=").decode(), KEY, NOW)


def test_no_sign_of_the_token_can_be_changed_or_cut() -> None:
    token = sign_link(LINK, KEY)
    for place in range(len(token)):
        other = "A" if token[place] != "A" else "B"
        with pytest.raises(LinkNotValid):
            read_link(token[:place] + other + token[place + 1 :], KEY, NOW)
        with pytest.raises(LinkNotValid):
            read_link(token[:place], KEY, NOW)


@pytest.mark.parametrize("text", ["", "x", "=" * 8, "ä" * 120, "A" * 140, "A" * 600, "a b\n" * 40])
def test_what_is_no_link_is_refused(text: str) -> None:
    with pytest.raises(LinkNotValid):
        read_link(text, KEY, NOW)
    with pytest.raises(LinkNotValid):
        project_of(text)


@given(st.text(max_size=600))
def test_no_text_breaks_the_reader(text: str) -> None:
    with pytest.raises(LinkNotValid):
        read_link(text, KEY, NOW)


@given(
    st.sampled_from(list(LinkDeed)),
    st.integers(1, 2**31 - 1),
    st.binary(min_size=32, max_size=32),
    st.integers(0, 2**31 - 1),
    st.none() | st.text(min_size=1, max_size=40),
)
def test_every_link_survives_the_way(
    deed: LinkDeed, project: int, fingerprint: bytes, episode: int, who: str | None
) -> None:
    link = AlertLink(deed, project, FindingKey(fingerprint.hex(), episode), LINK.expires_at, who)
    assert read_link(sign_link(link, KEY), KEY, NOW) == link


def test_parts_that_do_not_fit_are_refused_when_signing() -> None:
    with pytest.raises(ValueError, match="at most"):
        sign_link(replace(LINK, who="x" * (MAX_WHO_BYTES + 1)), KEY)
    with pytest.raises(ValueError, match="out of range"):
        sign_link(replace(LINK, project=-1), KEY)


def test_the_address_stands_under_the_api() -> None:
    token = sign_link(LINK, KEY)
    assert link_address("https://watch.example.org/api/", token) == (
        f"https://watch.example.org/api/act/{token}"
    )
    assert len(token) < 150


def _bytes(token: str) -> bytes:
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
