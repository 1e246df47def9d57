"""When a message is tried again."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

from alerts.model import Severity
from alerts.retry import next_attempt, next_in_schedule

from .factories import NOW


class NoChance:
    """Chance that always says zero."""

    def random(self) -> float:
        return 0.0


def times(severity: Severity, rng: object = None) -> list[timedelta]:
    """The moments of all attempts when each fails at once."""
    made: list[timedelta] = []
    now: datetime | None = NOW
    while True:
        now = next_attempt(len(made), severity, NOW, now, retry_after=None, rng=rng or NoChance())
        if now is None:
            return made
        made.append(now - NOW)


def test_the_usual_schedule_is_that_of_standard_webhooks() -> None:
    # Ten attempts over 75 h 35 min 5 s: 0 s, 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h.
    made = times(Severity.TICKET)
    assert len(made) == 10
    assert made[-1] == timedelta(hours=75, minutes=35, seconds=5)
    assert times(Severity.NOTICE) == made


def test_a_page_is_tried_eight_times_in_the_first_six_minutes() -> None:
    made = times(Severity.PAGE)
    seconds = [int(each.total_seconds()) for each in made[:9]]
    assert seconds == [0, 2, 7, 17, 37, 77, 167, 347, 647]
    assert len(made) == 16


def test_chance_adds_at_most_a_tenth_and_never_shortens() -> None:
    plain, moved = times(Severity.PAGE), times(Severity.PAGE, random.Random(7))
    assert len(moved) == len(plain)
    assert all(p <= m <= p * 1.1 for p, m in zip(plain, moved, strict=True))
    assert moved != plain


@pytest.mark.parametrize(("asked", "expected"), [(120, 120), (1, 2), (0, 2)])
def test_a_wait_asked_for_is_never_cut_short(asked: int, expected: int) -> None:
    due = next_attempt(
        1, Severity.PAGE, NOW, NOW, retry_after=timedelta(seconds=asked), rng=NoChance()
    )
    assert due == NOW + timedelta(seconds=expected)


def test_waits_asked_for_do_not_keep_a_message_alive_for_ever() -> None:
    late = NOW + timedelta(hours=100)
    due = next_attempt(3, Severity.PAGE, NOW, late, retry_after=timedelta(hours=24), rng=NoChance())
    assert due is None


def test_attempts_on_behalf_of_others_use_up_nothing_of_the_schedule() -> None:
    minute = NOW + timedelta(minutes=1)
    due = next_attempt(40, Severity.TICKET, NOW, minute, retry_after=None, rng=NoChance())
    assert due == minute + timedelta(minutes=5)
    after_days = NOW + timedelta(hours=76)
    late = next_attempt(40, Severity.TICKET, NOW, after_days, retry_after=None, rng=NoChance())
    assert late is None


@pytest.mark.parametrize(
    ("age", "expected"), [(0, 2), (1, 2), (6.5, 17), (30, 37), (700, 647 + 1800)]
)
def test_what_waits_behind_another_message_follows_the_schedule_of_its_age(
    age: float, expected: float
) -> None:
    due = next_in_schedule(Severity.PAGE, NOW, NOW + timedelta(seconds=age))
    assert due == NOW + timedelta(seconds=expected)
