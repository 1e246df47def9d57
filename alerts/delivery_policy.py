"""How messages are sent where a receiver says nothing of its own: fallback, storms, heartbeat.

Pure values.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Storm:
    """At most `messages` openings to one receiver within `within`; what is more becomes one."""

    messages: int = 2
    within: timedelta = timedelta(minutes=10)


USUAL_STORM = Storm()


@dataclass(frozen=True)
class DeadMansSwitch:
    """An outside address that is called while all is well; who runs it pages when calls stop.

    `url`, `url_env` or `url_file` as for receivers, in `address` under that name.
    """

    address: tuple[tuple[str, str], ...]
    every: timedelta = timedelta(minutes=1)
    private_addresses_allowed: bool = False


@dataclass(frozen=True)
class DeliveryPolicy:
    """`fallback` is the receiver that is told of messages that could not be delivered."""

    fallback: str | None = None
    storm: Storm = USUAL_STORM
    longest_silence: timedelta = timedelta(days=30)
    dead_mans_switch: DeadMansSwitch | None = None


USUAL_DELIVERY = DeliveryPolicy()
