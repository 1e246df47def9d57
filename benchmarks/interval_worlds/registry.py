"""All worlds, in the order of the table."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.interval_worlds.base import World
from benchmarks.interval_worlds.groups import group_worlds
from benchmarks.interval_worlds.maturity import maturity_worlds
from benchmarks.interval_worlds.quality import quality_worlds
from benchmarks.interval_worlds.sides import side_worlds


def worlds_by_key() -> Mapping[str, World]:
    """Every world under its key; two of one key are a programming error."""
    found: dict[str, World] = {}
    for world in (*quality_worlds(), *maturity_worlds(), *group_worlds(), *side_worlds()):
        if world.key in found:
            raise AssertionError(f"two worlds are called {world.key!r}")
        found[world.key] = world
    return found
