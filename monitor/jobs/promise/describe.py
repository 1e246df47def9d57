"""What is known around an incident when it opens: shown as "consistent with", never as a cause."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
from sqlalchemy.engine import Connection

from monitor.checks.context.clock import ClockCheck, ClockColumn, clock_check
from monitor.checks.context.contributions import (
    ColumnDidNotMove,
    Contributions,
    contributions,
)
from monitor.checks.context.explained import (
    OutputDidNotMove,
    OutputMoved,
    SampledColumn,
    explain_output,
)
from monitor.checks.context.tags import TagChange, tag_changes
from monitor.checks.context.traffic import ServedDeployment, TrafficHistory
from monitor.checks.context.words import Findings, sentences
from monitor.checks.promise.baseline import ColumnClass, SeasonalBaseline
from monitor.checks.promise.hours import HOUR, WEEK_HOURS
from monitor.checks.promise.incidents import Incident
from monitor.checks.slice_counts import SliceStatistic, coarse_column
from monitor.checks.slices import MAX_COLUMNS, SliceRows, SliceSearch, worst_slices
from monitor.deployment import Tags
from monitor.jobs.base import JobContext
from monitor.jobs.promise.moved import moved_column
from monitor.jobs.promise.quality_known import quality_sentence
from monitor.jobs.promise.sampled import SampledRows, sampled_rows
from monitor.jobs.promise.series import ModelHours, load_hours
from monitor.measurement import Failed, TooFew
from monitor.store.baselines import StoredBinning
from monitor.store.models import deployment_names, deployment_tags
from monitor.windows import Window

CLOCK_COLUMNS = 3
HISTORY_HOURS = 72
SEGMENT_WEEKS = 5
SEED = 0
_NUMBERED = re.compile(r"\b([Dd]eployment) (\d+)\b")


@dataclass
class Describer:
    """Knows a model's hours and, once a week is being judged, its baseline."""

    connection: Connection
    context: JobContext
    binning: StoredBinning
    seen: ModelHours
    baseline: SeasonalBaseline | None = None

    def __call__(self, incident: Incident, end: datetime) -> Mapping[str, Any]:
        """Sentences and figures on what went with the incident, as known at `end`."""
        strongest = incident.columns[incident.leading].strongest
        rows = sampled_rows(
            self.connection, self.context, self.binning.binning, incident.opened, end
        )
        changes = self._tag_changes(incident.opened)
        moved = [self._moved(incident, name, end) for name in self._by_strength(incident)[:3]]
        findings = Findings(
            start=incident.opened,
            window=timedelta(hours=strongest.scale),
            output=_explained(rows, self._of_class(ColumnClass.CALENDAR)),
            changed_at={name: part.first for name, part in incident.columns.items()},
            tags=changes,
            contributions=self._contributions(incident.leading, end),
            clock=self._clock(incident, end),
            slices=self._slices(rows),
        )
        said = [
            *(one["sentence"] for one in moved if one),
            *self._named(incident),
            *(self._with_names(text) for text in sentences(findings)),
            quality_sentence(self.connection, self.context, end),
        ]
        return {
            "sentences": said,
            "moved": [one for one in moved if one],
            "known_at": end.isoformat(),
        }

    def _by_strength(self, incident: Incident) -> list[str]:
        def strength(name: str) -> float:
            one = incident.columns[name].strongest
            return one.p_value / one.level if one.level > 0 else 1.0

        return sorted(incident.columns, key=strength)

    def _moved(self, incident: Incident, column: str, end: datetime) -> dict[str, Any] | None:
        if self.baseline is None:
            return None
        scale = incident.columns[column].strongest.scale
        return moved_column(self.baseline, self.seen, column, end, scale)

    def _named(self, incident: Incident) -> list[str]:
        names = self._names
        found = []
        for column, part in sorted(incident.columns.items()):
            who = [names.get(number, str(number)) for number in part.deployments]
            if len(who) == 1:
                found.append(
                    f"Deployment {who[0]} differs from the others that served in the same hours in "
                    f"{column}: consistent with a fault in that deployment."
                )
            elif who:
                found.append(
                    f"Deployments {' and '.join(who)} differ from each other in {column}; which of "
                    "them is right, their difference can't tell."
                )
        return found

    def _with_names(self, text: str) -> str:
        """Deployments by the names that people gave them."""
        names = self._names
        return _NUMBERED.sub(lambda m: f"{m[1]} {names.get(int(m[2]), m[2])}", text)

    @cached_property
    def _names(self) -> dict[int, str]:
        return deployment_names(self.connection, self.context.project_id, self.context.model_id)

    def _tag_changes(self, opened: datetime) -> tuple[TagChange, ...]:
        hours, place = self.seen.hours, (opened - self.seen.hours.first) // HOUR
        low, high = max(0, place - HISTORY_HOURS), min(hours.n, place + 2)
        requests = self.seen.requests[low:high]
        tags = deployment_tags(self.connection, self.context.project_id, self.context.model_id)
        served = []
        for number, counts in zip(self.seen.deployment_ids, self.seen.requests.T, strict=True):
            there = np.flatnonzero(counts)
            if len(there):
                first, last = (hours.first + int(at) * HOUR for at in (there[0], there[-1]))
                served.append(ServedDeployment(number, tags.get(number, Tags(())), first, last))
        kept = [self.seen.deployment_ids.index(one.deployment_id) for one in served]
        history = TrafficHistory(hours.first + low * HOUR, tuple(served), requests[:, kept])
        return tag_changes(history, opened)

    def _contributions(
        self, column: str, end: datetime
    ) -> Mapping[str, Contributions | ColumnDidNotMove | TooFew | Failed]:
        """Segments of each declared column by themselves: they divide the requests."""
        found = {}
        seen = self._with_weeks(end)
        stop = (end - seen.hours.first) // HOUR
        for key in self.context.contract.segment_keys():
            mine = [
                one
                for one in seen.columns
                if one.name == column and is_value_of(one.segment, key[0])
            ]
            if len(key) != 1 or len(mine) < 2 or stop <= WEEK_HOURS:
                continue
            now = slice(max(0, stop - 24), stop)
            then = slice(max(0, stop - SEGMENT_WEEKS * WEEK_HOURS), max(0, stop - 48))
            reference = np.stack([one.counts[then].sum(axis=0) for one in mine])
            current = np.stack([one.counts[now].sum(axis=0) for one in mine])
            if current.sum():
                found[column] = contributions(
                    [one.segment for one in mine], reference, current, seed=SEED
                )
        return found

    def _with_weeks(self, end: datetime) -> ModelHours:
        """Hours that reach back over the weeks that segments are compared with."""
        begin = end - SEGMENT_WEEKS * WEEK_HOURS * HOUR
        if self.seen.hours.first <= begin or not self.context.contract.segment_keys():
            return self.seen
        return load_hours(self.connection, self.context, self.binning, Window(begin, end))

    def _of_class(self, *classes: ColumnClass) -> frozenset[str]:
        known = self.baseline.columns if self.baseline is not None else ()
        return frozenset(one.name for one in known if one.column_class in classes)

    def _slices(self, rows: SampledRows | None) -> SliceSearch | TooFew | Failed | None:
        """Slices of row columns only: a day's weather always differs from a fortnight's."""
        if rows is None:
            return None
        by_name = {one.name: one for one in self.seen.columns if not one.segment}
        wanted = self._of_class(ColumnClass.ROW) & by_name.keys()
        kept = [place for place, name in enumerate(rows.names) if name in wanted][:MAX_COLUMNS]
        if not kept:
            return None
        coarse = [
            coarse_column(name, by_name[name].cells, by_name[name].counts.sum(axis=0))
            for name in (rows.names[place] for place in kept)
        ]
        current = SliceRows(rows.current.cells[kept], rows.current.hashes)
        reference = SliceRows(rows.reference.cells[kept], rows.reference.hashes)
        return worst_slices(coarse, current, reference, SliceStatistic.SHARE)

    def _clock(self, incident: Incident, end: datetime) -> ClockCheck | None:
        """Asked when three columns moved together: one moved clock moves them all."""
        baseline, stop = self.baseline, (end - self.seen.hours.first) // HOUR
        if baseline is None or len(incident.columns) < CLOCK_COLUMNS:
            return None
        start = max(0, stop - 24)
        part = self.seen.part(start, stop)
        columns = []
        for one in baseline.columns:
            if one.segment or one.column_class is ColumnClass.CONTEXT:
                continue
            counts = next((c.counts for c in part.columns if c.key == one.key), None)
            if counts is not None:
                slots = _slots_of_week(one.season.n_slots)
                expected = one.shares[slots]
                columns.append(ClockColumn(one.name, expected, counts[:, one.layout.order]))
        if len(columns) < CLOCK_COLUMNS:
            return None
        found = clock_check(columns, part.hours.hour_of_week)
        return found if isinstance(found, ClockCheck) else None


def is_value_of(segment: str, column: str) -> bool:
    """Whether a segment is one value of one column."""
    return segment.startswith(f"{column}=") and ", " not in segment


def _slots_of_week(n_slots: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The slot of each hour of the week, int64[168]."""
    week = np.arange(WEEK_HOURS)
    kinds = {1: week * 0, 24: week % 24, 48: week % 24 + 24 * (week >= 120), 168: week}
    return kinds[n_slots]


def _explained(
    rows: SampledRows | None, left_out: frozenset[str]
) -> OutputMoved | OutputDidNotMove | TooFew | Failed | None:
    if rows is None or rows.output_name is None or not rows.names:
        return None
    then, now = rows.reference.answered, rows.current.answered
    columns = [
        SampledColumn(name, rows.reference.cells[place][then], rows.current.cells[place][now],
                      rows.cells[place].n_cells)
        for place, name in enumerate(rows.names)
        if name not in left_out
    ]  # fmt: skip
    return explain_output(columns, rows.reference.output[then], rows.current.output[now], seed=SEED)
