"""Which plans run on which windows. A new plan is a function in a file and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from monitor.jobs.names import CHECKS_DAY, CHECKS_MONTH
from monitor.jobs.plans.base import Plan
from monitor.jobs.plans.columns import drift, missing, violations
from monitor.jobs.plans.costs import cascade, costs
from monitor.jobs.plans.labels import calibrated, confidence, quality, quality_change
from monitor.jobs.plans.language import language
from monitor.jobs.plans.quality_more import calibrated_more, quality_more
from monitor.jobs.plans.serving import serving
from monitor.profiles.part import PartKind

PLANS: Mapping[str, tuple[Plan, ...]] = {
    CHECKS_DAY: (
        *(drift, missing, violations, quality, quality_more, quality_change),
        *(calibrated, calibrated_more, confidence, serving, language, costs, cascade),
    ),
    CHECKS_MONTH: (drift, quality, quality_more, calibrated, calibrated_more, confidence, costs),
}

OF_REQUESTS: frozenset[Plan] = frozenset(
    {drift, missing, violations, confidence, serving, language, cascade}
)
"""Plans that labels can't change: they rest when nothing but labels of a window changed."""

SEGMENT_PLANS: Mapping[str, tuple[Plan, ...]] = {
    CHECKS_DAY: (),
    CHECKS_MONTH: (quality, quality_more, calibrated, calibrated_more),
}

PARTS: Mapping[str, tuple[PartKind, ...]] = {
    CHECKS_DAY: (PartKind.LABELS, PartKind.COLUMNS, PartKind.SERVING),
    CHECKS_MONTH: (PartKind.LABELS, PartKind.COLUMNS, PartKind.SERVING),
}
"""What the plans of a job read; segments are read for labels only, as only those are planned."""
