"""The deep dive: an Evidently report of a window's stored sample against a baseline's.

Both samples are bounded and drawn by a keyed hash, so the same window gives the same rows. Nothing
leaves the machine. The report's verdicts are Evidently's, not those of the checks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Read by Evidently when it is imported: it sends usage data unless this is set.
os.environ["DO_NOT_TRACK"] = "1"

import pandas as pd
import pyarrow as pa
from evidently import DataDefinition, Dataset, Report
from evidently.presets import DataDriftPreset, DataSummaryPreset
from sqlalchemy.engine import Engine

from monitor.contract import ColumnRole, ColumnType, Contract
from monitor.errors import ConfigurationError, Problem, UnknownSubject
from monitor.profiles.sample import sample_from_bytes
from monitor.records import LIVE_LEG
from monitor.store.baselines import StoredBaseline, current_baselines
from monitor.store.engine import Role, transaction
from monitor.store.models import ModelContext
from monitor.window_sample import window_sample
from monitor.windows import Window

MIN_ROWS = 30
_NUMBERS = frozenset({ColumnType.NUMBER, ColumnType.INTEGER, ColumnType.TIMESTAMP})
_TEXTS = frozenset({ColumnType.CATEGORY, ColumnType.BOOLEAN})
_IDENTIFIERS = frozenset({ColumnRole.ENTITY, ColumnRole.PARENT})
# Values come from requests, and the report is a page: no text may begin a tag there.
_HARMLESS = str.maketrans({"<": "‹", ">": "›", "&": "＆"})


@dataclass(frozen=True)
class Exploration:
    """What went into a report; `left_out` are columns that could not be compared."""

    path: Path
    baseline: str
    window_rows: int
    baseline_rows: int
    left_out: tuple[str, ...]


def report_name(model: str, window: Window, baseline: str) -> str:
    """The report's file name: the same for the same question."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", baseline).strip("-.") or "baseline"
    return f"explore-{model}-{window.start:%Y%m%dT%H%MZ}-{window.end:%Y%m%dT%H%MZ}-{name}.html"


def explore(
    engine: Engine,
    project_id: int,
    context: ModelContext,
    window: Window,
    *,
    baseline: str | None = None,
    leg: str = LIVE_LEG,
    deployment_id: int | None = None,
    output: Path | None = None,
) -> Exploration:
    """Write the report; without `baseline` the newest one that has a sample.

    Raises UnknownSubject when a sample is missing, ConfigurationError when nothing in them can be
    compared or the file can't be written.
    """
    with transaction(engine, project_id, Role.WORKER, snapshot=True) as connection:
        every = current_baselines(connection, project_id, context.model_id)
        current = window_sample(
            connection, project_id, context.model_id, window, leg, deployment_id
        )
    chosen = _chosen(every, baseline, context.contract.model)
    if current is None:
        raise UnknownSubject(
            f"no sample of {leg} requests of {context.contract.model} in {window}; samples are made"
            " when windows are profiled and expire with the raw rows"
        )
    reference = sample_from_bytes(chosen.sample or b"")
    kinds, left_out = _comparable(context.contract, current, reference)
    path = output or Path(report_name(context.contract.model, window, chosen.name))
    _write(path, _frame(current, kinds), _frame(reference, kinds), kinds)
    title = f"{chosen.name} version {chosen.version}"
    return Exploration(path, title, current.num_rows, reference.num_rows, left_out)


def _chosen(every: Sequence[StoredBaseline], name: str | None, model: str) -> StoredBaseline:
    sampled = [each for each in every if each.sample is not None]
    if name is None and sampled:
        return max(sampled, key=lambda each: each.created_at)
    named = [each for each in every if each.name == name]
    there_are = ", ".join(each.name for each in sampled) or "none yet"
    if not named:
        what = "a baseline" if name is None else f"the baseline {name!r}"
        raise UnknownSubject(f"{model} has no sample of {what}; baselines with one: {there_are}")
    if named[0].sample is None:
        raise UnknownSubject(
            f"baseline {name!r} keeps no sample of its rows; baselines with one: {there_are}"
        )
    return named[0]


def _comparable(
    contract: Contract, current: pa.Table, reference: pa.Table
) -> tuple[dict[str, bool], tuple[str, ...]]:
    """Columns with values on both sides, True for numbers; and the names of the others."""
    kinds: dict[str, bool] = {}
    left_out = []
    for column in contract.columns:
        if column.type in _NUMBERS | _TEXTS and column.role not in _IDENTIFIERS:
            name, is_number = column.name, column.type in _NUMBERS
        elif column.type is ColumnType.TEXT:
            name, is_number = f"{column.name}.length", True
        else:
            left_out.append(column.name)
            continue
        if all(_values(sample, name) for sample in (current, reference)):
            kinds[name] = is_number
        else:
            left_out.append(column.name)
    if not kinds or min(current.num_rows, reference.num_rows) < MIN_ROWS:
        what = f"{current.num_rows} rows against {reference.num_rows} can't be compared"
        remedy = f"each side needs {MIN_ROWS} rows and a column with values in common"
        raise ConfigurationError("explore", [Problem("sample", f"{what}; {remedy}")])
    return kinds, tuple(left_out)


def _values(sample: pa.Table, name: str) -> int:
    if name not in sample.column_names:
        return 0
    return len(sample[name]) - int(sample[name].null_count)


def _frame(sample: pa.Table, kinds: Mapping[str, bool]) -> pd.DataFrame:
    columns = {}
    for name, is_number in kinds.items():
        values = sample[name].combine_chunks()
        if is_number:
            columns[_shown(name)] = values.cast(pa.float64()).to_pandas()
        else:
            texts = [None if each is None else _shown(str(each)) for each in values.to_pylist()]
            columns[_shown(name)] = pd.Series(texts, dtype="object")
    return pd.DataFrame(columns)


def _shown(text: str) -> str:
    return text.translate(_HARMLESS)


def _write(
    path: Path, current: pd.DataFrame, reference: pd.DataFrame, kinds: Mapping[str, bool]
) -> None:
    definition = DataDefinition(
        numerical_columns=[_shown(name) for name, is_number in kinds.items() if is_number],
        categorical_columns=[_shown(name) for name, is_number in kinds.items() if not is_number],
    )
    made = Report([DataDriftPreset(), DataSummaryPreset()]).run(
        Dataset.from_pandas(current, data_definition=definition),
        Dataset.from_pandas(reference, data_definition=definition),
    )
    try:
        made.save_html(str(path))
    except OSError as error:
        what = f"can't be written: {error.strerror or error}"
        raise ConfigurationError(str(path), [Problem("--output", what)]) from error
