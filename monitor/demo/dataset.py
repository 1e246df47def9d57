"""Joins the flights of 2013 with planes and weather, as a model could have seen them.

A request is made two hours before scheduled departure. Its features are the timetable, the plane
on the roster, and the weather at the origin of the last full hour before the request. Nothing
that happened later may become a feature; values that the sources lack stay missing.

The label `late` says that the flight reached its gate more than 15 minutes after schedule. Flights
without an arrival delay (cancelled, diverted or not reported) never get one. A label is observed
when the flight reaches the gate: the first moment after departure plus air time at which the clock
of the destination shows the reported arrival time.
"""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.demo.flights import CATEGORY_FEATURES, FEATURES, UNLABELLED, Flights
from monitor.demo.sources import Sources, read_sources

NEW_YORK = "America/New_York"
NOTICE = timedelta(hours=2)
LATE_MINUTES = 15
WEATHER = ("temp", "wind_speed", "precip", "visib", "pressure", "humid")
WEEKDAYS = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], dtype=object)

# Destinations the airport table lacks: Aguadilla, Ponce, San Juan and Saint Thomas.
CARIBBEAN_ZONES = {
    "BQN": "America/Puerto_Rico",
    "PSE": "America/Puerto_Rico",
    "SJU": "America/Puerto_Rico",
    "STT": "America/St_Thomas",
}


def load_flights(sources: Sources | None = None) -> Flights:
    """All 336,776 flights of 2013 as requests, in order of event time and request id."""
    sources = sources or read_sources()
    frame = sources.flights
    departure = scheduled_departure(frame)
    request_time = departure - NOTICE
    joined = _with_weather(_with_planes(frame, sources.planes), request_time, sources.weather)
    flights = Flights(
        request_id=_request_ids(frame),
        event_time=_microseconds(request_time),
        flight_date=_dates(frame).to_numpy().astype("datetime64[D]"),
        features=_features(joined),
        late=_late(frame),
        observed_at=_microseconds(gate_arrival(frame, departure, sources.airports)),
    )
    return flights.take(np.lexsort((flights.request_id.astype(str), flights.event_time)))


def scheduled_departure(frame: pd.DataFrame) -> pd.Series[pd.Timestamp]:
    """Scheduled departure in UTC. The timetable is in New York time, daylight saving included."""
    minutes = (frame.sched_dep_time // 100) * 60 + frame.sched_dep_time % 100
    local = _dates(frame) + pd.to_timedelta(minutes, unit="min")
    zoned = local.dt.tz_localize(NEW_YORK, ambiguous="raise", nonexistent="raise")
    return zoned.dt.tz_convert("UTC")


def gate_arrival(
    frame: pd.DataFrame, departure: pd.Series[pd.Timestamp], airports: pd.DataFrame
) -> pd.Series[pd.Timestamp]:
    """When the flight reached its gate, in UTC; NaT where no arrival delay is reported.

    Departure plus air time fixes the day; the reported arrival time, on the destination's clock,
    fixes the minute, taxiing included.
    """
    arrived = frame.arr_delay.notna()
    airborne = _of_minutes(frame.dep_delay + frame.air_time)
    landed = (departure + airborne).where(arrived)
    zones = airports.set_index("faa").tzone.to_dict() | CARIBBEAN_ZONES
    reported = (frame.arr_time // 100) * 60 + frame.arr_time % 100
    taxi = (reported - _local_minutes(landed, frame.dest.map(zones))) % 1440
    return landed + _of_minutes(taxi)


def _of_minutes(minutes: pd.Series[float]) -> pd.Series[pd.Timedelta]:
    """Spans of so many minutes, NaT for NaN: pandas computes with what lies in memory there."""
    return pd.to_timedelta(minutes.fillna(0.0), unit="min").where(minutes.notna())


def _local_minutes(moments: pd.Series[pd.Timestamp], zones: pd.Series[str]) -> pd.Series[float]:
    """Minutes since midnight on the clock of each moment's zone."""
    minutes = pd.Series(np.nan, index=moments.index)
    for zone, members in moments.groupby(zones):
        clock = members.dt.tz_convert(str(zone)).dt
        minutes.loc[members.index] = (clock.hour * 60 + clock.minute).to_numpy()
    return minutes


def _dates(frame: pd.DataFrame) -> pd.Series[pd.Timestamp]:
    return pd.to_datetime(frame[["year", "month", "day"]])


def _request_ids(frame: pd.DataFrame) -> NDArray[np.object_]:
    day = _dates(frame).dt.strftime("%Y-%m-%d")
    ids = day + "-" + frame.carrier + "-" + frame.flight.astype(str) + "-" + frame.origin
    return ids.to_numpy(dtype=object)


def _with_planes(frame: pd.DataFrame, planes: pd.DataFrame) -> pd.DataFrame:
    known = planes[["tailnum", "manufacturer", "seats", "year"]]
    known = known.rename(columns={"year": "built"})
    joined = frame.merge(known, on="tailnum", how="left", validate="many_to_one")
    joined["plane_age"] = joined.year - joined.built
    return joined


def _with_weather(
    frame: pd.DataFrame, request_time: pd.Series[pd.Timestamp], weather: pd.DataFrame
) -> pd.DataFrame:
    """Add the weather observed at the origin in the last full hour before the request."""
    observed = weather[["origin", "time_hour", *WEATHER]].copy()
    observed["observed"] = _utc_hours(pd.to_datetime(observed.pop("time_hour"), utc=True))
    hour = _utc_hours(request_time)
    return frame.assign(observed=hour).merge(
        observed, on=["origin", "observed"], how="left", validate="many_to_one"
    )


def _utc_hours(moments: pd.Series[pd.Timestamp]) -> pd.Series[pd.Timestamp]:
    return moments.dt.floor("h").dt.as_unit("us")


def _features(frame: pd.DataFrame) -> dict[str, NDArray[np.generic]]:
    frame = frame.assign(weekday=WEEKDAYS[_dates(frame).dt.dayofweek.to_numpy()])
    return {
        name: _texts(frame[name])
        if name in CATEGORY_FEATURES
        else frame[name].to_numpy(dtype=np.float64)
        for name in FEATURES
    }


def _texts(values: pd.Series[str]) -> NDArray[np.object_]:
    texts: NDArray[np.object_] = values.to_numpy(dtype=object, copy=True)
    texts[values.isna().to_numpy()] = None
    return texts


def _late(frame: pd.DataFrame) -> NDArray[np.int8]:
    late = (frame.arr_delay > LATE_MINUTES).to_numpy().astype(np.int8)
    late[frame.arr_delay.isna().to_numpy()] = UNLABELLED
    return late


def _microseconds(moments: pd.Series[pd.Timestamp]) -> NDArray[np.datetime64]:
    naive = moments.dt.tz_convert("UTC").dt.tz_localize(None)
    return naive.to_numpy().astype("datetime64[us]")
