"""Limits by entity groups: against the jackknife by hand, and the rule which limits are printed."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.checks.auc import delong
from monitor.checks.clustering import (
    AUC_OF_GROUPS,
    DELONG,
    INDEPENDENT,
    JACKKNIFE,
    WILSON,
    WILSON_OF_GROUPS,
    areas,
    auc_limits,
    entities_seen,
    mean_limits,
    ratio_limits,
    share_limits,
    signed_mean_limits,
)
from monitor.checks.intervals import wilson_limits
from tests.reference.slow_auc import pairwise_delong

ALIKE = np.array([50, 0] * 10, np.int64)
FIFTY = np.full(20, 50, np.int64)
T19 = 2.0930240544  # t quantile of 0.975 on 19 degrees of freedom (R: qt(0.975, 19))


def test_equal_groups_have_the_variance_of_their_shares():
    limits = share_limits(ALIKE, FIFTY)
    # Shares 1 and 0 by turns: variance of their mean 0.25/19, of independent rows 0.25/1000.
    effect = (0.25 / 19) / (0.25 / 1_000) * (T19 / 1.959964) ** 2
    assert limits.method == WILSON_OF_GROUPS
    assert limits.design_effect == pytest.approx(effect, rel=1e-6)
    assert limits.both == pytest.approx(wilson_limits(500 / effect, 1_000 / effect))


def test_independent_rows_keep_wilsons_limits():
    events = np.full(20, 25, np.int64)
    limits = share_limits(events, FIFTY)
    assert limits.method == WILSON
    assert limits.both == wilson_limits(500, 1_000)


@pytest.mark.parametrize("events", [np.zeros(20, np.int64), FIFTY])
def test_none_and_all_have_wilsons_limits(events):
    assert share_limits(events, FIFTY).both == wilson_limits(int(events.sum()), 1_000)


def test_nine_groups_say_nothing():
    few = np.where(np.arange(20) < 9, 1, 0)
    assert share_limits(ALIKE * few, FIFTY * few).method == WILSON
    assert ratio_limits(0.5, np.full(9, 0.5)) is None
    assert mean_limits(1.0, few * 50.0, FIFTY * few, 0.01).method == INDEPENDENT


def test_areas_count_pairs_and_halves():
    rng = np.random.default_rng(81)
    positives, negatives = rng.integers(0, 9, (2, 5, 30))
    for found, ones, zeros in zip(areas(positives, negatives), positives, negatives, strict=True):
        score = np.concatenate((np.repeat(np.arange(30), ones), np.repeat(np.arange(30), zeros)))
        label = np.repeat([1, 0], [ones.sum(), zeros.sum()])
        assert found == pytest.approx(pairwise_delong(score.astype(float), label)[0], abs=1e-12)
    assert np.isnan(areas(np.zeros((1, 30), np.int64), negatives[:1])[0])


def test_the_wider_limits_of_an_area_are_printed():
    rng = np.random.default_rng(82)
    cells = np.arange(30)
    lift = np.repeat([0.0, 4.0], 10)[:, None]  # groups whose positives score alike
    positives = rng.poisson(3 * np.exp(-((cells - 15 - lift) ** 2) / 20)).astype(np.int64)
    negatives = rng.poisson(3 * np.exp(-((cells - 13 - lift) ** 2) / 20)).astype(np.int64)
    estimate = delong(positives.sum(axis=0), negatives.sum(axis=0))
    mixed = auc_limits(estimate, positives, negatives)
    alone = auc_limits(estimate, positives[:1], negatives[:1])
    assert alone.method == DELONG
    assert alone.both == pytest.approx((estimate.low, estimate.high), abs=1e-3)
    turned = np.where(np.arange(20)[:, None] % 2, positives, negatives)
    other = np.where(np.arange(20)[:, None] % 2, negatives, positives)
    worse = delong(turned.sum(axis=0), other.sum(axis=0))
    apart = auc_limits(worse, turned, other)
    assert apart.method == AUC_OF_GROUPS
    assert apart.design_effect > 1
    assert apart.high - apart.low > 1.5 * (worse.high - worse.low)
    assert mixed.low <= estimate.auc <= mixed.high


def test_few_rows_of_a_class_widen_the_area_by_their_degrees_of_freedom():
    positives, negatives = np.zeros(10, np.int64), np.full(10, 40, np.int64)
    positives[[3, 6, 7, 8, 9]] = 1
    estimate = delong(positives, negatives)
    assert 4 < estimate.degrees < 4.5
    limits = auc_limits(estimate, positives[None], negatives[None])
    assert limits.low < estimate.low
    assert limits.high > estimate.high


def test_losses_reach_by_a_factor_and_means_by_a_sum():
    sums = np.where(np.arange(20) % 2, 60.0, 40.0)
    error = np.sqrt(0.04 / 19)  # group means .8 and 1.2 by turns
    limits = mean_limits(1.0, sums, FIFTY, 1e-6)
    assert limits.method == JACKKNIFE
    assert limits.both == pytest.approx((np.exp(-T19 * error), np.exp(T19 * error)), rel=1e-6)
    plain = signed_mean_limits(1.0, sums, FIFTY, 1e-6)
    assert plain.both == pytest.approx((1 - T19 * error, 1 + T19 * error), rel=1e-6)
    assert mean_limits(1.0, sums, FIFTY, 1.0).method == INDEPENDENT
    assert mean_limits(0.0, sums * 0, FIFTY, 0.0).both == (0.0, 0.0)


def test_entities_are_counted_by_the_groups_that_they_fill():
    """Occupancy: 15 entities in 20 groups fill 20(1 - 0.95^15) = 10.73 of them on average."""
    rng = np.random.default_rng(4)
    found = []
    for _ in range(400):
        groups = rng.integers(0, 20, 15)
        found.append(entities_seen(4 * np.bincount(groups, minlength=20)))
    assert np.mean(found) == pytest.approx(15, abs=1.0)
    assert entities_seen(np.full(20, 50)) == 1_000
    assert entities_seen(np.eye(20, dtype=np.int64)[0]) == 1.0


def test_limits_of_rows_that_all_agree_know_that_entities_repeat():
    """A rate of 0.1 among 15 entities of 4 rows each: no event at all is no rare thing."""
    rng, runs, hits, none = np.random.default_rng(5), 3_000, 0, 0
    for _ in range(runs):
        group = np.repeat(rng.integers(0, 20, 15), 4)
        event = np.repeat(rng.random(15) < 0.1, 4)
        rows, events = np.bincount(group, minlength=20), np.bincount(group[event], minlength=20)
        none += not event.any()
        limits = share_limits(events, rows)
        hits += limits.low <= 0.1 <= limits.high
    assert none / runs == pytest.approx(0.9**15, abs=0.03)
    assert hits / runs >= 0.93 - 0.01
