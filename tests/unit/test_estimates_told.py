"""What an estimate says of itself before and after a matured day was checked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from monitor.jobs.estimates.checked import PastError
from monitor.jobs.estimates.telling import Basis, told
from monitor.measurement import Measured, TooFew

MADE = Measured(0.9, 400, 0.87, 0.93, 0.95, 5_000, {"sigma": 0.015})
BASIS = Basis("cbpe", None, 5_000)


def past(error: float, sigma: float = 0.015) -> PastError:
    day = datetime(2026, 5, 1, tzinfo=UTC)
    return PastError((1,), day, day + timedelta(days=1), error, sigma)


def test_no_interval_is_told_before_a_matured_day_was_checked() -> None:
    first = told(MADE, BASIS, [])
    assert isinstance(first, Measured)
    assert (first.value, first.low, first.high, first.level) == (0.9, None, None, None)
    assert first.detail["sigma"] == 0.015  # the check of this day needs it later
    assert first.detail["sentence"].endswith("no matured cohort checked yet")


def test_from_the_first_checked_day_on_there_is_one() -> None:
    later = told(MADE, BASIS, [past(-0.02)])
    assert isinstance(later, Measured)
    assert (later.low, later.high) == (0.87, 0.93)
    assert later.detail["allowance"]["largest_error"] == pytest.approx(0.02)
    assert "2026-05-01, error -0.02" in later.detail["sentence"]


def test_what_is_too_few_stays_so() -> None:
    short = TooFew(12, 50, "scored requests")
    assert isinstance(told(short, BASIS, []), TooFew)
