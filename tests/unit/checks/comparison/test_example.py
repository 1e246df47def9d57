"""The two-factor example: v1 on old machines against v2 on new ones, small and large requests.

900 small requests at 100 ms and 100 large ones at 300 ms; 300 small at 80 ms and 700 large at
270 ms. Crude 120 ms against 213 ms ("v2 is slower"), on the pooled mix of 1,200 small and 800 large
ones 180 ms against 156 ms ("v2 is faster") - and still confounded with the hardware.
"""

from __future__ import annotations

import numpy as np
import pytest

from monitor.checks.comparison.cells import Cells, Control
from monitor.checks.comparison.compare import Comparison, Options, compare
from monitor.checks.comparison.factors import contrast
from monitor.checks.comparison.verdicts import Verdict
from monitor.deployment import Tags
from monitor.measurement import Measured
from tests.unit.checks.comparison.factories import cells, value_table

V1_OLD = Tags.of({"model_version": "v1", "hardware": "old", "runtime": "x"})
V2_NEW = Tags.of({"model_version": "v2", "hardware": "new", "runtime": "x"})
V2_OLD = Tags.of({"model_version": "v2", "hardware": "old", "runtime": "x"})


def two_strata() -> Cells:
    requests = np.array([[900, 300], [100, 700]])
    rows = [([100.0] * 900, [80.0] * 300), ([300.0] * 100, [270.0] * 700)]
    return cells([0, 0], [0, 1], requests, values=[value_table(rows)])


def compared(b: Tags) -> Comparison:
    found = contrast({1: V1_OLD}, {2: b})
    factor = None if found.confounded else found.identified[0].factor
    return compare(found, {factor: two_strata()}, Options(), np.random.default_rng(1))


def test_two_differing_factors_are_confounded_whatever_the_numbers_say() -> None:
    found = compared(V2_NEW)
    assert found.verdict is Verdict.CONFOUNDED
    assert found.contrast.factors == ("model", "hardware")
    assert [(d.name, d.went, d.came) for d in found.contrast.differing] == [
        ("model_version", "v1", "v2"),
        ("hardware", "old", "new"),
    ]
    (line,) = found.results[0].lines
    assert line.verdict is Verdict.CONFOUNDED
    assert line.compared.crude == pytest.approx((120, 213))
    assert line.compared.adjusted == pytest.approx((180, 156))
    assert found.results[0].overlap.control is Control.MATCHED
    assert [(row.a, row.b) for row in found.results[0].overlap.rows] == [(900, 300), (100, 700)]


def test_the_one_factor_subset_gives_the_right_winner() -> None:
    found = compared(V2_OLD)
    assert found.verdict is Verdict.BETTER
    (line,) = found.results[0].lines
    assert isinstance(line.compared.outcome, Measured)
    assert line.compared.outcome.value == pytest.approx(-24)
    assert line.compared.crude == pytest.approx((120, 213))  # the crude means name the wrong one
