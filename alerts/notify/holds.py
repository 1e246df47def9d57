"""Why nothing is told of an alert now, although it fires. Pure.

The end of what a receiver knows as open is held back by mute and active times only: an on-call
service would keep an incident open otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from alerts.inhibition import Facts, Inhibitors
from alerts.model import Alert
from alerts.routing import Branch
from alerts.rules import Rule
from alerts.silences import Silence
from alerts.text import moment_text
from alerts.times import TimeInterval


class HoldKind(StrEnum):
    """What keeps an alert quiet."""

    SILENCED = "silenced"
    INHIBITED = "inhibited"
    SNOOZED = "snoozed"
    ARCHIVED = "archived"
    MUTED = "muted"  # inside a mute time
    INACTIVE = "inactive"  # outside all active times


@dataclass(frozen=True)
class Hold:
    """One reason, in a sentence for people, and until when it lasts if that is known."""

    kind: HoldKind
    text: str
    until: datetime | None = None


def holds_of_alert(
    alert: Alert, facts: Facts, silences: Iterable[Silence], inhibitors: Inhibitors, now: datetime
) -> tuple[Hold, ...]:
    """What keeps the alert quiet at every receiver."""
    found = [
        Hold(
            HoldKind.SILENCED,
            f"silence {each.id} of {each.author} until {moment_text(each.ends_at)}: {each.reason}",
            each.ends_at,
        )
        for each in silences
        if each.holds(facts, now)
    ]
    if alert.snoozed_until is not None and now < alert.snoozed_until:
        until = alert.snoozed_until
        found.append(Hold(HoldKind.SNOOZED, f"snoozed until {moment_text(until)}", until))
    if alert.archive is not None:
        text = f"archived by {alert.archive.by} until it is much worse"
        found.append(Hold(HoldKind.ARCHIVED, text))
    held = inhibitors.holder_of(alert.fingerprint, facts)
    if held is not None:
        name, source = held
        rule = inhibitors.facts_of(source).get("rule", "")
        text = f"inhibition {name}: an alert of rule {rule} fires (fingerprint {source[:12]})"
        found.append(Hold(HoldKind.INHIBITED, text))
    return tuple(found)


class Clock:
    """Mute and active times at one moment; each interval is looked at once."""

    def __init__(self, times: Iterable[TimeInterval], now: datetime) -> None:
        self._times: Mapping[str, TimeInterval] = {each.name: each for each in times}
        self._now = now
        self._inside: dict[str, bool] = {}
        self._holds: dict[tuple[tuple[str, ...], tuple[str, ...]], Hold | None] = {}

    def hold_of(self, branch: Branch, rule: Rule) -> Hold | None:
        """The mute or active times of the route or the rule that hold a message back now."""
        for active, mute in (
            (branch.active_times, branch.mute_times),
            (rule.active_times, rule.mute_times),
        ):
            hold = self._hold(active, mute)
            if hold is not None:
                return hold
        return None

    def _hold(self, active: tuple[str, ...], mute: tuple[str, ...]) -> Hold | None:
        if not active and not mute:
            return None
        if (active, mute) not in self._holds:
            self._holds[active, mute] = self._find(active, mute)
        return self._holds[active, mute]

    def _find(self, active: tuple[str, ...], mute: tuple[str, ...]) -> Hold | None:
        known = [name for name in (*active, *mute) if name in self._times]
        muted = [name for name in mute if self._is_inside(name)]
        text = ", ".join(muted)
        kind = HoldKind.MUTED
        if not muted:
            # Names that the rules in force do not have any more keep nothing back.
            asked = [name for name in active if name in self._times]
            if not asked or any(self._is_inside(name) for name in asked):
                return None
            kind, text = HoldKind.INACTIVE, ", ".join(asked)
        until = min(self._times[name].changes_after(self._now) for name in known)
        words = "mute time" if kind is HoldKind.MUTED else "outside of active time"
        return Hold(kind, f"{words} {text}, looked at again {moment_text(until)}", until)

    def _is_inside(self, name: str) -> bool:
        if name not in self._inside:
            interval = self._times.get(name)
            self._inside[name] = interval is not None and interval.holds(self._now)
        return self._inside[name]
