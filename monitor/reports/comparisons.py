"""Comparisons of deployments as people read them: the newest stored ones, or one made on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy.engine import Engine

from monitor.checks.comparison.compare import EPSILON
from monitor.compare_versions import Wanted, compare_versions
from monitor.errors import UnknownSubject
from monitor.records import LIVE_LEG
from monitor.reports.database import reading
from monitor.reports.measurements import finite
from monitor.reports.series import deployment_titles
from monitor.store.comparisons import StoredComparison, read_comparisons
from monitor.store.models import model_context
from monitor.windows import Window

SEED = 20_130_901
METRIC_COLUMNS = (
    *("metric", "unit", "crude_a", "crude_b", "adjusted_a", "adjusted_b"),
    *("difference", "low", "high", "level", "epsilon", "n_a", "n_b"),
    *("share_a", "share_b", "verdict", "reason", "method"),
)
OVERLAP_COLUMNS = ("slice", "a", "b", "a_shared", "b_shared")


@dataclass(frozen=True)
class ComparisonFacts:
    """A comparison of b with a. `id` and `made_by` are None when it was not stored.

    `a`, `b`: numbers of deployments; `a_title`, `b_title` their names. `body`: see `results`.
    """

    id: int | None
    a: tuple[int, ...]
    b: tuple[int, ...]
    a_title: str
    b_title: str
    leg: str
    window: Window
    verdict: str
    body: Mapping[str, Any]
    made_by: str | None
    known_at: datetime

    @property
    def sentence(self) -> str:
        """The verdict in a sentence."""
        return str(self.body.get("sentence", ""))

    @property
    def differs(self) -> str:
        """The tags that differ, in a sentence."""
        return str(self.body.get("differs", ""))

    @property
    def results(self) -> tuple[Mapping[str, Any], ...]:
        """One result a factor; a confounded comparison has one with the factor None."""
        return tuple(self.body.get("results") or ())


def comparisons(
    engine: Engine,
    project_id: int,
    model_id: int,
    known_by: datetime | None = None,
    limit: int = 50,
) -> tuple[ComparisonFacts, ...]:
    """Stored comparisons of a model, newest first, as known at a moment."""
    with reading(engine, project_id) as connection:
        found = read_comparisons(connection, project_id, model_id, known_by=known_by, limit=limit)
        titles = deployment_titles(connection, project_id, model_id)
    return tuple(facts_of(one, titles) for one in found)


def newest_comparison(
    engine: Engine,
    project_id: int,
    model_id: int,
    a: tuple[int, ...],
    b: tuple[int, ...],
    known_by: datetime | None = None,
) -> ComparisonFacts | None:
    """The newest stored comparison of exactly these deployments, as known at a moment."""
    with reading(engine, project_id) as connection:
        found = read_comparisons(
            connection, project_id, model_id, sides=(a, b), known_by=known_by, limit=1
        )
        titles = deployment_titles(connection, project_id, model_id)
    return facts_of(found[0], titles) if found else None


def comparison_now(
    engine: Engine,
    project_id: int,
    model_name: str,
    a: tuple[int, ...],
    b: tuple[int, ...],
    window: Window | None = None,
    epsilon: float = EPSILON,
    canary: bool = False,
    leg: str = LIVE_LEG,
) -> ComparisonFacts:
    """Compare now, from the parts there are; nothing is stored.

    Raises UnknownSubject and ConfigurationError as `compare_versions` does.
    """
    now = datetime.now(UTC)
    wanted = Wanted(a, b, window, leg, epsilon, canary)
    with reading(engine, project_id) as connection:
        model = model_context(connection, project_id, model_name, b"")
        if model is None:
            raise UnknownSubject(f"this project has no model {model_name!r}")
        made = compare_versions(connection, model, wanted, now, np.random.default_rng(SEED))
        titles = deployment_titles(connection, project_id, model.model_id)
    return ComparisonFacts(
        id=None,
        a=made.comparison.contrast.a,
        b=made.comparison.contrast.b,
        a_title=_title(a, titles),
        b_title=_title(b, titles),
        leg=leg,
        window=made.window,
        verdict=made.comparison.verdict.value,
        body=made.body,
        made_by=None,
        known_at=now,
    )


def facts_of(stored: StoredComparison, titles: Mapping[int, str]) -> ComparisonFacts:
    """A stored comparison with the names of its deployments."""
    return ComparisonFacts(
        id=stored.id,
        a=stored.a,
        b=stored.b,
        a_title=_title(stored.a, titles),
        b_title=_title(stored.b, titles),
        leg=stored.leg,
        window=stored.window,
        verdict=stored.verdict,
        body=stored.body,
        made_by=stored.made_by,
        known_at=stored.known_at,
    )


def metric_frame(result: Mapping[str, Any]) -> pd.DataFrame:
    """A row a metric: crude and adjusted values of both sides, b - a with its interval, rows."""
    rows = []
    for line in result.get("metrics") or ():
        told = line.get("difference") or {}
        rows.append(
            (
                *(line["title"], line["unit"], *_numbers(line["crude"])),
                *(*_numbers(line["adjusted"]), finite(told.get("value"))),
                *(finite(told.get(name)) for name in ("low", "high", "level")),
                *(finite(line.get("epsilon")), *line["n"], *_numbers(line["shares"])),
                *(line["verdict"], told.get("reason"), told.get("interval_method")),
            )
        )
    return pd.DataFrame.from_records(rows, columns=list(METRIC_COLUMNS))


def overlap_frame(result: Mapping[str, Any]) -> pd.DataFrame:
    """A row a slice of the traffic: requests of a and b, and of them those on common support."""
    rows = [
        tuple(row[name] for name in OVERLAP_COLUMNS)
        for row in (result.get("overlap") or {}).get("slices") or ()
    ]
    return pd.DataFrame.from_records(rows, columns=list(OVERLAP_COLUMNS))


def canary_frame(one: Mapping[str, Any]) -> pd.DataFrame:
    """A row a slot of time: pairs, and log10 of the capital of both bets."""
    steps = [tuple(step) for step in one.get("steps") or ()]
    return pd.DataFrame.from_records(steps, columns=["slot", "pairs", "harm", "no_worse"])


def _numbers(values: Sequence[Any]) -> list[float | None]:
    return [finite(value) for value in values]


def _title(numbers: Sequence[int], titles: Mapping[int, str]) -> str:
    return " + ".join(titles.get(number, f"deployment {number}") for number in numbers)
