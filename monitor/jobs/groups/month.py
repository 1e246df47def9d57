"""What the monthly checks say of groups: one call with everything that was loaded of the month."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy.engine import Connection

from monitor.jobs.base import JobContext
from monitor.jobs.groups.measure import measure_groups
from monitor.jobs.plans.base import PlanInputs
from monitor.measurement import Measurement
from monitor.store.profile_rows import segments


def measure_group_month(
    connection: Connection, context: JobContext, inputs: Sequence[PlanInputs]
) -> Iterator[Measurement]:
    """Groups of the fairness columns, by leg and set of deployments."""
    if context.contract.fairness is not None:
        definitions = segments(connection, context.project_id, context.model_id)
        yield from measure_groups(context.contract, definitions, inputs)
