"""When one alert keeps another one quiet: no drift messages while no traffic arrives at all.

Pure values.
"""

from __future__ import annotations

from dataclasses import dataclass

from alerts.rules import Matcher


@dataclass(frozen=True)
class Inhibition:
    """While an alert that fits `source` fires, openings of those that fit `target` wait.

    Both must carry every label of `equal` with the same value: a label that both lack is no match,
    because a lost alarm costs more than a spare one. Matchers see what routes see.
    """

    name: str
    source: tuple[Matcher, ...]
    target: tuple[Matcher, ...]
    equal: tuple[str, ...]
