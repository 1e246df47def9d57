"""The binning of a model; made from the first rows that arrive when nobody gave a reference."""

from __future__ import annotations

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.jobs.base import JobContext
from monitor.profiles.binning import fit_binning
from monitor.profiles.build import build_parts
from monitor.profiles.part import PartKind
from monitor.profiles.rows import RequestRows
from monitor.records import LIVE_LEG
from monitor.store.baselines import StoredBinning, add_baseline, add_binning, current_binning
from monitor.store.marks import remark_all
from monitor.store.request_rows import first_requests
from monitor.store.tables import intake_batch
from monitor.windows import Grain

NAME = "first-rows"


def binning_for(connection: Connection, context: JobContext) -> StoredBinning | None:
    """The binning in use. None while there is no reference and too few rows to make one from.

    The current data never moves it: made once, it stays until a person asks for another.
    """
    found = current_binning(connection, context.project_id, context.model_id)
    if found is not None:
        return found
    wanted = context.contract.baseline.first_rows
    if context.contract.baseline.file is not None or _accepted(connection, context) < wanted:
        return None
    table = first_requests(context.bulk, context.project_id, context.model_id, LIVE_LEG, wanted)
    if table.num_rows < wanted:
        return None
    return _make(
        connection, context, RequestRows.from_table(table, context.model.layout, context.contract)
    )


def _make(connection: Connection, context: JobContext, rows: RequestRows) -> StoredBinning:
    source = f"the first {len(rows)} requests"
    project, model = context.project_id, context.model_id
    stored = add_binning(connection, project, model, fit_binning(rows, context.contract), source)
    groups = np.zeros(len(rows), np.int64)
    parts = build_parts(
        rows, stored.binning, context.contract, context.model.layout, groups, 1,
        {PartKind.COLUMNS},
    )  # fmt: skip
    add_baseline(
        connection,
        project,
        model,
        name=NAME,
        binning_id=stored.id,
        kind="production",
        source=source,
        window=None,
        n=len(rows),
        part=parts[0][PartKind.COLUMNS],
        sample=None,
        by="inferwatch",
    )
    remark_all(connection, project, model, int(Grain.HOUR))
    return stored


def _accepted(connection: Connection, context: JobContext) -> int:
    batch = intake_batch.c
    query = sa.select(sa.func.coalesce(sa.func.sum(batch.accepted), 0)).where(
        batch.project_id == context.project_id,
        batch.model_id == context.model_id,
        batch.kind == "requests",
    )
    return int(connection.scalar(query) or 0)
