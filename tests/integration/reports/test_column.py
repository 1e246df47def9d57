"""One column: shares by cell against a baseline, violations by reason, masked examples."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from monitor.profiles.part import Part
from monitor.reports.baselines import baselines
from monitor.reports.column import column_report, violation_examples
from monitor.windows import Window
from tests.dashboard_seed import NUMBERS, ODD_NAMES, REFERENCE
from tests.seeded_database import SeededDatabase


def test_accepted_weeks_come_before_the_training_file(database: SeededDatabase):
    found = database.ask(baselines, database.seeded.model_id)
    assert [each.name for each in found] == ["accepted weeks", "training"]


@pytest.mark.parametrize("name", NUMBERS)
def test_shares_add_up_to_one_whatever_the_name(database: SeededDatabase, name: str):
    seeded = database.seeded
    report = database.ask(column_report, seeded.model_id, name, seeded.window)
    (found,) = report.distributions
    assert found.view == name
    assert found.frame["baseline"].sum() == pytest.approx(1)
    assert found.frame["current"].sum() == pytest.approx(1)
    assert found.current.n == seeded.requests
    assert found.baseline.n == REFERENCE.sum()
    assert list(found.frame["label"])[:2] == ["below 0", "0 to 10"]


def test_the_sum_over_days_and_hours_is_that_of_every_hour(database: SeededDatabase):
    """A window that begins and ends inside days is covered once."""
    seeded = database.seeded
    inside = Window(seeded.window.start + timedelta(hours=5), seeded.window.end - timedelta(days=2))
    cut = [
        Window(inside.start, inside.start + timedelta(days=3, hours=7)),
        Window(inside.start + timedelta(days=3, hours=7), inside.end),
    ]
    whole = database.ask(column_report, seeded.model_id, "wind", inside).distributions[0]
    parts = [
        database.ask(column_report, seeded.model_id, "wind", piece).distributions[0]
        for piece in cut
    ]
    added = sum(np.asarray(part.frame["current_n"]) for part in parts)
    assert (np.asarray(whole.frame["current_n"]) == added).all()


def test_the_shifted_column_moved_and_its_mean_with_it(database: SeededDatabase):
    seeded = database.seeded
    late = Window(seeded.window.end - timedelta(days=2), seeded.window.end)
    shifted = database.ask(column_report, seeded.model_id, "distance", late).distributions[0]
    still = database.ask(column_report, seeded.model_id, "lat.deg", late).distributions[0]
    assert shifted.frame["moved"].abs().max() > 2 * still.frame["moved"].abs().max()
    assert shifted.moved_most(1)["moved"].abs().iloc[0] == shifted.frame["moved"].abs().max()
    assert shifted.current.mean is not None
    assert shifted.baseline.mean is not None
    assert shifted.current.mean - shifted.baseline.mean > 1


def test_a_text_column_is_shown_by_its_length(database: SeededDatabase):
    seeded = database.seeded
    report = database.ask(column_report, seeded.model_id, "note", seeded.window)
    assert [found.view for found in report.distributions] == ["note.length"]


def test_an_identifier_has_no_distribution_and_the_report_says_why(database: SeededDatabase):
    seeded = database.seeded
    report = database.ask(column_report, seeded.model_id, "tail", seeded.window)
    assert report.distributions == ()
    assert report.missing_reason is not None
    assert "identifiers" in report.missing_reason


def test_days_without_requests_and_models_without_baseline_say_so(database: SeededDatabase):
    seeded = database.seeded
    start = seeded.window.start - timedelta(days=900)
    long_ago = Window(start, start + timedelta(days=1))
    report = database.ask(column_report, seeded.model_id, "wind", long_ago)
    assert "no requests were profiled" in (report.missing_reason or "")
    report = database.ask(column_report, seeded.stale_model_id, "wind", seeded.window)
    assert "no baseline yet" in (report.missing_reason or "")


def test_violations_by_day_and_reason(database: SeededDatabase):
    """One out of range and two nulls of the hour of 7 o'clock, a deployment and day."""
    seeded = database.seeded
    first = Window(seeded.window.start, seeded.window.start + timedelta(days=2))
    found = database.ask(column_report, seeded.model_id, "wind", first).violations
    assert sorted(zip(found["reason"], found["n"], strict=True)) == [
        ("null", 2), ("null", 2), ("out of range", 1), ("out of range", 1),
    ]  # fmt: skip
    none = database.ask(column_report, seeded.model_id, ODD_NAMES[0], first).violations
    assert none.empty


def test_examples_keep_every_digit(database: SeededDatabase):
    """pub-053: integers beyond 2^53 digit for digit."""
    seeded = database.seeded
    found = database.ask(violation_examples, seeded.model_id, "wind", seeded.window)
    assert [(each.reason, each.example) for each in found] == [
        ("wrong type", "****"),
        ("out of range", "9007199254740993"),
    ]


def test_stored_counts_are_read_back_exactly():
    counts = np.array([3, 2**60, 5], np.int64)
    back = Part.from_bytes(Part({"cells/price $ net $": counts}).to_bytes())
    assert (back.dense["cells/price $ net $"] == counts).all()
