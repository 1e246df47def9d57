"""Messages for the tests of channels: ordinary ones, huge ones, hostile ones."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from alerts.context import AlertContext, Changed
from alerts.groups import Change, EventType, Group
from alerts.lifecycle import step
from alerts.messages import Message, render
from alerts.model import Labels, Reading, ResponseAction, Severity
from alerts.rules import Subject

from .factories import NOW, config, groups_of, hour, reading, rule

HOSTILE = (
    '<script>"x"</script> \u202e ![](http://evil/p.png) <!channel> @everyone \r\nBcc: x \ud800 𐍈'
)
PAGE = rule(
    name="contrast",
    severity=Severity.PAGE,
    response=ResponseAction.REDUCE_TRAFFIC,
    runbook="https://example.org/runbook",
    impact="Wrong inputs.",
    precondition="Another deployment serves.",
    limit="Not below a tenth.",
    about=Subject.DISTRIBUTION,
)
KNOWN = AlertContext(
    baseline="training: 0.02",
    fired=3,
    changed=(Changed("runtime_version", None, "1.18", "canary", hour(1)),),
    quality="AUC 0.71 for requests of February",
    action="refused: at most one a day",
    command="inferwatch respond run 17",
    data_until=hour(2),
    acknowledge_link="https://api.example.org/a?t=1",
    silence_link="https://api.example.org/s?t=1",
    evidence_link="https://watch.example.org/model?model=delay",
    links_until=NOW + timedelta(days=2),
)


def group(change: Change = Change.OPENED, *readings: Reading, **fields: Any) -> Group:
    """One group of alerts of the rule PAGE, all with the same news and full context."""
    setup = config(PAGE)
    shown = readings or (reading(2, 0.31, low=0.28, high=0.35, unit="nats"),)
    (found,) = groups_of(setup, step(setup, {}, shown, NOW).alerts)
    entries = tuple(replace(each, change=change, context=KNOWN) for each in found.entries)
    event = {Change.OPENED: EventType.OPENED, Change.ENDED: EventType.RESOLVED}
    told = event.get(change, EventType.UPDATED)
    return replace(found, **{"event": told, "entries": entries, **fields})


def message(change: Change = Change.OPENED, *readings: Reading, **fields: Any) -> Message:
    """The message of such a group."""
    return render(group(change, *readings, **fields), "https://watch.example.org", NOW)


def many(count: int) -> tuple[Reading, ...]:
    """So many columns of one model in breach."""
    return tuple(
        reading(
            1, 0.3, labels=Labels.of(project="air", model="delay", method="psi", column=f"c{i}")
        )
        for i in range(count)
    )


def hostile() -> Reading:
    """A reading whose every text is meant to do harm."""
    labels = Labels.of(project="air", model=HOSTILE, method="psi", column=HOSTILE, segment=HOSTILE)
    return reading(1, 0.3, labels=labels, unit=HOSTILE, text=HOSTILE, evidence={HOSTILE: HOSTILE})


def bare_message() -> Message:
    """A message that is not about alerts, as it is sent when another one reached nobody."""
    return Message(
        event=EventType.DEAD_LETTERED,
        receiver="mail",
        severity=Severity.PAGE,
        title="A message to on-call reached nobody",
        lines=("finding.opened of 2026-03-03 was given up",),
        body={
            "type": "delivery.dead_lettered",
            "timestamp": "2026-03-03T00:00:00Z",
            "data": {"project": "air", "receiver": "on-call"},
        },
        new=(),
    )
