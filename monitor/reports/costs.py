"""What requests and successful tasks cost, window by window, as measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.engine import Engine

from monitor.checks.registry import CheckName
from monitor.reports.database import reading
from monitor.reports.measurements import Filter, MeasurementRow, read_measurements
from monitor.windows import Window


@dataclass(frozen=True)
class CostRow:
    """The costs of one window and set of deployments, by method: `per_request`, `per_success`,
    `energy_per_request`, `energy_per_success`.
    """

    window: Window
    deployment_ids: tuple[int, ...]
    methods: Mapping[str, MeasurementRow]

    @property
    def condition(self) -> str:
        """When a task counts as a success."""
        found = self.methods.get("per_success")
        return str(found.detail.get("condition", "")) if found is not None else ""

    @property
    def components(self) -> Mapping[str, float]:
        """The total by component, in the currency."""
        found = self.methods.get("per_request")
        parts: Any = found.detail.get("components", {}) if found is not None else {}
        return {str(name): float(value) for name, value in parts.items()}

    @property
    def left_out(self) -> tuple[str, ...]:
        """What could not be counted."""
        found = self.methods.get("per_request")
        return tuple(found.detail.get("left_out", ())) if found is not None else ()


def cost_rows(
    engine: Engine,
    project_id: int,
    model_id: int,
    span: Window,
    leg: str = "live",
    scale: str = "day",
    known_by: datetime | None = None,
) -> tuple[CostRow, ...]:
    """Costs of windows that start in the span, the newest first."""
    wanted = Filter((CheckName.COST.value,), leg=leg, scale=scale, known_by=known_by)
    with reading(engine, project_id) as connection:
        rows = read_measurements(connection, project_id, model_id, span, wanted)
    found: dict[tuple[datetime, datetime, tuple[int, ...]], dict[str, MeasurementRow]]
    found = defaultdict(dict)
    for row in rows:
        found[row.window.start, row.window.end, row.deployment_ids][row.method] = row
    return tuple(
        CostRow(Window(start, end), numbers, methods)
        for (start, end, numbers), methods in found.items()
    )
