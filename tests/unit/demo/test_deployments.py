"""Who answers a request, and what each deployment saw."""

from __future__ import annotations

from datetime import date

import numpy as np

from monitor.demo.deployments import (
    DEPLOYMENTS,
    FAULTY,
    FIRST,
    assign_deployments,
    seen_features,
)
from monitor.demo.flights import FEATURES, Flights
from monitor.demo.plant import ROLLOUT, Plant
from monitor.deployment import Tags, differing_groups


def test_the_first_serves_alone_until_the_rollout(replayed: Flights) -> None:
    assigned = assign_deployments(replayed, ROLLOUT, seed=1)
    before = replayed.flight_date < np.datetime64(ROLLOUT)
    assert (assigned[before] == FIRST).all()
    assert set(assigned[~before].tolist()) == {0, 1, 2}


def test_thirds_are_even_overall_and_within_each_origin(replayed: Flights) -> None:
    assigned = assign_deployments(replayed, ROLLOUT, seed=1)
    after = replayed.flight_date >= np.datetime64(ROLLOUT)
    for origin in ("EWR", "JFK", "LGA"):
        rows = after & (replayed.features["origin"] == origin)
        shares = np.bincount(assigned[rows], minlength=3) / rows.sum()
        # Five standard errors of a third over about 35,000 rows are 0.013.
        assert np.abs(shares - 1 / 3).max() < 0.013


def test_the_seed_decides_the_split_and_nothing_else_does(replayed: Flights) -> None:
    one = assign_deployments(replayed, ROLLOUT, seed=1)
    again = assign_deployments(replayed, ROLLOUT, seed=1)
    other = assign_deployments(replayed, ROLLOUT, seed=2)
    assert (one == again).all()
    assert 0.5 < np.mean(one[-50_000:] != other[-50_000:]) < 0.8
    shuffled = np.random.default_rng(0).permutation(len(replayed))
    assert (assign_deployments(replayed.take(shuffled), ROLLOUT, seed=1) == one[shuffled]).all()


def test_tags_are_known_words_and_differ_as_announced() -> None:
    old, runtime_only, both = (Tags.of(deployment.tags()) for deployment in DEPLOYMENTS)
    assert differing_groups(old, runtime_only) == {"runtime": ("runtime_version",)}
    assert set(differing_groups(old, both)) == {"runtime", "precision"}
    assert set(differing_groups(runtime_only, both)) == {"precision"}


def test_only_the_faulty_deployment_sees_the_fault(replayed: Flights) -> None:
    plant = Plant("distance", 2.0, date(2013, 9, 1))
    for deployment in range(len(DEPLOYMENTS)):
        seen = seen_features(replayed, deployment, plant)
        changed = [name for name in FEATURES if seen[name] is not replayed.features[name]]
        assert changed == (["distance"] if deployment == FAULTY else [])
    assert seen_features(replayed, FAULTY, None) is replayed.features


def test_half_precision_is_a_real_rounding() -> None:
    exact = np.array([0.1, 0.3, 1.0])
    rounded = DEPLOYMENTS[2].round_scores(exact)
    # The nearest 16-bit floats of IEEE 754: 0.1 -> 0.0999755859375, 0.3 -> 0.300048828125.
    assert rounded.tolist() == [0.0999755859375, 0.300048828125, 1.0]
    assert DEPLOYMENTS[1].round_scores(exact) is exact
