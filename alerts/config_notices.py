"""Receivers that are for notices only: what alerts.yaml must not entrust to them.

Where a route leads is decided by labels, message by message; such a channel then refuses the
message for good, and it is told on the fallback. Here is refused what is wrong in every case.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import yaml

from alerts.model import Severity
from alerts.yaml_source import Section


def check_notices_only(top: Section, rules: Sequence[Section], limited: Collection[str]) -> None:
    """Report rules above a notice that name such a receiver, and such a fallback."""
    for rule in rules:
        name, severity = rule.raw_text("receiver"), rule.raw_text("severity")
        if name in limited and severity not in ("", Severity.NOTICE):
            rule.complain(
                "receiver",
                f"{name!r} takes notices only, this rule is a {severity}; name another receiver",
            )
    fallback = _fallback_of(top)
    if fallback is not None and fallback.value in limited:
        top.problems.add(
            fallback,
            "delivery.fallback",
            f"{fallback.value!r} takes notices only; lost pages must reach another receiver",
        )


def _fallback_of(top: Section) -> yaml.ScalarNode | None:
    delivery = top.nodes.get("delivery")
    if not isinstance(delivery, yaml.MappingNode):
        return None
    found = (value for key, value in delivery.value if key.value == "fallback")
    return next((value for value in found if isinstance(value, yaml.ScalarNode)), None)
