"""Router counts against a slow count in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.contract_costs import Cascade
from monitor.profiles.cascade import cascade_codes, cascade_name, router_counts
from monitor.profiles.part import Part
from tests.unit.profiles.factories import contract_of, rows_of

ROUTES = ("small", "large", "huge")


@pytest.mark.parametrize("escalate", ["below", "at_or_above"])
def test_every_request_is_counted_by_what_the_score_says_and_what_was_done(escalate: str) -> None:
    rng = np.random.default_rng(2)
    n = 500
    scores = [None if rng.random() < 0.1 else float(rng.choice([0.2, 0.5, 0.9])) for _ in range(n)]
    routes = [rng.choice([*ROUTES, "other", None]) for _ in range(n)]
    contract = contract_of(
        {"name": "router_score", "type": "number", "nullable": True},
        {"name": "route", "type": "category", "nullable": True},
        cascade={"route": "route", "routes": list(ROUTES), "score": "router_score",
                 "threshold": 0.5, "escalate": escalate},
    )  # fmt: skip
    assert contract.cascade is not None
    rows = rows_of(contract, {"router_score": scores, "route": routes})
    codes = cascade_codes(rows, contract.cascade, rows.layout)
    expected = [0, 0, 0, 0]
    for score, route in zip(scores, routes, strict=True):
        if score is None or route not in ROUTES:
            continue
        passes = score < 0.5 if escalate == "below" else score >= 0.5
        passed = route != "small"
        expected[(0 if passes else 2) + (0 if passed else 1)] += 1
    assert np.bincount(codes[codes >= 0], minlength=4).tolist() == expected
    part = Part({cascade_name(contract.cascade): np.array(expected, np.int64)})
    found = router_counts(part, contract.cascade)
    assert found is not None
    assert found.n == sum(expected)
    assert found.kept_rightly == expected[3]


def test_counts_of_another_threshold_are_not_taken_for_these() -> None:
    one = Cascade(route="r", routes=("a", "b"), score="s", threshold=0.5)
    other = Cascade(route="r", routes=("a", "b"), score="s", threshold=0.6)
    part = Part({cascade_name(one): np.ones(4, np.int64)})
    assert router_counts(part, other) is None


def test_a_router_without_a_score_has_no_codes() -> None:
    contract = contract_of(
        {"name": "route", "type": "category"}, cascade={"route": "route", "routes": ["a", "b"]}
    )
    assert contract.cascade is not None
    rows = rows_of(contract, {"route": ["a", "b"]})
    assert cascade_codes(rows, contract.cascade, rows.layout).tolist() == [-1, -1]
