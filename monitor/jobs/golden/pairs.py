"""Shadow pairs: the same request id on the live leg and on a shadow leg, read in bounded chunks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from monitor.errors import InferwatchError
from monitor.jobs.base import JobContext
from monitor.jobs.golden.answers import Answers, answers_of_table, joined, no_answers
from monitor.profiles.arrays import Flags, Floats, Integers
from monitor.records import LIVE_LEG
from monitor.store.engine import Role, transaction
from monitor.store.profile_rows import read_blocks
from monitor.store.request_rows import leg_chunks
from monitor.windows import Grain, Window

SLACK = timedelta(minutes=10)
"""How much later (or earlier) than its live request a shadow request may be logged."""
MOST_ROWS = 1_000_000
_HOURS_AT_ONCE = 24


class TooManyRequests(InferwatchError):
    """The window holds more requests than are compared at once; choose a shorter one."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of one window: answer i of `live` beside answer i of `shadow`.

    `live_alone`, `shadow_alone`: requests of the window without a partner; `ambiguous`: requests
    left out because their id stands for several on one leg. `shadow_deployments` have requests on
    the shadow leg in the window, paired or not.
    """

    live: Answers
    shadow: Answers
    live_alone: int
    shadow_alone: int
    ambiguous: int
    shadow_deployments: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.live)

    def combinations(self) -> list[tuple[int, int, Integers]]:
        """(live deployment, shadow deployment, places of their pairs), the most pairs first."""
        both = np.column_stack([self.live.deployment_id, self.shadow.deployment_id])
        distinct, place, counts = np.unique(both, axis=0, return_inverse=True, return_counts=True)
        return [
            (int(distinct[i, 0]), int(distinct[i, 1]), np.flatnonzero(place.ravel() == i))
            for i in np.argsort(-counts, kind="stable").tolist()
        ]


def read_pairs(context: JobContext, leg: str, window: Window) -> Pairs:
    """All pairs whose live request lies in the window.

    Raises TooManyRequests above a million shadow requests.
    """
    wide = Window(window.start - SLACK, window.end + SLACK)
    shadow = _read(context, leg, wide, None)
    keys = np.unique(shadow.keys)
    alone = _Alone(window)
    live = _read(context, LIVE_LEG, wide, keys, alone)
    single_live, single_shadow = _single(live.keys), _single(shadow.keys)
    _, first, second = np.intersect1d(
        live.keys[single_live], shadow.keys[single_shadow], assume_unique=True, return_indices=True
    )
    first, second = np.flatnonzero(single_live)[first], np.flatnonzero(single_shadow)[second]
    inside = _inside(live.event_time[first], window)
    lonely = _inside(shadow.event_time, window) & ~np.isin(shadow.keys, live.keys)
    doubled = _inside(live.event_time, window) & ~single_live
    also = _inside(shadow.event_time, window) & ~single_shadow
    return Pairs(
        live=live.take(first[inside]),
        shadow=shadow.take(second[inside]),
        live_alone=alone.n,
        shadow_alone=int(lonely.sum()),
        ambiguous=int(doubled.sum() + (also & ~lonely).sum()),
        shadow_deployments=tuple(
            np.unique(shadow.deployment_id[_inside(shadow.event_time, window)]).tolist()
        ),
    )


def labels_of(context: JobContext, live: Answers, window: Window) -> Floats:
    """The label that each live request has so far, float64[n], NaN without one.

    From the prediction blocks of the live leg, in which labels are joined by source and time.
    """
    found = np.full(len(live), np.nan)
    start = Window.holding(window.start - SLACK, Grain.HOUR).start
    while start < window.end + SLACK:
        span = Window(start, start + _HOURS_AT_ONCE * Grain.HOUR.length)
        with transaction(context.engine, context.project_id, Role.WORKER) as connection:
            blocks = read_blocks(connection, context.project_id, context.model_id, span)
        for key, block in blocks:
            if key.leg != LIVE_LEG or not len(block):
                continue
            rows = block.rows_at(live.keys, live.event_time)
            there = (rows >= 0) & (live.deployment_id == key.deployment_id)
            found[there] = block.label[rows[there]]
        start = span.end
    return found


@dataclass
class _Alone:
    """Counts the live requests of a window that have no partner."""

    window: Window
    n: int = 0

    def add(self, answers: Answers, paired: Flags) -> None:
        self.n += int((_inside(answers.event_time, self.window) & ~paired).sum())


def _read(
    context: JobContext,
    leg: str,
    window: Window,
    wanted: Integers | None,
    alone: _Alone | None = None,
) -> Answers:
    """Answers of a leg; with `wanted` keys only those, the others counted by `alone`."""
    pieces, n = [no_answers(context.model)], 0
    with leg_chunks(context.bulk, context.project_id, context.model_id, leg, window) as chunks:
        for table in chunks:
            piece = answers_of_table(table, context.model)
            if wanted is not None:
                paired = np.isin(piece.keys, wanted)
                if alone is not None:
                    alone.add(piece, paired)
                piece = piece.take(np.flatnonzero(paired))
            n += len(piece)
            if n > MOST_ROWS:
                raise TooManyRequests(
                    f"leg {leg} holds more than {MOST_ROWS:,} requests of this window;"
                    " choose a shorter --window"
                )
            pieces.append(piece)
    return joined(pieces)


def _single(keys: Integers) -> Flags:
    """Which keys occur once, bool[n]."""
    _, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts[place] == 1)


def _inside(event_time: Integers, window: Window) -> Flags:
    start, end = (_micros(at) for at in (window.start, window.end))
    return np.asarray((event_time >= start) & (event_time < end))


def _micros(at: datetime) -> int:
    return int(at.timestamp()) * 1_000_000 + at.microsecond
