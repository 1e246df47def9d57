"""The routing tree: which receivers an alert goes to, how its messages are grouped and timed.

Pure values. A child inherits what it does not say from its parent; the first child that matches
takes the alert, unless it says `continue`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from alerts.rules import Matcher

GROUP_BY = ("model", "response")
AT_ONCE = timedelta(0)


@dataclass(frozen=True)
class Route:
    """One branch. None means: as the parent says. `place` names it in explanations.

    `when` compares the alert's labels and `rule`, `severity`, `owner`, `response` and `about`.
    `receiver` None all the way up means the rule's own receiver, or else its owner's.
    """

    place: str = "route"
    when: tuple[Matcher, ...] = ()
    receiver: str | None = None
    go_on: bool = False
    group_by: tuple[str, ...] | None = None
    group_wait: timedelta | None = None
    group_interval: timedelta | None = None
    repeat_after: timedelta | None = None
    active_times: tuple[str, ...] | None = None
    mute_times: tuple[str, ...] | None = None
    routes: tuple[Route, ...] = ()

    def matches(self, facts: Mapping[str, str]) -> bool:
        """Whether all its matchers fit; a branch without any fits everything."""
        return all(matcher.matches(facts) for matcher in self.when)


ROOT = Route()


@dataclass(frozen=True)
class Branch:
    """The end of one way through the tree, with all that it says or inherits.

    Without a word anywhere messages go out at once and are not repeated.
    """

    place: str = "route"
    receiver: str | None = None
    group_by: tuple[str, ...] = GROUP_BY
    group_wait: timedelta = AT_ONCE
    group_interval: timedelta = AT_ONCE
    repeat_after: timedelta | None = None
    active_times: tuple[str, ...] = ()
    mute_times: tuple[str, ...] = ()


def branches_of(root: Route, facts: Mapping[str, str]) -> tuple[Branch, ...]:
    """Where an alert with these facts goes, at least one branch; the root takes everything."""
    return tuple(_follow(root, Branch(), facts))


def _follow(route: Route, parent: Branch, facts: Mapping[str, str]) -> Iterator[Branch]:
    here = inherit(route, parent)
    found = False
    for child in route.routes:
        if child.matches(facts):
            found = True
            yield from _follow(child, here, facts)
            if not child.go_on:
                break
    if not found:
        yield here


def inherit(route: Route, parent: Branch) -> Branch:
    """What a route says, and where it says nothing what its parent does."""
    return Branch(
        place=route.place,
        receiver=route.receiver if route.receiver is not None else parent.receiver,
        group_by=route.group_by if route.group_by is not None else parent.group_by,
        group_wait=route.group_wait if route.group_wait is not None else parent.group_wait,
        group_interval=(
            route.group_interval if route.group_interval is not None else parent.group_interval
        ),
        repeat_after=route.repeat_after if route.repeat_after is not None else parent.repeat_after,
        active_times=route.active_times if route.active_times is not None else parent.active_times,
        mute_times=route.mute_times if route.mute_times is not None else parent.mute_times,
    )
