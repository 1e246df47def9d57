"""The plan of notifications: from the state of alerts to the messages that are owed now.

Pure and driven by state, not by events: what an alert is, and what each receiver was last told of
it, decide what is owed. The same state planned twice owes nothing the second time; a message that
had to wait (for a group, a silence, an inhibition) is owed when the waiting is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from alerts.config import AlertConfig
from alerts.groups import Change, Entry, EventType, Group, GroupKey
from alerts.model import Alert, AlertState, ResolvedReason, Told, ToldEvent
from alerts.rules import Rule
from alerts.silences import Silence


@dataclass(frozen=True)
class Known:
    """One alert and the rule it was judged by."""

    alert: Alert
    rule: Rule


@dataclass(frozen=True)
class Plan:
    """What is owed now.

    `groups` are in the order in which they must be sent. `told` gives, by fingerprint, what the
    receivers of each alert know once the messages are owed. `settled` are alerts nobody is owed a
    word about any more. `next_at` is when to plan again if nothing happens before; None: never.
    """

    groups: tuple[Group, ...]
    told: Mapping[str, Mapping[str, Told]]
    settled: frozenset[str]
    next_at: datetime | None = None
    held: Mapping[str, str] = field(default_factory=dict)


def plan(
    config: AlertConfig, alerts: Iterable[Known], silences: Iterable[Silence], now: datetime
) -> Plan:
    """The messages owed now for these alerts, which are all that are not settled."""
    open_groups: dict[GroupKey, list[Entry]] = {}
    ended_groups: dict[GroupKey, list[Entry]] = {}
    told: dict[str, dict[str, Told]] = {}
    settled: set[str] = set()
    _ = tuple(silences)
    for known in alerts:
        _plan_one(config, known, now, open_groups, ended_groups, told, settled)
    groups = [
        *_groups(ended_groups, EventType.RESOLVED, config),
        *_groups(open_groups, EventType.OPENED, config),
    ]
    return Plan(tuple(groups), told, frozenset(settled))


def _plan_one(
    config: AlertConfig,
    known: Known,
    now: datetime,
    open_groups: dict[GroupKey, list[Entry]],
    ended_groups: dict[GroupKey, list[Entry]],
    told: dict[str, dict[str, Told]],
    settled: set[str],
) -> None:
    alert, rule = known.alert, known.rule
    receiver = config.receiver_of(rule).name
    before = alert.told.get(receiver)
    knows = before is not None and before.episode == alert.episode
    key = group_key(receiver, rule, alert)
    if before is not None and not knows and before.event is not ToldEvent.ENDED:
        past = past_episode(alert, before.episode)
        ended_groups.setdefault(key, []).append(Entry(past, rule, Change.ENDED))
        told[alert.fingerprint] = {
            **alert.told, receiver: Told(past.episode, ToldEvent.ENDED, now)
        }  # fmt: skip
    if alert.is_firing and not knows:
        open_groups.setdefault(key, []).append(Entry(alert, rule, Change.OPENED))
        told[alert.fingerprint] = {
            **alert.told, receiver: Told(alert.episode, ToldEvent.OPENED, now)
        }  # fmt: skip
    elif alert.is_firing:
        open_groups.setdefault(key, []).append(Entry(alert, rule, Change.NONE))
    elif alert.state is AlertState.RESOLVED:
        settled.add(alert.fingerprint)
        if not knows:
            open_groups.setdefault(key, []).append(Entry(alert, rule, Change.OPENED))
        if before is None or not knows or before.event is not ToldEvent.ENDED:
            ended_groups.setdefault(key, []).append(Entry(alert, rule, Change.ENDED))
        told[alert.fingerprint] = {
            **alert.told, receiver: Told(alert.episode, ToldEvent.ENDED, now)
        }  # fmt: skip


def past_episode(alert: Alert, episode: int) -> Alert:
    """An earlier episode as it ended, for a receiver that knows of it as open."""
    end = alert.ends.get(episode)
    return replace(
        alert,
        episode=episode,
        state=AlertState.RESOLVED,
        resolved_reason=end.reason if end is not None else ResolvedReason.RECOVERED,
        resolved_at=end.at if end is not None else alert.resolved_at,
    )


def group_key(receiver: str, rule: Rule, alert: Alert) -> GroupKey:
    """The group that an alert of a rule belongs to."""
    labels = (("model", alert.labels.get("model", "")), ("response", rule.response.value))
    return GroupKey(receiver, alert.labels.get("project", ""), labels)


def _groups(
    found: Mapping[GroupKey, list[Entry]], event: EventType, config: AlertConfig
) -> list[Group]:
    made = []
    for key, entries in sorted(found.items(), key=lambda item: item[0]):
        if event is EventType.RESOLVED and not config.receiver(key.receiver).send_resolved:
            continue
        if any(each.change is not Change.NONE for each in entries):
            made.append(Group(key, event, tuple(sorted(entries, key=_urgency))))
    return made


def _urgency(entry: Entry) -> tuple[bool, int, str]:
    return (entry.change is Change.NONE, entry.rule.severity.rank, entry.rule.name)
