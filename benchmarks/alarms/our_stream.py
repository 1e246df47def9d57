"""Inferwatch on one stream of the comparison: its clean month, and each shift planted in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.alarms import ours
from benchmarks.alarms.binning import counted_rows, hour_numbers, recounted
from benchmarks.alarms.contest import Alarm, delay_of, owed_delay_of
from benchmarks.alarms.our_pairs import PairFiring, PairWatch
from benchmarks.alarms.scene import REFERENCE_DAYS, REFERENCE_HOURS, TEST_DAYS
from benchmarks.alarms.streams import Planted, Stream
from monitor.checks.promise.baseline import ColumnClass
from monitor.checks.promise.budget import Budget
from monitor.checks.promise.incidents import incidents_of


@dataclass(frozen=True)
class OurMonth:
    """At one promise: clean alarms, incidents by the product's rule, and by shift the delay and the
    delay owed to the shift (in streams for tuning there are none)."""

    alarms: frozenset[Alarm]
    incidents: int
    delays: dict[str, tuple[float, float]]


class OurStream:
    """Learned once, judged at any promise. Columns and correlations share the budget."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        n_hours = (REFERENCE_DAYS + TEST_DAYS) * 24
        self._counted = counted_rows(stream.clean, REFERENCE_HOURS, n_hours)
        self._by_name = {one.name: one for one in self._counted}
        self._learned = ours.learn(self._counted)
        self._hours = hour_numbers(stream.clean)
        rows = [
            one.name
            for one in self._learned.baseline.columns
            if one.column_class is ColumnClass.ROW
        ]
        self._pairs = PairWatch(stream.clean, self._counted, rows)

    def month(self, promise: float, *, with_shifts: bool) -> OurMonth:
        """The clean month, and with it every planted shift."""
        budget = Budget(promise=promise, pairs=True)
        watched = self._learned.watch(self._counted, budget)
        pairs = self._pairs.firings(budget)
        firings = [*watched.firings, *(one.firing for one in pairs)]
        alarms = {
            *self._learned.ends(watched.firings),
            *self._learned.ends([one.firing for one in pairs]),
            *self._named(pairs),
        }
        planted = self._stream.planted if with_shifts else ()
        delays = {}
        for one in planted:
            found = self._shifted(one, budget)
            delays[one.shift.name] = (delay_of(one, found), owed_delay_of(one, found, alarms))
        return OurMonth(frozenset(alarms), len(incidents_of(firings)), delays)

    def _shifted(self, planted: Planted, budget: Budget) -> list[Alarm]:
        """Alarms that name the shifted column: its own, and of its correlations.

        The other columns stay as they are, so only this one is watched again.
        """
        values = self._stream.values(planted)
        column = recounted(self._by_name[planted.column], values, self._hours)
        watched = self._learned.watch([column], budget)
        pairs = self._pairs.firings(budget, {planted.column: values})
        ends = [end for _, end in self._learned.ends(watched.firings)]
        ends += [end for name, end in self._named(pairs) if name == planted.column]
        return [(planted.name, end) for end in ends]

    def _named(self, pairs: Sequence[PairFiring]) -> list[Alarm]:
        """Each of the two columns that a firing of correlations names."""
        return [
            (name, end)
            for one in pairs
            for (_, end) in self._learned.ends([one.firing])
            for name in one.columns
        ]
