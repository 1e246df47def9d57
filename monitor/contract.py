"""The contract of one model: what its requests and labels must look like.

Pure values, checked when made. Reading a YAML file with line numbers is contract_file's work.
"""

from __future__ import annotations

from datetime import date, timedelta
from enum import StrEnum
from functools import cache
from typing import Self
from zoneinfo import available_timezones

from pydantic import Field, field_validator, model_validator

from monitor.contract_base import Duration, Frozen
from monitor.contract_columns import (
    RESERVED_NAMES,
    Column,
    ColumnRole,
    ColumnType,
    Sensitivity,
)
from monitor.contract_costs import Cascade, Costs, cascade_problems, cost_problems
from monitor.contract_language import Language
from monitor.contract_quality import (
    Fairness,
    Label,
    ServiceObjective,
    Signal,
    SignalDirection,
    SignalKind,
    fairness_problems,
    objective_problems,
    signal_problems,
)
from monitor.contract_stages import MAX_STAGES, Stage, stage_problems
from monitor.contract_workload import Workload, workload_problems
from monitor.holiday_days import is_known_country

__all__ = (
    "MAX_COLUMNS",
    "RESERVED_NAMES",
    "Alarms",
    "Baseline",
    "Column",
    "ColumnRole",
    "ColumnType",
    "Contract",
    "Lateness",
    "Retention",
    "RiskTier",
    "Sensitivity",
    "Task",
    "known_time_zones",
    "next_named",
)

MAX_COLUMNS = 1_600
"""A view of Postgres holds 1,664 columns; the readable view adds nine of its own."""


@cache
def known_time_zones() -> frozenset[str]:
    """Names of all time zones; looked up once, as it reads a whole folder."""
    return frozenset(available_timezones())


class Task(StrEnum):
    """What the model does; it decides which quality measures apply."""

    BINARY = "binary"
    MULTICLASS = "multiclass"
    REGRESSION = "regression"
    RANKING = "ranking"


class RiskTier(StrEnum):
    """How much harm a silent failure of the model can do."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Lateness(Frozen):
    """How long a window waits for late requests after its end."""

    serving: Duration = timedelta(minutes=1)
    profiles: Duration = timedelta(minutes=10)


LOG_FLOOR = timedelta(days=184)
"""Logs are kept for six months at the least, however long those are."""


class Retention(Frozen):
    """How long raw rows and labels are kept, never shorter than LOG_FLOOR.

    Profiles and measurements stay.
    """

    requests: Duration = LOG_FLOOR
    labels: Duration = timedelta(days=365)

    @property
    def requests_kept(self) -> timedelta:
        """How long requests stay. A contract of an earlier release may ask for less."""
        return max(self.requests, LOG_FLOOR)

    @property
    def labels_kept(self) -> timedelta:
        """How long labels stay, in the same way."""
        return max(self.labels, LOG_FLOOR)


class Baseline(Frozen):
    """Where the first yardstick comes from: a reference file, or the first rows that arrive."""

    file: str | None = None
    first_rows: int = Field(default=5_000, ge=100, le=1_000_000)


class Alarms(Frozen):
    """The promise about drift alarms, and the days that are expected to be different.

    `classifier`: whether a daily classifier looks at all columns together. `holidays` is a country
    of the `holidays` package (US, DE) or a part of one (US-NY, DE-BY).
    """

    false_incidents_a_month: float = Field(default=1.0, gt=0, le=30, allow_inf_nan=False)
    classifier: bool = True
    holidays: str | None = None
    expected_days: tuple[date, ...] = ()

    @field_validator("holidays")
    @classmethod
    def _country_is_known(cls, written: str | None) -> str | None:
        if written is not None and not is_known_country(written):
            raise ValueError(
                f"no holidays are known for {written!r}; write a country such as US or DE,"
                " or a part of one such as US-NY or DE-BY"
            )
        return written


class Contract(Frozen):
    """The declaration of one model. The database gives it a version when it is applied."""

    model: str = Field(min_length=1, max_length=55, pattern=r"^[a-z0-9][a-z0-9._-]*$")
    owner: str = Field(min_length=1)
    purpose: str = Field(min_length=1)
    risk_tier: RiskTier = RiskTier.MEDIUM
    task: Task
    time_zone: str = "UTC"
    also_known_as: tuple[str, ...] = Field(default=(), max_length=50)
    columns: tuple[Column, ...] = Field(min_length=1, max_length=MAX_COLUMNS)
    label: Label | None = None
    signals: tuple[Signal, ...] = Field(default=(), max_length=50)
    fairness: Fairness | None = None
    objective: ServiceObjective | None = None
    stages: tuple[Stage, ...] = Field(default=(), max_length=MAX_STAGES)
    workload: Workload | None = None
    costs: Costs | None = None
    cascade: Cascade | None = None
    language: Language | None = None
    decision_threshold: float = Field(default=0.5, ge=0, le=1)
    segments: tuple[str | tuple[str, ...], ...] = ()
    lateness: Lateness = Lateness()
    retention: Retention = Retention()
    baseline: Baseline = Baseline()
    alarms: Alarms = Alarms()

    @field_validator("time_zone")
    @classmethod
    def _zone_exists(cls, zone: str) -> str:
        if zone not in known_time_zones():
            raise ValueError(f"{zone!r} is not a time zone; write for example Europe/Berlin or UTC")
        return zone

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Self:
        segments = {key[0] for key in self.segment_keys() if len(key) == 1}
        timings = {c.name for c in self.with_role(ColumnRole.TIMING)}
        problems = [
            *_column_problems(self),
            *_segment_problems(self),
            *_retention_problems(self),
            *signal_problems(self.signals, self.label),
            *fairness_problems(self.fairness, segments, judged=self.task == Task.BINARY),
            *objective_problems(self.objective, timings),
            *workload_problems(self.workload, *_served_columns(self)),
            *_cost_problems(self),
            *_stage_problems(self),
        ]
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def column(self, name: str) -> Column:
        """The column of this name; KeyError when the contract has none."""
        return next_named(self.columns, name)

    def with_role(self, role: ColumnRole) -> tuple[Column, ...]:
        """All columns of a role, in contract order."""
        return tuple(column for column in self.columns if column.role is role)

    def single(self, role: ColumnRole) -> Column | None:
        """The one column of a role, or None; a contract holds one score, prediction and entity."""
        found = self.with_role(role)
        return found[0] if found else None

    def segment_keys(self) -> tuple[tuple[str, ...], ...]:
        """Declared segments as tuples of column names, intersections included."""
        return tuple((key,) if isinstance(key, str) else key for key in self.segments)


def next_named(columns: tuple[Column, ...], name: str) -> Column:
    """The column with this name; KeyError when there is none."""
    for column in columns:
        if column.name == name:
            return column
    raise KeyError(name)


def _column_problems(contract: Contract) -> list[str]:
    names = [column.name for column in contract.columns]
    problems = [
        f"column {name!r} is declared {names.count(name)} times"
        for name in sorted({*names})
        if names.count(name) > 1
    ]
    for role in (ColumnRole.PREDICTION, ColumnRole.SCORE, ColumnRole.ENTITY, ColumnRole.WEIGHT):
        if len(contract.with_role(role)) > 1:
            problems.append(f"only one column may have the role {role}")
    return problems


def _cost_problems(contract: Contract) -> list[str]:
    held = {column.field or column.name for column in contract.columns}
    telling = (SignalKind.EVENT, SignalKind.PREFERENCE, SignalKind.RUBRIC)
    signals = [
        signal.name
        for signal in contract.signals
        if signal.kind in telling and signal.direction is SignalDirection.LOWER_IS_WORSE
    ]
    routes = contract.cascade.routes if contract.cascade is not None else None
    judged = contract.label is not None and contract.task in (Task.BINARY, Task.MULTICLASS)
    routed = {
        column.name
        for column in contract.columns
        if column.type is ColumnType.CATEGORY and (column.field or column.name) == "route"
    }
    numbers = {c.name for c in contract.columns if c.type is ColumnType.NUMBER}
    return [
        *cost_problems(contract.costs, held, signals, routes, has_right_answer=judged),
        *cascade_problems(contract.cascade, routed, numbers),
    ]


def _stage_problems(contract: Contract) -> list[str]:
    timings = contract.with_role(ColumnRole.TIMING)
    numbers = (ColumnType.NUMBER, ColumnType.INTEGER)
    return stage_problems(
        contract.stages,
        {column.field or column.name: column.name for column in timings},
        {column.name: column.unit for column in contract.columns},
        {column.name for column in timings if column.type in numbers},
    )


def _served_columns(contract: Contract) -> tuple[set[str], set[str]]:
    counts = {column.name for column in contract.with_role(ColumnRole.COUNT)}
    others = (*contract.with_role(ColumnRole.TIMING), *contract.with_role(ColumnRole.COST))
    return counts, counts | {column.name for column in others}


def _segment_problems(contract: Contract) -> list[str]:
    problems = []
    usable = {ColumnType.CATEGORY, ColumnType.BOOLEAN}
    kinds = {column.name: column.type for column in contract.columns}
    for key in contract.segment_keys():
        if len(set(key)) != len(key) or not key:
            problems.append(f"segment {list(key)} names a column twice or none")
        for name in key:
            if name not in kinds:
                problems.append(f"segment column {name!r} is not declared in columns")
            elif kinds[name] not in usable:
                problems.append(
                    f"segment column {name!r} is a {kinds[name]}; use category or boolean columns"
                )
    return problems


def _retention_problems(contract: Contract) -> list[str]:
    if contract.label is None:
        return []
    needed = contract.label.max_age + contract.label.correction_time
    if contract.retention.requests < needed:
        return [
            f"retention.requests ({contract.retention.requests.days} d) is shorter than"
            f" label.max_age plus label.correction_time ({needed.days} d);"
            " late labels would find no request"
        ]
    return []
