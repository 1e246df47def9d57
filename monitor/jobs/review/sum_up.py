"""Sums up what the ratings of a review say, and keeps it with what was known before."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from monitor.contract_quality import Signal
from monitor.jobs.base import JobContext
from monitor.jobs.review.results import results_of
from monitor.jobs.review.wanted import rated_signals
from monitor.store.engine import Role, transaction
from monitor.store.reviews import Draw, items_of, ratings_of, required_draw, save_plan


def signals_of(context: JobContext, made: Draw) -> tuple[Signal, ...]:
    """Signals of a review that the contract still declares."""
    wanted = made.plan["signals"]
    return tuple(one for one in rated_signals(context.contract) if one.name in wanted)


def refresh(context: JobContext, name: str) -> None:
    """Sum up what the ratings of a review say, as known now; earlier results are kept."""
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        made = required_draw(connection, context.project_id, context.model_id, name, lock=True)
        _save(connection, context, made)


def _save(connection: Connection, context: JobContext, made: Draw) -> None:
    items = items_of(connection, context.project_id, made.id)
    ratings = ratings_of(connection, context.project_id, context.model_id, made)
    if not items:
        return
    result = results_of(made, items, ratings, signals_of(context, made))
    before = made.plan["results"]
    if not before or before[-1]["body"] != result:
        told = {"known_at": context.now.isoformat(), "body": result}
        save_plan(connection, context.project_id, made, {**made.plan, "results": [*before, told]})
