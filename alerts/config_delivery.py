"""The section `delivery` of alerts.yaml: fallback, storm brake, silences, heartbeat; checked.

delivery:
  fallback: mail                          # told of messages that could not be delivered
  storm: {messages: 2, within: 10m}       # so many openings to a receiver; the rest as one
  longest_silence: 30d
  dead_mans_switch: {url_env: DEAD_MAN_URL, every: 1m}
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from alerts.config_matchers import read_reference
from alerts.delivery_policy import USUAL_DELIVERY, DeadMansSwitch, DeliveryPolicy, Storm
from alerts.durations import read_duration
from alerts.yaml_source import Section, section

_SECOND, _MINUTE, _DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)
_ADDRESS_KEYS = ("url", "url_env", "url_file")


def read_delivery(top: Section, receivers: Sequence[str]) -> DeliveryPolicy:
    """The policy; the usual one where nothing is said."""
    node = top.get("delivery")
    each = section(node, "delivery", top.problems) if node is not None else None
    if each is None:
        return USUAL_DELIVERY
    longest = read_duration(each, "longest_silence", least=_MINUTE)
    policy = DeliveryPolicy(
        fallback=read_reference(each, "fallback", receivers, "receiver"),
        storm=_read_storm(each),
        longest_silence=longest or USUAL_DELIVERY.longest_silence,
        dead_mans_switch=_read_switch(each),
    )
    each.finish()
    return policy


def _read_storm(each: Section) -> Storm:
    node = each.get("storm")
    storm = section(node, each.at("storm"), each.problems) if node is not None else None
    usual = USUAL_DELIVERY.storm
    if storm is None:
        return usual
    messages = storm.whole("messages", least=1)
    within = read_duration(storm, "within", least=_MINUTE, most=_DAY)
    storm.finish()
    return Storm(messages or usual.messages, within or usual.within)


def _read_switch(each: Section) -> DeadMansSwitch | None:
    node = each.get("dead_mans_switch")
    switch = section(node, each.at("dead_mans_switch"), each.problems) if node is not None else None
    if switch is None:
        return None
    given = [(name, switch.text(name)) for name in _ADDRESS_KEYS]
    address = tuple((name, text) for name, text in given if text is not None)
    if len(address) != 1:
        found = " and ".join(name for name, _ in address) or "none"
        switch.problems.add(
            switch.node,
            switch.place,
            f"needs exactly one of {', '.join(_ADDRESS_KEYS)}; got {found}",
        )
    every = read_duration(switch, "every", least=_SECOND, most=_DAY)
    private = switch.flag("private_addresses_allowed") or False
    switch.finish()
    if len(address) != 1:
        return None
    return DeadMansSwitch(address, every or _MINUTE, private)
