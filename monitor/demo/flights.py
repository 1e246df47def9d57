"""The flights of 2013 as requests to a model: columns, times and labels as numpy arrays. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

CATEGORY_FEATURES = ("carrier", "origin", "dest", "weekday", "manufacturer")
NUMBER_FEATURES = (
    "distance",
    "hour",
    "minute",
    "seats",
    "plane_age",
    "temp",
    "wind_speed",
    "precip",
    "visib",
    "pressure",
    "humid",
)
FEATURES = (*CATEGORY_FEATURES, *NUMBER_FEATURES)
UNLABELLED = -1

Columns = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True)
class Flights:
    """Requests in order of event time; every array has one entry a flight.

    features: float64 with NaN where missing for NUMBER_FEATURES, str or None for the others.
    event_time: datetime64[us], UTC: scheduled departure minus two hours.
    flight_date: datetime64[D], the scheduled date in New York.
    late: int8, 1 arrived more than 15 minutes late, 0 did not, UNLABELLED where no arrival delay.
    observed_at: datetime64[us], UTC: arrival at the gate; NaT where unlabelled.
    """

    request_id: NDArray[np.object_]
    event_time: NDArray[np.datetime64]
    flight_date: NDArray[np.datetime64]
    features: Columns
    late: NDArray[np.int8]
    observed_at: NDArray[np.datetime64]

    def __len__(self) -> int:
        return len(self.request_id)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """True where the flight arrived and its delay is known."""
        return np.not_equal(self.late, UNLABELLED)

    def take(self, rows: NDArray[np.generic] | slice) -> Flights:
        """The flights of a mask, of row numbers or of a slice, in the order given."""
        return Flights(
            request_id=self.request_id[rows],
            event_time=self.event_time[rows],
            flight_date=self.flight_date[rows],
            features={name: values[rows] for name, values in self.features.items()},
            late=self.late[rows],
            observed_at=self.observed_at[rows],
        )

    def between(self, first: date, last: date) -> Flights:
        """The flights whose New York date lies from first to last, both included."""
        after = self.flight_date >= np.datetime64(first)
        return self.take(after & (self.flight_date <= np.datetime64(last)))
