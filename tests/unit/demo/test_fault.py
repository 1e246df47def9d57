"""A fault is named from contrasts of real flights: the right one, and none where there is none."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from monitor.checks.contrast import contrast_counts
from monitor.demo.deployments import DEPLOYMENTS, FAULTY, assign_deployments, seen_features
from monitor.demo.fault import ContrastTest, find_fault
from monitor.demo.flights import CATEGORY_FEATURES, FEATURES, Flights
from monitor.demo.plant import Plant, parse_plant, rollout_day
from monitor.measurement import Measured
from monitor.profiles.cells import CategoryCells, NumberCells
from monitor.profiles.fitting import fit_category_cells, fit_number_cells
from monitor.windows import Window

LATENESS = timedelta(minutes=10)
HOURS = 6


@pytest.fixture(scope="module")
def cells(flights: Flights) -> dict[str, CategoryCells | NumberCells]:
    training = flights.between(date(2013, 1, 1), date(2013, 3, 31))
    return {
        name: fit_category_cells(pa.array(training.features[name]))
        if name in CATEGORY_FEATURES
        else fit_number_cells(training.features[name])
        for name in FEATURES
    }


def contrasts(
    flights: Flights,
    cells: dict[str, CategoryCells | NumberCells],
    plant: Plant | None,
    seed: int,
) -> list[ContrastTest]:
    """Contrasts of every feature and deployment in windows of six hours, from counts by hour."""
    assigned = assign_deployments(flights, rollout_day(plant), seed)
    first = flights.event_time.min().astype("datetime64[D]")
    hour = (flights.event_time - first).astype("timedelta64[h]").astype(int)
    n_hours = int(hour.max()) // HOURS * HOURS + HOURS
    tests = []
    for name in FEATURES:
        counts = np.zeros((len(DEPLOYMENTS), n_hours, cells[name].n_cells), dtype=np.int64)
        for number in range(len(DEPLOYMENTS)):
            values = seen_features(flights, number, plant)[name][assigned == number]
            np.add.at(counts[number], (hour[assigned == number], cells[name].assign(values)), 1)
        for start in range(0, n_hours, HOURS):
            window = slice(start, start + HOURS)
            begins = datetime.fromisoformat(str(first))
            moment = begins.replace(tzinfo=UTC) + timedelta(hours=start)
            for number in range(len(DEPLOYMENTS)):
                others = counts[:, window].sum(axis=0) - counts[number, window]
                outcome = contrast_counts(cells[name], counts[number, window], others)
                if isinstance(outcome, Measured):
                    tests.append(
                        ContrastTest(
                            number,
                            name,
                            Window(moment, moment + timedelta(hours=HOURS)),
                            outcome.value,
                            outcome.detail["p_log10"],
                        )
                    )
    return tests


@pytest.mark.parametrize(
    "text",
    ["distance*1.609344@2013-09-01", "temp*0.5@2013-09-05", "seats*1.1@2013-09-03"],
)
def test_names_the_column_the_deployment_and_the_day(
    flights: Flights, cells: dict[str, CategoryCells | NumberCells], text: str
) -> None:
    plant = parse_plant(text)
    assert plant is not None
    days = flights.between(date(2013, 8, 31), date(2013, 9, 8))
    tests = contrasts(days, cells, plant, seed=5)
    assert len(tests) > 1_000
    fault = find_fault(tests, FEATURES, LATENESS, len(tests))
    assert fault is not None
    assert (fault.column, fault.deployment_id) == (plant.column, FAULTY)
    midnight = datetime.combine(plant.start, datetime.min.time(), UTC)
    assert midnight <= fault.started < midnight + timedelta(hours=30)
    assert fault.noticed == fault.started + timedelta(hours=HOURS) + LATENESS


@pytest.mark.parametrize("seed", range(4))
def test_names_nothing_where_nothing_is_planted(
    flights: Flights, cells: dict[str, CategoryCells | NumberCells], seed: int
) -> None:
    days = flights.between(date(2013, 8, 31), date(2013, 9, 14))
    tests = contrasts(days, cells, None, seed)
    assert len(tests) > 1_500
    assert find_fault(tests, FEATURES, LATENESS, len(tests)) is None


def a_test(column: str, hour: int, *, excess: float = 1.0, p_log10: float = -30.0) -> ContrastTest:
    start = datetime(2013, 9, 1, hour, tzinfo=UTC)
    return ContrastTest(3, column, Window(start, start + timedelta(hours=1)), excess, p_log10)


def test_a_consequence_is_not_named() -> None:
    tests = [a_test("score", 4, p_log10=-80.0), a_test("distance", 5)]
    fault = find_fault(tests, FEATURES, LATENESS, len(tests))
    assert fault is not None
    assert fault.column == "distance"
    assert find_fault(tests[:1], FEATURES, LATENESS, 1) is None


def test_a_surprise_too_small_to_matter_is_not_named() -> None:
    assert find_fault([a_test("distance", 5, excess=0.01)], FEATURES, LATENESS, 1) is None


def test_the_limit_counts_every_contrast() -> None:
    # One contrast: limit 10^-3. A thousand: limit 10^-6.
    alone = [a_test("distance", 5, p_log10=-4.0)]
    assert find_fault(alone, FEATURES, LATENESS, 1) is not None
    quiet = [a_test("temp", 6, excess=0.0, p_log10=-0.1)] * 999
    assert find_fault(alone + quiet, FEATURES, LATENESS, 1_000) is None
    # Those that can't name a fault may be left out as long as they are counted.
    assert find_fault(alone, FEATURES, LATENESS, 1_000) is None


def test_no_contrast_no_fault() -> None:
    assert find_fault([], FEATURES, LATENESS, 0) is None
