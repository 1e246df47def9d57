"""Who gets what of one alert, when and why: the plan's own decisions, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from alerts.config import AlertConfig
from alerts.groups import GroupKey
from alerts.inhibition import Facts
from alerts.model import Told
from alerts.notify.destinations import Destination, Directory
from alerts.notify.holds import Hold
from alerts.notify.items import Account, Accountant, Known
from alerts.notify.outlook import NOTHING_SENT, Outlook
from alerts.routing import Route
from alerts.silences import Silence
from alerts.subjects import facts_of


@dataclass(frozen=True)
class Way:
    """One receiver of an alert. `step` is 0 for the usual ones; others follow `after` the first
    message while nobody takes the alert on. `repeat_after` is the interval that holds in the end.
    """

    receiver: str
    channel: str
    why: str
    group: str
    group_wait: timedelta
    group_interval: timedelta
    repeat_after: timedelta | None
    tells_ends: bool
    hold: Hold | None
    step: int = 0
    after: timedelta | None = None
    told: Told | None = None


@dataclass(frozen=True)
class Explanation:
    """`facts` are what matchers see, `holds` what keeps the alert quiet at every receiver."""

    facts: Facts
    ways: tuple[Way, ...]
    holds: tuple[Hold, ...]
    acknowledged_by: str | None = None
    component: bool = False


def explain(
    config: AlertConfig,
    known: Known,
    others: Iterable[Known],
    silences: Iterable[Silence],
    now: datetime,
    outlook: Outlook = NOTHING_SENT,
) -> Explanation:
    """The ways of an alert that fires. `others` are the alerts beside it, which may inhibit it."""
    directory = Directory(config)
    accountant = Accountant(directory, (*others, known), silences, outlook.undelivered, now)
    account = accountant.account(known)
    facts = facts_of(known.alert.labels, known.rule)
    ways = [
        *_usual(directory, accountant, account, facts),
        *_steps(directory, accountant, account, facts),
    ]
    return Explanation(
        facts, tuple(ways), account.holds, known.alert.acknowledged_by, known.rule.component
    )


def _usual(
    directory: Directory, accountant: Accountant, account: Account, facts: Facts
) -> Iterator[Way]:
    for each in account.destinations:
        if not each.step:
            why = _why(directory.config, account.known, each)
            yield _way(directory, accountant, account, facts, each, why)


def _steps(
    directory: Directory, accountant: Accountant, account: Account, facts: Facts
) -> Iterator[Way]:
    usual = [each for each in account.destinations if not each.step]
    names = {each.receiver for each in usual}
    for number, step in enumerate(directory.steps(account.known.rule) if usual else (), start=1):
        for name in step.receivers:
            if name not in names and name in directory.receivers:
                names.add(name)
                to = Destination(name, usual[0].branch, number)
                why = f"escalation step {number} of owner {account.known.rule.owner}"
                yield _way(directory, accountant, account, facts, to, why, step.after)


def _way(
    directory: Directory,
    accountant: Accountant,
    account: Account,
    facts: Facts,
    to: Destination,
    why: str,
    after: timedelta | None = None,
) -> Way:
    receiver, branch, known = directory.receivers[to.receiver], to.branch, account.known
    labels = tuple((name, facts.get(name, "")) for name in branch.group_by if name != "project")
    usual_repeat = None if to.step else branch.repeat_after
    repeat = usual_repeat or receiver.repeat_after
    return Way(
        receiver=to.receiver,
        channel=receiver.channel,
        why=why,
        group=GroupKey(to.receiver, facts.get("project", ""), labels).text,
        group_wait=timedelta(0) if to.step else branch.group_wait,
        group_interval=branch.group_interval,
        repeat_after=max(repeat, branch.group_interval) if repeat is not None else None,
        tells_ends=receiver.send_resolved,
        hold=accountant.clock.hold_of(branch, known.rule),
        step=to.step,
        after=after,
        told=known.alert.told.get(to.receiver),
    )


def _why(config: AlertConfig, known: Known, to: Destination) -> str:
    branch, rule = to.branch, known.rule
    place = branch.place + _when(config.route, branch.place)
    if branch.receiver == to.receiver:
        return f"{place}; the receiver is the route's"
    if rule.receiver == to.receiver:
        return f"{place}; the receiver is the rule's own"
    owner = next((each for each in config.owners if each.name == rule.owner), None)
    if owner is not None and owner.receiver == to.receiver and not rule.receiver:
        return f"{place}; the receiver is that of owner {rule.owner}"
    return f"{place}; the fallback, because the receiver that was meant does not exist"


def _when(root: Route, place: str) -> str:
    for route in _all(root):
        if route.place == place and route.when:
            parts = (f"{each.label}={'|'.join(each.patterns)}" for each in route.when)
            return f" [{', '.join(parts)}]"
    return ""


def _all(route: Route) -> Iterator[Route]:
    yield route
    for child in route.routes:
        yield from _all(child)
