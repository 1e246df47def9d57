"""Which groups of version tags differ between two sets of deployments, and which can be told apart.

A factor is a group of tags (model, runtime, precision, hardware, …). Knows tags only, no numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from monitor.checks.context.tags import TagDifference
from monitor.deployment import TAG_GROUPS, Tags


@dataclass(frozen=True)
class Context:
    """Deployments of both sides that share every recorded tag outside one factor."""

    a: tuple[int, ...]
    b: tuple[int, ...]


@dataclass(frozen=True)
class IdentifiedFactor:
    """A factor whose effect can be told apart: both levels occur with all else held fixed."""

    factor: str
    contexts: tuple[Context, ...]

    @property
    def a(self) -> tuple[int, ...]:
        return tuple(sorted(number for context in self.contexts for number in context.a))

    @property
    def b(self) -> tuple[int, ...]:
        return tuple(sorted(number for context in self.contexts for number in context.b))


@dataclass(frozen=True)
class Contrast:
    """What differs between sides a and b, and which of the factors can be told apart.

    `differing`: every tag that differs in at least one pair, with the values of both sides joined
    by " | " (None: unknown on the whole side). `unrecorded`: factors of which no compared
    deployment says anything. `identified`: one-factor contrasts among the pairs; none of them is
    *confounded*.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    differing: tuple[TagDifference, ...]
    unrecorded: tuple[str, ...]
    identified: tuple[IdentifiedFactor, ...]

    @property
    def factors(self) -> tuple[str, ...]:
        """Groups of tags that differ, in the order of TAG_GROUPS."""
        return tuple(dict.fromkeys(difference.group for difference in self.differing))

    @property
    def confounded(self) -> bool:
        return not self.identified


def contrast(a: Mapping[int, Tags], b: Mapping[int, Tags]) -> Contrast:
    """Compare the tags of two sets of deployments, each not empty and without a common member.

    A pair of deployments identifies factor f when it differs in f alone. A tag counts as recorded
    when any compared deployment knows it; a recorded tag that both of a pair don't know is a
    difference, because two unknowns are never equal.
    """
    if not a or not b or a.keys() & b.keys():
        raise AssertionError("both sides name deployments, and no deployment stands on both")
    every = [tags.as_dict() for tags in (*a.values(), *b.values())]
    recorded = {name for known in every for name in known}
    pairs = {
        (one, other): _differing(a[one].as_dict(), b[other].as_dict(), recorded)
        for one in sorted(a)
        for other in sorted(b)
    }
    names = {name for differing in pairs.values() for name in differing}
    return Contrast(
        a=tuple(sorted(a)),
        b=tuple(sorted(b)),
        differing=tuple(_difference(name, a, b) for name in _in_order(names)),
        unrecorded=tuple(g for g, tags in TAG_GROUPS.items() if not recorded.intersection(tags)),
        identified=_identified(pairs),
    )


def _differing(
    left: Mapping[str, str], right: Mapping[str, str], recorded: Iterable[str]
) -> frozenset[str]:
    return frozenset(
        name for name in recorded if left.get(name) is None or left.get(name) != right.get(name)
    )


def _identified(
    pairs: Mapping[tuple[int, int], frozenset[str]],
) -> tuple[IdentifiedFactor, ...]:
    """One-factor pairs, joined where they share a deployment: those hold all else alike."""
    by_factor: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for pair, names in pairs.items():
        groups = {group_of(name) for name in names}
        if len(groups) == 1:
            by_factor[groups.pop()].append(pair)
    order = [group for group in TAG_GROUPS if group in by_factor]
    return tuple(IdentifiedFactor(group, _joined(by_factor[group])) for group in order)


def _joined(pairs: Iterable[tuple[int, int]]) -> tuple[Context, ...]:
    """Pairs that share a deployment agree in everything outside the factor: one context."""
    found: list[tuple[set[int], set[int]]] = []
    for one, other in pairs:
        touching = [held for held in found if one in held[0] or other in held[1]]
        left = {one}.union(*(held[0] for held in touching))
        right = {other}.union(*(held[1] for held in touching))
        found = [held for held in found if held not in touching] + [(left, right)]
    return tuple(
        Context(tuple(sorted(left)), tuple(sorted(right)))
        for left, right in sorted(found, key=lambda held: min(held[0]))
    )


def _difference(name: str, a: Mapping[int, Tags], b: Mapping[int, Tags]) -> TagDifference:
    return TagDifference(group_of(name), name, _levels(name, a), _levels(name, b))


def _levels(name: str, side: Mapping[int, Tags]) -> str | None:
    known = {tags.as_dict().get(name) for tags in side.values()}
    told = sorted(value for value in known if value is not None)
    if not told:
        return None
    return " | ".join([*told, *(["unknown"] if None in known else [])])


def group_of(tag: str) -> str:
    """The factor that a tag belongs to; KeyError when there is no such tag."""
    for group, names in TAG_GROUPS.items():
        if tag in names:
            return group
    raise KeyError(tag)


def _in_order(names: Iterable[str]) -> list[str]:
    wanted = set(names)
    return [name for group in TAG_GROUPS.values() for name in group if name in wanted]
