"""A model with the contract of the factories, and one deployment."""

from __future__ import annotations

import pytest
from sqlalchemy.engine import Engine

from monitor.store.models import ModelContext
from tests.factories import apply, current_context, deployment, make_contract


@pytest.fixture
def credit(engine: Engine, project_id: int) -> ModelContext:
    """The model `credit`, whose deployment has the number 1."""
    context = apply(engine, project_id, make_contract())
    assert deployment(engine, context, model_version="1") == 1
    return current_context(engine, project_id)
