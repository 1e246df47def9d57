"""The section `route` of alerts.yaml: the routing tree, read and checked.

route:                                # the root takes everything
  group_by: [model, response]         # default; [] makes one group of a receiver's alerts
  group_wait: 30s                     # wait so long before a group is first told (default 0s)
  group_interval: 5m                  # then at most one message of news in so long (default 0s)
  repeat_after: 4h                    # tell again what nobody took on (default: never)
  routes:
    - name: chat                      # optional, for explanations
      when: {severity: notice}        # labels, and rule, severity, owner, response, about
      receiver: chat                  # instead of the rule's or the owner's
      continue: true                  # the next branches are tried as well
      mute_times: [nights]            # nothing is told then; active_times: only told then
      routes: []
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import yaml

from alerts.config_matchers import USUAL_LABELS, read_matchers, read_names, read_reference
from alerts.durations import duration_text, read_duration
from alerts.model import LABEL_NAME
from alerts.routing import AT_ONCE, ROOT, Branch, Route, inherit
from alerts.subjects import RULE_WORDS
from alerts.yaml_source import Section, did_you_mean, read_text, section

MATCHED = (*RULE_WORDS, *USUAL_LABELS)


@dataclass(frozen=True)
class RouteNames:
    """What routes may refer to."""

    receivers: Sequence[str]
    times: Sequence[str]


def read_route(top: Section, names: RouteNames) -> Route:
    """The tree; a root that takes everything when the section is absent."""
    node = top.get("route")
    root = section(node, "route", top.problems) if node is not None else None
    if root is None:
        return ROOT
    for name in ("when", "continue", "name"):
        root.refuse(name, "the root takes every alert; put this on a branch under `routes`")
    for name in ("mute_times", "active_times"):
        root.refuse(name, "would keep every alert quiet; put it on a branch, a rule or a silence")
    return _read_branch(root, names, Branch())


def _read_branch(each: Section, names: RouteNames, parent: Branch) -> Route:
    told = each.raw_text("name")
    each.get("name")
    here = Route(
        place=f"{each.place} ({told})" if told else each.place,
        when=read_matchers(each, "when", MATCHED) or (),
        receiver=read_reference(each, "receiver", names.receivers),
        go_on=each.flag("continue") or False,
        group_by=_read_group_by(each),
        group_wait=read_duration(each, "group_wait"),
        group_interval=read_duration(each, "group_interval"),
        repeat_after=read_duration(each, "repeat_after"),
        active_times=_read_times(each, "active_times", names),
        mute_times=_read_times(each, "mute_times", names),
    )
    branch = inherit(here, parent)
    _check_repeat(each, branch)
    routes = each.items("routes", lambda node, place: _read_child(each, node, place, names, branch))
    each.finish()
    return Route(**{**vars(here), "routes": tuple(routes)})


def _read_child(
    each: Section, node: yaml.Node, place: str, names: RouteNames, parent: Branch
) -> Route | None:
    child = section(node, place, each.problems)
    if child is None:
        return None
    if child.get("when") is None:
        child.missing("when", "say which alerts take this branch, such as {severity: notice}")
    return _read_branch(child, names, parent)


def _read_group_by(each: Section) -> tuple[str, ...] | None:
    if each.get("group_by") is None:
        return None
    found = each.items(
        "group_by", lambda node, place: read_text(node, place, each.problems, limit=63)
    )
    for name in found:
        hint = did_you_mean(name, MATCHED) if name not in MATCHED else ""
        if not LABEL_NAME.fullmatch(name) or hint:
            each.complain("group_by", f"{name!r} is no label{hint}")
    return tuple(dict.fromkeys(found))


def _read_times(each: Section, name: str, names: RouteNames) -> tuple[str, ...] | None:
    if each.get(name) is None:
        return None
    return read_names(each, name, names.times, "time interval")


def _check_repeat(each: Section, branch: Branch) -> None:
    """A repetition can't come faster than the group is told at all; told where it is said."""
    repeat, interval = branch.repeat_after, branch.group_interval
    named = [name for name in ("repeat_after", "group_interval") if name in each.nodes]
    if repeat is None or not named:
        return
    if repeat == AT_ONCE:
        each.complain(named[0], "must be longer than 0s; leave it out to repeat nothing")
    elif repeat < interval:
        each.complain(
            named[0],
            f"repeat_after {duration_text(repeat)} is shorter than group_interval "
            f"{duration_text(interval)}: nothing is told faster than that; make it longer",
        )
