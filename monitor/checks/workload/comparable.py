"""Whether numbers of two workloads may be held against each other. Pure.

A latency of 200-token prompts says nothing of 4,000-token prompts. Numbers are comparable only
when lengths, arrivals and concurrency are known on both sides and close; what is unknown on one
side is a reason to refuse, never a match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from monitor.checks.workload.card import CARD_VERSION, Card, Spread

LENGTH_RATIO = 1.25
RATE_RATIO = 1.5
CONCURRENCY_RATIO = 1.5
DISPERSION_RATIO = 3.0
MISSING_SHARE = 0.05
SAME_TAGS = ("accelerator", "accelerator_count", "hardware", "instance_type", "cpu_model")


class UnreadableCard(ValueError):
    """The text is no workload card; the message says where and what."""


@dataclass(frozen=True)
class NumberPair:
    """One number on both sides; `ratio` is ours over theirs, None when theirs is 0."""

    name: str
    unit: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float | None:
        return self.ours / self.theirs if self.theirs else None


def read_card(value: Any) -> Card:
    """A card from its JSON; raises UnreadableCard naming every place."""
    try:
        card = TypeAdapter(Card).validate_python(value)
    except ValidationError as error:
        places = "; ".join(
            f"{'.'.join(map(str, each['loc'])) or 'card'}: {each['msg']}" for each in error.errors()
        )
        raise UnreadableCard(places[:1000]) from None
    if card.version != CARD_VERSION:
        raise UnreadableCard(
            f"version: it is {card.version}, this program reads {CARD_VERSION};"
            " write the card again with `inferwatch workload MODEL --json`"
        )
    return card


def reasons_against(ours: Card, theirs: Card) -> list[str]:
    """Why numbers of these two may not be compared; empty when they may."""
    return [
        *_scenario(ours, theirs),
        *_lengths(ours.lengths, theirs.lengths),
        *_arrivals(ours, theirs),
        *_hardware(ours, theirs),
    ]


def number_pairs(ours: Card, theirs: Card) -> list[NumberPair]:
    """Timings that both sides have; call it only when there is no reason against."""
    pairs = []
    for name in sorted(ours.timings.keys() & theirs.timings.keys()):
        one, other = ours.timings[name], theirs.timings[name]
        if one.unit != other.unit:
            continue
        pairs += [
            NumberPair(f"{name} p50", one.unit, one.p50, other.p50),
            NumberPair(f"{name} p95", one.unit, one.p95, other.p95),
        ]
    return pairs


def _scenario(ours: Card, theirs: Card) -> Iterator[str]:
    if ours.scenario is None or theirs.scenario is None:
        yield "the scenario (server, offline, …) is not known on both sides"
    elif ours.scenario != theirs.scenario:
        yield f"the scenario is {ours.scenario} here and {theirs.scenario} there"


def _lengths(ours: Mapping[str, Spread], theirs: Mapping[str, Spread]) -> Iterator[str]:
    if not ours and not theirs:
        yield "no length (a column with the role count) is known on either side"
    for name in sorted(ours.keys() | theirs.keys()):
        one, other = ours.get(name), theirs.get(name)
        if one is None or other is None:
            where = "here" if one is None else "there"
            yield f"{name} is not known {where}"
        elif one.unit != other.unit:
            units = one.unit or "no unit", other.unit or "no unit"
            yield f"{name} is in {units[0]} here and in {units[1]} there"
        else:
            yield from _length(name, one, other)


def _length(name: str, one: Spread, other: Spread) -> Iterator[str]:
    for side, word in ((one, "here"), (other, "there")):
        if side.of and 1 - side.n / side.of > MISSING_SHARE:
            yield f"{name} is missing for {1 - side.n / side.of:.0%} of the requests {word}"
    for quantile in ("p50", "p95"):
        a, b = getattr(one, quantile), getattr(other, quantile)
        if _apart(a, b, LENGTH_RATIO):
            yield f"{name} {quantile} is {a:,.4g} here and {b:,.4g} there"


def _arrivals(ours: Card, theirs: Card) -> Iterator[str]:
    if ours.arrivals is None or theirs.arrivals is None:
        yield "arrivals are not known on both sides"
        return
    for attribute, word, most in (
        ("rate", "requests per second", RATE_RATIO),
        ("peak_rate", "requests per second in the busiest five minutes", RATE_RATIO),
        ("concurrency_mean", "mean concurrency", CONCURRENCY_RATIO),
        ("concurrency_p95", "p95 of concurrency", CONCURRENCY_RATIO),
        ("dispersion", "dispersion of arrivals", DISPERSION_RATIO),
    ):
        a, b = getattr(ours.arrivals, attribute), getattr(theirs.arrivals, attribute)
        if a is None or b is None:
            yield f"{word} is not known {'here' if a is None else 'there'}"
        elif _apart(a, b, most):
            yield f"{word}: {a:,.4g} here and {b:,.4g} there"


def _hardware(ours: Card, theirs: Card) -> Iterator[str]:
    named = [tag for tag in SAME_TAGS if tag in ours.tags or tag in theirs.tags]
    if not named:
        yield "the hardware is not known on both sides"
    for tag in named:
        a, b = ours.tags.get(tag), theirs.tags.get(tag)
        if a is None or b is None:
            yield f"{tag} is not known {'here' if a is None else 'there'}"
        elif a != b:
            yield f"{tag} is {a} here and {b} there"


def _apart(a: float, b: float, ratio: float) -> bool:
    low, high = sorted((a, b))
    return high > 0 and (low <= 0 or high / low > ratio)
