"""Missing share against a baseline, and violations by reason."""

from __future__ import annotations

import pytest

from monitor.checks.missing import missing_share
from monitor.checks.violations import shares_of, violation_shares
from monitor.measurement import Measured, TooFew
from monitor.profiles.cells import CategoryCells
from monitor.records import ViolationReason
from tests.unit.checks.factories import categories, from_counts, numbers, value_cells


# Public case: 1 to 10, then 10 more rows without a value: Fisher's p 0.0109937372306.
def test_a_jump_of_the_missing_share_stands_on_its_own():
    reference = list(range(1, 11))
    cells = value_cells(reference)
    current = numbers([*reference, *[None] * 10], cells)
    outcome = missing_share(current, numbers(reference, cells))
    assert isinstance(outcome, Measured)
    assert (outcome.value, outcome.n, outcome.n_reference) == (0.5, 20, 10)
    assert outcome.detail["p_value"] == pytest.approx(0.0109937372306, rel=1e-9)
    assert outcome.detail["difference_low"] < outcome.detail["difference"] == 0.5


# Public case: an all-null number column and a category column with one null in four.
def test_all_missing_and_partly_missing():
    cells = value_cells([10, 20])
    everything = missing_share(numbers([None] * 4, cells), numbers([10, 20] * 10, cells))
    assert isinstance(everything, Measured)
    assert (everything.value, everything.high) == (1.0, 1.0)
    kinds = CategoryCells(("k1", "k2"))
    quarter = missing_share(categories(["k9", None, "k9", "k9"], kinds))
    assert isinstance(quarter, Measured)
    assert quarter.value == 0.25
    assert "p_value" not in quarter.detail


def test_no_rows_is_too_few():
    empty = from_counts([0] * 5, CategoryCells(("a", "b")))
    assert missing_share(empty) == TooFew(0, 1)
    assert violation_shares(empty) == {"any": TooFew(0, 1, detail={"by_reason": {}})}


# Public case: one +inf and one -inf among 8 rows.
def test_violations_by_reason():
    cells = value_cells(range(1, 9))
    column = numbers(
        [1, 2, 3, None, None, 6, 7, None],
        cells,
        {
            ViolationReason.INFINITE: 2,
            ViolationReason.WRONG_TYPE: 1,
            ViolationReason.NULL: 0,
        },
    )
    outcomes = violation_shares(column)
    assert set(outcomes) == {"any", "infinite", "wrong_type"}
    whole, infinite = outcomes["any"], outcomes["infinite"]
    assert isinstance(whole, Measured)
    assert isinstance(infinite, Measured)
    assert (whole.value, infinite.value) == (3 / 8, 2 / 8)
    assert whole.detail["by_reason"] == {"infinite": 2, "wrong_type": 1}


def test_no_violation_is_a_measured_zero_with_an_upper_limit():
    outcome = shares_of({}, 20)["any"]
    assert isinstance(outcome, Measured)
    # Wilson, 0 of 20 (Newcombe 1998).
    assert (outcome.value, outcome.low) == (0.0, 0.0)
    assert outcome.high == pytest.approx(0.1611, abs=5e-5)


def test_unknown_columns_may_be_several_a_row():
    outcome = shares_of({ViolationReason.UNKNOWN_COLUMN: 30}, 10)["unknown_column"]
    assert isinstance(outcome, Measured)
    assert outcome.value == 3.0
    assert outcome.low is not None
    assert outcome.high is not None
    assert outcome.low < 3.0 < outcome.high
