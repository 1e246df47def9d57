"""The planted fault: what may be asked for, what is refused with a remedy, what it does."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from monitor.demo.plant import DEFAULT_PLANT, Plant, parse_plant, rollout_day
from monitor.errors import ConfigurationError


def test_the_default_is_kilometres_from_september() -> None:
    assert parse_plant(DEFAULT_PLANT) == Plant("distance", 1.609344, date(2013, 9, 1))


def test_none_plants_nothing() -> None:
    assert parse_plant("none") is None
    assert parse_plant(" None ") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"write COLUMN\*FACTOR@DATE"),
        ("distance", r"write COLUMN\*FACTOR@DATE"),
        ("distance*2", r"write COLUMN\*FACTOR@DATE"),
        ("distance@2013-09-01*2", r"write COLUMN\*FACTOR@DATE"),
        ("speed*2@2013-09-01", r"choose one of distance, hour"),
        ("carrier*2@2013-09-01", r"not a number column"),
        ("score*2@2013-09-01", r"not a number column"),
        ("distance*1@2013-09-01", r"other than 1"),
        ("distance*1e999@2013-09-01", r"finite"),
        ("distance*1.2.3@2013-09-01", r"not a number; write"),
        ("distance*2@2013-03-31", r"choose a day from 2013-04-01 to 2013-12-31"),
        ("distance*2@2014-01-01", r"choose a day from"),
        ("distance*2@2013-09-31", r"not a day of the calendar"),
    ],
)
def test_refusals_name_the_remedy(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_plant(text)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_plant("speed*1@2015-09-01")
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("none", date(2013, 9, 1)),
        ("temp*0.5@2013-06-15", date(2013, 6, 15)),
        ("temp*0.5@2013-11-02", date(2013, 9, 1)),
    ],
)
def test_three_serve_from_september_or_from_an_earlier_fault(text: str, day: date) -> None:
    assert rollout_day(parse_plant(text)) == day


def test_the_fault_begins_on_its_day_and_keeps_missing_values_missing() -> None:
    plant = Plant("temp", 2.0, date(2013, 9, 2))
    days = np.array(["2013-09-01", "2013-09-02", "2013-09-02"], dtype="datetime64[D]")
    seen = plant.apply(np.array([50.0, 50.0, np.nan]), days)
    assert np.array_equal(seen, [50.0, 100.0, np.nan], equal_nan=True)


def test_a_plant_reads_back_from_its_own_text() -> None:
    plant = Plant("humid", -0.25, date(2013, 7, 4))
    assert parse_plant(str(plant)) == plant
