"""Serving parts: outcomes, reasons, logarithmic cells with bounded error."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.contract_quality import ServiceObjective
from monitor.profiles.part import Part, merge
from monitor.profiles.rows import RequestRows
from monitor.profiles.serving import (
    build_serving_parts,
    good_counts,
    log_totals,
    outcome_counts,
    plain_reason,
    quantile,
    reason_counts,
    serving_columns,
    value_counts,
)
from monitor.records import RequestOutcome
from tests.unit.profiles.factories import contract_of, one_group, rows_of

CONTRACT = contract_of(
    {"name": "a.ms[*]", "type": "number", "role": "timing", "nullable": True},
    {"name": "tokens", "type": "integer", "role": "count"},
    {"name": "x", "type": "number"},
)
measured = st.floats(-1e12, 1e12).filter(lambda v: v == 0 or abs(v) > 1e-200)


def part_of(values: list[float | None], **envelope: list[object]) -> Part:
    rows = _rows(values, **envelope)
    return build_serving_parts(rows, CONTRACT, rows.layout, one_group(rows), 1)[0]


def _rows(values: list[float | None], **envelope: list[object]) -> RequestRows:
    n = len(values)
    return rows_of(CONTRACT, {"a.ms[*]": values, "tokens": [1] * n, "x": [0] * n}, **envelope)


def test_only_timing_count_and_cost_columns_are_measured() -> None:
    assert serving_columns(CONTRACT) == ("a.ms[*]", "tokens")
    assert set(part_of([1.0]).sparse) == {"log/a.ms[*]", "log/tokens"}


@given(st.lists(measured, min_size=1, max_size=40), st.floats(0, 1))
def test_quantiles_keep_their_stated_error(values: list[float], q: float) -> None:
    exact = sorted(values)[max(1, math.ceil(q * len(values))) - 1]
    found = quantile(part_of(list(values)), "a.ms[*]", q)
    assert found is not None
    assert found.relative_error <= 0.0078
    assert abs(found.value - exact) <= found.relative_error * abs(exact) * (1 + 1e-12)


@given(st.lists(st.none() | measured, min_size=1, max_size=40), st.integers(1, 4))
def test_groups_merge_to_the_same_bytes(values: list[float | None], n_groups: int) -> None:
    rows = _rows(values)
    groups = np.arange(len(values)) % n_groups
    pieces = build_serving_parts(rows, CONTRACT, rows.layout, groups, n_groups)
    assert merge(pieces[::-1]).to_bytes() == part_of(values).to_bytes()


@given(st.lists(measured, max_size=30))
def test_sums_are_right_to_eleven_digits(values: list[float]) -> None:
    found = log_totals(part_of([*values, None]), "a.ms[*]")
    exact = sum((Fraction(v) for v in values), Fraction(0))
    size = sum((abs(Fraction(v)) for v in values), Fraction(0))
    assert (found.n, found.missing) == (len(values), 1)
    assert abs(Fraction(found.total) - exact) <= size * Fraction(2, 2**36) + Fraction(1, 10**200)


def test_whole_numbers_below_2_to_the_37_sum_exactly() -> None:
    values = [2**37 - 1, 1, 0, 123_456_789]
    assert log_totals(part_of([float(v) for v in values]), "a.ms[*]").total == sum(values)


def test_zero_and_negative_values_have_cells_of_their_own() -> None:
    part = part_of([0.0, -0.0, -5.0, 5.0, 1e-320])
    values, counts = value_counts(part, "a.ms[*]")
    assert values[1] == 0.0
    assert counts.tolist() == [1, 3, 1]
    assert values[0] == -values[2]


def test_no_values_have_no_quantile() -> None:
    assert quantile(part_of([None]), "a.ms[*]", 0.5) is None
    assert quantile(Part(), "a.ms[*]", 0.5) is None
    assert log_totals(Part(), "a.ms[*]").n == 0


def test_outcomes_and_reasons_are_counted() -> None:
    part = part_of(
        [1.0] * 5,
        outcome=[1, 4, 4, 4, 8],
        outcome_reason=[None, "timeout after 12 ms", "timeout after 990 ms", "a/b", "hit"],
    )
    counts = outcome_counts(part)
    assert counts[RequestOutcome.ANSWERED] == 1
    assert counts[RequestOutcome.FAILED] == 3
    assert counts[RequestOutcome.REFUSED] == 0
    assert reason_counts(merge([part, part])) == {
        (RequestOutcome.FAILED, "timeout after # ms"): 4,
        (RequestOutcome.FAILED, "a/b"): 2,
        (RequestOutcome.CACHED, "hit"): 2,
    }


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("no route to 10.0.0.7:443", "no route to #.#.#.#:#"),
        ("trace 3f2c9a1b-77aa-4e21-9c1d-0a1b2c3d4e5f lost", "trace # lost"),
        ("bad face", "bad face"),
        ("x" * 300, "x" * 100),
    ],
)
def test_reasons_lose_what_varies(text: str, plain: str) -> None:
    assert plain_reason(text) == plain


def test_good_answers_are_counted_where_there_is_an_objective() -> None:
    objective = ServiceObjective(column="a.ms[*]", at_most=20)
    contract = CONTRACT.model_copy(update={"objective": objective})
    values = [5.0, 20.0, 20.001, None, 5.0, 5.0, 30.0]
    outcomes = [1, 1, 1, 1, 4, 8, 5]  # answered ×4, failed, from a cache, timed out
    rows = _rows(values, outcome=outcomes)
    (part,) = build_serving_parts(rows, contract, rows.layout, one_group(rows), 1)
    assert good_counts(part, objective) == 3
    assert good_counts(merge([part, part]), objective) == 6
    assert good_counts(part, ServiceObjective(column="a.ms[*]", at_most=21)) is None
    assert good_counts(part_of(values), objective) is None
