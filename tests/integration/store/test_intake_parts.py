"""Parts of requests in the database: what arrives while a group is put together stays open."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy.engine import Engine

from monitor.intake.parts import RequestPart
from monitor.store import intake_parts
from monitor.store.engine import Role, transaction
from monitor.store.intake_parts import add_parts, finish_parts, take_due
from tests.factories import rows_of

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
OPEN = "select part_key from intake_part where not done order by 1"


def part(group: str, name: str) -> RequestPart:
    return RequestPart("trace", group, name, b"body", NOW, NOW)


def add(engine: Engine, project_id: int, *parts: RequestPart) -> None:
    with transaction(engine, project_id, Role.INGEST) as connection:
        add_parts(connection, project_id, parts)


def test_a_part_that_arrives_while_its_group_is_put_together_is_not_lost(
    engine: Engine, project_id: int
) -> None:
    add(engine, project_id, part("t", "a"))
    with transaction(engine, project_id, Role.INGEST) as connection:
        taken = take_due(connection, project_id, "trace", None, NOW)
        add(engine, project_id, part("t", "late"))
        finish_parts(connection, project_id, taken)
    assert rows_of(engine, project_id, OPEN) == [("late",)]
    with transaction(engine, project_id, Role.INGEST) as connection:
        again = take_due(connection, project_id, "trace", None, NOW + timedelta(seconds=1))
    assert [each.part_key for each in again.groups["t"]] == ["late"]


def test_a_group_that_is_cut_by_the_limit_waits_for_the_next_round(
    engine: Engine, project_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_parts, "MOST_PARTS", 3)
    add(engine, project_id, *(part(group, name) for group in "ab" for name in ("1", "2")))
    rounds = []
    for _ in range(3):
        with transaction(engine, project_id, Role.INGEST) as connection:
            taken = take_due(connection, project_id, "trace", None, NOW)
            rounds.append({key: len(parts) for key, parts in taken.groups.items()})
            finish_parts(connection, project_id, taken)
    assert rounds == [{"a": 2}, {"b": 2}, {}]


def test_a_group_larger_than_the_limit_is_taken_in_pieces(
    engine: Engine, project_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_parts, "MOST_PARTS", 2)
    add(engine, project_id, *(part("a", str(number)) for number in range(3)))
    sizes = []
    for _ in range(3):
        with transaction(engine, project_id, Role.INGEST) as connection:
            taken = take_due(connection, project_id, "trace", None, NOW)
            sizes.append(sum(map(len, taken.groups.values())))
            finish_parts(connection, project_id, taken)
    assert sizes == [2, 1, 0]
