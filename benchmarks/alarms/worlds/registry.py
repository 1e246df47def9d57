"""Every world by its name. A new world is a file and one entry here."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.alarms.worlds import categories, disturbed, nights, regimes, seasonal
from benchmarks.alarms.worlds.base import World

WORLDS: Mapping[str, World] = {
    world.name: world
    for world in (
        *seasonal.WORLDS,
        *disturbed.WORLDS,
        *categories.WORLDS,
        *regimes.WORLDS,
        *nights.WORLDS,
    )
}
