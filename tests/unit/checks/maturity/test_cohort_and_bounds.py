"""States of cohorts, Manski's bounds, and quality where only positives are told."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.checks.maturity.bounds import (
    accuracy_bounds,
    bound_outcomes,
    precision_bounds,
    recall_bounds,
)
from monitor.checks.maturity.cohort import MaturityState, Stratum, cohort_maturity
from monitor.checks.maturity.positive_only import Told, corrected_outcomes, told_by_class
from monitor.measurement import Measured, TooFew
from tests.unit.checks.maturity.factories import DAY_HOURS, curve_of

STATES = [
    (0.3, "too_early", False),
    (0.5, "partial", False),
    (0.79, "partial", False),
    (0.8, "provisional", True),
    (0.979, "provisional", True),
    (0.98, "final", True),
]


@pytest.mark.parametrize(("share", "state", "judged"), STATES)
def test_states_by_the_share_of_labels_that_have_come(
    share: float, state: str, judged: bool
) -> None:
    curve = curve_of({2: share, 20: 1.0})
    found = cohort_maturity(
        [Stratum(1, 2 * DAY_HOURS, 1000, round(1000 * share), curve)], 48.0, closed=False
    )
    assert found.state == state
    assert found.state.is_judgeable is judged
    assert found.expected_share == pytest.approx(share, abs=1e-4)


def test_a_plateau_is_all_that_is_waited_for() -> None:
    curve = curve_of({2: 0.39, 20: 0.4})
    found = cohort_maturity([Stratum(1, 20 * DAY_HOURS, 100, 40, curve)], 480.0, closed=False)
    assert (found.state, found.coverage) == (MaturityState.FINAL, 0.4)


def test_an_end_of_patience_is_no_plateau() -> None:
    """No request is as old as a label may be: what is missing may still come."""
    curve = curve_of({2: 0.39, 20: 0.4}, days=21)
    assert not curve.settled
    found = cohort_maturity([Stratum(1, 20 * DAY_HOURS, 100, 40, curve)], 480.0, closed=False)
    assert found.state is MaturityState.TOO_EARLY


def test_labels_that_were_lost_make_no_cohort_mature() -> None:
    """By its age 90 % of the labels are there; half of them never arrived."""
    stratum = Stratum(1, 48.0, 1000, 450, curve_of({2: 0.9, 20: 1.0}))
    lost = cohort_maturity([stratum], 48.0, closed=False)
    assert (lost.state, lost.expected_share) == (MaturityState.TOO_EARLY, pytest.approx(0.9))
    some = cohort_maturity([stratum], 48.0, closed=False, all_get_one=False)
    assert some.state is MaturityState.PROVISIONAL


def test_classes_are_weighed_by_their_numbers() -> None:
    fast, slow = curve_of({2: 0.9, 20: 1.0}), curve_of({2: 0.1, 20: 1.0})
    strata = [Stratum(1, 48.0, 300, 270, fast), Stratum(0, 48.0, 100, 10, slow)]
    found = cohort_maturity(strata, 48.0, closed=False)
    assert found.expected_share == pytest.approx(0.7, abs=1e-4)
    assert found.coverage == pytest.approx(0.7)


def test_final_by_coverage_and_by_the_end_of_corrections() -> None:
    waiting = [Stratum(1, 1.0, 100, 40, None)]
    assert cohort_maturity(waiting, 1.0, closed=False).state is MaturityState.TOO_EARLY
    nearly = [Stratum(1, 1.0, 100, 97, None)]
    assert cohort_maturity(nearly, 1.0, closed=False).state is MaturityState.PROVISIONAL
    assert cohort_maturity(waiting, 1.0, closed=True).state is MaturityState.FINAL
    full = [Stratum(1, 1.0, 100, 98, None)]
    assert cohort_maturity(full, 1.0, closed=False).state is MaturityState.FINAL
    assert "age_hours" not in cohort_maturity(full, 1.0, closed=False).told()


def test_bounds_of_the_worked_example() -> None:
    """500 of 1,000 labelled, accuracy .86: between .43 and .93."""
    worst = accuracy_bounds(430, 70, 500)
    assert (worst.low, worst.high) == (0.43, 0.93)
    outcomes = bound_outcomes("accuracy", worst, 500)
    assert set(outcomes) == {"accuracy_lowest", "accuracy_highest"}
    assert all(isinstance(outcome, Measured) for outcome in outcomes.values())


def test_no_completion_of_the_labels_leaves_the_bounds() -> None:
    """Every way to fill in 3 and 4 missing labels, tried one by one."""
    tp, fp, fn, tn, silent_1, silent_0 = 6, 2, 3, 9, 3, 4
    seen: dict[str, list[float]] = {"accuracy": [], "precision": [], "recall": []}
    for more_tp in range(silent_1 + 1):
        for more_fn in range(silent_0 + 1):
            a, b = tp + more_tp, fp + silent_1 - more_tp
            c, d = fn + more_fn, tn + silent_0 - more_fn
            seen["accuracy"].append((a + d) / (a + b + c + d))
            seen["precision"].append(a / (a + b))
            seen["recall"].append(a / (a + c))
    bounds = {
        "accuracy": accuracy_bounds(tp + tn, fp + fn, silent_1 + silent_0),
        "precision": precision_bounds(tp, fp, silent_1),
        "recall": recall_bounds(tp, fn, silent_1, silent_0),
    }
    for name, worst in bounds.items():
        assert worst.low == pytest.approx(min(seen[name]))
        assert worst.high == pytest.approx(max(seen[name]))


def test_bounds_below_the_floor_are_too_few() -> None:
    for outcome in bound_outcomes("recall", recall_bounds(0, 0, 0, 0), 0).values():
        assert isinstance(outcome, TooFew)


def test_a_rate_so_far_is_corrected_by_the_share_that_is_known() -> None:
    """Rate so far .04 at F(3 d) = .5 of what will ever be told: .08."""
    curve = curve_of({3: 0.04, 20: 0.08})
    stratum = Stratum(1, 3 * DAY_HOURS, 1000, 40, curve)
    told = told_by_class([stratum], {1: 40}, MaturityState.PARTIAL)[1]
    assert told.share == pytest.approx(0.5, abs=1e-3)
    assert told.corrected / told.n == pytest.approx(0.08, abs=1e-4)
    old = told_by_class([stratum], {1: 40}, MaturityState.FINAL)[1]
    assert old.share == 1.0


def test_precision_and_recall_are_corrected_by_class() -> None:
    outcomes = corrected_outcomes({1: Told(200, 60, 0.5), 0: Told(800, 20, 0.25)})
    values = {name: outcome.value for name, outcome in outcomes.items()
              if isinstance(outcome, Measured)}  # fmt: skip
    assert values["precision"] == pytest.approx(120 / 200)
    assert values["recall"] == pytest.approx(120 / (120 + 80))
    assert values["accuracy"] == pytest.approx((120 + 800 - 80) / 1000)


def test_nobody_told_yet_is_no_certainty() -> None:
    precision = corrected_outcomes({1: Told(100, 0, 0.2), 0: Told(100, 0, 0.2)})["precision"]
    assert isinstance(precision, Measured)
    assert precision.value == 0
    assert precision.high is not None
    assert precision.high > 3 * 0.037  # Wilson of 0 of 100, with a fifth of the labels


@pytest.mark.parametrize(("n", "share"), [(120, 0.5), (1000, 0.3), (300, 0.9)])
def test_corrected_limits_hold_the_truth(n: int, share: float) -> None:
    rng = np.random.default_rng(8)
    runs = 1500
    hits = dict.fromkeys(("precision", "recall", "accuracy"), 0)
    shown = dict.fromkeys(hits, 0)
    truth = {"precision": 0.5, "recall": 0.15 / 0.22, "accuracy": 0.3 * 0.5 + 0.7 * 0.9}
    for _ in range(runs):
        first = int(rng.binomial(n, 0.3))
        told = {}
        for kind, size, rate in ((1, first, 0.5), (0, n - first, 0.1)):
            # The share itself is learned from 300 positives.
            learned = rng.binomial(300, share) / 300
            error = float(np.sqrt(learned * (1 - learned) / 300) / learned)
            told[kind] = Told(size, int(rng.binomial(size, rate * share)), learned, error)
        for name, outcome in corrected_outcomes(told).items():
            if isinstance(outcome, Measured):
                shown[name] += 1
                hits[name] += outcome.low <= truth[name] <= outcome.high  # type: ignore[operator]
    for name, count in hits.items():
        assert 0.93 - 0.012 <= count / shown[name] <= 0.98 + 0.008, (name, count / shown[name])
