"""Profiles, bulk inserts and measurements come back as they were written."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

import numpy as np
import psycopg
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import Engine

from monitor.measurement import Direction, Failed, Measured, Measurement, Outcome, Subject, TooFew
from monitor.profiles.part import Part, PartKind, merge
from monitor.store import tables
from monitor.store.arrays import COPIED_FROM, insert_rows
from monitor.store.engine import Role, transaction
from monitor.store.measurements import write_measurements
from monitor.store.models import ModelContext
from monitor.store.profile_rows import (
    ProfileKey,
    StoredProfile,
    _pieces,
    read_profiles,
    read_window,
    write_profiles,
)
from monitor.store.request_rows import merged_windows
from monitor.windows import Grain, Window
from tests.factories import START, rows_of

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def profile(start: datetime, grain: Grain, n: int) -> StoredProfile:
    part = Part({"outcome": np.array([0, n], np.int64)}, {})
    return StoredProfile(ProfileKey(1, "live", 0, 0, PartKind.SERVING, grain, start), 1, n, part)


@pytest.mark.parametrize("many", [1, COPIED_FROM - 1, COPIED_FROM, 3 * COPIED_FROM])
def test_any_number_of_profiles_is_written_and_replaced(
    engine: Engine, credit: ModelContext, many: int
) -> None:
    window = Window(START, START + many * HOUR)
    for extra in (0, 7):
        with transaction(engine, 1, Role.WORKER) as connection:
            made = [profile(START + i * HOUR, Grain.HOUR, i + extra) for i in range(many)]
            write_profiles(connection, 1, credit.model_id, made)
            found = read_profiles(
                connection, 1, credit.model_id, PartKind.SERVING, Grain.HOUR, window
            )
        assert [one.n for one in found] == [i + extra for i in range(many)]
        assert [one.part.to_bytes() for one in found] == [one.part.to_bytes() for one in made]


@given(st.integers(0, 24 * 40), st.integers(1, 24 * 40))
def test_a_window_is_covered_once_by_days_and_hours(first: int, length: int) -> None:
    window = Window(START + first * HOUR, START + (first + length) * HOUR)
    hours: list[datetime] = []
    for grain, piece in _pieces(window):
        assert Window.holding(piece.start, grain).start == piece.start
        hours += [each.start for each in piece.split(Grain.HOUR)]
        assert piece.end <= window.end
    assert hours == [window.start + i * HOUR for i in range(length)]


def test_a_window_reads_days_where_they_fit(engine: Engine, credit: ModelContext) -> None:
    with transaction(engine, 1, Role.WORKER) as connection:
        hours = [profile(START + i * HOUR, Grain.HOUR, 1) for i in range(72)]
        days = [profile(START + i * DAY, Grain.DAY, 24) for i in range(3)]
        write_profiles(connection, 1, credit.model_id, [*hours, *days])
        window = Window(START + 22 * HOUR, START + 50 * HOUR)
        found = read_window(connection, 1, credit.model_id, PartKind.SERVING, window)
    assert [one.key.grain for one in found] == [Grain.HOUR] * 2 + [Grain.DAY] + [Grain.HOUR] * 2
    assert int(merge([one.part for one in found]).dense["outcome"][1]) == 28


@given(st.lists(st.integers(0, 200), min_size=1, max_size=60))
def test_merged_windows_cover_exactly_the_windows_given(numbers: list[int]) -> None:
    spans = merged_windows([START + i * HOUR for i in numbers], HOUR)
    covered = [each.start for span in spans for each in span.split(Grain.HOUR)]
    assert covered == sorted({START + i * HOUR for i in numbers})
    assert all(a.end < b.start for a, b in itertools.pairwise(spans))


@pytest.mark.parametrize("many", [1, COPIED_FROM])
def test_values_of_a_failed_insert_are_in_no_message(
    engine: Engine, credit: ModelContext, many: int
) -> None:
    columns = ("project_id", "model_id", "definition")
    rows = [(1, credit.model_id, f'{{"name": "ada {i}"}}') for i in range(many)]

    def write() -> None:
        with transaction(engine, 1, Role.WORKER) as connection:
            insert_rows(connection, tables.segment, columns, [*rows, rows[0]])

    with pytest.raises(sa.exc.IntegrityError) as caught:
        write()
    assert isinstance(caught.value.orig, psycopg.errors.UniqueViolation)
    assert caught.value.statement == "insert into segment"
    assert caught.value.params is None
    assert rows_of(engine, 1, "select 1 from segment") == []


@pytest.mark.parametrize("many", [2, COPIED_FROM])
def test_row_security_holds_for_bulk_inserts(
    engine: Engine, credit: ModelContext, many: int
) -> None:
    columns = ("project_id", "model_id", "definition")
    rows = [(2, credit.model_id, f'{{"i": "{i}"}}') for i in range(many)]
    with pytest.raises(sa.exc.ProgrammingError) as caught, transaction(engine, 1, Role.WORKER) as c:
        insert_rows(c, tables.segment, columns, rows)
    assert getattr(caught.value.orig, "sqlstate", None) == "42501"


def measurement(outcome: Outcome, *, known_at: datetime = START, n: int = 0) -> Measurement:
    return Measurement(
        check="drift",
        method="psi",
        method_version=1,
        subject=Subject((2, 1), "live", 0, f"we'ird \\ {n}"),
        window=Window(START, START + HOUR),
        outcome=outcome,
        unit="",
        direction=Direction.HIGHER_IS_WORSE,
        known_at=known_at,
    )


@pytest.mark.parametrize("many", [1, COPIED_FROM])
def test_every_outcome_is_stored_with_what_it_says(
    engine: Engine, credit: ModelContext, many: int
) -> None:
    outcomes: list[Outcome] = [
        Measured(0.1, 50, 0.05, 0.2, 0.95, 100, {"p": float("nan"), "t": "a\0b"}),
        TooFew(3, 50),
        Failed("no such luck"),
    ]
    with transaction(engine, 1, Role.WORKER) as connection:
        for number in range(many):
            made = [
                measurement(one, n=number, known_at=START + i * HOUR)
                for i, one in enumerate(outcomes)
            ]
            write_measurements(connection, 1, credit.model_id, made)
    found = rows_of(
        engine, 1, "select state, value, low, high, level, n, n_reference, reason, detail,"
        " deployment_ids from measurement where column_name = :name order by known_at",
        name="we'ird \\ 0",
    )  # fmt: skip
    assert [tuple(row) for row in found] == [
        ("measured", 0.1, 0.05, 0.2, 0.95, 50, 100, None, {"p": None, "t": "a�b"}, [1, 2]),
        ("too_few", None, None, None, None, 3, None, "3 rows, 50 needed", {}, [1, 2]),
        ("failed", None, None, None, None, 0, None, "no such luck", {}, [1, 2]),
    ]


def test_a_measurement_known_at_one_moment_is_stored_once(
    engine: Engine, credit: ModelContext
) -> None:
    def write(value: float) -> None:
        with transaction(engine, 1, Role.WORKER) as connection:
            write_measurements(connection, 1, credit.model_id, [measurement(Measured(value, 1))])

    write(1.0)
    write(1.0)  # the same again is no revision
    with pytest.raises(sa.exc.IntegrityError):
        write(3.0)
    with transaction(engine, 1, Role.WORKER) as connection:
        later = measurement(Measured(2.0, 1), known_at=START + DAY)
        write_measurements(connection, 1, credit.model_id, [later])
    assert rows_of(engine, 1, "select value from measurement order by known_at") == [(1.0,), (2.0,)]


@pytest.mark.parametrize(
    "change",
    [
        "deployment_ids = '{}'",
        "value = null",
        "state = 'failed'",
        "reason = 'a reason'",
        "state = 'unheard of'",
    ],
)
def test_the_table_itself_refuses_silence_and_contradictions(
    engine: Engine, credit: ModelContext, admin_url: str, change: str
) -> None:
    with transaction(engine, 1, Role.WORKER) as connection:
        write_measurements(connection, 1, credit.model_id, [measurement(Measured(1.0, 1))])
    with psycopg.connect(admin_url) as admin, pytest.raises(psycopg.errors.CheckViolation):
        admin.execute(f"update measurement set {change}")
