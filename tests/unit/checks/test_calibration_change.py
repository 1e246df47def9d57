"""Calibration before and after a change, and class by class: limits, alarms, verdicts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from monitor.checks.calibration import calibration
from monitor.checks.calibration_cells import added
from monitor.checks.calibration_change import calibration_change
from monitor.checks.calibration_classes import class_calibration
from monitor.checks.reliability import equal_mass_groups
from monitor.measurement import Measured, TooFew
from tests.unit.checks.class_rows import against_the_rest, class_part, class_world
from tests.unit.checks.coverage import Held
from tests.unit.checks.factories import binary
from tests.unit.checks.score_worlds import drawn, overconfident, perfect, too_high, wavy

SLOPES = {perfect: 1.0, overconfident: 0.75, too_high: 1.0}
INTERCEPTS = {perfect: 0.0, overconfident: 0.0, too_high: -0.25}


def _true_movement(sides: list, counts: list) -> float:
    of_cell = equal_mass_groups(added(*counts), 10)
    gaps, rows = [], []
    for score, _, chance in sides:
        group = of_cell[np.minimum((score * 512).astype(int), 511)]
        rows.append(np.bincount(group, minlength=10))
        gaps.append((np.bincount(group, chance, 10) - np.bincount(group, score, 10)) / rows[-1])
    weight = rows[0] * rows[1] / (rows[0] + rows[1])
    return float(np.sqrt(weight @ (gaps[1] - gaps[0]) ** 2 / weight.sum()))


@pytest.mark.parametrize(
    ("before", "after", "n"),
    [(perfect, perfect, 500), (perfect, overconfident, 500), (overconfident, overconfident, 500),
     (perfect, too_high, 1_000)],
)  # fmt: skip
def test_limits_of_a_change_hold(before, after, n):
    rng = np.random.default_rng(111)
    held, alarms = Held(), 0
    for _ in range(400):
        sides = [drawn(before, rng, n), drawn(after, rng, n)]
        counts = [binary(score, label) for score, label, _ in sides]
        outcome = calibration_change(*counts)["change"]
        assert isinstance(outcome, Measured)
        held.add("change", outcome.low, outcome.high, _true_movement(sides, counts))
        for name, truths in (("slope", SLOPES), ("intercept", INTERCEPTS)):
            told = outcome.detail[f"{name}_difference"]
            held.add(name, told["low"], told["high"], truths[after] - truths[before])
        alarms += outcome.detail["verdict"] == "changed"
    held.require()
    if before is after:
        assert alarms <= stats.binom.ppf(0.999, 400, 0.05)
    else:
        assert alarms >= 100


def test_a_wave_that_no_slope_shows_is_a_change_too():
    rng = np.random.default_rng(112)
    before, after = (binary(*drawn(world, rng, 3_000)[:2]) for world in (perfect, wavy))
    found = calibration_change(before, after)
    change, test = found["change"], found["change_test"]
    assert isinstance(change, Measured)
    assert isinstance(test, Measured)
    assert change.detail["verdict"] == "changed"
    assert change.n_reference == 3_000
    assert change.low > 0
    assert test.value == change.detail["p_value"] < 0.001
    assert test.detail["tests"]["gap"] < test.detail["tests"]["cox"]
    assert change.detail["error_after"] > change.detail["error_before"]


# Rounding to one decimal is a precision change: seen as such only where it matters.
def test_half_precision_changes_nothing_that_labels_could_show():
    rng = np.random.default_rng(113)
    score, label, _ = drawn(perfect, rng, 4_000)
    half = score.astype(np.float16).astype(np.float64)
    first, second = np.arange(4_000) < 2_000, np.arange(4_000) >= 2_000
    before = binary(score[first], label[first])
    found = calibration_change(before, binary(half[second], label[second]))
    assert found["change"].detail["verdict"] == "no_change_seen"
    # A quantised model whose scores are pushed outwards is another matter.
    pushed = special.expit(1.6 * special.logit(np.clip(half, 1e-3, 1 - 1e-3)))
    found = calibration_change(before, binary(pushed[second], label[second]))
    assert found["change"].detail["verdict"] == "changed"
    assert found["change"].detail["slope_difference"]["high"] < 0


def test_too_few_on_either_side_is_said_which():
    rng = np.random.default_rng(114)
    enough, little = (binary(*drawn(perfect, rng, n)[:2]) for n in (800, 300))
    for sides, reason in (((enough, little), "labels after"), ((little, enough), "labels before")):
        for outcome in calibration_change(*sides).values():
            assert isinstance(outcome, TooFew)
            assert (outcome.n, outcome.needed, outcome.reason) == (300, 500, reason)
    for outcome in calibration_change(enough, binary([], [])).values():
        assert isinstance(outcome, TooFew)
        assert outcome.reason == "labels after"
    one_class = binary(np.full(600, 0.4), np.zeros(600, int))
    for outcome in calibration_change(enough, one_class).values():
        assert isinstance(outcome, TooFew)
        assert outcome.reason == "labels of the rarer class after"


def test_sides_without_a_common_fit_are_compared_by_their_gaps():
    one = binary([0.4] * 1_000, [1] * 400 + [0] * 600)
    other = binary([0.4] * 1_000, [1] * 600 + [0] * 400)
    found = calibration_change(one, other)["change"]
    assert isinstance(found, Measured)
    assert found.value == pytest.approx(0.2, abs=0.005)
    assert "all scores are equal" in found.detail["cox"]
    assert found.detail["verdict"] == "changed"


def test_each_class_is_judged_and_none_pays_for_another():
    rng = np.random.default_rng(115)
    scores, label, group = class_world(rng, 4_000)
    fine = dict(zip("abc", against_the_rest(class_part(scores, label, group), 3), strict=True))
    for (method, name), outcome in class_calibration(fine).items():
        assert isinstance(outcome, Measured), (method, name)
        if method == "class_test":
            assert outcome.detail["verdict"] == "no_miscalibration_seen"
            assert outcome.detail["classes_judged"] == 3
    # Half of what "b" claims is given to "a": the largest score alone would not tell which.
    moved = scores.copy()
    moved[:, 0] += 0.5 * moved[:, 1]
    moved[:, 1] *= 0.5
    part = class_part(moved, label, group)
    found = class_calibration(dict(zip("abc", against_the_rest(part, 3), strict=True)))
    assert found["class_test", "a"].detail["verdict"] == "too_high"
    assert found["class_test", "b"].detail["verdict"] == "too_low"
    assert found["class_test", "c"].detail["verdict"] == "no_miscalibration_seen"
    assert found["class_error", "b"].value > 5 * found["class_error", "c"].value


def test_the_level_is_split_over_the_classes():
    rng = np.random.default_rng(116)
    alarms, draws = 0, 80
    for _ in range(draws):
        part = class_part(*class_world(rng, 700))
        found = class_calibration(dict(zip("abc", against_the_rest(part, 3), strict=True)))
        tests = [found["class_test", name] for name in "abc"]
        alarms += any(isinstance(one, Measured) and one.value <= 0.05 for one in tests)
    assert alarms <= stats.binom.ppf(0.999, draws, 0.05)


def test_a_class_below_the_floor_is_too_few_and_costs_the_others_nothing():
    rng = np.random.default_rng(117)
    scores, label, group = class_world(rng, 2_000)
    keep = (label != 2) | (np.cumsum(label == 2) <= 49)
    part = class_part(scores[keep], label[keep], group[keep])
    classes = dict(zip("abc", against_the_rest(part, 3), strict=True))
    found = class_calibration(classes)
    short = found["class_test", "c"]
    assert isinstance(short, TooFew)
    assert (short.n, short.needed) == (49, 50)
    assert found["class_test", "a"].detail["classes_judged"] == 2
    plain = calibration(classes["a"])["combined_test"]
    assert found["class_test", "a"].value == pytest.approx(min(1.0, 2 * plain.value))


ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, 1e-9, 0.3, 0.5, 0.999, 1.0]), st.sampled_from([0, 1])),
    max_size=30,
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(ROWS, ROWS, st.sampled_from([1, 40]))
def test_any_two_sides_give_sound_outcomes(before, after, copies):
    sides = [binary(*zip(*(rows * copies), strict=True)) if rows else binary([], [])
             for rows in (before, after)]  # fmt: skip
    found = {**calibration_change(*sides), **class_calibration({"a": sides[0], "b": sides[1]})}
    for outcome in found.values():
        json.dumps(dict(outcome.detail), allow_nan=False)
        if isinstance(outcome, Measured):
            assert outcome.low is None or outcome.low <= outcome.value <= outcome.high
            assert 0 <= outcome.detail.get("p_value", 0.5) <= 1
        elif isinstance(outcome, TooFew):
            assert outcome.n < outcome.needed
