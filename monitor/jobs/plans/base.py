"""What a plan is given: the merged parts of one subject and window, and the yardsticks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from monitor.checks.drift.base import DriftMethod, ReferenceSummary
from monitor.checks.registry import CheckName, entry
from monitor.contract import ColumnRole, Contract
from monitor.measurement import Measurement, Outcome, Subject
from monitor.profiles.binning import Binning
from monitor.profiles.columns import ColumnCounts, column_counts
from monitor.profiles.part import Part, PartKind
from monitor.profiles.views import View, views_of
from monitor.store.baselines import StoredBaseline
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
    """One subject (deployments, leg, segment) in one window."""

    contract: Contract
    yardsticks: Yardsticks
    window: Window
    leg: str
    deployment_ids: tuple[int, ...]
    segment_id: int
    parts: Mapping[PartKind, Part]
    known_at: datetime

    def views(self) -> Iterator[tuple[View, ColumnCounts]]:
        """The watched views that the binning holds, with their counts."""
        binning, part = self.yardsticks.binning, self.parts.get(PartKind.COLUMNS)
        if binning is None or part is None:
            return
        for view in views_of(self.contract):
            if view.name in binning.views and view.column.role in WATCHED_ROLES:
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
