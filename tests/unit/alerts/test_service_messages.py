"""Messages about the delivery itself: what was not delivered, told on another receiver."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from alerts.groups import EventType
from alerts.lifecycle import step
from alerts.message_body import MAXIMUM_BODY_BYTES, encode_body
from alerts.messages import Message, render
from alerts.model import Severity
from alerts.service_messages import (
    DeadLetter,
    dead_letter_key,
    ping_message,
    tell_dead_letters,
)

from .factories import NOW, config, groups_of, reading

HOSTILE = "\u202e<b>x</b>\n\x00" + "ü" * 4000


@pytest.fixture
def page() -> Message:
    setup = config()
    result = step(setup, {}, [reading(1, 0.3)], NOW)
    return replace(
        render(groups_of(setup, result.alerts)[0], "https://w", NOW), severity=Severity.PAGE
    )


def letter(message: Message, number: int = 0, reason: str = "answered 400 no") -> DeadLetter:
    return DeadLetter(f"msg_{number}", message, 3, reason, NOW - timedelta(minutes=number))


def test_it_says_who_was_not_reached_why_and_what_the_messages_said(page: Message) -> None:
    ticket = replace(page, severity=Severity.TICKET, title="a ticket")
    told = tell_dead_letters(
        "on-call", [letter(ticket, 1), letter(page, 2)], "mail", "air", "https://w", NOW
    )
    assert (told.event, told.receiver, told.severity) == (
        EventType.DEAD_LETTERED, "mail", Severity.PAGE,
    )  # fmt: skip
    assert told.title == "[page] 2 messages did not reach on-call"
    assert "answered 400 no" in told.lines[0]
    assert told.lines[1] == page.title  # the most severe first
    assert "a ticket" in told.lines
    data = told.body["data"]
    assert isinstance(data, dict)
    assert data["alerts"] == []
    assert data["not_reached"] == "on-call"
    deliveries = data["deliveries"]
    assert isinstance(deliveries, list)
    assert [each["delivery_id"] for each in deliveries if isinstance(each, dict)] == [
        "msg_2", "msg_1",
    ]  # fmt: skip


def test_its_messages_of_one_receiver_follow_each_other(page: Message) -> None:
    first = tell_dead_letters("on-call", [letter(page)], "mail", "air", "", NOW)
    other = tell_dead_letters("chat", [letter(page)], "mail", "air", "", NOW)
    assert first.group != other.group
    assert first.group == tell_dead_letters("on-call", [letter(page, 9)], "mail", "", "", NOW).group


def test_a_thousand_dead_letters_with_hostile_texts_still_fit(page: Message) -> None:
    hostile = replace(page, title=HOSTILE, lines=(HOSTILE,) * 50)
    letters = [letter(hostile, number, HOSTILE) for number in range(1000)]
    told = tell_dead_letters(HOSTILE, letters, "mail", HOSTILE, "https://w", NOW)
    assert len(encode_body(told.body)) < MAXIMUM_BODY_BYTES
    data = told.body["data"]
    assert isinstance(data, dict)
    counts = data["counts"]
    assert isinstance(counts, dict)
    assert counts["in_group"] == 1000
    assert any("more: `inferwatch deliveries list" in line for line in told.lines)
    texts = [told.title, *told.lines]
    assert not any(sign in text for text in texts for sign in "\u202e\n\x00")
    assert max(map(len, texts)) <= 500


def test_the_same_letters_at_the_same_moment_have_the_same_id(page: Message) -> None:
    letters = [letter(page, 1), letter(page, 2)]
    key = dead_letter_key("mail", letters, NOW)
    assert key == dead_letter_key("mail", letters[::-1], NOW)
    assert key != dead_letter_key("mail", letters[:1], NOW)
    assert key != dead_letter_key("mail", letters, NOW + timedelta(seconds=1))


def test_the_test_message_asks_nothing_of_anybody() -> None:
    told = ping_message("on-call", "air", "https://w", NOW)
    assert (told.event, told.severity) == (EventType.PING, Severity.NOTICE)
    assert told.new == ()
    assert told.body["type"] == "test.ping"
