"""What signals of a cohort of requests say, with intervals. Pure.

`event_rate`: requests with the event within an age / all requests. `mean_rating`: mean of the
ratings. `win_rate`: (wins + ties/2) / judged. `pass_rate`: passed / judged. Printed from 50 rows
on; ratings, preferences and rubrics are of the requests that have one, and `coverage` says how
many those are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.checks.gates import Floor, measured_above
from monitor.checks.signals.spread import GroupedScores, mean_limits, share_limits
from monitor.contract_quality import SignalKind
from monitor.measurement import Outcome

MIN_ROWS = 50
WIN, TIE, LOSS = 1.0, 0.5, 0.0
METHODS = {
    SignalKind.EVENT: "event_rate",
    SignalKind.RATING: "mean_rating",
    SignalKind.PREFERENCE: "win_rate",
    SignalKind.RUBRIC: "pass_rate",
}
UNITS = dict.fromkeys(SignalKind, "share") | {SignalKind.RATING: "rating"}
_ROWS = {
    SignalKind.EVENT: "requests",
    SignalKind.RATING: "rated requests",
    SignalKind.PREFERENCE: "judged requests",
    SignalKind.RUBRIC: "judged requests",
}


def event_rate(scores: GroupedScores, detail: Mapping[str, Any]) -> Outcome:
    """Share of requests with the event; `scores` holds every request, 1 with the event, else 0."""
    return _share(SignalKind.EVENT, scores, detail)


def win_rate(scores: GroupedScores, detail: Mapping[str, Any]) -> Outcome:
    """Share of wins where a tie is half a win and half a loss; scores are 1, 0.5 and 0."""
    return _share(SignalKind.PREFERENCE, scores, detail)


def pass_rate(scores: GroupedScores, detail: Mapping[str, Any]) -> Outcome:
    """Share of judged requests that pass the rubric's point."""
    return _share(SignalKind.RUBRIC, scores, detail)


def mean_rating(
    scores: GroupedScores, scale: tuple[float, float], detail: Mapping[str, Any]
) -> Outcome:
    """Mean of ratings on a scale, with t limits."""
    limits = mean_limits(scores, *scale) if scores.n >= 2 else None
    return _measured(SignalKind.RATING, scores, limits, detail)


def signal_outcome(
    kind: SignalKind,
    scores: GroupedScores,
    scale: tuple[float, float] | None,
    detail: Mapping[str, Any],
) -> Outcome:
    """The outcome of any kind of signal; a rating needs its scale."""
    if kind is SignalKind.RATING:
        if scale is None:
            raise AssertionError("a contract with a rating that has no scale can't be made")
        return mean_rating(scores, scale, detail)
    return _share(kind, scores, detail)


def _share(kind: SignalKind, scores: GroupedScores, detail: Mapping[str, Any]) -> Outcome:
    return _measured(kind, scores, share_limits(scores) if scores.n else None, detail)


def _measured(
    kind: SignalKind,
    scores: GroupedScores,
    limits: tuple[float, float] | None,
    detail: Mapping[str, Any],
) -> Outcome:
    floor = Floor(scores.n, MIN_ROWS, _ROWS[kind])
    undefined = f"no {_ROWS[kind]}"
    told = {**detail, "interval": "clustered by entity" if scores.clustered else "independent rows"}
    return measured_above((floor,), scores.mean, scores.n, limits, told, undefined)
