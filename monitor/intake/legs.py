"""Names of legs: live, batch, `shadow:NAME` or `replay:RUN`. Legs never mix in a profile."""

from __future__ import annotations

import re

LEG_PATTERN = r"^(live|batch|(shadow|replay):[A-Za-z0-9][A-Za-z0-9._-]{0,99})$"
_LEG = re.compile(LEG_PATTERN, re.ASCII)


def is_leg(text: str) -> bool:
    """Whether the text names a leg."""
    return _LEG.fullmatch(text) is not None


def is_replay(leg: str) -> bool:
    """Whether a leg holds a replay: chosen cases, which no check of traffic may judge."""
    return leg.startswith("replay:")
