"""What a plan is given: the merged parts of one subject and window, and the yardsticks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from monitor.checks.drift.base import DriftMethod, ReferenceSummary
from monitor.checks.registry import CheckName, entry
from monitor.contract import Column, ColumnRole, Contract
from monitor.jobs.maturity.earlier import EarlierCohorts
from monitor.jobs.maturity.known import LabelDelays
from monitor.jobs.plans.cohorts import CohortLabels, cohort_of
from monitor.measurement import Measurement, Outcome, Subject
from monitor.profiles.binning import Binning
from monitor.profiles.columns import ColumnCounts, column_counts
from monitor.profiles.part import Part, PartKind
from monitor.profiles.views import View, views_of
from monitor.store.baselines import StoredBaseline
from monitor.store.profile_rows import StoredProfile
from monitor.windows import Window

WATCHED_ROLES = frozenset(
    {
        ColumnRole.FEATURE,
        ColumnRole.SEGMENT,
        ColumnRole.SCORE,
        ColumnRole.PREDICTION,
        ColumnRole.FLAG,
        ColumnRole.HUMAN_ACTION,
    }
)


LENGTHS = frozenset({"prompt_tokens", "output_tokens"})
"""Fields whose columns are watched whatever their role: texts of another length are other work."""


def is_watched(column: Column) -> bool:
    """Whether drift of a column is measured."""
    return column.role in WATCHED_ROLES or (column.field or column.name) in LENGTHS


@dataclass
class Yardsticks:
    """The binning and baselines of a model, with what each drift method keeps of them."""

    binning: Binning | None
    baselines: tuple[StoredBaseline, ...]
    _columns: dict[tuple[int, str], ColumnCounts] = field(default_factory=dict)
    _fitted: dict[tuple[int, str, str], ReferenceSummary] = field(default_factory=dict)

    def column(self, baseline: StoredBaseline, view: str) -> ColumnCounts:
        """Baseline counts of one view."""
        key = (baseline.id, view)
        if key not in self._columns:
            if self.binning is None:
                raise AssertionError("there is no baseline without a binning")
            self._columns[key] = column_counts(baseline.part, self.binning, view)
        return self._columns[key]

    def fitted(self, baseline: StoredBaseline, view: str, method: DriftMethod) -> ReferenceSummary:
        """What the method keeps of the baseline's view; made once."""
        key = (baseline.id, view, method.name)
        if key not in self._fitted:
            self._fitted[key] = method.fit(self.column(baseline, view))
        return self._fitted[key]


@dataclass(frozen=True)
class PlanInputs:
    """One subject (deployments, leg, segment) in one window.

    `is_whole`: it is all that served its leg and segment. `label_pieces` are the hours or days that
    its labels part was merged from, `delays` what is known of how soon labels come, `earlier` the
    cohorts before the window, where the job compares with them.
    """

    contract: Contract
    yardsticks: Yardsticks
    window: Window
    leg: str
    deployment_ids: tuple[int, ...]
    segment_id: int
    parts: Mapping[PartKind, Part]
    known_at: datetime
    is_whole: bool = True
    label_pieces: tuple[StoredProfile, ...] = ()
    delays: LabelDelays = field(default_factory=LabelDelays)
    earlier: EarlierCohorts | None = None

    @cached_property
    def cohort(self) -> CohortLabels | None:
        """The labels of this subject by age, with their maturity; None where there are none."""
        part = self.parts.get(PartKind.LABELS)
        if part is None or self.contract.label is None:
            return None
        return cohort_of(
            part, self.label_pieces, self.window, self.leg, self.segment_id,
            self.contract, self.delays, self.known_at,
        )  # fmt: skip

    def views(self) -> Iterator[tuple[View, ColumnCounts]]:
        """The watched views that the binning holds, with their counts."""
        binning, part = self.yardsticks.binning, self.parts.get(PartKind.COLUMNS)
        if binning is None or part is None:
            return
        for view in views_of(self.contract):
            if view.name in binning.views and is_watched(view.column):
                yield view, column_counts(part, binning, view.name)

    def measurement(
        self,
        check: CheckName,
        method: str,
        outcome: Outcome,
        *,
        column: str = "",
        baseline_id: int | None = None,
        unit: str | None = None,
    ) -> Measurement:
        """A measurement of this subject and window by a registered method."""
        known = entry(check, method)
        return Measurement(
            check=known.check.value,
            method=known.method,
            method_version=known.version,
            subject=Subject(self.deployment_ids, self.leg, self.segment_id, column),
            window=self.window,
            outcome=outcome,
            unit=unit if unit is not None else known.unit,
            direction=known.direction,
            known_at=self.known_at,
            baseline_id=baseline_id,
        )


Plan = Callable[[PlanInputs], Iterator[Measurement]]
