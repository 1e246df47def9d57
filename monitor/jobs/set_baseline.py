"""Sets a baseline: from a reference file, or from production windows that a person accepts.

Reference values go through the same contract rules as requests do, so that both are judged alike.
The binning decides the edges and is made once; a baseline is counts on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.errors import ConfigurationError, Problem, UnknownSubject
from monitor.intake.arrow_requests import requests_of_table
from monitor.intake.base import IntakeContext
from monitor.profiles.binning import Binning, fit_binning
from monitor.profiles.build import build_parts
from monitor.profiles.columns import CELLS, SUMS, VIOLATIONS
from monitor.profiles.fitting import fit_number_cells
from monitor.profiles.part import Part, PartKind, merge
from monitor.profiles.rows import RequestRows
from monitor.profiles.sample import sample_rows, sample_to_bytes
from monitor.profiles.views import views_of
from monitor.records import LIVE_LEG, TIMESTAMP, Rejection
from monitor.store.baselines import StoredBinning, add_baseline, add_binning, current_binning
from monitor.store.engine import Role, transaction
from monitor.store.locks import blocks_locked
from monitor.store.marks import remark_all
from monitor.store.models import ModelContext
from monitor.store.profile_rows import StoredProfile, read_window
from monitor.store.tables import profile
from monitor.window_sample import window_sample
from monitor.windows import Grain, Window

MAX_REFERENCE_ROWS = 2_000_000
_MAX_COLUMN_BYTES = 4 << 30
_KEPT_FIELDS = ("outcome", "outcome_reason")
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Reference:
    """Reference rows as requests; `absent` are columns of the contract that the file lacks."""

    rows: RequestRows
    absent: frozenset[str]


def baseline_from_file(
    engine: Engine,
    project_id: int,
    context: ModelContext,
    table: pa.Table,
    *,
    name: str,
    by: str,
    source: str = "reference file",
    new_binning: bool = False,
) -> int:
    """Freeze the counts of reference rows; the baseline's number.

    The model's first binning is fitted to these rows; later files are counted on the binning in
    use, unless `new_binning` asks for another. Hours profiled without it become due again.
    Raises ConfigurationError when the rows can't be used.
    """
    reference = read_reference_rows(context, table)
    with (
        blocks_locked(engine, project_id, context.model_id),
        transaction(engine, project_id, Role.WORKER) as connection,
    ):
        binning = current_binning(connection, project_id, context.model_id)
        if binning is None or new_binning:
            made = _fitted(reference, context)
            binning = add_binning(connection, project_id, context.model_id, made, source)
            remark_all(connection, project_id, context.model_id, int(Grain.HOUR))
        return add_baseline(
            connection,
            project_id,
            context.model_id,
            name=name,
            binning_id=binning.id,
            kind="file",
            source=source,
            window=None,
            n=len(reference.rows),
            part=_counted(reference, binning.binning, context),
            sample=sample_to_bytes(sample_rows(reference.rows, context.hash_key)),
            by=by,
        )


def baseline_from_window(
    engine: Engine,
    project_id: int,
    context: ModelContext,
    window: Window,
    *,
    name: str,
    by: str,
    leg: str = LIVE_LEG,
) -> int:
    """Freeze what was profiled in a window of whole hours; the baseline's number. Reads no row.

    Raises UnknownSubject when the window holds no profile on the binning in use.
    """
    _require_whole_hours(window)
    with transaction(engine, project_id, Role.WORKER, snapshot=True) as connection:
        binning = current_binning(connection, project_id, context.model_id)
        if binning is None:
            raise UnknownSubject(
                f"{context.contract.model} has no binning yet; make its first baseline from a file,"
                f" or wait for {context.contract.baseline.first_rows} requests"
            )
        found = _profiles(connection, context, window, binning, leg)
        sample = window_sample(connection, project_id, context.model_id, window, leg)
        return add_baseline(
            connection,
            project_id,
            context.model_id,
            name=name,
            binning_id=binning.id,
            kind="production",
            source=f"{leg} requests of {window}",
            window=window,
            n=sum(one.n for one in found),
            part=merge([one.part for one in found]),
            sample=sample_to_bytes(sample) if sample is not None else None,
            by=by,
        )


def read_reference_rows(context: ModelContext, table: pa.Table) -> Reference:
    """Reference rows under the contract's rules; columns the contract does not have are left out.

    Ids and times of the file are not used: a reference row is nobody's request.
    """
    _require_usable(table, context)
    declared = [column.name for column in context.contract.columns]
    kept = [n for n in table.column_names if n in {*declared, *_KEPT_FIELDS}]
    n = table.num_rows
    envelope = {
        "request_id": pa.array(np.arange(n)).cast(pa.string()),
        "event_time": pa.repeat(pa.scalar(_NO_TIME, TIMESTAMP), n),
    }
    chosen = table.select(kept)
    for field, values in envelope.items():
        chosen = chosen.append_column(field, values)
    batch = requests_of_table(chosen, _intake_context(context, n))
    if batch.rejections:
        raise _rejected(batch.rejections)
    rows = RequestRows.from_table(batch.table, context.layout, context.contract)
    return Reference(rows, frozenset(declared) - set(kept))


def _require_usable(table: pa.Table, context: ModelContext) -> None:
    declared = {column.name for column in context.contract.columns}
    if not declared & set(table.column_names):
        names = ", ".join(table.column_names[:10])
        raise _unusable(f"none of its columns ({names}, …) is declared in the contract")
    if not 0 < table.num_rows <= MAX_REFERENCE_ROWS:
        limit = f"{MAX_REFERENCE_ROWS:,}"
        raise _unusable(f"holds {table.num_rows:,} rows; give 1 to {limit}, drawn at random")


def _rejected(rejections: tuple[Rejection, ...]) -> ConfigurationError:
    shown = [Problem(f"row {one.place + 1}", one.message) for one in rejections[:20]]
    return ConfigurationError("reference", shown)


def _unusable(what: str) -> ConfigurationError:
    return ConfigurationError("reference", [Problem("file", what)])


def _intake_context(context: ModelContext, n: int) -> IntakeContext:
    return IntakeContext(
        project_id=context.project_id,
        model_id=context.model_id,
        contract=context.contract,
        contract_version=context.contract_version,
        layout=context.layout,
        leg=LIVE_LEG,
        hash_key=context.hash_key,
        deployment_ids=frozenset(),
        earliest=_NO_TIME,
        latest=datetime(1971, 1, 1, tzinfo=UTC),
        received_at=_NO_TIME,
        max_records=n,
        max_bytes=_MAX_COLUMN_BYTES,
    )


def _fitted(reference: Reference, context: ModelContext) -> Binning:
    """Cells from the rows; for a number the file lacks, from the range that the contract gives."""
    binning = fit_binning(reference.rows, context.contract)
    views = dict(binning.views)
    for view in views_of(context.contract):
        low, high = view.column.range or (None, None)
        if view.name in reference.absent and low is not None and high is not None:
            views[view.name] = fit_number_cells(np.linspace(low, high, 101), view.number_kind)
    return Binning(views, binning.columns)


def _counted(reference: Reference, binning: Binning, context: ModelContext) -> Part:
    """Counts of the reference; columns it does not have are left out, not counted as missing."""
    groups = np.zeros(len(reference.rows), np.int64)
    built = build_parts(
        reference.rows, binning, context.contract, context.layout, groups, 1, {PartKind.COLUMNS}
    )
    part = built[0][PartKind.COLUMNS]
    views = {view for view in binning.views if binning.column_of(view) in reference.absent}
    unwanted = {
        *(CELLS + view for view in views),
        *(SUMS + view for view in views),
        *(VIOLATIONS + column for column in reference.absent),
    }
    return Part({key: counts for key, counts in part.dense.items() if key not in unwanted})


def _require_whole_hours(window: Window) -> None:
    for end in (window.start, window.end):
        if Window.holding(end, Grain.HOUR).start != end:
            raise _bad_window(
                f"{end:%Y-%m-%dT%H:%MZ} is not a whole hour in UTC; profiles are kept by the hour"
            )


def _bad_window(what: str) -> ConfigurationError:
    return ConfigurationError("window", [Problem("window", what)])


def _profiles(
    connection: Connection,
    context: ModelContext,
    window: Window,
    binning: StoredBinning,
    leg: str,
) -> list[StoredProfile]:
    found = read_window(
        connection, context.project_id, context.model_id, PartKind.COLUMNS, window,
        binning_ids=(binning.id,),
    )  # fmt: skip
    mine = [one for one in found if one.key.leg == leg]
    if mine:
        return mine
    row = profile.c
    first, last = connection.execute(
        sa.select(sa.func.min(row.window_start), sa.func.max(row.window_start)).where(
            row.project_id == context.project_id,
            row.model_id == context.model_id,
            row.binning_id == binning.id,
            row.leg == leg,
            row.part == int(PartKind.COLUMNS),
            row.grain == int(Grain.HOUR),
        )
    ).one()
    there_is = (
        f"they reach from {first:%Y-%m-%dT%H:%MZ} to {last + Grain.HOUR.length:%Y-%m-%dT%H:%MZ}"
        if first
        else "there are none yet"
    )
    raise UnknownSubject(
        f"no profiles of {leg} requests of {context.contract.model} in {window}"
        f" on binning version {binning.version}; {there_is}"
    )
