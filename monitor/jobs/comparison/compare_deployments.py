"""Compares two sets of deployments from stored parts and keeps the result: read, compute, write."""

from __future__ import annotations

from datetime import datetime

import numpy as np
from sqlalchemy.engine import Engine

from monitor.compare_versions import Wanted, compare_versions
from monitor.store.comparisons import StoredComparison, write_comparison
from monitor.store.engine import Role, transaction
from monitor.store.models import ModelContext

SEED = 20_130_901
"""Comparisons of the same parts give the same numbers."""


def compare_deployments(
    engine: Engine, model: ModelContext, wanted: Wanted, *, by: str, now: datetime
) -> StoredComparison:
    """Compare, and store what came out with who asked and when; the same with its number.

    Raises what `compare_versions` raises; nothing is stored then.
    """
    with transaction(engine, model.project_id, Role.WORKER, snapshot=True) as connection:
        made = compare_versions(connection, model, wanted, now, np.random.default_rng(SEED))
    unsaved = StoredComparison(
        id=0,
        leg=wanted.leg,
        a=made.comparison.contrast.a,
        b=made.comparison.contrast.b,
        window=made.window,
        verdict=made.comparison.verdict.value,
        body=made.body,
        made_by=by,
        known_at=now,
    )
    with transaction(engine, model.project_id, Role.WORKER) as connection:
        return write_comparison(connection, model.project_id, model.model_id, unsaved)
