"""Reviews as people read them: how far they are, what they say of all requests, who agrees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.errors import UnknownSubject
from monitor.reports.database import reading
from monitor.store.reviews import Draw, draws
from monitor.store.tables import model, review_draw
from monitor.windows import Window

AGREEMENT = ("agreement", "kappa", "alpha", "ac1")
"""Measures of agreement in the order in which they are told."""


@dataclass(frozen=True)
class Number:
    """A number with its interval, or the reason why there is none."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None
    detail: Mapping[str, Any]

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Number:
        """From what is stored."""
        return cls(
            *(kept.get("value"), kept.get("low"), kept.get("high"), int(kept["n"])),
            *(kept.get("reason"), kept.get("detail", {})),
        )


@dataclass(frozen=True)
class SignalResult:
    """What the ratings of one signal say."""

    name: str
    method: str
    unit: str
    estimate: Number
    agreement: Mapping[str, Number]
    kappa_misleads: bool
    by_rater: Mapping[str, Mapping[str, float]]
    strata: Mapping[str, Mapping[str, Any]]
    disagreements: int
    disagreed: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class ReviewFacts:
    """A review as it was known at a moment; `signals` is empty before the first rating."""

    name: str
    window: Window
    population: int
    drawn: int
    drawn_at: datetime
    drawn_by: str
    leg: str
    importance: str
    by: tuple[str, ...]
    seed: int
    raters: tuple[str, ...]
    asked_signals: tuple[str, ...]
    known_at: datetime | None
    progress: Mapping[str, Mapping[str, int]]
    signals: tuple[SignalResult, ...]

    @property
    def population_words(self) -> str:
        """Whom the estimates are about."""
        return f"{self.population:,} answered requests on the leg {self.leg}, {self.window}"

    @property
    def given(self) -> int:
        """Ratings that came back."""
        return sum(one["given"] for one in self.progress.values())

    @property
    def asked(self) -> int:
        """Ratings that were asked for; known from the first one on."""
        return sum(one["asked"] for one in self.progress.values())


def reviews(
    engine: Engine, project_id: int, model_id: int, known_by: datetime | None = None
) -> tuple[ReviewFacts, ...]:
    """All reviews of a model, the newest first; as known at a moment."""
    with reading(engine, project_id) as connection:
        return read_reviews(connection, project_id, model_id, known_by)


def read_reviews(
    connection: Connection, project_id: int, model_id: int, known_by: datetime | None
) -> tuple[ReviewFacts, ...]:
    """The same inside a transaction."""
    return tuple(
        _facts(made, known_by)
        for made in draws(connection, project_id, model_id)
        if known_by is None or made.drawn_at <= known_by
    )


def models_with(engine: Engine, project_id: int, name: str) -> tuple[str, ...]:
    """Models that have a review of this name; UnknownSubject when none has."""
    query = (
        sa.select(model.c.name, review_draw.c.name)
        .join_from(review_draw, model, model.c.id == review_draw.c.model_id)
        .where(review_draw.c.project_id == project_id)
        .order_by(model.c.name, review_draw.c.name)
    )
    with reading(engine, project_id) as connection:
        found = [(row[0], row[1]) for row in connection.execute(query)]
    mine = tuple(of_model for of_model, its_name in found if its_name == name)
    if not mine:
        names = ", ".join(dict.fromkeys(its_name for _, its_name in found)) or "none yet"
        raise UnknownSubject(f"no review {name!r}; there are: {names}")
    return mine


def review(
    engine: Engine, project_id: int, model_id: int, name: str, known_by: datetime | None = None
) -> ReviewFacts:
    """One review; UnknownSubject names those there are."""
    found = reviews(engine, project_id, model_id, known_by)
    for one in found:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in found) or "none yet"
    raise UnknownSubject(f"no review {name!r}; there are: {names}")


def _facts(made: Draw, known_by: datetime | None) -> ReviewFacts:
    plan = made.plan
    results = [
        (at, one["body"])
        for one in plan["results"]
        for at in (datetime.fromisoformat(one["known_at"]),)
        if known_by is None or at <= known_by
    ]
    known_at, body = results[-1] if results else (None, {"progress": {}, "signals": {}})
    return ReviewFacts(
        name=made.name,
        window=made.window,
        population=made.population,
        drawn=plan["drawn"],
        drawn_at=made.drawn_at,
        drawn_by=made.drawn_by,
        leg=plan["leg"],
        importance=plan["importance"],
        by=tuple(plan["by"]),
        seed=plan["seed"],
        raters=tuple(plan["raters"]),
        asked_signals=tuple(plan["signals"]),
        known_at=known_at,
        progress=body["progress"],
        signals=tuple(_signal(name, kept) for name, kept in body["signals"].items()),
    )


def _signal(name: str, kept: Mapping[str, Any]) -> SignalResult:
    return SignalResult(
        name=name,
        method=kept["method"],
        unit=kept["unit"],
        estimate=Number.of(kept["estimate"]),
        agreement={
            kind: Number.of(kept["agreement"][kind])
            for kind in AGREEMENT
            if kind in kept["agreement"]
        },
        kappa_misleads=bool(kept["kappa_misleads"]),
        by_rater=kept["by_rater"],
        strata=kept["strata"],
        disagreements=int(kept["disagreements"]),
        disagreed=tuple(kept["disagreed"]),
    )
