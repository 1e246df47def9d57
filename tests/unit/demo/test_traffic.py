"""The split of the requests: even, moved for a while, even again."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from monitor.demo.deployments import FAULTY, assign_deployments
from monitor.demo.flights import Flights
from monitor.demo.plant import ROLLOUT
from monitor.demo.traffic import EVEN_PERCENT, Traffic

FROM, UNTIL = datetime(2013, 9, 10, 5, tzinfo=UTC), datetime(2013, 10, 10, 5, tzinfo=UTC)


def test_only_requests_of_the_reduced_deployment_move_and_only_while_it_is(
    replayed: Flights,
) -> None:
    usual = assign_deployments(replayed, ROLLOUT, seed=1)
    traffic = Traffic(1).changed(FROM, {"amber": 5.0}).changed(UNTIL, {"amber": EVEN_PERCENT})
    routed = traffic.route(usual, replayed.request_id, replayed.event_time)
    start, end = (np.datetime64(each.replace(tzinfo=None)) for each in (FROM, UNTIL))
    inside = (replayed.event_time >= start) & (replayed.event_time < end)
    moved = routed != usual
    assert not moved[~inside].any()
    assert (usual[moved] == FAULTY).all()
    shares = np.bincount(routed[inside], minlength=3) / inside.sum()
    # Five standard errors of a share over about 28,000 requests are below 0.015.
    assert shares == pytest.approx([0.475, 0.475, 0.05], abs=0.015)


def test_the_same_seed_moves_the_same_requests_whatever_the_body(replayed: Flights) -> None:
    usual = assign_deployments(replayed, ROLLOUT, seed=1)
    traffic = Traffic(1).changed(FROM, {"amber": 5.0})
    whole = traffic.route(usual, replayed.request_id, replayed.event_time)
    rows = slice(200_000, 201_000)
    part = traffic.route(usual[rows], replayed.request_id[rows], replayed.event_time[rows])
    assert (part == whole[rows]).all()


def test_nothing_at_all_may_be_left() -> None:
    usual = np.array([0, 1, 2, 2, 2], np.int8)
    ids = np.array(["a", "b", "c", "d", "e"], object)
    times = np.full(5, np.datetime64("2013-09-11"))
    routed = Traffic(1).changed(FROM, {"amber": 0.0}).route(usual, ids, times)
    assert FAULTY not in routed
    assert routed[:2].tolist() == [0, 1]
