"""Published cases about rules: what other systems got wrong, with the values they expect."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from alerts.lifecycle import step
from alerts.model import Alert, AlertState, DataState, Labels, Reading, ReadingState
from alerts.rules import Bounds
from alerts.trial import Batch, try_rules
from monitor.checks.serving import serving_rates
from monitor.jobs.readings import state_of
from monitor.measurement import Measured
from monitor.profiles.part import Part
from monitor.records import RequestOutcome
from tests.unit.alerts.factories import NOW, config, hour, reading, rule

ERRORS = rule(name="errors", when=(), condition=Bounds(upper=0.1))
SUBJECT = Labels.of(project="p", model="m", check="serving", method="error_rate")


def window(end: int, errors: int, requests: int) -> Reading:
    """An hour of requests as the serving check measures it."""
    counts = np.zeros(16, np.int64)
    counts[RequestOutcome.FAILED] = errors
    counts[RequestOutcome.ANSWERED] = requests - errors
    outcome = serving_rates(Part({"outcome": counts}, {}), 3600.0)["error_rate"]
    value = outcome.value if isinstance(outcome, Measured) else None
    return Reading(
        SUBJECT, hour(end), hour(end - 1), state_of(outcome), value,
        n=requests,
    )  # fmt: skip


def test_a_ratio_of_nothing_is_no_data_and_keeps_the_alert() -> None:  # pub-065
    windows = [window(1, 2, 10), window(2, 0, 0), window(3, 1, 20)]
    alerts: dict[str, Alert] = {}
    states = []
    for each in windows:
        alerts |= step(config(ERRORS), alerts, [each], NOW).alerts
        [alert] = alerts.values()
        states.append((alert.state, alert.data_state))
    assert [each.value for each in windows] == [0.2, None, 0.05]
    assert windows[1].state is ReadingState.NO_DATA
    assert states == [
        (AlertState.FIRING, DataState.OK),
        (AlertState.FIRING, DataState.NO_DATA),
        (AlertState.RESOLVED, DataState.OK),
    ]


def test_the_window_without_data_sends_nothing() -> None:  # pub-065
    windows = [window(1, 2, 10), window(2, 0, 0), window(3, 1, 20)]
    batches = [Batch(each.at + timedelta(minutes=1), (each,)) for each in windows]
    found = try_rules(config(ERRORS), batches, hour(4))
    assert [each.event for each in found.messages] == ["finding.opened", "finding.resolved"]


def flapping(clears: int) -> list[str]:
    """When a psi of 0.3, 0.1, 0.3, … opened an alert, told every hour from 9 on."""
    setup = config(rule(keep_firing_for=clears), send_resolved=False)
    values = [(9, 0.3), (10, 0.1), (11, 0.3), (12, 0.1), (13, 0.3)]
    batches = [Batch(hour(at), (reading(at, value),)) for at, value in values]
    found = try_rules(setup, batches, hour(13))
    return [f"{each.at:%H:%M}" for each in found.messages]


def test_flapping_is_told_each_time_or_once_as_the_rule_says() -> None:  # pub-059
    assert flapping(1) == ["09:00", "11:00", "13:00"]
    assert flapping(2) == ["09:00"]


def test_state_changes_do_not_depend_on_whether_ends_are_told() -> None:  # pub-059
    values = [(9, 0.3), (10, 0.1), (11, 0.3), (12, 0.1), (13, 0.3)]
    batches = [Batch(hour(at), (reading(at, value),)) for at, value in values]
    told, untold = (
        try_rules(config(rule(), send_resolved=wanted), batches, hour(13)).transitions
        for wanted in (True, False)
    )
    assert told == untold
    assert len([each for each in told if each.from_state is not each.to_state]) == 5


def test_hours_caught_up_at_once_open_one_alert() -> None:  # pub-029
    readings = [reading(at, 0.5) for at in (11, 12, 13, 14)]
    result = step(config(rule()), {}, readings, NOW)
    assert len(result.alerts) == 1
    found = try_rules(config(rule()), [Batch(hour(14), tuple(readings))], hour(15))
    assert [each.event for each in found.messages] == ["finding.opened"]
