"""The readings that rules are judged by where these are not simply what was measured.

Pure. A rule on a burn rate is judged by what its base windows say together, a composite by the
alerts of its parts; both become readings, kept and told like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from alerts.conditions.burn import BurnRate, burn_reading
from alerts.conditions.composite import Composite, composite_reading
from alerts.history import History
from alerts.model import Alert, Reading
from alerts.rules import Rule
from alerts.supersession import Neighbours


def reading_for(rule: Rule, reading: Reading, history: History) -> Reading:
    """The reading that a rule judges when this one was measured."""
    condition = rule.condition
    if not isinstance(condition, BurnRate):
        return reading
    after = reading.at - condition.longest
    earlier = [
        each
        for each in history.readings(reading.labels, after, reading.at)
        if each.at != reading.at
    ]
    return burn_reading(condition, reading, earlier)


def composite_readings(
    rule: Rule, matched: Mapping[str, Sequence[Reading]], neighbours: Neighbours
) -> Iterator[Reading]:
    """What a composite says of every subject of which one of its parts judged a reading.

    `matched` gives the readings of one end of window by the name of the rule that judged them.
    """
    condition = rule.condition
    if not isinstance(condition, Composite):
        return
    causes: dict[tuple[str, ...], Reading] = {}
    for part in condition.parts:
        for reading in matched.get(part, ()):
            key = condition.key(reading.labels)
            if key is not None:
                causes.setdefault(key, reading)
    for key, cause in causes.items():
        alerts = neighbours.parts(condition, key)
        yield composite_reading(condition, condition.labels(key), cause, alerts)


def redated(alert: Alert | None, reading: Reading) -> Reading:
    """A composite's reading, no older than what the composite was judged by before.

    Its parts look at windows of different lengths, and labels come late: a part that changes its
    mind about an old window changes what holds now.
    """
    newest = alert.last_judged if alert is not None else None
    return reading if newest is None or newest.at <= reading.at else replace(reading, at=newest.at)
