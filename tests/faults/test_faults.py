"""Twenty rounds of faults on real processes; `make faults` runs two hundred."""

from __future__ import annotations

import pytest

from tests.faults.__main__ import summary
from tests.faults.rounds import FAULTS, all_rounds, scene

ROUNDS = 20


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_nothing_is_lost_doubled_or_overtaken_whatever_dies_or_refuses() -> None:
    with scene(seed=20) as at:
        rounds = all_rounds(at, ROUNDS)
        kills = dict(at.processes.kills)
    facts = summary(rounds)
    assert facts["violations"] == {}, facts["totals"]["examples"]
    assert set(facts["faults"]) == set(FAULTS)
    assert set(kills) == {"judge", "scheduler-1", "scheduler-2", "database", "receiver"}
    assert facts["totals"]["openings"] == facts["totals"]["ends"] > 5 * ROUNDS
    assert facts["totals"]["messages"] > 5 * ROUNDS
