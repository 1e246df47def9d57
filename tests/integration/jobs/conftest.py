"""A model with segments on which the jobs run."""

from __future__ import annotations

import pytest
from sqlalchemy.engine import Engine

from monitor.store.models import ModelContext
from tests.factories import apply, current_context, deployment, make_contract


@pytest.fixture
def credit(engine: Engine, project_id: int) -> ModelContext:
    """The model `credit` with the segment city and three deployments, numbered 1 to 3."""
    context = apply(engine, project_id, make_contract(segments=["city"]))
    for number in (1, 2, 3):
        assert deployment(engine, context, model_version="1", runtime_version=str(number)) == number
    return current_context(engine, project_id)
