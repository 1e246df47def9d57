"""The symptom table and when a reading stands apart."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from monitor.checks.context.moved import movement_of
from monitor.checks.context.symptoms import (
    SIGNALS,
    SYMPTOMS,
    Movement,
    areas_to_measure,
    fitting,
)

UP, SAME, DOWN = Movement
START = datetime(2026, 3, 2, 12, tzinfo=UTC)
PAGE = Path(__file__).parents[4] / "docs" / "server-readings.md"
CONCLUSIONS = re.compile(r"\b(because|cause[sd]?|due to|the reason|fault of|leads? to)\b", re.I)


def minutes(*values: float, first: int = 0) -> list[tuple[datetime, float]]:
    return [(START + timedelta(minutes=first + i), value) for i, value in enumerate(values)]


def test_every_symptom_names_known_signals_and_areas_and_no_conclusion() -> None:
    for symptom in SYMPTOMS:
        assert set(symptom.when) <= set(SIGNALS), symptom.name
        assert symptom.areas
        texts = [symptom.seen, *(area.measure for area in symptom.areas)]
        assert not [text for text in texts if CONCLUSIONS.search(text)]
    assert len({symptom.name for symptom in SYMPTOMS}) == len(SYMPTOMS)


def test_waiting_that_grows_while_work_does_not_is_one_symptom_and_the_other_way_another() -> None:
    waiting = fitting({"queue_time": UP, "compute_time": SAME})
    assert [each.symptom.name for each in waiting] == ["waiting-grows"]
    assert waiting[0].is_seen
    working = fitting({"queue_time": SAME, "compute_time": UP})
    assert [each.symptom.name for each in working] == ["work-grows"]


def test_a_signal_that_nobody_measured_is_named_and_stands_behind_what_was_seen() -> None:
    found = fitting({"tail": UP, "queue_length": UP})
    assert [each.symptom.name for each in found if each.is_seen] == ["queue-grows"]
    assert found[0].is_seen
    named = {each.symptom.name: each.unknown for each in found}
    assert named["tail-only"] == ("median",)
    assert "idle-accelerator" in named
    lines = areas_to_measure(found, 2)
    assert lines[0].startswith("more requests wait: measure requests a second")
    assert "[not measured: " in lines[1]


def test_what_moved_in_another_way_fits_nothing_and_neither_does_stillness() -> None:
    assert fitting({"inter_token_time": DOWN}) == ()
    assert fitting(dict.fromkeys(SIGNALS, SAME)) == ()
    assert fitting({}) == ()


def test_a_line_of_areas_is_short_enough_for_a_message() -> None:
    for symptom in SYMPTOMS:
        movements = dict(list(symptom.when.items())[:1])
        for line in areas_to_measure(fitting(movements), 20):
            assert len(line) <= 300, line


def test_a_reading_moved_when_it_lies_outside_all_minutes_before_and_a_fifth_away() -> None:
    before = minutes(*[3, 2, 4] * 4)
    moved = movement_of(before, minutes(40, 41, 45, first=12))
    assert moved is not None
    assert (moved.movement, moved.before, moved.now) == (UP, 3, 41)
    assert moved.since == START + timedelta(minutes=12)
    still = movement_of(before, minutes(4, 4, 4, first=12))
    assert still is not None
    assert still.movement is SAME
    near = movement_of(minutes(*[100.0] * 12), minutes(110, first=12))
    assert near is not None
    assert near.movement is SAME
    fell = movement_of(before, minutes(0, 0, first=12))
    assert fell is not None
    assert fell.movement is DOWN


def test_since_is_the_first_minute_of_the_last_unbroken_run_outside() -> None:
    before = minutes(*[3.0] * 11, 30.0)
    moved = movement_of(before[:11], minutes(30, 3, 31, 32, first=11))
    assert moved is not None
    assert moved.since == START + timedelta(minutes=13)


def test_with_few_minutes_before_nothing_is_said() -> None:
    assert movement_of(minutes(*[3.0] * 9), minutes(40, first=9)) is None
    assert movement_of(minutes(*[3.0] * 12), []) is None


def test_the_documents_list_every_symptom_with_every_area() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for symptom in SYMPTOMS:
        assert f"| {symptom.seen} |" in text, symptom.name
        for area in symptom.areas:
            assert area.measure in text, area.measure
