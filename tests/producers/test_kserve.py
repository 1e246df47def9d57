"""KServe's agent, emulated after its source, to stored requests."""

from __future__ import annotations

import time

from tests.factories import rows_of
from tests.producers.kserve_agent import Agent
from tests.producers.test_otlp import Collected, collected

__all__ = ["collected"]

ANNOTATIONS = '{"model-version": "7", "git-sha": "9f1c2ab"}'


def test_calls_of_a_served_model_are_requests_and_failed_ones_wait_for_their_response(
    collected: Collected,
) -> None:
    address = collected.url.replace("http://", f"http://any:{collected.key}@")
    agent = Agent(f"{address}/v1/cloudevents", "served", ANNOTATIONS)
    names = [
        agent.handle(
            {"instances": [{"age": 40 + i, "score": 0.5}]}, {"predictions": [{"score": 1}]}
        )
        for i in range(120)
    ]
    lost = agent.handle({"instances": [{"age": 1}]}, {"error": "boom"}, status=500)
    agent.close()
    assert set(agent.statuses) == {200}
    assert len(agent.statuses) == 241
    found = collected.requests(120)
    assert sorted(row.request_id for row in found) == sorted(names)
    assert {row.outcome for row in found} == {1}
    assert all(row.latency is not None and row.latency >= 0 for row in found)
    told = collected.tags()
    assert (told["model_version"], told["code_revision"]) == ("7", "9f1c2ab")
    time.sleep(1)
    waiting = rows_of(collected.engine, 1, "select group_key from intake_part where not done")
    assert [lost in row.group_key for row in waiting] == [True], "it is told when waiting ends"
