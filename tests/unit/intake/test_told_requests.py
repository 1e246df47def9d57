"""A producer's record becomes a request of the contract: each column from the surest place."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from monitor.contract import Column, Contract
from monitor.intake.producer_record import ProducerRecord
from monitor.intake.text_cells import TextCell
from monitor.intake.told_requests import to_request
from monitor.records import RequestOutcome

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def contract(*columns: Column) -> Contract:
    return Contract(model="m", owner="o", purpose="p", task="binary", columns=columns)


def number(name: str, **more: object) -> Column:
    return Column(name=name, type="number", **more)


def test_a_time_comes_in_the_unit_that_the_column_declares() -> None:
    made = contract(
        number("latency", role="timing", unit="s"),
        number("waited", role="timing", field="queue_time", unit="us"),
        number("first_token_time", role="timing"),
    )
    record = ProducerRecord(
        "r", AT, fields={"latency": 250, "queue_time": 1.5, "first_token_time": 80.0}
    )
    told = to_request(record, made)
    assert told["latency"] == pytest.approx(0.25)
    assert told["waited"] == pytest.approx(1500)
    assert told["first_token_time"] == pytest.approx(80)


def test_unnamed_values_take_the_features_in_their_order_only_when_there_are_as_many() -> None:
    made = contract(number("a"), number("b"), number("score", role="score"))
    told = to_request(
        ProducerRecord("r", AT, inputs={"0": 1.5, "1": 2.5}, outputs={"0": 0.9}), made
    )
    assert (told["a"], told["b"], told["score"]) == (1.5, 2.5, 0.9)
    other = to_request(ProducerRecord("r", AT, inputs={"0": 1.5}, outputs={"0": 0.9}), made)
    assert "a" not in other
    assert other["0"] == 1.5


def test_a_feature_that_is_a_standard_field_need_not_be_among_the_unnamed_values() -> None:
    made = contract(number("a"), number("temperature"), number("b"))
    both = to_request(ProducerRecord("r", AT, inputs={"0": 1, "1": 2, "2": 3}), made)
    assert (both["a"], both["temperature"], both["b"]) == (1, 2, 3)
    said = ProducerRecord("r", AT, inputs={"0": 1, "1": 3}, fields={"temperature": 0.5})
    told = to_request(said, made)
    assert (told["a"], told["temperature"], told["b"]) == (1, 0.5, 3)


def test_a_cell_of_text_becomes_what_its_column_is() -> None:
    made = contract(
        number("a"), Column(name="b", type="category"), Column(name="c", type="boolean")
    )
    cells = {
        name: TextCell(text) for name, text in zip("abcd", ("1", "1", "TRUE", "x"), strict=True)
    }
    told = to_request(ProducerRecord("r", AT, inputs=cells), made)
    assert (told["a"], told["b"], told["c"], told["d"]) == (1, "1", True, "x")
    empty = to_request(ProducerRecord("r", AT, inputs={"a": TextCell("")}), made)
    assert empty["a"] is None


def test_a_declared_place_wins_and_may_lie_deep() -> None:
    made = contract(
        number("score", role="score", taken_from="outputs.probabilities.1"),
        Column(name="tier", type="category", taken_from="attributes.user.tier"),
    )
    record = ProducerRecord(
        "r", AT, outputs={"probabilities": [0.2, 0.8]}, attributes={"user.tier": "gold"}
    )
    told = to_request(record, made)
    assert (told["score"], told["tier"]) == (0.8, "gold")


def test_inputs_that_no_column_takes_stay_so_that_they_are_counted_as_unknown() -> None:
    made = contract(number("a"), number("y", role="prediction"))
    told = to_request(ProducerRecord("r", AT, inputs={"a": 1, "new": 2}, outputs={"y": 3}), made)
    assert told["new"] == 2
    assert told["y"] == 3


def test_how_it_ended_is_told_with_its_reason() -> None:
    made = contract(number("a"))
    record = ProducerRecord("r", AT, outcome=RequestOutcome.FAILED, outcome_reason="no response")
    told = to_request(record, made, {"model_version": "7"})
    assert told == {
        "request_id": "r",
        "event_time": "2026-03-01T09:30:00+00:00",
        "outcome": "failed",
        "outcome_reason": "no response",
        "tags": {"model_version": "7"},
    }


@pytest.mark.parametrize("place", ["input.x", "inputs", "inputs.", "x"])
def test_a_place_that_is_none_is_refused(place: str) -> None:
    with pytest.raises(ValueError, match="no place in a producer's record"):
        number("a", taken_from=place)
