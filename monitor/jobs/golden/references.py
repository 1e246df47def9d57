"""Which deployment's replay a run is held against. Pure but for the reading it is handed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from monitor.deployment import Tags
from monitor.errors import UnknownSubject
from monitor.golden import GoldenSet, replay_leg
from monitor.jobs.golden.versus import Side
from monitor.store.golden import PassedRun

There = Callable[[str], list[int]]
Read = Callable[[str, int], Side]


@dataclass(frozen=True)
class Known:
    """What is known of a set's version: its cases, deployments, and those that passed it."""

    content: GoldenSet
    version: int
    tags: Mapping[int, Tags]
    names: Mapping[int, str]
    passed: tuple[PassedRun, ...]


def reference_side(
    known: Known, this: Side, wanted: str | None, there: There, read: Read
) -> Side | None:
    """The side to compare with; None when nothing was asked for and nobody else has passed.

    `wanted` is a run, or a deployment's number or name: then its newest run that passed.
    Raises UnknownSubject when that is not to be found.
    """
    if wanted is None:
        others = (one for one in known.passed if one.deployment_id != this.deployment_id)
        newest = next(others, None)
        return read(newest.leg, newest.deployment_id) if newest else None
    leg = replay_leg(wanted)
    numbers = [n for n in there(leg) if (n, leg) != (this.deployment_id, this.leg)]
    if len(numbers) == 1:
        return read(leg, numbers[0])
    if len(numbers) > 1:
        told = ", ".join(map(str, numbers))
        raise UnknownSubject(
            f"run {wanted!r} holds answers of deployments {told}; name one of them instead"
        )
    return _of_deployment(known, wanted, read)


def _of_deployment(known: Known, wanted: str, read: Read) -> Side:
    named = {name: number for number, name in known.names.items()}
    number = int(wanted) if wanted.isascii() and wanted.isdigit() else named.get(wanted)
    for one in known.passed:
        if one.deployment_id == number:
            return read(one.leg, one.deployment_id)
    there = ", ".join(str(one.deployment_id) for one in known.passed) or "none yet"
    raise UnknownSubject(
        f"{wanted!r} is neither a run with answers to {known.content.name}@{known.version} nor a"
        f" deployment that passed it; deployments that passed: {there}"
    )
