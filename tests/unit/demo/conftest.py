"""The flights of 2013 and the model trained on them, read once for all tests of this folder."""

from __future__ import annotations

import pytest

from monitor.demo.classifier import TRAINING_FIRST_DAY, TRAINING_LAST_DAY, LateArrivalModel, train
from monitor.demo.dataset import load_flights
from monitor.demo.flights import Flights
from monitor.demo.plant import FIRST_DAY, LAST_DAY
from monitor.demo.sources import Sources, read_sources


@pytest.fixture(scope="session")
def sources() -> Sources:
    return read_sources()


@pytest.fixture(scope="session")
def flights(sources: Sources) -> Flights:
    return load_flights(sources)


@pytest.fixture(scope="session")
def replayed(flights: Flights) -> Flights:
    return flights.between(FIRST_DAY, LAST_DAY)


@pytest.fixture(scope="session")
def model(flights: Flights) -> LateArrivalModel:
    return train(flights.between(TRAINING_FIRST_DAY, TRAINING_LAST_DAY))
