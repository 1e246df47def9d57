"""Who sent a record: cut, cleaned, without credentials."""

from __future__ import annotations

import pytest

from monitor.origin import LONGEST, UNKNOWN, Origin, product_of
from tests.hostile_strings import HOSTILE


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("scoring-service", "scoring-service"),
        ("a\x00b\x1b[31m\n\u202ec\ud800", "a b [31m c"),
        ("https://user:secret@host/path?token=abc", "https://host/path"),
        ("  \t", None),
        (None, None),
    ],
)
def test_what_a_sender_says_is_cleaned(said: str | None, kept: str | None):
    assert Origin("key", said).cleaned() == Origin("key", kept)


def test_a_long_name_is_cut():
    kept = Origin(None, "x" * 100_000).cleaned().producer
    assert kept is not None
    assert len(kept) == LONGEST


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_ends_as_one_short_printable_line(text: str):
    kept = Origin(text, text).cleaned()
    for said in (kept.key, kept.producer):
        assert said is None or (said.isprintable() and len(said) <= LONGEST)


def test_a_record_names_its_service_or_source():
    sender = Origin("ci", "curl/8.0")
    assert sender.told_by({}) is sender
    both = {"service.name": "shop", "service.instance.id": "pod-3", "ce_source": "/serving/x"}
    assert sender.told_by(both) == Origin("ci", "shop pod-3")
    assert sender.told_by({"ce_source": "/serving/x"}) == Origin("ci", "/serving/x")
    assert UNKNOWN.told_by({"service.name": "shop"}) == Origin(None, "shop")


@pytest.mark.parametrize(
    ("header", "product"),
    [("inferwatch-client/1.0 python/3.12", "inferwatch-client/1.0"), ("", None), (None, None)],
)
def test_only_the_first_product_of_a_user_agent_counts(header: str | None, product: str | None):
    assert product_of(header) == product
