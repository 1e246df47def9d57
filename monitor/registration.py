"""Registered deployments: what is known of a process beside what its requests say. Pure.

A registration holds version tags, the marks it is found by (`joins`) and when it is valid. The
tags of a request come from the request itself, then from its resource (process, host), then from
the registration that matches at its event time. A contradiction is kept, never overwritten.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from monitor.deployment import TAG_NAMES, Tags, is_placeholder, storable_tag

MAX_JOINS = 20
MAX_JOIN_LENGTH = 500
MAX_NAME_LENGTH = 200


class TagSource(StrEnum):
    """Who says a tag; earlier ones are believed before later ones."""

    REQUEST = "request"
    RESOURCE = "resource"
    REGISTRATION = "registration"


@dataclass(frozen=True)
class Registration:
    """One registration. It holds for requests whose marks include all of its joins, with event
    times in `[valid_from, valid_to)`; without an end it holds until the next one with the same
    joins.
    """

    number: int
    deployment: int
    tags: Tags
    joins: Mapping[str, str]
    valid_from: datetime
    valid_to: datetime | None = None

    def holds_at(self, moment: datetime) -> bool:
        """Whether its span holds the moment."""
        return self.valid_from <= moment and (self.valid_to is None or moment < self.valid_to)

    def matches(self, joins: Mapping[str, str]) -> bool:
        """Whether a request with these marks is one of its own."""
        return bool(self.joins) and all(joins.get(k) == v for k, v in self.joins.items())


@dataclass(frozen=True)
class TagConflict:
    """Two sources say different things of one tag. `used` None: neither was believed, as two
    registrations match a request and nothing says which one is meant.
    """

    tag: str
    used: str | None
    used_source: TagSource
    other: str
    other_source: TagSource


@dataclass(frozen=True)
class ResolvedTags:
    """What is known of one request: tags, who said each, and contradictions."""

    tags: Tags
    sources: Mapping[str, TagSource] = field(default_factory=dict)
    conflicts: tuple[TagConflict, ...] = ()


class RegistrationBook:
    """The registrations of one model, found by any of their marks."""

    def __init__(self, registrations: Iterable[Registration] = ()) -> None:
        self._by_mark: dict[tuple[str, str], list[Registration]] = defaultdict(list)
        for each in registrations:
            if each.joins:
                self._by_mark[min(each.joins.items())].append(each)

    def matching(self, joins: Mapping[str, str], moment: datetime) -> list[Registration]:
        """Registrations that hold for these marks at this moment: of those with equal joins the
        one that began last; of those that began together all.
        """
        found: dict[tuple[tuple[str, str], ...], list[Registration]] = defaultdict(list)
        for mark in joins.items():
            for each in self._by_mark.get(mark, ()):
                if each.holds_at(moment) and each.matches(joins):
                    found[tuple(sorted(each.joins.items()))].append(each)
        kept: list[Registration] = []
        for same in found.values():
            last = max(each.valid_from for each in same)
            kept += [each for each in same if each.valid_from == last]
        return kept


def resolve_tags(
    request: Mapping[str, str],
    resource: Mapping[str, str],
    matching: Sequence[Registration] = (),
) -> ResolvedTags:
    """The tags of one request out of its own claims, its resource's and its registrations'.

    Names that are no tags, values that mean "unknown" and texts that are no tag (too long, not
    printable) are left out.
    """
    registered, conflicts = _registered(matching)
    layers = (
        (TagSource.REQUEST, _known(request)),
        (TagSource.RESOURCE, _known(resource)),
        (TagSource.REGISTRATION, registered),
    )
    tags: dict[str, str] = {}
    sources: dict[str, TagSource] = {}
    for source, said in layers:
        for name, value in said.items():
            if name not in tags:
                tags[name], sources[name] = value, source
            elif tags[name] != value:
                conflicts.append(TagConflict(name, tags[name], sources[name], value, source))
    unsettled = [each for each in conflicts if each.used is not None or each.tag not in tags]
    return ResolvedTags(Tags.of(tags), sources, tuple(unsettled))


def _registered(matching: Sequence[Registration]) -> tuple[dict[str, str], list[TagConflict]]:
    """Tags that all registrations agree on, the closer fitting ones first; the rest are unknown.

    A registration whose joins include all of another's and more fits closer and goes before it.
    """
    found: dict[str, str] = {}
    unclear: dict[str, set[str]] = defaultdict(set)
    for each in matching:
        closer = [other for other in matching if other.joins.items() > each.joins.items()]
        for name, value in each.tags.known:
            if any(name in other.tags.as_dict() for other in closer):
                continue
            if found.setdefault(name, value) != value:
                unclear[name] |= {found[name], value}
    conflicts = [
        TagConflict(
            name, None, TagSource.REGISTRATION, " | ".join(sorted(values)), TagSource.REGISTRATION
        )
        for name, values in sorted(unclear.items())
    ]
    return {name: value for name, value in found.items() if name not in unclear}, conflicts


def _known(said: Mapping[str, str]) -> dict[str, str]:
    told = {
        name: value
        for name, value in said.items()
        if name in TAG_NAMES and isinstance(value, str) and storable_tag(value)
    }
    return Tags.of(told).as_dict()


def join_problems(joins: Mapping[str, object]) -> list[str]:
    """What is wrong with the marks of a registration, each with what to do; empty when nothing."""
    problems = []
    if len(joins) > MAX_JOINS:
        problems.append(f"joins has {len(joins)} marks; give at most {MAX_JOINS}")
    for name, value in list(joins.items())[: MAX_JOINS + 1]:
        if not isinstance(name, str) or not 0 < len(name) <= 100 or not name.isprintable():
            problems.append("a name in joins is 1 to 100 printable characters")
        elif not isinstance(value, str) or not 0 < len(value) <= MAX_JOIN_LENGTH:
            problems.append(f"joins.{name} is text of 1 to {MAX_JOIN_LENGTH} characters")
        elif not value.isprintable():
            problems.append(f"joins.{name} has characters that can't be printed")
        elif is_placeholder(value):
            problems.append(
                f"joins.{name} is {value!r}, which means unknown and would match strangers;"
                " leave it out"
            )
    return problems
