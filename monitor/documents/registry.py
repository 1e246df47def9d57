"""The sections of a report, in the order a reviewer asks."""

from __future__ import annotations

from collections.abc import Callable

from monitor.documents.material import Material
from monitor.documents.parts import Section
from monitor.documents.sections import (
    calibration,
    changes,
    drift,
    findings,
    groups,
    humans,
    incidents,
    intake,
    inventory,
    limits,
    plan,
    quality,
    retention,
    runs,
    serving,
    versions,
    workload,
)

SECTIONS: tuple[Callable[[Material], Section], ...] = (
    inventory.section,
    plan.section,
    runs.section,
    findings.section,
    incidents.section,
    versions.section,
    changes.section,
    intake.section,
    drift.section,
    quality.section,
    calibration.section,
    groups.section,
    serving.section,
    humans.section,
    workload.section,
    retention.section,
    limits.section,
)
