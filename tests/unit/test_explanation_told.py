"""An explanation as it is kept and read again, in every state it can end in."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from monitor.checks.context.explained import ExplainedShare, OutputDidNotMove, OutputMoved
from monitor.checks.context.loss_split import LossSplit
from monitor.checks.context.loss_words import loss_sentences
from monitor.checks.context.segment_losses import SegmentShare
from monitor.jobs.explanation.told import (
    lacks,
    sentences,
    told_columns,
    told_segments,
    told_split,
)
from monitor.measurement import Failed, Measured, TooFew
from monitor.reports.explanations import Explanation, explanation_of
from monitor.store.explanations import StoredExplanation
from monitor.windows import Window

NOW = datetime(2026, 5, 1, tzinfo=UTC)
MONTH = Window(NOW, NOW + timedelta(days=30))


def change(value: float, reach: float) -> Measured:
    return Measured(value, 900, value - reach, value + reach, 0.95, 800)


SPLIT = LossSplit(
    change(0.5, 0.2), change(1.25, 0.4), change(-0.1, 0.3), change(1.65, 0.5),
    4.0, 5.65, 4.5, 5.75, (700.0, 650.0),
)  # fmt: skip
MOVED = OutputMoved(
    change(1.65, 0.5),
    (
        ExplainedShare(("age",), change(0.4, 0.1), 5.0, 600.0, 0.0),
        ExplainedShare(("city",), TooFew(12, 30, "effective rows"), None, 12.0, 0.4),
    ),
    (),
)
SEGMENTS = (
    SegmentShare("city=Bonn", change(1.2, 0.4), 0.2, 1.0, 4.0, 6.0, 0.5, 0.6),
    SegmentShare("city=Ulm", TooFew(9, 50, "labelled rows"), 0.1, 0.35, None, 5.0, 0.01, 0.4),
)


def read_back(**body: Any) -> Explanation:
    """What is stored as JSON, as the report reads it."""
    kept = json.loads(json.dumps(body, allow_nan=False))
    return explanation_of(StoredExplanation("live", "disde", MONTH, MONTH, kept, "ada", NOW))


def test_a_full_explanation_of_a_regression() -> None:
    found = read_back(
        unit="label",
        then={"sampled": 900, "labelled": 800, "coverage": 0.9},
        now={"sampled": 1000, "labelled": 900, "coverage": 0.9},
        split=told_split(SPLIT),
        columns=told_columns(MOVED),
        segments={"city": told_segments(SEGMENTS)},
        sentences=sentences(SPLIT, MOVED, {"city": SEGMENTS}, share=False),
    )
    assert found.sentences[0] == (
        "The mean absolute error went from 4 to 5.65: +1.65 (95 % interval +1.15 to +2.15)."
    )
    assert found.sentences[3].startswith("No part beyond chance is consistent with inputs")
    assert found.sentences[4].startswith("40 % of the change is consistent with the changed mix")
    assert found.sentences[5].startswith("city=Bonn carries 73 % of the change")
    assert found.parts[1].value_text == "+1.25"
    assert [one.share_text for one in found.columns] == ["40 %", "too few rows"]
    assert found.columns[1].limits_text == "12 effective rows, 30 needed"
    assert [row.cells[1] for row in found.segments["city"]] == ["+1.2", "too few rows"]
    assert found.segments["city"][1].cells[4] == ""
    assert "The shared inputs are worth 700 and 650 rows." in found.rows_sentence


@pytest.mark.parametrize(
    "lacking", [TooFew(3, 100, "labelled rows"), Failed("the windows share hardly any inputs")]
)
def test_what_could_not_be_split(lacking: TooFew | Failed) -> None:
    found = read_back(split=told_split(lacking), sentences=[lacks(lacking)])
    assert found.reason
    assert found.parts == ()
    assert found.sentences[0] == f"Not explained: {found.reason}."


@pytest.mark.parametrize(
    ("ranked", "words"),
    [
        (OutputDidNotMove(change(0.0, 1.0)), "within what chance gives"),
        (TooFew(9, 100, "rows"), "9 rows, 100 needed"),
        (Failed("outputs are not finite"), "outputs are not finite"),
    ],
)
def test_columns_that_are_not_ranked_say_why(
    ranked: OutputDidNotMove | TooFew | Failed, words: str
) -> None:
    found = read_back(columns=told_columns(ranked), split=told_split(Failed("x")))
    assert words in found.columns_reason
    assert found.columns == ()


def test_a_change_within_chance_is_told_as_that() -> None:
    still = LossSplit(
        change(0.0, 0.1), change(0.01, 0.1), change(0.0, 0.1), change(0.01, 0.2),
        0.1, 0.11, 0.1, 0.11, (700.0, 650.0),
    )  # fmt: skip
    told = loss_sentences(still, share=True)
    assert told[0] == (
        "The error rate went from 10.0 % to 11.0 %: +1 points (95 % interval -19 to +21)."
    )
    assert "within what chance gives" in told[1]
    assert told_segments(TooFew(1, 2, "rows"))["state"] == "too_few"


def test_a_gain_is_not_told_as_a_loss() -> None:
    split = LossSplit(
        change(-0.5, 0.2), change(-1.25, 0.4), change(-0.6, 0.3), change(-2.35, 0.5),
        6.0, 3.65, 5.5, 4.25, (700.0, 650.0),
    )  # fmt: skip
    told = " ".join(loss_sentences(split, share=False))
    assert "judged worse" not in told
    assert "fewer of the inputs that were always hard" in told
    assert "the same inputs being judged better" in told
    assert "and easy" in told
