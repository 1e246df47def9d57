"""The same values through our life of alerts and plan of notifications, by a clock of its own.

The pure parts are the product's; what the store would keep between two plans is kept here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from alerts.config import AlertConfig, Receiver
from alerts.groups import EventType, Group
from alerts.lifecycle import step
from alerts.model import (
    Alert,
    Labels,
    Reading,
    ReadingState,
    ResponseAction,
    Severity,
)
from alerts.notify.outlook import Lane, Outlook
from alerts.notify.plan import Known, plan
from alerts.owners import Owner
from alerts.rules import Bounds, Matcher, Rule
from benchmarks.flapping.shapes import THRESHOLD, Shape
from benchmarks.flapping.tally import Tally

WINDOW, TICK = timedelta(minutes=15), timedelta(minutes=1)
START = datetime(2026, 3, 2, tzinfo=UTC)


@dataclass(frozen=True)
class Policy:
    """How a rule is steadied: windows until it fires and until it is over, and hysteresis."""

    hold: int = 1
    keep: int = 1
    recover_below: float | None = None


def run(shapes: Sequence[Shape], policy: Policy) -> dict[str, Tally]:
    """Every shape on its own model, so that no two share a message."""
    return {shape.name: _run_one(shape, policy) for shape in shapes}


def _run_one(shape: Shape, policy: Policy) -> Tally:
    config, tally = _config(policy), Tally(transitions=0)
    alerts: dict[str, Alert] = {}
    sent: list[datetime] = []
    for window, value in enumerate(shape.values):
        now = START + (window + 1) * WINDOW
        result = step(config, alerts, [_reading(shape.name, value, now)], now)
        alerts |= result.alerts
        changed = [each for each in result.transitions if each.from_state is not each.to_state]
        tally.transitions = (tally.transitions or 0) + len(changed)
        for minute in range(int(WINDOW / TICK)):
            for group in _planned(config, alerts, now + minute * TICK, sent):
                _tell(tally, group, window + minute * (TICK / WINDOW))
    return tally


def _planned(
    config: AlertConfig, alerts: dict[str, Alert], now: datetime, sent: list[datetime]
) -> tuple[Group, ...]:
    """What is owed now; `sent` are the moments of openings, which the storm brake counts."""
    rule = config.rules[0]
    known = [Known(each, rule) for each in alerts.values() if not each.is_settled]
    made = plan(config, known, (), now, Outlook(openings={Lane("on-call", pages=True): sent}))
    sent += [now for group in made.groups if group.event is EventType.OPENED]
    for fingerprint, told in made.told.items():
        alerts[fingerprint] = replace(alerts[fingerprint], told=told)
    return made.groups


def _tell(tally: Tally, group: Group, window: float) -> None:
    tally.tell(window, is_open=group.event is not EventType.RESOLVED)


def _reading(name: str, value: float | None, at: datetime) -> Reading:
    return Reading(
        labels=Labels.of(project="bench", model=name, check="drift", method="psi"),
        at=at,
        window_start=at - WINDOW,
        state=ReadingState.NO_DATA if value is None else ReadingState.MEASURED,
        value=value,
        n=0 if value is None else 500,
    )


def _config(policy: Policy) -> AlertConfig:
    rule = Rule(
        name="moved",
        when=(Matcher("check", ("drift",)),),
        condition=Bounds(upper=THRESHOLD, recover_upper=policy.recover_below),
        severity=Severity.PAGE,
        owner="team",
        response=ResponseAction.INVESTIGATE,
        hold=policy.hold,
        keep_firing_for=policy.keep,
    )
    return AlertConfig(
        owners=(Owner("team", ("ada@example.org",), "on-call"),),
        receivers=(Receiver("on-call", "webhook"),),
        rules=(rule,),
    )
