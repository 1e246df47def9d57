"""What may be said of the promise about drift alarms: its state, and the sentences. Pure.

A history can keep, leave open or refute a promise: kept when the 95 % upper limit of its rate is at
most the promise, refuted when so many incidents would be a surprise (5 %) if the promise held,
open in between. A short history is open, never refuted, by its length alone: less than a month is
taken for one, as the promise is about months. What nobody has judged may be real, so it can keep a
promise from being verified, but only alarms told false refute it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from scipy import special

from monitor.checks.promise.backtest import upper_limit
from monitor.checks.promise.baseline import MIN_WEEKS

SURPRISE = 0.05
MONTH_DAYS = 30
IF = "if coming weeks behave like the healthy weeks learned from"


class PromiseState(StrEnum):
    """How far the promise of a model has come."""

    AVAILABLE = "available"
    NOT_YET_VERIFIED = "not_yet_verified"
    NOT_AVAILABLE = "not_available"
    WAITING_FOR_HISTORY = "waiting_for_history"
    STATIC_REFERENCE = "static_reference"

    @property
    def words(self) -> str:
        """For people."""
        return _WORDS[self]


_WORDS = {
    PromiseState.AVAILABLE: "promise available",
    PromiseState.NOT_YET_VERIFIED: "promise available, not yet verified",
    PromiseState.NOT_AVAILABLE: "promise not available",
    PromiseState.WAITING_FOR_HISTORY: "promise waits for history",
    PromiseState.STATIC_REFERENCE: "promise not available from a reference without times",
}


class Evidence(StrEnum):
    """What a history says of a promise."""

    KEPT = "kept"
    OPEN = "open"
    REFUTED = "refuted"


@dataclass(frozen=True)
class History:
    """Incidents that were or may have been false in clean days: told false, or judged by nobody.

    `explained` were judged a fault or the new normal and don't count; `days` are those outside of
    them. The time of an incident that was false, or may have been, is clean: nothing was wrong.
    """

    days: float = 0.0
    told_false: int = 0
    unjudged: int = 0
    explained: int = 0

    @property
    def incidents(self) -> int:
        """Those that count."""
        return self.told_false + self.unjudged

    @property
    def upper(self) -> float | None:
        """95 % upper limit of their rate a month (exact Poisson); None without a day."""
        return upper_limit(self.incidents, self.days / MONTH_DAYS) if self.days > 0 else None

    def evidence(self, promise: float) -> Evidence:
        """What it says of a promise of X a month."""
        return evidence_of(self.incidents, self.days, promise, self.told_false)


@dataclass(frozen=True)
class BacktestFacts:
    """A stored backtest: `incidents` as (opened, columns), `below` counts p-values by level."""

    at: datetime
    promise: float
    weeks: tuple[datetime, ...]
    left_out: int
    days: float
    incidents: tuple[tuple[datetime, tuple[str, ...]], ...]
    upper: float
    p_values: int
    below: Mapping[str, int]

    @property
    def evidence(self) -> Evidence:
        """What it says of the promise it was made under."""
        return evidence_of(len(self.incidents), self.days, self.promise)


def evidence_of(incidents: int, days: float, promise: float, false: int | None = None) -> Evidence:
    """What so many incidents in so many days say of a promise of X a 30 days.

    `false` of them are known to be so; all without it.
    """
    if days <= 0:
        return Evidence.OPEN
    months = days / MONTH_DAYS
    if upper_limit(incidents, months) <= promise:
        return Evidence.KEPT
    # P(K >= k) of a Poisson count with mean m is the regularised incomplete gamma function P(k, m).
    known = incidents if false is None else false
    surprise = float(special.gammainc(known, promise * max(months, 1.0))) if known else 1.0
    return Evidence.REFUTED if surprise < SURPRISE else Evidence.OPEN


def days_to_verify(promise: float) -> int:
    """Clean days without any incident that verify a promise: 90 for one a month."""
    return math.ceil(MONTH_DAYS * upper_limit(0, 1.0) / promise)


def incidents_in_words(count: float) -> str:
    """`1 false drift incident`, `0.5 false drift incidents`."""
    return f"{count:g} false drift incident{'' if count == 1 else 's'}"


def promise_sentence(promise: float, history: History) -> str:
    """The promise and the model's own history beside it."""
    said = f"At most {incidents_in_words(promise)} a month in expectation, {IF}."
    if history.upper is None:
        return f"{said} Your history: no clean day was judged yet."
    return (
        f"{said} Your history: {_count(history.incidents)} in {history.days:.1f} clean days,"
        f" 95 % upper bound {history.upper:.2g} a month."
    )


def history_sentence(history: History) -> str:
    """Which incidents count in it."""
    return (
        f"Counted: {history.told_false} told false and {history.unjudged} that nobody has judged;"
        f" {history.explained} judged a fault or the new normal don't count."
    )


def state_of(
    promise: float,
    history: History,
    withheld: Mapping[str, str],
    columns: int,
    backtest: BacktestFacts | None,
) -> tuple[PromiseState, tuple[str, ...]]:
    """The state of a promise that was learned for, and why, in sentences."""
    if len(withheld) >= columns:
        return PromiseState.NOT_AVAILABLE, ("No watched column can be promised for.",)
    refuted = [*_refuted_by_history(promise, history), *_refuted_by_backtest(backtest)]
    if refuted:
        return PromiseState.NOT_AVAILABLE, tuple(refuted)
    if history.evidence(promise) is Evidence.KEPT:
        return PromiseState.AVAILABLE, ()
    return PromiseState.NOT_YET_VERIFIED, (not_yet(promise, history.incidents, history.days),)


def not_yet(promise: float, incidents: int, days: float) -> str:
    """Why a promise is neither kept nor refuted."""
    needed = days_to_verify(promise)
    if days < needed:
        return f"{days:.0f} clean days so far; {needed} without an incident would verify it."
    return (
        f"{_count(incidents)} in {days:.0f} days are no surprise under the promise, but too many"
        " to verify it; more clean days will tell."
    )


def _refuted_by_history(promise: float, history: History) -> list[str]:
    if history.evidence(promise) is not Evidence.REFUTED:
        return []
    return [
        f"{history.told_false} alarms were told false in {history.days:.0f} clean days: more than"
        " the promise allows by chance. The levels were lowered for them."
    ]


def _refuted_by_backtest(backtest: BacktestFacts | None) -> list[str]:
    if backtest is None or backtest.evidence is not Evidence.REFUTED:
        return []
    return [
        f"The backtest opened {_count(len(backtest.incidents))} in {backtest.days:.0f} days taken"
        " for healthy: more than the promise allows by chance. Look whether those weeks were sound."
    ]


def backtest_sentences(found: BacktestFacts) -> tuple[str, ...]:
    """A backtest in words: what was tested, what came of it, what it says of the promise."""
    said = [
        f"Backtest of {len(found.weeks)} healthy weeks ({found.days:.1f} days), each judged by a"
        f" baseline without it: {_count(len(found.incidents))}, 95 % upper bound"
        f" {found.upper:.2g} a month."
    ]
    if found.p_values:
        shares = [
            f"{100 * n / found.p_values:.2f} % were at most {p}" for p, n in found.below.items()
        ]
        said.append(f"Of {found.p_values:,} p-values {', '.join(shares)}.")
    if found.left_out:
        weeks = "week was" if found.left_out == 1 else "weeks were"
        said.append(f"{found.left_out} {weeks} left out for an incident that nobody has cleared.")
    match found.evidence:
        case Evidence.KEPT:
            said.append("The promise held in these weeks.")
        case Evidence.OPEN:
            why = not_yet(found.promise, len(found.incidents), found.days)
            said.append(f"Not yet verified: {why}")
        case Evidence.REFUTED:
            said.append("Promise not available: these are more incidents than it allows by chance.")
    return tuple(said)


def backtest_from_json(kept: Mapping[str, Any]) -> BacktestFacts:
    """Read what the backtest stored."""
    return BacktestFacts(
        at=datetime.fromisoformat(kept["at"]),
        promise=float(kept["promise"]),
        weeks=_moments(kept["weeks"]),
        left_out=int(kept["left_out"]),
        days=float(kept["days"]),
        incidents=tuple(
            (datetime.fromisoformat(one["opened"]), tuple(one["columns"]))
            for one in kept["incidents"]
        ),
        upper=float(kept["upper"]),
        p_values=int(kept["p_values"]),
        below={str(level): int(n) for level, n in kept["below"].items()},
    )


def _count(incidents: int) -> str:
    return f"{incidents} incident{'' if incidents == 1 else 's'}"


def _moments(texts: Sequence[str]) -> tuple[datetime, ...]:
    return tuple(datetime.fromisoformat(text) for text in texts)


def waiting(weeks: int) -> tuple[PromiseState, tuple[str, ...]]:
    """Too few healthy weeks to learn from."""
    said = (
        f"{weeks} of {MIN_WEEKS} healthy weeks of history are there. Until then only deployments"
        " that differ from each other alarm."
    )
    return PromiseState.WAITING_FOR_HISTORY, (said,)


def static_reference() -> tuple[PromiseState, tuple[str, ...]]:
    """A reference file, and no requests yet."""
    said = (
        "The reference is a file of rows without times: it can't show how hours, weekdays and weeks"
        " differ when all is well. Distances to it are measured all the same; the promise needs"
        f" {MIN_WEEKS} healthy weeks of requests."
    )
    return PromiseState.STATIC_REFERENCE, (said,)
