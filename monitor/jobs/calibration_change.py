"""Calibration before and after a change of precision, runtime or model, from stored labels parts.

Made with the checks of a month, for three months after a deployment began: later its predecessor's
labels are of another time, and a difference could be the time's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.engine import Connection

from monitor.checks.calibration_cells import ScoredCounts
from monitor.checks.calibration_change import calibration_change
from monitor.checks.registry import CheckName
from monitor.contract import ColumnRole, Contract, Task
from monitor.deployment import Tags, differing_groups
from monitor.jobs.base import JobContext
from monitor.jobs.grouping import WHOLE
from monitor.jobs.plans.base import PlanInputs
from monitor.jobs.plans.cohorts import with_detail
from monitor.measurement import Measurement
from monitor.profiles.labels import BINARY, binary_counts
from monitor.profiles.labels_multiclass import CONFIDENCE
from monitor.profiles.part import Part, PartKind
from monitor.profiles.predictions import class_scores_column
from monitor.store.label_parts import first_windows, labels_by_deployment
from monitor.store.models import deployment_tags
from monitor.windows import Window

JUDGED_GROUPS = frozenset({"precision", "runtime", "model"})
TOLD_FOR = timedelta(days=92)
LOOKS_BACK = timedelta(days=31)


@dataclass(frozen=True)
class Succession:
    """A deployment, the one that began before it on the same leg, and the tags that differ."""

    after: int
    before: int
    began: datetime
    differs_in: Mapping[str, tuple[str, ...]]

    def told(self) -> dict[str, Any]:
        """As detail of a measurement; more than one group of tags can't be told apart."""
        return {
            "before_deployment": self.before,
            "differs_in": {group: list(names) for group, names in self.differs_in.items()},
            "confounded": len(self.differs_in) > 1,
        }


def measure_calibration_change(
    connection: Connection, context: JobContext, window: Window, inputs: Sequence[PlanInputs]
) -> Iterator[Measurement]:
    """`calibration/change` and `change_test` of each deployment of the month that succeeded one."""
    counts_of = _counted(context.contract)
    single = [each for each in inputs if _is_single(each)]
    if counts_of is None or not single:
        return
    began = first_windows(connection, context.project_id, context.model_id)
    tags = deployment_tags(connection, context.project_id, context.model_id)
    for each in single:
        found = succession(each.deployment_ids[0], began.get(each.leg, {}), tags)
        if found is None or found.began < window.end - TOLD_FOR:
            continue
        before = _labels_before(connection, context, found, window, each.leg)
        outcomes = calibration_change(counts_of(before), counts_of(each.parts[PartKind.LABELS]))
        maturity = each.cohort.maturity.told() if each.cohort is not None else {}
        for method, outcome in outcomes.items():
            told = with_detail(outcome, {**found.told(), **maturity})
            yield each.measurement(CheckName.CALIBRATION, method, told)


def succession(
    after: int, began: Mapping[int, datetime], tags: Mapping[int, Tags]
) -> Succession | None:
    """Who served before a deployment, where precision, runtime or model differ; else None.

    The predecessor is the deployment that began last before this one. Unknown deployments have no
    known tags, so they differ in whatever the other one tells.
    """
    if after not in began:
        return None
    earlier = [number for number, at in began.items() if at < began[after]]
    if not earlier:
        return None
    before = max(earlier, key=lambda number: (began[number], number))
    nothing = Tags.of({})
    groups = differing_groups(tags.get(before, nothing), tags.get(after, nothing))
    if not JUDGED_GROUPS & set(groups):
        return None
    return Succession(after, before, began[after], groups)


def _is_single(inputs: PlanInputs) -> bool:
    return (
        inputs.segment_id == WHOLE
        and len(inputs.deployment_ids) == 1
        and PartKind.LABELS in inputs.parts
    )


def _counted(contract: Contract) -> Callable[[Part], ScoredCounts] | None:
    """How scores of this task are counted: binary ones, or the largest one and "was right"."""
    if contract.label is None:
        return None
    if contract.task is Task.BINARY and contract.single(ColumnRole.SCORE) is not None:
        return lambda part: binary_counts(part, table=BINARY)
    if contract.task is Task.MULTICLASS and class_scores_column(contract) is not None:
        return lambda part: binary_counts(part, table=CONFIDENCE)
    return None


def _labels_before(
    connection: Connection, context: JobContext, found: Succession, window: Window, leg: str
) -> Part:
    """Labels of the predecessor from a month before the change until the end of the window."""
    span = Window(found.began - LOOKS_BACK, window.end)
    parts = labels_by_deployment(connection, context.project_id, context.model_id, span, leg)
    return parts.get(found.before, Part())
