"""What rules see of a cohort whose labels are mostly still to come."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerts.model import Labels, ReadingState
from monitor.jobs.readings import reading_of
from monitor.measurement import Direction, Failed, Measured, Measurement, Outcome, Subject, TooFew
from monitor.windows import Window

DAY = datetime(2024, 5, 1, tzinfo=UTC)


def reading(outcome: Outcome, check: str = "quality", method: str = "accuracy") -> Any:
    made = Measurement(
        check, method, 1, Subject((1,), "live"), Window(DAY, DAY + timedelta(days=1)), outcome,
        "share", Direction.LOWER_IS_WORSE, DAY + timedelta(days=2),
    )  # fmt: skip
    return reading_of(made, Labels.of(model="credit"), {})


def measured(state: str, **more: Any) -> Measured:
    return Measured(0.4, 100, 0.3, 0.5, 0.95, detail={"maturity": state, **more})


@pytest.mark.parametrize("check", ["quality", "quality_change", "calibration", "groups"])
@pytest.mark.parametrize("state", ["too_early", "partial"])
def test_an_immature_number_is_not_judged_and_says_why(check: str, state: str) -> None:
    found = reading(measured(state, expected_share=0.31, coverage=0.12), check)
    assert found.state is ReadingState.TOO_FEW
    assert (found.value, found.low, found.high) == (None, None, None)
    assert found.text == (
        f"the cohort is immature ({state.replace('_', ' ')}):"
        " 31% of its labels are expected by now, 12% of its requests have one"
    )
    assert found.evidence["maturity"] == state


@pytest.mark.parametrize("state", ["provisional", "final"])
def test_a_mature_number_is_judged(state: str) -> None:
    found = reading(measured(state))
    assert (found.state, found.value) == (ReadingState.MEASURED, 0.4)


def test_coverage_and_the_feed_are_judged_always() -> None:
    coverage = reading(measured("too_early"), method="label_coverage")
    assert coverage.state is ReadingState.MEASURED
    feed = reading(Measured(60.0, 1), "label_feed", "silence")
    assert feed.state is ReadingState.MEASURED


def test_what_is_not_measured_keeps_its_own_reason() -> None:
    few = reading(TooFew(3, 50, "labelled rows", {"maturity": "too_early"}))
    assert few.text == "3 labelled rows, 50 needed"
    assert reading(Failed("broken", {"maturity": "partial"})).state is ReadingState.FAILED


def test_without_a_curve_it_says_so() -> None:
    found = reading(measured("too_early", expected_share=None))
    assert "not known yet" in found.text
