"""Changes of deployments near a start: each kind, its time, the tags, and no change in noise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from monitor.checks.context.tags import TagDifference, tag_changes, tag_differences
from monitor.checks.context.traffic import (
    ServedDeployment,
    TrafficChangeKind,
    TrafficHistory,
)
from monitor.deployment import TAG_NAMES, Tags
from monitor.measurement import Measured, TooFew

FIRST = datetime(2026, 3, 1, tzinfo=UTC)
START = FIRST + timedelta(hours=60)
HOURS = 96


def _history(*columns: np.ndarray, tags: list[dict[str, str]] | None = None) -> TrafficHistory:
    """Deployments 1, 2, ... with model_version as their number, from requests by hour."""
    requests = np.stack(columns, axis=1).astype(np.int64)
    deployments = []
    for place in range(requests.shape[1]):
        served = np.flatnonzero(requests[:, place])
        first = FIRST + timedelta(hours=int(served[0]))
        if served[0] == 0:
            first -= timedelta(days=30)
        known = tags[place] if tags else {"model_version": str(place + 1), "precision": "fp16"}
        last = FIRST + timedelta(hours=int(served[-1]))
        deployments.append(ServedDeployment(place + 1, Tags.of(known), first, last))
    return TrafficHistory(FIRST, tuple(deployments), requests)


def _constant(requests: int) -> np.ndarray:
    return np.full(HOURS, requests)


def _step(hour: int, before: int, after: int) -> np.ndarray:
    return np.where(np.arange(HOURS) < hour, before, after)


def test_a_replaced_deployment_is_one_change_with_its_tags():
    changes = tag_changes(_history(_step(58, 100, 0), _step(58, 0, 100)), START)
    assert len(changes) == 1
    change = changes[0]
    assert (change.came, change.went, change.hours_from_start) == (2, 1, -2)
    assert [one.kind for one in change.changes] == [
        TrafficChangeKind.APPEARED,
        TrafficChangeKind.DISAPPEARED,
    ]
    assert {one.at for one in change.changes} == {FIRST + timedelta(hours=58)}
    assert change.differing == (TagDifference("model", "model_version", "1", "2"),)
    assert set(change.unknown) == TAG_NAMES - {"model_version", "precision"}
    appeared = change.changes[0].difference
    assert isinstance(appeared, Measured)
    assert (appeared.value, appeared.n, appeared.n_reference) == (1.0, 2400, 2400)


def test_a_moved_share_is_found_at_its_hour():
    changes = tag_changes(_history(_step(55, 90, 60), _step(55, 10, 40)), START)
    assert len(changes) == 1
    rose, fell = changes[0].changes
    assert (rose.kind, fell.kind) == (TrafficChangeKind.ROSE, TrafficChangeKind.FELL)
    assert rose.at == FIRST + timedelta(hours=55)
    assert rose.difference.value == pytest.approx(0.30)
    assert rose.difference.low < 0.30 < rose.difference.high
    assert rose.difference.low > 0


def test_ten_points_are_needed():
    assert tag_changes(_history(_step(55, 90, 81), _step(55, 10, 19)), START) == ()
    assert len(tag_changes(_history(_step(55, 90, 79), _step(55, 10, 21)), START)) == 1


def test_few_requests_that_wander_are_no_change():
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(40):
        one = rng.binomial(3, 0.5, HOURS)
        one[[0, -1]] = 1
        found += len(tag_changes(_history(one, 4 - one), START))
    assert found <= 2


def test_a_canary_is_compared_with_what_served_most():
    old, other = _constant(70), _constant(25)
    changes = tag_changes(_history(old, other, _step(61, 0, 5)), START)
    assert [(one.came, one.went, one.hours_from_start) for one in changes] == [(3, 1, 1)]


def test_a_canary_and_its_promotion_are_two_changes_nearest_first():
    canary = np.where(np.arange(HOURS) < 40, 0, np.where(np.arange(HOURS) < 59, 5, 100))
    old = np.where(np.arange(HOURS) < 59, 95, 0)
    changes = tag_changes(_history(old, canary), START)
    assert [(one.changes[0].kind, one.hours_from_start) for one in changes] == [
        (TrafficChangeKind.ROSE, -1),
        (TrafficChangeKind.APPEARED, -20),
    ]
    assert {one.went for one in changes} == {1}


def test_a_first_hour_served_in_part_is_no_second_change():
    new = _step(58, 0, 100)
    new[58] = 40
    old = _step(58, 100, 0)
    old[58] = 60
    changes = tag_changes(_history(old, new), START)
    assert [one.changes[0].kind for one in changes] == [TrafficChangeKind.APPEARED]


def test_a_deployment_that_leaves_alone_is_compared_with_what_remains():
    changes = tag_changes(_history(_constant(95), _step(50, 5, 0)), START)
    assert [(one.came, one.went) for one in changes] == [(1, 2)]
    assert changes[0].changes[0].kind is TrafficChangeKind.DISAPPEARED


def test_a_rare_deployment_that_pauses_has_not_disappeared():
    rare = np.zeros(HOURS, int)
    rare[[0, 20, 50]] = 1
    assert tag_changes(_history(_constant(50), rare), START) == ()


def test_changes_outside_the_span_do_not_count():
    history = _history(_step(30, 100, 0), _step(30, 0, 100))
    assert tag_changes(history, START) == ()
    assert len(tag_changes(history, START, before=timedelta(hours=40))) == 1
    late = _history(_step(63, 100, 0), _step(63, 0, 100))
    assert tag_changes(late, START) == ()


def test_the_first_deployment_of_all_has_no_partner():
    changes = tag_changes(_history(_step(55, 0, 10)), START)
    assert [(one.came, one.went, one.differing) for one in changes] == [(1, None, ())]
    assert isinstance(changes[0].changes[0].difference, TooFew)


def test_unknown_tags_are_never_equal():
    differing, unknown = tag_differences(Tags.of({}), Tags.of({}))
    assert differing == ()
    assert set(unknown) == TAG_NAMES
    differing, unknown = tag_differences(Tags.of({"region": "eu"}), Tags.of({"runtime": "onnx"}))
    assert set(differing) == {
        TagDifference("configuration", "region", "eu", None),
        TagDifference("runtime", "runtime", None, "onnx"),
    }
    assert "region" not in unknown


def test_a_history_has_one_column_a_deployment():
    with pytest.raises(AssertionError, match="hours x 0 deployments"):
        TrafficHistory(FIRST, (), np.zeros((3, 1), np.int64))
