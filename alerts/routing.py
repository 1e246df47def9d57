"""The routing tree: which receivers an alert goes to, how its messages are grouped and timed.

Pure values. A child inherits what it does not say from its parent; the first child that matches
takes the alert, unless it says `continue`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from alerts.rules import Matcher

GROUP_BY = ("model", "response")


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
    active_times: tuple[str, ...] = ()
    mute_times: tuple[str, ...] = ()
    routes: tuple[Route, ...] = ()


ROOT = Route()
