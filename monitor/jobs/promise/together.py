"""Columns seen together, once a UTC day: correlations of pairs, and whether a classifier can tell
the day from healthy ones. What moves only jointly shows here and nowhere else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.checks.multivariate.classifier import tell_apart
from monitor.checks.multivariate.correlations import PairWindows
from monitor.checks.multivariate.daily import judge
from monitor.checks.multivariate.pairs import PairsBaseline, compare_pairs, fit_pairs
from monitor.checks.promise.baseline import ColumnClass, SeasonalBaseline
from monitor.checks.promise.budget import Budget
from monitor.checks.promise.firing import Firing
from monitor.checks.promise.hours import HOUR, WEEK_HOURS
from monitor.checks.registry import CheckName
from monitor.jobs.base import JobContext
from monitor.jobs.promise.learn import weeks_to_learn_from
from monitor.jobs.promise.measure import measurement
from monitor.jobs.promise.series import ModelHours, watched_views
from monitor.measurement import Failed, Measured, Measurement, Outcome, TooFew
from monitor.profiles.pairs import PAIR_N, PAIR_SUM, pair_views, score_means
from monitor.profiles.part import Part, PartKind, merge
from monitor.profiles.sample import merge_samples, sample_from_bytes
from monitor.profiles.views import View
from monitor.records import LIVE_LEG
from monitor.store.baselines import StoredBinning
from monitor.store.incidents import StoredIncident, Verdict
from monitor.store.profile_rows import read_profiles, read_samples
from monitor.store.tables import measurement as measurement_table
from monitor.windows import Grain, Window

CORRELATION, CLASSIFIER = "correlation", "classifier"
TOGETHER = "(columns together)"
DAYS_A_MONTH = 30
HISTORY_DAYS = 56
REFERENCE_DAYS, REFERENCE_ROWS = 28, 6_000
DAY = timedelta(days=1)


@dataclass
class Together:
    """One run's days: merged parts by day, and what a week was fitted on."""

    connection: Connection
    context: JobContext
    binning: StoredBinning
    seen: ModelHours
    _pairs: dict[datetime, tuple[Part, Part]] | None = None
    _fitted: dict[datetime, PairsBaseline | TooFew] = field(default_factory=dict)
    _reference: dict[datetime, pa.Table | None] = field(default_factory=dict)

    def judge_day(
        self,
        day: datetime,
        week_start: datetime,
        baseline: SeasonalBaseline,
        incidents: Sequence[StoredIncident],
        budget: Budget,
    ) -> Iterator[tuple[Measurement, Firing | None]]:
        """The day that begins at `day`: its correlations, and its classifier where that is on."""
        first = (day - self.seen.hours.first) // HOUR
        serving = self.seen.serving(first, first + 24)
        if not serving or self.seen.hours.without[max(first, 0) : first + 24].any():
            return  # nobody served, or a day that is expected to be different
        views = self._row_views(baseline)
        healthy = self._healthy_days(week_start, incidents)
        span = Window(day, day + DAY)
        outcome, firing = self._correlations(day, week_start, views, healthy, budget)
        yield self._told(CORRELATION, outcome, span, serving), firing
        if self.context.contract.alarms.classifier:
            outcome, firing = self._classifier(day, week_start, views, healthy, budget)
            yield self._told(CLASSIFIER, outcome, span, serving), firing

    def _told(
        self, method: str, outcome: Outcome, span: Window, serving: tuple[int, ...]
    ) -> Measurement:
        return measurement(self.context, CheckName.DRIFT, method, outcome, span, serving)

    def _row_views(self, baseline: SeasonalBaseline) -> list[View]:
        """Views whose rows are told apart by themselves: weather and weekdays would always be."""
        rows = {
            one.name
            for one in baseline.columns
            if not one.segment and one.column_class is ColumnClass.ROW
        }
        every = watched_views(self.context.contract, self.binning.binning)
        return [view for view in every if view.name in rows]

    def _healthy_days(
        self, week_start: datetime, incidents: Sequence[StoredIncident]
    ) -> list[datetime]:
        """Days to learn from: before the guard band, without an incident nobody has cleared."""
        weeks = (week_start - self.seen.hours.first) // (WEEK_HOURS * HOUR)
        last = week_start - timedelta(weeks=weeks - weeks_to_learn_from(weeks))
        first = Window.holding(self.seen.hours.first, Grain.DAY).start
        days = [first + place * DAY for place in range(max(0, (last - first) // DAY))]
        open_ = [
            (span.start - DAY, span.last)
            for one in incidents
            if one.verdict not in (Verdict.ADOPT, Verdict.FALSE_ALARM)
            for part in one.incident.columns.values()
            for span in part.spans
        ]
        clean = [d for d in days if not any(low < d + DAY and d < high for low, high in open_)]
        return clean[-HISTORY_DAYS:]

    def _correlations(
        self,
        day: datetime,
        week_start: datetime,
        views: Sequence[View],
        healthy: Sequence[datetime],
        budget: Budget,
    ) -> tuple[Outcome, Firing | None]:
        parts = self._day_parts()
        chosen = tuple(view.name for view in views)
        if week_start not in self._fitted:
            known = [each for each in healthy if each in parts]
            weeks = np.array([(each - week_start) // timedelta(weeks=1) for each in known])
            windows = _pair_windows([parts[each] for each in known], self.binning)
            self._fitted[week_start] = (
                fit_pairs(windows.of(chosen), weeks)
                if known
                else TooFew(0, HISTORY_DAYS // 2, "healthy days of history")
            )
        fitted = self._fitted[week_start]
        if isinstance(fitted, TooFew) or day not in parts:
            none = TooFew(0, 1, "requests in the day")
            return (fitted if isinstance(fitted, TooFew) else none), None
        today = _pair_windows([parts[day]], self.binning).of(chosen)
        found = compare_pairs(fitted, today)
        if isinstance(found, TooFew):
            return found, None
        level = budget.pairs_level / DAYS_A_MONTH
        outcome = found.outcome()
        if not found.p_value < level or not found.changes:
            return outcome, None
        most = found.changes[0]
        return outcome, self._firing(
            CORRELATION, day, found.p_value, level, most.change, found.n,
            f"{most.first} and {most.second}: {most.r_then:+.2f} then, {most.r_now:+.2f} now",
        )  # fmt: skip

    def _classifier(
        self,
        day: datetime,
        week_start: datetime,
        views: Sequence[View],
        healthy: Sequence[datetime],
        budget: Budget,
    ) -> tuple[Outcome, Firing | None]:
        if week_start not in self._reference:
            self._reference[week_start] = self._samples(healthy[-REFERENCE_DAYS:])
        reference, current = self._reference[week_start], self._samples([day])
        if reference is None or current is None:
            return TooFew(0, 200, "sampled rows"), None
        zone = self.context.contract.time_zone
        found = tell_apart(reference, current, views, self.binning.binning, zone=zone)
        if isinstance(found, TooFew | Failed):
            return found, None
        history = self._history(healthy)
        today = float(found.detail["logit_auc"])
        n = int(found.n_reference or 0)
        verdict = judge(np.array(history), today, n=n, m=found.n)
        if isinstance(verdict, TooFew):
            detail = {**found.detail, "not_judged": f"{verdict.n} of {verdict.needed} days known"}
            return Measured(found.value, found.n, n_reference=n, detail=detail), None
        detail = {**found.detail, "p_value": verdict.p_value, "days": verdict.days}
        outcome = Measured(found.value, found.n, n_reference=n, detail=detail)
        level = budget.classifier_level / DAYS_A_MONTH
        if not verdict.p_value < level:
            return outcome, None
        carried = ", ".join(str(each["column"]) for each in found.detail["columns"])
        return outcome, self._firing(
            CLASSIFIER, day, verdict.p_value, level, found.value - 0.5, found.n, carried
        )

    def _firing(
        self, view: str, day: datetime, p: float, level: float, effect: float, n: int, cell: str
    ) -> Firing:
        return Firing(TOGETHER, "", 24, view, day + DAY, p, level, effect, n, cell=cell)

    def _day_parts(self) -> dict[datetime, tuple[Part, Part]]:
        """Pairs and columns of each whole day, all live deployments merged."""
        if self._pairs is None:
            pairs, columns = (self._merged(kind) for kind in (PartKind.PAIRS, PartKind.COLUMNS))
            self._pairs = {day: (pairs[day], columns[day]) for day in pairs.keys() & columns.keys()}
        return self._pairs

    def _merged(self, kind: PartKind) -> dict[datetime, Part]:
        hours = self.seen.hours
        by_day: dict[datetime, list[Part]] = defaultdict(list)
        for one in read_profiles(
            self.connection, self.context.project_id, self.context.model_id, kind, Grain.DAY,
            Window(hours.first, hours.end_of(hours.n - 1)), binning_ids=(self.binning.id,),
        ):  # fmt: skip
            if one.key.leg == LIVE_LEG:
                by_day[one.key.window_start].append(one.part)
        return {day: merge(parts) for day, parts in by_day.items()}

    def _samples(self, days: Sequence[datetime]) -> pa.Table | None:
        found = [
            sample_from_bytes(body)
            for day in days
            for _, _, leg, body in read_samples(
                self.connection, self.context.project_id, self.context.model_id,
                Window(day, day + DAY),
            )
            if leg == LIVE_LEG
        ]  # fmt: skip
        return merge_samples(found, limit=REFERENCE_ROWS) if found else None

    def _history(self, healthy: Sequence[datetime]) -> list[float]:
        """logit AUC of healthy days as measured at the time, oldest first."""
        row = measurement_table.c
        value = row.detail["logit_auc"].as_float()
        query = (
            sa.select(row.window_start, value)
            .where(row.project_id == self.context.project_id)
            .where(row.model_id == self.context.model_id, row.check_name == CheckName.DRIFT.value)
            .where(row.method == CLASSIFIER, row.leg == LIVE_LEG, row.state == "measured")
            .where(row.window_start.in_(list(healthy)))
            .order_by(row.window_start)
        )
        return [float(one) for _, one in self.connection.execute(query)]


def _pair_windows(parts: Sequence[tuple[Part, Part]], binning: StoredBinning) -> PairWindows:
    views = pair_views(binning.binning)
    size = len(views) * (len(views) + 1) // 2
    nothing = np.zeros(size, np.int64)
    sums = [np.asarray(pairs.dense.get(PAIR_SUM, nothing)) for pairs, _ in parts]
    n = [np.asarray(pairs.dense.get(PAIR_N, nothing)) for pairs, _ in parts]
    means = [score_means(columns, binning.binning) for _, columns in parts]
    shape = (len(parts), size)
    return PairWindows(
        views,
        np.array(sums, np.int64).reshape(shape),
        np.array(n, np.int64).reshape(shape),
        np.array(means, np.float64).reshape(len(parts), len(views)),
    )
