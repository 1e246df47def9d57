"""Durations as people write them in alerts.yaml and commands: `30s`, `5m`, `1h30m`, `14d`.

Pure.
"""

from __future__ import annotations

import re
from datetime import timedelta

import yaml

from alerts.yaml_source import Problems, Section, describe

LONGEST = timedelta(days=366)
FORM = "a duration such as 30s, 5m, 1h30m or 14d"
_PARTS = re.compile(r"(?:(\d{1,5})d)?(?:(\d{1,6})h)?(?:(\d{1,7})m)?(?:(\d{1,9})s)?")


def parse_duration(text: str) -> timedelta:
    """The duration that a text names: days, hours, minutes, seconds in this order, each with its
    letter; a bare 0 needs none.

    Raises ValueError, with the form and the text in its message, for anything else and for more
    than 366 days.
    """
    if text.strip() == "0":
        return timedelta(0)
    parts = _PARTS.fullmatch(text.strip())
    if parts is None or not any(parts.groups()):
        raise ValueError(f"must be {FORM}, got {text.strip()[:60]!r}")
    days, hours, minutes, seconds = (int(part or 0) for part in parts.groups())
    duration = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    if duration > LONGEST:
        raise ValueError(f"must not exceed {duration_text(LONGEST)}, got {text.strip()!r}")
    return duration


def duration_text(duration: timedelta) -> str:
    """The shortest way to write a duration of whole seconds, such as `1h30m`."""
    left = int(duration.total_seconds())
    written = ""
    for letter, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        written += f"{count}{letter}" if count else ""
    return written or "0s"


def read_duration(
    each: Section, name: str, *, least: timedelta = timedelta(0), most: timedelta = LONGEST
) -> timedelta | None:
    """The duration under a key; None when it is absent, or wrong and reported."""
    node = each.get(name)
    return None if node is None else duration_of(node, each.at(name), each.problems, least, most)


def duration_of(
    node: yaml.Node,
    place: str,
    problems: Problems,
    least: timedelta = timedelta(0),
    most: timedelta = LONGEST,
) -> timedelta | None:
    """The duration that a node holds; None, reported, when it holds none or is out of range."""
    if not isinstance(node, yaml.ScalarNode):
        problems.add(node, place, f"must be {FORM}, got {describe(node)}")
        return None
    try:
        duration = parse_duration(str(node.value))
    except ValueError as error:
        problems.add(node, place, str(error))
        return None
    if not least <= duration <= most:
        span = f"{duration_text(least)} to {duration_text(most)}"
        problems.add(node, place, f"must lie within {span}, got {str(node.value)!r}")
        return None
    return duration
