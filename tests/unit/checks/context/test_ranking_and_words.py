"""Order and wording of findings: numbers with interval and n, and never a cause."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.checks.context import phrases
from monitor.checks.context.clock import ClockColumn, clock_check
from monitor.checks.context.contributions import ColumnDidNotMove, contributions
from monitor.checks.context.disde import loss_change
from monitor.checks.context.explained import (
    ExplainedShare,
    OutputDidNotMove,
    OutputMoved,
    SampledColumn,
    explain_output,
)
from monitor.checks.context.label_shift import label_shift
from monitor.checks.context.ranking import Timing, ranked
from monitor.checks.context.tags import TagChange, TagDifference, tag_changes
from monitor.checks.context.traffic import ServedDeployment, TrafficHistory
from monitor.checks.context.words import Findings, sentences
from monitor.checks.slice_counts import SliceColumn, SliceStatistic
from monitor.checks.slices import SliceRows, worst_slices
from monitor.deployment import Tags
from monitor.measurement import Failed, Measured, TooFew

START = datetime(2026, 3, 3, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
FORBIDDEN = ("caused", "because", "due to", "reason for", "explains", "responsible", "led to")


def _share(name: str, low: float, value: float = 0.7) -> ExplainedShare:
    measured = Measured(value, 900, low, 0.95, 0.95, 800)
    return ExplainedShare((name,), measured, 0.2, 500.0, 0.0)


def _tag_change(hours: float) -> TagChange:
    at = START + hours * HOUR
    difference = TagDifference("model", "model_version", "3", "4")
    return TagChange(at, hours, 7, 5, (), (difference,), ("region",))


def test_scores_are_lower_limit_times_timing_times_change_log():
    shares = [_share("near", 0.4), _share("unknown", 0.4), _share("far", 0.4), _share("none", -0.1)]
    changed = {"near": START - HOUR, "far": START - 30 * HOUR, "none": START}
    order = ranked(shares, changed, START, HOUR, (_tag_change(-1),))
    assert [(one.explained.columns[0], one.timing) for one in order] == [
        ("near", Timing.NEAR),
        ("unknown", Timing.UNKNOWN),
        ("far", Timing.ELSEWHERE),
        ("none", Timing.NEAR),
    ]
    # near: .4 · 1 · 1; unknown: .4 · ½ · 1 (logged at the start); far: .4 · ¼ · ½.
    assert [one.score for one in order] == pytest.approx([0.4, 0.2, 0.05, 0.0])
    assert [one.logged is not None for one in order] == [True, True, False, True]


def test_a_certain_small_share_stands_before_an_uncertain_large_one():
    order = ranked([_share("large", 0.05, 0.9), _share("small", 0.3, 0.4)], {}, START, HOUR)
    assert [one.explained.columns[0] for one in order] == ["small", "large"]


def test_a_pair_is_timed_by_its_later_column_and_only_if_both_are_known():
    pair = replace(_share("a", 0.4), columns=("a", "b"))
    early = {"a": START - 9 * HOUR, "b": START}
    assert ranked([pair], early, START, HOUR)[0].timing is Timing.NEAR
    assert ranked([pair], {"a": START}, START, HOUR)[0].timing is Timing.UNKNOWN


def test_what_is_not_measured_scores_nothing():
    few = replace(_share("a", 0.4), share=TooFew(3, 30, "effective rows"))
    assert ranked([few], {}, START, HOUR)[0].score == 0


def _full_findings() -> Findings:
    rng = np.random.default_rng(4)
    reference, current = np.repeat([0, 1], [2500, 2500]), np.repeat([0, 1], [1000, 4000])
    then = (rng.random(5000) < np.where(reference == 1, 0.3, 0.1)).astype(float)
    now = (rng.random(5000) < np.where(current == 1, 0.45, 0.1)).astype(float)
    output = explain_output([SampledColumn("channel", reference, current, 2)], then, now, seed=1)
    hashes = rng.integers(-(2**62), 2**62, (2, 5000))
    column = SliceColumn("channel", np.arange(2), ("shop", "web"))
    slices = worst_slices(
        [column],
        SliceRows(current[None], hashes[0], now),
        SliceRows(reference[None], hashes[1], then),
        SliceStatistic.OUTPUT,
    )
    counts = np.array([[500, 100], [100, 100]]), np.array([[300, 300], [100, 100]])
    return Findings(
        START,
        HOUR,
        output=output,
        changed_at={"channel": START},
        tags=tag_changes(_history(), START),
        contributions={
            "channel": contributions(("north", "south"), *counts, seed=1),
            "age": ColumnDidNotMove(0.4, 500, 600),
            "size": TooFew(20, 100, "rows in all segments"),
        },
        clock=clock_check([_clock(k) for k in range(3)], np.arange(168)),
        loss=loss_change(reference, then, current, now, n_cells=2, seed=1),
        label_shift=label_shift(np.array([[450, 100], [50, 400]]), np.array([400, 600]), seed=1),
        classes=("good", "bad"),
        slices=slices,
    )


def _history() -> TrafficHistory:
    first = START - 60 * HOUR
    hours = np.arange(80)
    requests = np.stack((np.where(hours < 58, 100, 0), np.where(hours < 58, 0, 100)), axis=1)
    tags = [Tags.of({"model_version": "3"}), Tags.of({"model_version": "4"})]
    return TrafficHistory(
        first,
        (
            ServedDeployment(5, tags[0], first - 99 * HOUR, first + 57 * HOUR),
            ServedDeployment(7, tags[1], first + 58 * HOUR, first + 79 * HOUR),
        ),
        requests.astype(np.int64),
    )


def _clock(seed: int) -> ClockColumn:
    rng = np.random.default_rng(seed)
    phase = rng.uniform(0, 24, 3)
    shares = np.exp(2 * np.cos(2 * np.pi * (np.arange(168)[:, None] - phase) / 24))
    shares /= shares.sum(axis=1, keepdims=True)
    observed = np.stack([rng.multinomial(200, shares[h - 1]) for h in range(168)])
    return ClockColumn(f"c{seed}", shares, observed)


def test_every_finding_is_told_with_number_interval_and_rows():
    told = sentences(_full_findings())
    text = "\n".join(told)
    assert "a clock that moved by one hour: 3 of 3 columns" in text
    assert "of the change of the output is consistent with the changed mix of channel" in text
    assert "which began to change near the start" in text
    assert "deployment 7 in the place of 5: model_version 3 → 4" in text
    assert "2 h before the start" in text
    assert "0 % → 100 % of the traffic" in text
    assert "of the shift of channel is consistent with segment north" in text
    assert "segment south" not in text  # its part is 0
    assert "age did not move visibly over all segments (p = 0.4, n = 500, reference 600)" in text
    assert "can't be told yet: 20 rows in all segments, 100 needed" in text
    assert "a change in the slice channel = web" in text
    assert "a changed loss within the same cells" in text
    assert "good 50 % →" in text
    for sentence in told:
        if "consistent with" in sentence and "clock" not in sentence and "slice" not in sentence:
            assert "95 % interval" in sentence, sentence
        assert "n = " in sentence or "needed" in sentence, sentence


def test_the_share_in_the_sentence_is_the_measured_one():
    findings = _full_findings()
    share = findings.output.columns[0].share
    expected = (
        f"{phrases.percent(share.value)} of the change of the output is consistent with the "
        f"changed mix of channel (95 % interval {phrases.percent(share.low)} to "
        f"{phrases.percent(share.high)}, n = 5,000, reference 5,000)"
    )
    assert any(expected in sentence for sentence in sentences(findings))


def test_no_sentence_names_a_cause():
    nothing = Findings(START, HOUR, tags=(), slices=TooFew(9, 200, "rows in each half"))
    still = OutputDidNotMove(Measured(0.01, 500, -0.02, 0.04, 0.95, 500))
    no_column = OutputMoved(Measured(0.1, 500, 0.05, 0.15, 0.95, 500), (_share("x", -0.2),), ())
    variants = [
        _full_findings(),
        nothing,
        replace(nothing, output=still),
        replace(nothing, output=no_column, loss=Failed("no cell is shared")),
        replace(nothing, output=TooFew(9, 100, "sampled rows with an output")),
        replace(nothing, clock=TooFew(2, 12, "hours with rows")),
    ]
    for findings in variants:
        told = sentences(findings)
        assert told
        for sentence in told:
            assert sentence.endswith(".")
            assert not any(word in sentence.lower() for word in FORBIDDEN), sentence


def test_nothing_looked_at_is_nothing_told():
    assert sentences(Findings(START, HOUR)) == ()


def test_an_output_that_did_not_move_is_told_as_that():
    still = OutputDidNotMove(Measured(0.01, 500, -0.02, 0.04, 0.95, 480))
    told = sentences(Findings(START, HOUR, output=still))
    assert told == (
        "The mean output did not move visibly: 0.01 (95 % interval -0.02 to 0.04, n = 500, "
        "reference 480); there is nothing to divide.",
    )


def test_unknown_values_and_tags_are_told():
    change = replace(
        _tag_change(0), differing=(TagDifference("precision", "precision", None, "fp16"),)
    )
    (sentence,) = sentences(Findings(START, HOUR, tags=(change,)))
    assert "precision unknown → fp16" in sentence
    assert "(1 tags unknown on both sides may differ)" in sentence
    assert "at the start" in sentence


@given(st.text(max_size=200))
def test_names_of_users_are_printable_and_short(text):
    shown = phrases.name(text)
    assert len(shown) <= 60
    assert shown.isprintable()


def test_phrases():
    assert [phrases.percent(x) for x in (0.75, 0.004, -0.1, 1.25, 0.0)] == [
        "75 %",
        "0.4 %",
        "-10 %",
        "125 %",
        "0 %",
    ]
    assert phrases.names(("a", "b", "c")) == "a, b and c"
    assert phrases.hours_away(-0.5) == "0.5 h before the start"
    assert phrases.hours_away(1) == "1 h after the start"
