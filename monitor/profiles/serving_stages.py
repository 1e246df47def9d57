"""The stages of a serving part: each request's critical path, also with one stage shortened.

Logarithmic cells, in milliseconds, under names that hold a short hash of the stages' order, so that
counts of two orders never add up:

- all stages: the critical path of a request;
- `gone` and `halved` of a stage: the path as if the stage took no time, or half;
- unexplained: latency less the path, negative where stages overlap more than declared.

`path/…` int64[1] counts requests on whose critical path a stage lies: they would end sooner without
it. A missing stage time counts as 0: the stage did not run for this request. Requests without any
stage time, or with a negative one, are left out and counted as missing.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

import numpy as np

from monitor.contract import ColumnRole, Contract
from monitor.contract_stages import Stage, predecessors, stage_column
from monitor.fields import TIME_UNITS
from monitor.profiles.arrays import Flags, Floats
from monitor.profiles.critical_path import changed_path_times, path_times
from monitor.profiles.part import Part
from monitor.profiles.serving_derived import derived_name
from monitor.profiles.serving_rows import ServingRows
from monitor.profiles.standard_columns import canonical_factor, measured_column

ON_PATH = "path/"
HALF = 0.5


class StageNames:
    """The names of what a serving part holds of a contract's stages."""

    def __init__(self, contract: Contract) -> None:
        order = [[stage.name, stage_columns(contract)[stage.name]] for stage in contract.stages]
        text = json.dumps([order, predecessors(contract.stages)])
        self._hash = hashlib.sha256(text.encode()).hexdigest()[:12]

    def path(self) -> str:
        """The critical path of all stages."""
        return derived_name(f"stages {self._hash}")

    def unexplained(self) -> str:
        """Latency less the critical path."""
        return derived_name(f"unexplained {self._hash}")

    def gone(self, stage: Stage) -> str:
        """The path without the stage's time."""
        return derived_name(f"gone {self._hash}\n{stage.name}")

    def halved(self, stage: Stage) -> str:
        """The path with half of the stage's time."""
        return derived_name(f"halved {self._hash}\n{stage.name}")

    def on_path(self, stage: Stage) -> str:
        """The count of requests on whose critical path the stage lies."""
        return f"{ON_PATH}{self._hash}\n{stage.name}"


@lru_cache(maxsize=256)
def stage_columns(contract: Contract) -> dict[str, str]:
    """The column of each stage, by the stage's name."""
    timings = {c.field or c.name: c.name for c in contract.with_role(ColumnRole.TIMING)}
    found = {stage.name: stage_column(stage, timings) for stage in contract.stages}
    return {name: column for name, column in found.items() if column is not None}


@lru_cache(maxsize=256)
def stage_names(contract: Contract) -> StageNames:
    """The names for a contract, made once."""
    return StageNames(contract)


def column_milliseconds(contract: Contract, name: str) -> float:
    """What a value of a timing column is multiplied by to be in milliseconds."""
    return TIME_UNITS[contract.column(name).unit or "ms"]


def add_stages(serving: ServingRows, contract: Contract) -> None:
    """Count the paths, where the contract declares stages."""
    if not contract.stages:
        return
    names, before = stage_names(contract), predecessors(contract.stages)
    times, usable = _times(serving, contract)
    whole = path_times(times, before)
    path = np.where(usable, whole, np.nan)
    serving.add_log(names.path(), path)
    _add_unexplained(serving, contract, path)
    for place, stage in enumerate(contract.stages):
        gone = changed_path_times(times, before, place, 0.0)
        serving.add_log(names.gone(stage), np.where(usable, gone, np.nan))
        halved = changed_path_times(times, before, place, HALF)
        serving.add_log(names.halved(stage), np.where(usable, halved, np.nan))
        shorter = np.where(usable & (gone < whole), 0, -1)
        serving.add_counts(names.on_path(stage), shorter.astype(np.int64), 1)


def _times(serving: ServingRows, contract: Contract) -> tuple[list[Floats], Flags]:
    told = [
        serving.number(column) * column_milliseconds(contract, column)
        for column in (stage_columns(contract)[stage.name] for stage in contract.stages)
    ]
    some = np.logical_or.reduce([~np.isnan(each) for each in told])
    sound = np.logical_and.reduce([np.isnan(each) | (each >= 0) for each in told])
    return [np.nan_to_num(each, nan=0.0) for each in told], np.asarray(some & sound, np.bool_)


def _add_unexplained(serving: ServingRows, contract: Contract, path: Floats) -> None:
    latency = measured_column(contract, "latency")
    factor = canonical_factor(latency) if latency is not None else None
    if latency is not None and factor is not None:
        serving.add_log(
            stage_names(contract).unexplained(), serving.number(latency.name) * factor - path
        )


def on_path_count(part: Part, contract: Contract, stage: Stage) -> int | None:
    """Requests on whose critical path the stage lies; None when counted with other stages."""
    counts = part.dense.get(stage_names(contract).on_path(stage))
    return None if counts is None else int(counts[0])
