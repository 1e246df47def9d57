"""Calibration as people look at it: choices, the newest diagram, its test and the change."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from dashboards.calibration_view import change_words, verdict_words
from monitor.checks.calibration import calibration
from monitor.checks.calibration_change import calibration_change
from monitor.measurement import Direction, Measurement, Subject, TooFew
from monitor.reports.calibration import calibration_choices, calibration_facts, diagram_of
from monitor.reports.measurements import Filter
from monitor.store import tables
from monitor.store.engine import Role, transaction
from monitor.store.measurements import write_measurements
from monitor.windows import Window
from tests.factories import START, apply, make_contract
from tests.unit.checks.factories import binary
from tests.unit.checks.score_worlds import drawn, overconfident, perfect, too_high

DAY = timedelta(days=1)
SPAN = Window(START, START + 30 * DAY)
KNOWN = START + 20 * DAY


def _counts(world, seed: int, n: int = 3_000):
    return binary(*drawn(world, np.random.default_rng(seed), n)[:2])


@pytest.fixture
def model_id(engine: Engine, project_id: int) -> int:
    """Two days of the whole, a day of class `a`, of a segment, and a change."""
    context = apply(engine, project_id, make_contract(segments=["city"]))
    fine, high, sure = (
        _counts(world, k) for k, world in enumerate((perfect, too_high, overconfident))
    )
    with transaction(engine, project_id, Role.WORKER) as connection:
        number = connection.scalar(
            sa.insert(tables.segment)
            .values(project_id=project_id, model_id=context.model_id, definition={"city": "Bonn"})
            .returning(tables.segment.c.id)
        )

        def made(method, outcome, day=0, segment=0, column="", numbers=(1, 2)) -> Measurement:
            window = Window(START + day * DAY, START + (day + 1) * DAY)
            subject = Subject(numbers, "live", segment, column)
            return Measurement("calibration", method, 1, subject, window, outcome, "probability",
                               Direction.TWO_SIDED, KNOWN + day * DAY)  # fmt: skip

        found = []
        for day, counts in ((0, fine), (1, high)):
            found += [made(name, outcome, day) for name, outcome in calibration(counts).items()]
        found.append(made("debiased_error", TooFew(12, 500, "labels"), 2))
        found.append(made("class_error", calibration(sure)["debiased_error"], column="a"))
        found.append(made("class_test", calibration(sure)["combined_test"], column="a"))
        found += [made(name, calibration(fine)[name], segment=number)
                  for name in ("debiased_error", "combined_test")]  # fmt: skip
        change = calibration_change(fine, sure)["change"]
        told = {"before_deployment": 1, "differs_in": {"precision": ["precision"]}}
        change = replace(change, detail={**change.detail, **told, "confounded": False})
        found.append(made("change", change, 1, numbers=(2,)))
        write_measurements(connection, project_id, context.model_id, found)
    return context.model_id


def test_choices_are_what_was_tried(engine: Engine, project_id: int, model_id: int):
    choices = calibration_choices(engine, project_id, model_id, SPAN, Filter())
    assert choices.classes == ("a",)
    assert list(choices.segments.values()) == ["city=Bonn"]
    early = calibration_choices(engine, project_id, model_id, SPAN, Filter(known_by=KNOWN - DAY))
    assert (early.classes, dict(early.segments)) == ((), {})


def test_the_newest_measured_day_with_its_test_and_change(
    engine: Engine, project_id: int, model_id: int
):
    facts = calibration_facts(engine, project_id, model_id, SPAN, Filter(column=""))
    assert facts is not None
    assert facts.is_measured
    assert facts.error.window.start == START + DAY
    assert facts.test is not None
    assert facts.test.window == facts.error.window
    said = verdict_words(facts.test)
    assert said.startswith("Scores are too high by 0.0")
    assert said.endswith("p < 0.001, n 3,000.")
    assert facts.change is not None
    told = change_words(facts.change)
    assert told.startswith(
        "Calibration of deployment 2 against 1 before it (they differ in precision): changed,"
    )
    as_of = calibration_facts(
        engine, project_id, model_id, SPAN, Filter(column="", known_by=KNOWN + DAY / 2)
    )
    assert as_of is not None
    assert as_of.error.window.start == START
    assert verdict_words(as_of.test).startswith("No miscalibration seen: p = ")
    assert as_of.change is None


def test_a_class_and_a_segment_by_themselves(engine: Engine, project_id: int, model_id: int):
    of_class = calibration_facts(engine, project_id, model_id, SPAN, Filter(column="a"))
    assert of_class is not None
    assert of_class.error.method == "class_error"
    assert verdict_words(of_class.test).startswith("Scores are too sure of themselves, slope 0.7")
    choices = calibration_choices(engine, project_id, model_id, SPAN, Filter())
    (number,) = choices.segments
    of_segment = calibration_facts(
        engine, project_id, model_id, SPAN, Filter(column="", segment_id=number)
    )
    assert of_segment is not None
    assert of_segment.error.segment_id == number
    assert of_segment.change is None
    nothing = calibration_facts(engine, project_id, model_id, SPAN, Filter(column="b"))
    assert nothing is None


def test_the_diagram_has_a_rising_curve_inside_its_days_band(
    engine: Engine, project_id: int, model_id: int
):
    facts = calibration_facts(
        engine, project_id, model_id, SPAN, Filter(column="", known_by=KNOWN + DAY / 2)
    )
    assert facts is not None
    diagram = diagram_of(facts.error.detail)
    assert diagram.curve["observed"].is_monotonic_increasing
    assert diagram.curve["score"].is_monotonic_increasing
    assert len(diagram.groups) == 10
    assert (diagram.band["low"] <= diagram.band["high"]).all()
    empty = diagram_of({})
    assert empty.curve.empty
    assert empty.band.empty
    assert empty.groups.empty


def test_words_of_a_test_that_was_not_made():
    assert verdict_words(None) == "The tests of calibration were not made for these labels."
