"""From transitions to the messages that are owed: one per group, listing all its alerts.

A group is (project, model, response, owner, receiver): whoever gets a message can act on all of it
with one response. Pure: what was told before comes in as an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from enum import StrEnum

from alerts.config import AlertConfig
from alerts.model import Alert, AlertState, FindingKey, ResponseAction, Transition
from alerts.rules import Rule


class EventType(StrEnum):
    """What a message tells."""

    OPENED = "finding.opened"
    RESOLVED = "finding.resolved"


@dataclass(frozen=True, order=True)
class GroupKey:
    """What the alerts of one message have in common."""

    project: str
    model: str
    response: ResponseAction
    owner: str
    receiver: str

    @property
    def text(self) -> str:
        """For the message: project/model/response/owner."""
        return "/".join((self.project, self.model, self.response, self.owner))


@dataclass(frozen=True)
class Entry:
    """One alert in a message. Without a transition it is one that was told before and is open."""

    alert: Alert
    rule: Rule
    transition: Transition | None

    @property
    def key(self) -> FindingKey:
        """The episode that the entry tells of."""
        return self.transition.key if self.transition is not None else self.alert.key


@dataclass(frozen=True)
class Group:
    """The content of one owed message: what is new first, then what is still open."""

    key: GroupKey
    event: EventType
    entries: tuple[Entry, ...]

    @property
    def new(self) -> tuple[FindingKey, ...]:
        """The findings this message tells for the first time (their opening or their end)."""
        return tuple(entry.key for entry in self.entries if entry.transition is not None)


@dataclass(frozen=True)
class Grouped:
    """The groups in the order in which they must be sent, and transitions nobody can be told of.

    A transition is unroutable when the configuration does not hold its rule (pass the one under
    which the alert fired) or when its alert was not passed.
    """

    groups: tuple[Group, ...]
    unroutable: tuple[Transition, ...]


def group(
    config: AlertConfig,
    alerts: Mapping[str, Alert],
    transitions: Iterable[Transition],
    notified: Set[FindingKey],
) -> Grouped:
    """The messages that transitions owe.

    `alerts` holds the alerts of the transitions as they are now and, for the "still open" part,
    the other open alerts of the same models. `notified` holds the episodes whose opening was told.

    An end is told only when the opening was, before or in the same call. Of several episodes of one
    alert that began in this call only the newest is told, and those told before it end first.
    """
    told = [each for each in transitions if each.to_state in _TOLD and _fired(each)]
    told = _without_overtaken(told, notified)
    known = {rule.name for rule in config.rules}
    routable = [each for each in told if each.rule in known and each.fingerprint in alerts]
    unroutable = (each for each in told if each.rule not in known or each.fingerprint not in alerts)
    openings = [each for each in routable if each.to_state is AlertState.FIRING]
    opened_now = {each.key for each in openings}
    ends = [each for each in routable if each.to_state is AlertState.RESOLVED]
    earlier = [each for each in ends if each.key in notified]
    same_call = [each for each in ends if each.key in opened_now and each.key not in notified]
    openings = [each for each in openings if each.key not in notified]
    still_open = _firing_by_key(config, alerts)
    groups = (
        *_by_key(config, alerts, earlier, EventType.RESOLVED, still_open),
        *_by_key(config, alerts, openings, EventType.OPENED, still_open),
        *_by_key(config, alerts, same_call, EventType.RESOLVED, still_open),
    )
    return Grouped(groups, tuple(unroutable))


_TOLD = (AlertState.FIRING, AlertState.RESOLVED)


def _fired(transition: Transition) -> bool:
    """An end of something that was only pending is of no interest to anybody."""
    return AlertState.FIRING in (transition.from_state, transition.to_state)


def _without_overtaken(
    transitions: list[Transition], notified: Set[FindingKey]
) -> list[Transition]:
    """Drop episodes that opened and ended here when the same alert opened once more."""
    newest: dict[str, int] = {}
    for each in transitions:
        newest[each.fingerprint] = max(each.episode, newest.get(each.fingerprint, 0))
    return [
        each
        for each in transitions
        if each.episode == newest[each.fingerprint] or each.key in notified
    ]


def _by_key(
    config: AlertConfig,
    alerts: Mapping[str, Alert],
    transitions: Iterable[Transition],
    event: EventType,
    still_open: Mapping[GroupKey, list[Entry]],
) -> list[Group]:
    entries: dict[GroupKey, list[Entry]] = {}
    for transition in transitions:
        rule = _known_rule(config, transition.rule)
        alert = alerts[transition.fingerprint]
        key = group_key(config, rule, alert)
        if event is EventType.RESOLVED and not config.receiver(key.receiver).send_resolved:
            continue
        entries.setdefault(key, []).append(Entry(alert, rule, transition))
    return [
        Group(key, event, (*_by_urgency(new), *_others(still_open.get(key, []), new)))
        for key, new in sorted(entries.items(), key=lambda item: item[0])
    ]


def group_key(config: AlertConfig, rule: Rule, alert: Alert) -> GroupKey:
    """The group that an alert of a rule belongs to."""
    return GroupKey(
        project=alert.labels.get("project", ""),
        model=alert.labels.get("model", ""),
        response=rule.response,
        owner=rule.owner,
        receiver=config.receiver_of(rule).name,
    )


def _by_urgency(entries: list[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: (entry.rule.severity.rank, entry.rule.name))


def _firing_by_key(config: AlertConfig, alerts: Mapping[str, Alert]) -> dict[GroupKey, list[Entry]]:
    """The firing alerts as entries without a transition, by the group they belong to."""
    found: dict[GroupKey, list[Entry]] = {}
    for alert in alerts.values():
        rule = config.rule(alert.rule)
        if alert.state is AlertState.FIRING and rule is not None:
            found.setdefault(group_key(config, rule, alert), []).append(Entry(alert, rule, None))
    return found


def _others(firing: list[Entry], new: list[Entry]) -> list[Entry]:
    """The firing alerts that the message does not tell of as new or ended."""
    taken = {entry.alert.fingerprint for entry in new}
    return _by_urgency([entry for entry in firing if entry.alert.fingerprint not in taken])


def _known_rule(config: AlertConfig, name: str) -> Rule:
    rule = config.rule(name)
    if rule is None:
        raise AssertionError(f"rule {name} is known: unroutable transitions were set apart before")
    return rule
