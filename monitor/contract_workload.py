"""What a model's traffic is supposed to be like, and what is wanted of its answers. Pure."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from monitor.contract_base import Frozen


class Scenario(StrEnum):
    """How requests arrive, in MLPerf's words.

    SERVER: whenever users send them. SINGLE_STREAM: the next one when the last was answered.
    MULTI_STREAM: a fixed number at a time. OFFLINE: all at once, in any order.
    """

    SERVER = "server"
    SINGLE_STREAM = "single_stream"
    MULTI_STREAM = "multi_stream"
    OFFLINE = "offline"


class ExpectedLength(Frozen):
    """What a length (a count column) is expected to be, in the column's unit."""

    column: str
    p50: float = Field(ge=0, allow_inf_nan=False)
    p95: float = Field(ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.p50 > self.p95:
            raise ValueError(f"p50 ({self.p50:g}) is above p95 ({self.p95:g})")
        return self


class Target(Frozen):
    """A limit on a quantile of a timing, count or cost column, in the column's unit."""

    column: str
    quantile: float = Field(default=0.95, gt=0, lt=1, allow_inf_nan=False)
    at_most: float | None = Field(default=None, allow_inf_nan=False)
    at_least: float | None = Field(default=None, allow_inf_nan=False)

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError("a target has at_most or at_least, one of them")
        return self


class Workload(Frozen):
    """Assumptions and targets under which the numbers of a model mean something."""

    scenario: Scenario = Scenario.SERVER
    concurrency: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    requests_per_second: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    lengths: tuple[ExpectedLength, ...] = Field(default=(), max_length=20)
    targets: tuple[Target, ...] = Field(default=(), max_length=50)
    description: str | None = None


def workload_problems(
    workload: Workload | None, counts: Collection[str], served: Collection[str]
) -> list[str]:
    """What is wrong with the columns; `counts` are counts, `served` counts, timings or costs."""
    if workload is None:
        return []
    problems = [
        f"workload.lengths column {each.column!r} is not a column with the role count"
        for each in workload.lengths
        if each.column not in counts
    ]
    problems += [
        f"workload.targets column {each.column!r} has not the role timing, count or cost"
        for each in workload.targets
        if each.column not in served
    ]
    return problems
