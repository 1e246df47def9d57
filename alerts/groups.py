"""Groups: what one message to one receiver is about. Pure values.

A group is named by the receiver and the labels that its alerts have in common, by default model
and response: whoever gets the message can act on all of it with one response.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from alerts.context import NOTHING_KNOWN, AlertContext
from alerts.model import Alert, FindingKey
from alerts.rules import Rule


class EventType(StrEnum):
    """What a message tells."""

    OPENED = "finding.opened"
    UPDATED = "finding.updated"  # much worse, or still open after a while
    RESOLVED = "finding.resolved"
    STORM = "finding.storm"  # more messages than people can read, told as one
    DEAD_LETTERED = "delivery.dead_lettered"  # a message that reached nobody
    RESPONSE_REQUESTED = "response.requested"  # a deployment system is asked to act
    REPORT_READY = "report.ready"  # a scheduled report was built
    PING = "test.ping"


ASKS_NOTHING = frozenset({EventType.PING, EventType.REPORT_READY})
"""Messages after which nothing may stay open anywhere."""


class Change(StrEnum):
    """What is new about one alert in a message."""

    OPENED = "opened"
    GOT_WORSE = "got_worse"
    ENDED = "ended"
    NONE = "still_open"


@dataclass(frozen=True, order=True)
class GroupKey:
    """Receiver and common labels, in the order of the route's `group_by`."""

    receiver: str
    project: str
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """For the message: `project/model/response`."""
        return "/".join((self.project, *(value for _, value in self.labels)))

    def get(self, name: str) -> str:
        """The value of a common label, empty when the group has none."""
        return dict(self.labels).get(name, "")


@dataclass(frozen=True)
class Entry:
    """One alert in a message, and what is new about it.

    `times` is how often the receiver has then been told of the episode: it tells apart messages
    that say the same again.
    """

    alert: Alert
    rule: Rule
    change: Change
    context: AlertContext = NOTHING_KNOWN
    times: int = 1

    @property
    def key(self) -> FindingKey:
        """The episode that the entry tells of."""
        return self.alert.key


@dataclass(frozen=True)
class Group:
    """The content of one owed message: what is new first, then what is still open.

    `note` says in a sentence why it is sent where that is not plain: an escalation, a repetition,
    the end of a silence. `drill` marks a rehearsal, which every channel must show.
    """

    key: GroupKey
    event: EventType
    entries: tuple[Entry, ...]
    note: str = ""
    drill: bool = False

    @property
    def new(self) -> tuple[FindingKey, ...]:
        """The findings of which the message tells something new."""
        return tuple(each.key for each in self.entries if each.change is not Change.NONE)
