"""Flapping inputs: what the benchmark counts, and that no real incident stays unknown."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.flapping import ours
from benchmarks.flapping.alertmanager import Policy, prometheus_states
from benchmarks.flapping.shapes import WINDOWS, Shape, incidents_of, shapes
from benchmarks.flapping.tally import Tally

ALL = shapes(1)
PLAIN, STEADIED = ours.Policy(), ours.Policy(2, 4, 0.15)


def test_there_are_twenty_shapes_of_a_day_each() -> None:
    assert len(ALL) == len({shape.name for shape in ALL}) == 20
    assert {len(shape.values) for shape in ALL} == {WINDOWS}


def test_an_incident_is_a_level_over_the_threshold_for_an_hour() -> None:
    level = np.array([0.1, 0.3, 0.3, 0.3, 0.1, 0.3, 0.3, 0.3, 0.3, 0.1, 0.3])
    assert incidents_of(level) == ((5, 9),)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("policy", [PLAIN, STEADIED], ids=["plain", "steadied"])
def test_no_real_incident_stays_unknown(policy: ours.Policy, seed: int) -> None:
    found = shapes(seed)
    tallies = ours.run(found, policy)
    assert {shape.name: tallies[shape.name].missed(shape) for shape in found} == {
        shape.name: 0 for shape in found
    }


def test_a_steadied_rule_tells_a_fraction_and_lost_data_ends_nothing() -> None:
    plain, steadied = ours.run(ALL, PLAIN), ours.run(ALL, STEADIED)
    assert sum(t.messages for t in steadied.values()) < sum(t.messages for t in plain.values()) / 4
    by_name = {shape.name: shape for shape in ALL}
    for tallies in (plain, steadied):
        for name in ("incident and lost feed", "incident with gaps"):
            assert tallies[name].false_ends(by_name[name]) == 0, name


def test_an_incident_counts_as_known_when_it_was_told_before_or_during_it() -> None:
    shape = Shape("", (None,) * 20, ((8, 12),))
    assert Tally(told=[(2.0, True)]).missed(shape) == 0
    assert Tally(told=[(2.0, True), (5.0, False)]).missed(shape) == 1
    assert Tally(told=[(2.0, True), (5.0, False), (11.0, True)]).missed(shape) == 0
    assert Tally(told=[(17.0, True)]).missed(shape) == 1
    assert Tally().missed(shape) == 1


def test_an_absent_series_ends_an_alert_of_prometheus() -> None:
    values = (0.3, 0.3, None, 0.3, 0.1, 0.1)
    assert prometheus_states(values, Policy()) == [True, True, False, True, False, False]
    assert prometheus_states(values, Policy(hold=2, keep=2)) == [
        False, True, True, True, True, False,
    ]  # fmt: skip
