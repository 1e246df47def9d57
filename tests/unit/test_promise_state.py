"""What may be said of the promise: states, sentences, and when a history refutes it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from monitor.reports.promise_state import (
    BacktestFacts,
    Evidence,
    History,
    PromiseState,
    backtest_from_json,
    backtest_sentences,
    days_to_verify,
    evidence_of,
    promise_sentence,
    state_of,
    static_reference,
    waiting,
)
from tests.promise_seed import BACKTEST


def backtest(incidents: int, days: float = 56.0) -> BacktestFacts:
    kept = {**BACKTEST, "days": days, "incidents": [BACKTEST["incidents"][0]] * incidents}
    return backtest_from_json({**kept, "upper": 1.6})


def test_no_incident_in_56_days_has_an_upper_bound_of_1_6_and_refutes_nothing() -> None:
    history = History(days=56.0)
    assert history.upper == pytest.approx(1.605, abs=0.001)  # ln(20) * 30 / 56
    assert evidence_of(0, 56.0, 1.0) is Evidence.OPEN
    said = promise_sentence(1.0, history)
    assert said.startswith("At most 1 false drift incident a month in expectation, if coming weeks")
    assert said.endswith(
        "Your history: 0 incidents in 56.0 clean days, 95 % upper bound 1.6 a month."
    )


@pytest.mark.parametrize(("promise", "days"), [(1.0, 90), (2.0, 45), (0.5, 180)])
def test_days_without_an_incident_that_verify_a_promise(promise: float, days: int) -> None:
    assert days_to_verify(promise) == days
    assert evidence_of(0, days, promise) is Evidence.KEPT
    assert evidence_of(0, days - 1, promise) is Evidence.OPEN


@given(incidents=st.integers(0, 60), days=st.floats(0.5, 2000), promise=st.floats(0.1, 10))
def test_evidence_is_that_of_exact_poisson_limits(
    incidents: int, days: float, promise: float
) -> None:
    months = days / 30
    upper = stats.chi2.ppf(0.95, 2 * incidents + 2) / 2 / months
    surprise = stats.poisson.sf(incidents - 1, promise * max(months, 1.0))
    found = evidence_of(incidents, days, promise)
    if abs(upper - promise) > 1e-9 and abs(surprise - 0.05) > 1e-9:
        wanted = Evidence.REFUTED if surprise < 0.05 else Evidence.OPEN
        assert found is (Evidence.KEPT if upper <= promise else wanted)
    assert incidents > 0 or found is not Evidence.REFUTED


def test_without_a_judged_day_nothing_is_claimed() -> None:
    assert History().upper is None
    assert "no clean day was judged yet" in promise_sentence(2.0, History())
    assert "At most 2 false drift incidents a month" in promise_sentence(2.0, History())


@pytest.mark.parametrize(
    ("history", "withheld", "tested", "state"),
    [
        (History(days=95.0), 0, None, PromiseState.AVAILABLE),
        (History(days=95.0), 3, None, PromiseState.AVAILABLE),
        (History(days=95.0), 4, None, PromiseState.NOT_AVAILABLE),
        (History(days=89.0), 0, None, PromiseState.NOT_YET_VERIFIED),
        (History(days=95.0, explained=9), 0, None, PromiseState.AVAILABLE),
        (History(days=95.0, told_false=1), 0, None, PromiseState.NOT_YET_VERIFIED),
        (History(days=56.0, told_false=6), 0, None, PromiseState.NOT_AVAILABLE),
        (History(days=56.0, told_false=3, unjudged=3), 0, None, PromiseState.NOT_YET_VERIFIED),
        (History(days=1.0, unjudged=2), 0, None, PromiseState.NOT_YET_VERIFIED),
        (History(days=1.0, told_false=1), 0, None, PromiseState.NOT_YET_VERIFIED),
        (History(days=95.0), 0, backtest(1), PromiseState.AVAILABLE),
        (History(days=95.0), 0, backtest(6), PromiseState.NOT_AVAILABLE),
    ],
)
def test_states(
    history: History, withheld: int, tested: BacktestFacts | None, state: PromiseState
) -> None:
    names = {f"c{place}": "3 healthy weeks, 4 needed" for place in range(withheld)}
    found, why = state_of(1.0, history, names, 4, tested)
    assert found is state
    assert bool(why) == (state is not PromiseState.AVAILABLE)


def test_before_there_is_anything_to_learn_from() -> None:
    state, (why,) = waiting(2)
    assert state is PromiseState.WAITING_FOR_HISTORY
    assert why.startswith("2 of 4 healthy weeks")
    state, (why,) = static_reference()
    assert state is PromiseState.STATIC_REFERENCE
    assert "without times" in why


def test_a_backtest_tells_numbers_and_never_calls_a_short_one_broken() -> None:
    short = " ".join(backtest_sentences(backtest(0)))
    assert "Not yet verified: 56 clean days so far; 90 without an incident" in short
    assert "0.95 % were at most 0.01, 0.10 % were at most 0.001" in short
    assert "2 weeks were left out" in short
    assert "The promise held" in " ".join(backtest_sentences(backtest(0, 95.0)))
    assert "Promise not available" in " ".join(backtest_sentences(backtest(6)))


def test_a_stored_backtest_is_read_back() -> None:
    found = backtest_from_json(BACKTEST)
    assert found.at == datetime(2026, 11, 1, 10, tzinfo=UTC)
    assert found.incidents == ((datetime(2026, 3, 4, 5, tzinfo=UTC), ("price $ net $", "wind")),)
    assert (found.p_values, found.below) == (40_000, {"0.01": 380, "0.001": 41})
