"""alerts.yaml: who owns what, how they are reached, and when they are.

`read_alert_config(text, source, channels)` gives an AlertConfig or raises AlertConfigError with
every mistake and its line. The file:

    owners:                           # who answers
      - name: flight-ml               # team
        people: [ada@example.org]     # at least one
        receiver: on-call             # where its messages go unless a rule says otherwise
        escalation: [...]             # who is told when nobody answers (`alerts.config_owners`)
    receivers:                        # destinations
      - name: on-call
        channel: webhook              # a way to reach it; the other keys belong to the channel
        send_resolved: true           # default true
        repeat_after: 4h              # tell again what nobody took on (default: never)
        url: https://…                # or url_env: NAME, or url_file: PATH
        secret_env: NAME              # or secret_file: PATH; never the secret itself
        private_addresses_allowed: false
    route: {...}                      # who gets what, grouped and timed how
    times: [...]                      # intervals of wall-clock time
    inhibit: [...]                    # which alerts keep others quiet
    responses: [...]                  # defined responses
    delivery: {...}                   # fallback, storm brake, heartbeat
    rules:
      - name: deployment-contrast
        when: {check: contrast, column: "dist*", leg: [live, batch]}
        value: low                    # value (default), low or high end of the interval
        above: 0.02                   # or below: X, outside: [A, B], state: [failed, no_data],
                                      # allowed: [A, B] (the whole interval must lie outside),
                                      # burn: {objective: 0.99, windows: [{long: 1h, short: 5m,
                                      # factor: 14.4}]}, or, instead of `when`, all_of, any_of and
                                      # unless: names of rules whose alerts agree `on` labels
        recover_below: 0.015          # while firing, this takes the place of `above`;
                                      # recover_above that of `below`; both those of `outside`
        for: 2                        # breaching windows in a row until it fires (default 1), or
                                      # a duration such as 2h
        keep_firing_for: 1            # clear windows in a row until it is resolved, or a duration
        minimum_n: 100                # a window with fewer rows is not judged (default 0)
        severity: page                # page, ticket or notice
        owner: flight-ml
        receiver: on-call             # default: the owner's
        response: reduce_traffic      # roll_back, reduce_traffic, fall_back, review_threshold,
                                      # retrain or investigate
        runbook: https://…            # or a path in the documentation; a page rule needs it
        impact: One sentence.         # a page rule needs it
        precondition: One sentence.   # what must hold before the response is carried out
        limit: One sentence.          # how far the response may go
        supersedes: [other-rule]      # whose alerts on the same subject end when this one fires
        component: false              # true: part of other rules only, nobody is told of it
        mute_times: [nights]          # nothing is told then; active_times: only told then
        late_after: 2h                # without a window for so long, the alert's data is late
        worse_factor: 2               # so many times further beyond is told anew (default 2)
        about: quality                # distribution, quality, service or data: how it is worded
        summary: "Column {column}: {value:.3f} {unit}"

`when` compares labels as text: the whole value, one of a list, or a beginning followed by `*`; an
empty text means that the label is absent. `summary` may name any label, and value, low, high, n,
unit, threshold, text, window_start and window_end; numbers take a format such as `.3f` or `,`.

The sections `owners`, `route`, `times`, `inhibit`, `responses` and `delivery` are told in the
modules that read them, `alerts.config_owners` and so on; only owners, receivers and rules are
needed. Pure: it opens no file and reads no environment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Protocol, TypeVar

from alerts.config_delivery import read_delivery
from alerts.config_inhibition import read_inhibitions
from alerts.config_notices import check_notices_only
from alerts.config_owners import read_owners
from alerts.config_responses import read_responses
from alerts.config_routing import RouteNames, read_route
from alerts.config_rules import Names, read_rules
from alerts.config_times import read_times
from alerts.delivery_policy import USUAL_DELIVERY, DeliveryPolicy
from alerts.durations import read_duration
from alerts.errors import AlertConfigError
from alerts.inhibition import Inhibition
from alerts.owners import Owner
from alerts.responses import DefinedResponse
from alerts.routing import ROOT, Route
from alerts.rules import Rule
from alerts.times import TimeInterval
from alerts.usual_rules import usual_rules
from alerts.yaml_source import Problems, Section, compose, did_you_mean, section


@dataclass(frozen=True)
class Receiver:
    """A destination. `options` are the keys of its channel, checked by the channel's reader.

    What nobody took on is told again after `repeat_after`, unless a route says otherwise.
    """

    name: str
    channel: str
    send_resolved: bool = True
    options: Mapping[str, str | bool] = field(default_factory=dict, hash=False)
    repeat_after: timedelta | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))


@dataclass(frozen=True)
class AlertConfig:
    """A whole configuration, checked: every name used in it exists in it."""

    owners: tuple[Owner, ...]
    receivers: tuple[Receiver, ...]
    rules: tuple[Rule, ...]
    route: Route = ROOT
    times: tuple[TimeInterval, ...] = ()
    inhibitions: tuple[Inhibition, ...] = ()
    responses: tuple[DefinedResponse, ...] = ()
    delivery: DeliveryPolicy = USUAL_DELIVERY

    def rule(self, name: str) -> Rule | None:
        """The rule of this name."""
        return next((rule for rule in self.rules if rule.name == name), None)

    def receiver(self, name: str) -> Receiver:
        """The receiver of this name; KeyError when there is none."""
        return {receiver.name: receiver for receiver in self.receivers}[name]

    def owner(self, name: str) -> Owner:
        """The owner of this name; KeyError when there is none."""
        return {owner.name: owner for owner in self.owners}[name]

    def receiver_of(self, rule: Rule) -> Receiver:
        """Where messages of a rule go: its own receiver, or its owner's."""
        return self.receiver(rule.receiver or self.owner(rule.owner).receiver)


SECTIONS = ("owners", "receivers", "times", "inhibit", "responses", "rules")
"""The lists of the file; every item has a name of its own in its list."""

SHORTEST_REPEAT = timedelta(minutes=1)


class ChannelOptions(Protocol):
    """What the reader must know of a channel: how to read the keys that belong to it."""

    @staticmethod
    def read_options(receiver: Section) -> Mapping[str, str | bool]:
        """Read the channel's keys of a receiver and report its mistakes."""


def read_alert_config(
    text: str,
    source: str,
    channels: Mapping[str, ChannelOptions],
    words: Mapping[str, Collection[str]] | None = None,
) -> AlertConfig:
    """Parse alerts.yaml.

    `source` names the file in messages; `channels` maps the known channel names to their readers
    (`alerts.channels.registry.CHANNELS`). `words` lists, by label, all the values that readings can
    carry: a rule that names another one is refused. Raises AlertConfigError with every mistake.
    """
    problems = Problems()
    root = compose(text, problems)
    top = section(root, "", problems) if root is not None else None
    if top is None:
        raise AlertConfigError(source, problems.found)
    config = _read_top(top, channels, words or {})
    if problems.found:
        raise AlertConfigError(source, problems.found)
    return config


def _read_top(
    top: Section, channels: Mapping[str, ChannelOptions], words: Mapping[str, Collection[str]]
) -> AlertConfig:
    for name in ("owners", "receivers", "rules"):
        if top.get(name) is None:
            top.missing(name, "give a list")
    parts = {name: _sections(top, name) for name in SECTIONS}
    declared = {name: _names(sections) for name, sections in parts.items()}
    receivers = [_read_receiver(each, channels) for each in parts["receivers"]]
    owners = read_owners(parts["owners"], declared["receivers"])
    channel_of = {each.raw_text("name"): each.raw_text("channel") for each in parts["receivers"]}
    responses = read_responses(parts["responses"], channel_of, people_of(owners))
    names = Names(
        declared["owners"],
        declared["receivers"],
        declared["rules"],
        declared["times"],
        responses={each.name: each for each in responses},
        words=words,
    )
    rules = read_rules(parts["rules"], names)
    config = AlertConfig(
        owners=tuple(owners),
        receivers=_present(receivers),
        rules=(*rules, *usual_rules(rules, responses)),
        route=read_route(top, RouteNames(declared["receivers"], declared["times"])),
        times=tuple(read_times(parts["times"])),
        inhibitions=tuple(read_inhibitions(parts["inhibit"])),
        responses=tuple(responses),
        delivery=read_delivery(top, declared["receivers"]),
    )
    limited = [name for name, channel in channel_of.items() if _is_limited(channels.get(channel))]
    check_notices_only(top, parts["rules"], limited)
    top.finish()
    return config


def _is_limited(channel: ChannelOptions | None) -> bool:
    """Whether a channel says of itself that it takes notices only."""
    return bool(getattr(channel, "notices_only", False))


def _sections(top: Section, name: str) -> list[Section]:
    return top.items(name, lambda node, place: section(node, place, top.problems))


def people_of(owners: Iterable[Owner]) -> list[str]:
    """Names of owners, and names and addresses of their people."""
    names: list[str] = []
    for owner in owners:
        names += (owner.name, *owner.people)
        for person in owner.persons:
            names += (person.name, *([person.email] if person.email else []))
    return names


Item = TypeVar("Item")


def _present(items: Sequence[Item | None]) -> tuple[Item, ...]:
    return tuple(item for item in items if item is not None)


def _names(sections: Sequence[Section]) -> list[str]:
    """The names of the sections; a missing or repeated one is reported."""
    names: list[str] = []
    for each in sections:
        name = each.text("name", limit=100)
        if "name" not in each.nodes:
            each.missing("name", "give one word")
        if name is None:
            continue
        if name in names:
            each.complain("name", f"{name!r} is used twice; names must differ")
        names.append(name)
    return names


def _read_receiver(each: Section, channels: Mapping[str, ChannelOptions]) -> Receiver | None:
    channel = each.text("channel", limit=100)
    send_resolved = each.flag("send_resolved")
    repeat_after = read_duration(each, "repeat_after", least=SHORTEST_REPEAT)
    if channel is None or channel not in channels:
        if "channel" not in each.nodes:
            each.missing("channel", f"known are {', '.join(channels)}")
        elif channel is not None:
            hint = did_you_mean(channel, channels)
            each.complain("channel", f"no channel is called {channel!r}{hint}")
        return None  # its other keys can't be judged without the channel
    options = channels[channel].read_options(each)
    each.finish()
    name, ends = each.raw_text("name"), send_resolved is not False
    return Receiver(name, channel, ends, options, repeat_after)
