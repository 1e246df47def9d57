"""Refused records by day and reason, their places, and values that break the contract."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from monitor.reports.rejected import rejected, shortened
from monitor.store.engine import Role, transaction
from monitor.store.tables import rejection
from monitor.windows import Window
from tests.seeded_database import SeededDatabase


def _days(database: SeededDatabase) -> Window:
    return Window(database.now - timedelta(days=7), database.now + timedelta(days=1))


def test_counts_places_and_examples(database: SeededDatabase):
    found = database.ask(rejected, database.seeded.model_id, _days(database), "UTC")
    sums = found.counts.groupby("reason")["n"].sum().to_dict()
    assert sums == {"time_without_zone": 2, "missing_id": 1}
    assert {one.place for one in found.examples} == {3}
    assert found.records == 2 * (3 + 1 + 2) + 500 + 400
    assert found.violations == 8
    shown = {(one.column, one.reason): one.example for one in found.broken}
    assert shown == {
        ("wind", "out_of_range"): "9007199254740993",
        ("wind", "wrong_type"): "****",
    }


def test_records_of_no_known_model_are_counted_and_ids_cut(own_database: SeededDatabase):
    seeded = own_database.seeded
    row = {"project_id": seeded.project_id, "model_id": None, "kind": "labels", "place": 0,
           "reason": "unknown_model", "message": "no such model", "excerpt": "{}",
           "request_id": "customer-4711-of-berlin", "received_at": own_database.now}  # fmt: skip
    with transaction(own_database.engine, seeded.project_id, Role.OWNER) as connection:
        connection.execute(sa.insert(rejection).values(**row))
    days = _days(own_database)
    found = own_database.ask(rejected, seeded.stale_model_id, days, "UTC")
    (one,) = found.examples
    assert (one.reason, one.of_model, one.request) == ("unknown_model", False, "customer…")


@pytest.mark.parametrize(("given", "shown"), [(None, ""), ("r1", "r1"), ("123456789", "12345678…")])
def test_ids_are_cut_to_their_beginning(given: str | None, shown: str):
    assert shortened(given) == shown
