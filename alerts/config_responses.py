"""Responses of alerts.yaml, read and checked.

    responses:
      - name: move-traffic
        action: reduce_traffic        # the reaction that rules could also name by this word
        runbook: https://…            # rules that name the response need no runbook of their own
        precondition: One sentence.   # what must hold before it is carried out
        limit: One sentence.          # how far it may go
        command: "inferwatch respond run {alert}"   # the exact command; {alert} is the number
        may_run: [flight-ml]          # owners and people who may start it; default: anybody
        automatic:                    # optional: asks a deployment system by a signed message
          receiver: router            # a receiver whose channel is made for programs
          dry_run: true               # default; false: a dry run first, then in earnest
          scope: {model: flight-delay}   # only alerts with these labels (default: any)
          to_percent: 5               # the share of traffic that the deployment keeps
          at_most_percent: 40         # no action takes away more of all traffic (default 50)
          at_most_a_day: 2            # default 1
          cool_down: 6h               # default 6h, counted for each model
          needs_acknowledgement: false
          expires_after: 14d          # then the former state is asked for again (default: never)
          outcome_within: 5m          # how soon the outcome must be known (default 5m)

Pure.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TypeVar

import yaml

from alerts.config_matchers import USUAL_LABELS, read_matchers, read_reference
from alerts.durations import read_duration
from alerts.model import ResponseAction
from alerts.responses import MOVES_TRAFFIC, AutomaticAction, DefinedResponse
from alerts.yaml_source import Section, did_you_mean, read_text, section

ACTION_CHANNELS = ("webhook", "cloudevents")
"""Channels whose messages hold the whole body and are signed or framed for programs."""

_PLACEHOLDERS = ("alert",)
Value = TypeVar("Value")
_SHORTEST, _LONGEST = timedelta(seconds=10), timedelta(days=1)


def read_responses(
    sections: Sequence[Section],
    channels: Mapping[str, str],
    people: Iterable[str],
) -> tuple[DefinedResponse, ...]:
    """The responses; unusable ones are left out after their report.

    `channels` gives the channel of each receiver by its name, `people` all owners and people.
    """
    known = sorted(set(people))
    found = [_read_response(each, channels, known) for each in sections]
    return tuple(each for each in found if each is not None)


def command_mistake(command: str) -> str | None:
    """What is wrong with the placeholders of a command; None when nothing is."""
    try:
        parts = list(string.Formatter().parse(command))
    except ValueError as error:
        return f"is no template: {error}; write {{{{ and }}}} for braces"
    named = {name for _, name, _, _ in parts if name is not None}
    unknown = sorted(named - set(_PLACEHOLDERS))
    if unknown:
        return f"knows only {{alert}}, got {{{unknown[0]}}}"
    return None


def _read_response(
    each: Section, channels: Mapping[str, str], people: Sequence[str]
) -> DefinedResponse | None:
    name = each.raw_text("name")
    if name in tuple(ResponseAction):
        each.complain("name", f"{name!r} is the word of an action; choose another name")
    action = each.word("action", ResponseAction)
    if each.get("action") is None:
        each.missing("action", f"one of {', '.join(ResponseAction)}")
    response = DefinedResponse(
        name=name,
        action=action or ResponseAction.INVESTIGATE,
        runbook=each.text("runbook"),
        precondition=each.text("precondition"),
        limit=each.text("limit"),
        command=each.text("command"),
        may_run=_read_may_run(each, people),
        automatic=_read_automatic(each, action, channels),
    )
    each.finish()
    mistake = command_mistake(response.command) if response.command is not None else None
    if mistake is not None:
        each.complain("command", mistake)
    return response if action is not None and name else None


def _read_may_run(each: Section, people: Sequence[str]) -> tuple[str, ...]:
    def read(node: yaml.Node, place: str) -> str | None:
        text = read_text(node, place, each.problems, limit=200)
        if text is not None and text not in people:
            hint = did_you_mean(text, people)
            each.problems.add(node, place, f"no owner or person is called {text!r}{hint}")
            return None
        return text

    found = tuple(each.items("may_run", read))
    if each.get("may_run") is not None and not found:
        each.complain("may_run", "names nobody; leave it out if anybody may run the response")
    return found


def _read_automatic(
    each: Section, action: ResponseAction | None, channels: Mapping[str, str]
) -> AutomaticAction | None:
    node = each.get("automatic")
    part = section(node, each.at("automatic"), each.problems) if node is not None else None
    if part is None:
        return None
    receiver = _read_receiver(part, channels)
    usual = AutomaticAction("")
    dry_run = part.flag("dry_run")
    found = AutomaticAction(
        receiver=receiver or "",
        dry_run=usual.dry_run if dry_run is None else dry_run,
        scope=read_matchers(part, "scope", USUAL_LABELS) or (),
        to_percent=_read_percent(part, "to_percent"),
        at_most_percent=_or(_read_percent(part, "at_most_percent"), usual.at_most_percent),
        at_most_a_day=part.whole("at_most_a_day", least=1) or usual.at_most_a_day,
        cool_down=_or(read_duration(part, "cool_down"), usual.cool_down),
        needs_acknowledgement=part.flag("needs_acknowledgement") or False,
        expires_after=read_duration(part, "expires_after", least=timedelta(minutes=1)),
        outcome_within=_or(
            read_duration(part, "outcome_within", least=_SHORTEST, most=_LONGEST),
            usual.outcome_within,
        ),
    )
    part.finish()
    if action is not None:
        _check_traffic(part, action, found)
    return found if receiver is not None else None


def _read_receiver(part: Section, channels: Mapping[str, str]) -> str | None:
    if part.get("receiver") is None:
        part.missing("receiver", "name the receiver that carries actions out")
    name = read_reference(part, "receiver", tuple(channels))
    if name is not None and channels[name] not in ACTION_CHANNELS:
        wanted = " or ".join(ACTION_CHANNELS)
        part.complain(
            "receiver",
            f"actions go to programs: its channel must be {wanted}, not {channels[name]}",
        )
        return None
    return name


def _check_traffic(part: Section, action: ResponseAction, found: AutomaticAction) -> None:
    """A share of traffic belongs to actions that move it, and `reduce_traffic` needs one."""
    if action not in MOVES_TRAFFIC:
        for name in ("to_percent", "at_most_percent", "expires_after"):
            if part.get(name) is not None:
                part.complain(name, f"{action} moves no traffic; remove it")
    elif action is ResponseAction.REDUCE_TRAFFIC and part.get("to_percent") is None:
        part.missing("to_percent", "say which share of traffic the deployment is to keep")
    if not found.dry_run and not found.scope:
        part.missing("scope", "an action in earnest needs one, such as {model: flight-delay}")


def _read_percent(part: Section, name: str) -> float | None:
    number = part.number(name)
    if number is not None and not 0 <= number <= 100:
        part.complain(name, f"must lie within 0 and 100, got {number:g}")
        return None
    return number


def _or(value: Value | None, usual: Value) -> Value:
    return usual if value is None else value
