"""A small credit model: its contract, reference rows, stored profiles, alert rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from sqlalchemy.engine import Engine

from monitor.jobs.set_baseline import Reference, read_reference_rows
from monitor.profiles.build import build_parts
from monitor.profiles.part import PartKind
from monitor.profiles.sample import sample_rows, sample_to_bytes
from monitor.store.baselines import current_binning
from monitor.store.engine import Role, transaction
from monitor.store.models import ModelContext
from monitor.store.profile_rows import ProfileKey, StoredProfile, write_profiles, write_sample
from monitor.windows import Grain, Window
from tests.factories import current_context

CONTRACT = """\
model: credit
owner: risk
purpose: Scores applications.
task: binary
time_zone: Europe/Berlin
columns:
  - {name: age, type: integer, range: [18, 99]}
  - {name: region, type: category, nullable: true}
  - {name: income, type: number}
  - {name: score, type: number, role: score, range: [0, 1]}
segments: [region]
label: {name: defaulted, positive: true, max_age: 30d}
"""
REGIONS = ("north", "south", "<script>alert(1)</script>")


def reference_table(n: int = 400, seed: int = 1, shift: float = 0.0) -> pa.Table:
    """n rows: two of them break the contract (an age of 5, an income that is not a number)."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(18, 80, n)
    ages[0] = 5
    incomes = rng.normal(40 + shift, 10, n)
    incomes[1] = np.nan
    regions = [None if k % 10 == 0 else REGIONS[k % 3] for k in range(n)]
    return pa.table(
        {
            "request_id": [f"r{k}" for k in range(n)],
            "age": ages,
            "region": regions,
            "income": incomes,
            "score": rng.random(n),
            "defaulted": rng.random(n) < 0.2,
        }
    )


def store_hours(
    engine: Engine, project_id: int, table: pa.Table, starts: list[datetime], leg: str = "live"
) -> None:
    """Profiles of these hours and samples of their days, as the profile job writes them; every
    hour holds the table's rows once.
    """
    context = current_context(engine, project_id)
    rows = read_reference_rows(context, table)
    with transaction(engine, project_id, Role.WORKER) as connection:
        binning = current_binning(connection, project_id, context.model_id)
        assert binning is not None
        part = build_parts(
            rows.rows, binning.binning, context.contract, context.layout,
            np.zeros(table.num_rows, np.int64), 1, {PartKind.COLUMNS},
        )[0][PartKind.COLUMNS]  # fmt: skip
        found = [
            StoredProfile(
                ProfileKey(1, leg, 0, binning.id, PartKind.COLUMNS, Grain.HOUR, start),
                context.contract_version, table.num_rows, part,
            )
            for start in starts
        ]  # fmt: skip
        write_profiles(connection, project_id, context.model_id, found)
        for day in {Window.holding(start, Grain.DAY).start for start in starts}:
            sample = _sample(rows, context, min(s for s in starts if s >= day))
            write_sample(
                connection, project_id, context.model_id, day, 1, leg, table.num_rows, sample
            )


def hours(first: datetime, count: int) -> list[datetime]:
    """Starts of hours in a row."""
    return [first + timedelta(hours=k) for k in range(count)]


def _sample(reference: Reference, context: ModelContext, moment: datetime) -> bytes:
    drawn = sample_rows(reference.rows, context.hash_key)
    place = drawn.schema.get_field_index("event_time")
    times = pa.array([moment.astimezone(UTC)] * drawn.num_rows, drawn.schema.field(place).type)
    return sample_to_bytes(drawn.set_column(place, "event_time", times))
