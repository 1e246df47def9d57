"""Sentences and cautions of a comparison."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from monitor.checks.comparison.cells import Cells, Control, Overlap, OverlapRow, RateTable
from monitor.checks.comparison.codec import comparison_body
from monitor.checks.comparison.compare import Comparison, Options, compare
from monitor.checks.comparison.factors import contrast
from monitor.checks.comparison.verdicts import Verdict
from monitor.checks.comparison.words import cautions, split_p_value, verdict_sentence
from monitor.deployment import Tags
from tests.factories import make_contract
from tests.unit.checks.comparison.factories import SHARE, cells

V1, V2 = Tags.of({"model_version": "1"}), Tags.of({"model_version": "2"})
CONTRACT = make_contract()


def split(*rows: tuple[int, int]) -> Overlap:
    slices = tuple(OverlapRow(str(k), a, b, a, b) for k, (a, b) in enumerate(rows))
    return Overlap(slices, len(rows), len(rows), Control.MATCHED, 1.0, 1.0)


def test_a_split_that_differs_by_slice_does_not_look_random() -> None:
    assert split_p_value(split((500, 500), (480, 500))) > 0.3
    assert split_p_value(split((700, 300), (300, 700))) < 1e-9
    # chi-square of ((30, 10), (20, 20)) is 5.333, p .0209
    assert split_p_value(split((30, 10), (20, 20))) == pytest.approx(0.0209, abs=5e-5)
    assert split_p_value(split((5, 5))) == split_p_value(split()) == 1.0


def served(right_a: int, right_b: int, *, together: bool = True) -> Cells:
    n = np.full((20, 2), 100)
    events = np.column_stack([np.full(20, right_a), np.full(20, right_b)])
    if not together:
        n[:10, 1] = n[10:, 0] = 0
        events[:10, 1] = events[10:, 0] = 0
    return cells(list(range(20)), [0] * 20, n, rates=[RateTable(SHARE, events, n)])


def made(found: Cells, **options: object) -> Comparison:
    chosen = replace(Options(), **options)
    return compare(contrast({1: V1}, {2: V2}), {"model": found}, chosen, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("right_a", "right_b", "verdict", "words"),
    [
        (70, 80, Verdict.BETTER, "b is better: accuracy +10.00 points."),
        (80, 70, Verdict.WORSE, "b is worse: accuracy -10.00 points."),
        (70, 71, Verdict.INCONCLUSIVE, "1 of 1 metrics (accuracy) may still differ"),
    ],
)
def test_the_sentence_tells_verdict_and_numbers(
    right_a: int, right_b: int, verdict: Verdict, words: str
) -> None:
    found = made(served(right_a, right_b))
    assert found.verdict is verdict
    assert words in verdict_sentence(found)


def test_a_wide_tolerance_means_no_difference() -> None:
    found = made(served(70, 71), epsilon=0.1)
    assert verdict_sentence(found) == "No difference beyond ±0.1 in any metric."


def test_nothing_shared_is_confounded_with_the_traffic() -> None:
    apart = served(70, 80, together=False)
    found = made(apart)  # 20 hours of one day: a by night, b by day
    assert found.verdict is Verdict.CONFOUNDED
    assert "share no slice of the traffic at any time" in verdict_sentence(found)


def test_what_is_not_held_fixed_is_told() -> None:
    found = made(served(70, 80))
    told = cautions(found, found.results[0], CONTRACT)
    assert told == (
        "No deployment records its data, features, processing, runtime, precision, configuration,"
        " hardware: that may differ as well.",
    )
    result = replace(
        found.results[0],
        immature=3,
        unsliced=0.25,
        overlap=replace(found.results[0].overlap, control=Control.SEASON, share_b=0.4),
    )
    label = {"name": "x", "max_age": "7d", "correction_time": "1d", "feedback": "selective"}
    every = " ".join(cautions(found, result, make_contract(label=label)))
    for words in ("hardly served at the same time", "Only 40%", "3 slots whose labels are immature",
                  "25% of the requests came before", "Labels are selective"):  # fmt: skip
        assert words in every


def test_the_body_is_plain_json_without_nan() -> None:
    body = comparison_body(made(served(70, 80), canary=True), CONTRACT)
    assert body["verdict"] == "better"
    (line,) = body["results"][0]["metrics"]
    assert line["difference"]["value"] == pytest.approx(0.1)
    assert line["difference"]["state"] == "measured"
    assert body["results"][0]["canary"][0]["verdict"] == "no worse"
